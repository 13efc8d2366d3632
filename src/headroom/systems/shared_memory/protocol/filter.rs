//! A snoop filter with fewer entries than there are lines.
//!
//! A line of which a cache may have a copy needs an entry. If none is free, the home takes all
//! copies of another line back (CXL 3: back-invalidate) and refuses the request until then.
//!
//! Invariant: no more lines are tracked than there are entries.

use super::Protocol;

/// Answer of the filter to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The home may serve it.
    Admitted,
    /// No entry is free: refuse, and take back one of these lines, if any.
    Full(Vec<usize>),
}

/// Decide whether the home of `line` may serve a request.
///
/// `homes` are the lines that compete for `entries`: those of a set of the filter.
pub fn admit<P: Protocol>(
    protocol: &P,
    entries: usize,
    homes: &[P::Home],
    line: usize,
    body: &P::Body,
) -> Admission {
    if !protocol.wants_entry(body) || protocol.home_view(&homes[line]).is_held {
        return Admission::Admitted;
    }
    let is_held = |home: &&P::Home| protocol.home_view(home).is_held;
    if homes.iter().filter(is_held).count() < entries {
        return Admission::Admitted;
    }
    let candidates = homes.iter().enumerate().filter(|(_, home)| {
        let view = protocol.home_view(home);
        view.is_held && view.is_idle
    });
    Admission::Full(candidates.map(|(index, _)| index).collect())
}
