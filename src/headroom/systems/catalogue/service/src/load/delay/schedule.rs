//! When a connection opens, and when bytes arrive, on a line with a delay.

use std::time::Duration;

use tokio::time::Instant;

/// The moments of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    began: Instant,
    one_way: Duration,
}

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Schedule {
    /// Return the schedule of a connection that the client began to open at `began`.
    pub const fn new(began: Instant, one_way: Duration) -> Self {
        Self { began, one_way }
    }

    /// Return when the server learns that the connection is open: after the client's request, the
    /// server's consent and the client's confirmation.
    pub fn server_opens(&self) -> Instant {
        self.began + 3 * self.one_way
    }

    /// Return when the client learns that the connection is open.
    fn client_opens(&self) -> Instant {
        self.began + 2 * self.one_way
    }

    /// Return when bytes arrive that were sent at `sent`.
    pub fn arrival(&self, direction: Direction, sent: Instant) -> Instant {
        let sent = match direction {
            Direction::Up => sent.max(self.client_opens()),
            Direction::Down => sent,
        };
        sent + self.one_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_opening_takes_three_ways_and_early_bytes_come_with_it() {
        let (began, way) = (Instant::now(), Duration::from_millis(150));
        let schedule = Schedule::new(began, way);
        assert_eq!(schedule.server_opens(), began + 3 * way);
        let at = |direction, ways: u32| schedule.arrival(direction, began + ways * way);
        assert_eq!(at(Direction::Up, 0), began + 3 * way);
        assert_eq!(at(Direction::Up, 5), began + 6 * way);
        assert_eq!(at(Direction::Down, 3), began + 4 * way);
    }
}
