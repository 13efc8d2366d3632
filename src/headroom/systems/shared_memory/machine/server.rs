//! Stations of the machine: one server each, first come, first served.
//!
//! A transaction reserves its way when it comes to a station, so a station is a moment at which it
//! is free again; the kernel's stations with the same arrivals give the same times.

/// Time (ps).
pub type Time = u64;
/// Picoseconds of a second.
const PICOSECONDS: f64 = 1e12;

/// Return a time (ps) of seconds, at least 0.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of machines are below 200 days"
)]
pub fn picoseconds(seconds: f64) -> Time {
    (seconds.max(0.0) * PICOSECONDS).round() as Time
}

/// Return seconds of a time.
pub fn seconds(time: Time) -> f64 {
    time as f64 / PICOSECONDS
}

/// A station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// When it is free.
    free: Time,
    /// Time in which it worked.
    pub busy: Time,
    /// Time in which customers waited for it.
    pub waited: Time,
    /// Customers.
    pub served: u64,
}

impl Server {
    /// Forget the customers so far; who is in service stays.
    pub fn start_account(&mut self) {
        *self = Self {
            free: self.free,
            ..Self::default()
        };
    }

    /// Serve a customer that comes at `now`; return when it leaves.
    #[inline]
    pub fn serve(&mut self, now: Time, service: Time) -> Time {
        let start = self.free.max(now);
        self.free = start + service;
        self.busy += service;
        self.waited += start - now;
        self.served += 1;
        self.free
    }

    /// Keep the server occupied until its last customer finds room at the next station; the time
    /// counts as work.
    pub fn block(&mut self, until: Time) {
        self.busy += until.saturating_sub(self.free);
        self.free = self.free.max(until);
    }
}

/// A queue with a number of places, which customers leave in the order in which they came.
///
/// As with servers, a customer's way is known when it comes, so a place is a moment at which it
/// is free again.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// When each place is free; empty if their number has no limit.
    places: Box<[Time]>,
    /// The place that is free first, and taken next.
    next: usize,
}

impl Queue {
    /// Return an empty queue; 0 places are any number.
    pub fn new(places: u32) -> Self {
        Self {
            places: vec![0; places as usize].into(),
            next: 0,
        }
    }

    /// Return when there is room for one more.
    #[inline]
    pub fn has_room_at(&self) -> Time {
        self.places.get(self.next).copied().unwrap_or(0)
    }

    /// Take a place, and leave it at `end`.
    #[inline]
    pub fn take(&mut self, end: Time) {
        if let Some(place) = self.places.get_mut(self.next) {
            *place = end;
            self.next = (self.next + 1) % self.places.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, Server, picoseconds, seconds};
    use proptest::prelude::*;

    #[test]
    fn seconds_come_back() {
        assert_eq!(picoseconds(5.38e-6), 5_380_000);
        assert!((seconds(5_380_000) - 5.38e-6).abs() < 1e-18);
        assert_eq!(picoseconds(-1.0), 0);
    }

    #[test]
    fn a_queue_has_room_when_the_oldest_has_left() {
        let mut queue = Queue::new(2);
        queue.take(30);
        assert_eq!(queue.has_room_at(), 0);
        queue.take(40);
        assert_eq!(queue.has_room_at(), 30);
        queue.take(70);
        assert_eq!(queue.has_room_at(), 40);
        let mut any = Queue::new(0);
        any.take(30);
        assert_eq!(any.has_room_at(), 0);
    }

    #[test]
    fn a_blocked_server_works_until_its_customer_has_room() {
        let mut server = Server::default();
        assert_eq!(server.serve(0, 10), 10);
        server.block(25);
        assert_eq!(server.busy, 25);
        assert_eq!(server.serve(20, 10), 35);
        server.block(5);
        assert_eq!(server.serve(35, 1), 36);
    }

    proptest! {
        /// Lindley 1952: a customer waits as long as the one before, plus its service, minus the gap.
        #[test]
        fn waits_follow_lindleys_recursion(
            customers in prop::collection::vec((0_u64..100, 0_u64..100), 1..100)
        ) {
            let mut server = Server::default();
            let (mut now, mut wait, mut total) = (0, 0_u64, 0);
            let mut before = 0;
            for (gap, service) in customers {
                now += gap;
                wait = (wait + before).saturating_sub(gap);
                total += wait;
                before = service;
                prop_assert_eq!(server.serve(now, service), now + wait + service);
            }
            prop_assert_eq!(server.waited, total);
        }
    }
}
