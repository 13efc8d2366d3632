//! How long nothing at all has ended although something was awaited.

use super::clock::ns_of;

/// A limit of silence, and when something was last heard.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    limit_ns: u64,
    ended_count: u64,
    heard_ns: u64,
}

impl Silence {
    /// Return a silence that may last for `limit_s` (s) since `now_ns`.
    pub fn new(limit_s: f64, now_ns: u64) -> Self {
        Self {
            limit_ns: ns_of(limit_s),
            ended_count: 0,
            heard_ns: now_ns,
        }
    }

    /// Return how long (ns) the silence has lasted at `now_ns`, where that is too long. So far
    /// `ended_count` have ended; without anything that `is_awaited` there is no silence.
    pub fn too_long(&mut self, ended_count: u64, now_ns: u64, is_awaited: bool) -> Option<u64> {
        if ended_count != self.ended_count || !is_awaited {
            self.ended_count = ended_count;
            self.heard_ns = now_ns;
        }
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        (silent_ns > self.limit_ns).then_some(silent_ns)
    }

    /// Begin again at `now_ns`.
    pub const fn restart(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
    }
}
