//! One run: sessions are opened, the shared driver lets terminals ask, the result is reported.

mod reactor;
mod report;
mod run;
mod source;

pub use report::Report;
pub use run::Ready;
