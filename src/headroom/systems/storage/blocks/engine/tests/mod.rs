//! Tests of the engine: against closed forms and a reference on a scripted backend with a clock
//! of its own, and on real files through both interfaces.

mod accounting;
mod faults;
mod native;
mod scripted;
mod soft;
mod stuck;
