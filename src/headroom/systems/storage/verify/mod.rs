//! Verify mode: does a target return what was written to it?
//!
//! Written cells are stamped ([`stamp`]); a ledger knows what each must hold ([`ledger`]); reads
//! are judged against it ([`findings`]); the verifier of a run does all this ([`verifier`]) and
//! reads everything back at the end ([`read_back`]). A log elsewhere outlives a crash ([`log`]),
//! after which the target is read and compared with what it had promised ([`history`],
//! [`mod@check`]).

pub mod check;
pub mod findings;
pub mod history;
pub mod ledger;
pub mod log;
pub mod read_back;
pub mod stamp;
pub mod verifier;
