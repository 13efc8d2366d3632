//! Tests of the engine: on a scripted backend, and on real files through both interfaces.

mod accounting;
mod faults;
mod native;
mod scripted;
#[path = "../../../../../../../tests/support/skip.rs"]
mod skip;
mod soft;
mod stuck;
