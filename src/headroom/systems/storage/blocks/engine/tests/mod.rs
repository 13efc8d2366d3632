//! Tests of the engine: on a scripted backend, and on real files through both interfaces.

mod accounting;
mod faults;
mod native;
mod scripted;
mod soft;
mod stuck;
#[path = "../../../../../../../tests/support/skip.rs"]
mod skip;
