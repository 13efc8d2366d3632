//! Exact sums over the visits of one class to one station or pool.
//!
//! The sums of a station are those of its classes added up, so each visit is counted once.

use super::jobs::age;
use super::time::SimTime;

/// Visits of one class to one station; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// Visits that began.
    pub arrival_count: u64,
    /// Visits that ended with the service.
    pub completion_count: u64,
    /// Visits given up before that.
    pub abandon_count: u64,
    /// Times in the line of the waits that are over.
    pub wait_sum: u128,
    /// Response times of the visits that ended with the service.
    pub response_sum: u128,
    /// Times in the station of the visits given up.
    pub abandon_sum: u128,
    /// Times that jobs held a server after their service, or before it, being blocked.
    pub blocked_sum: u128,
    /// Jobs present.
    pub present: u32,
    /// Jobs in the line.
    pub waiting: u32,
    entered_sum: u128,
    since_sum: u128,
}

impl Visits {
    /// A job enters at `now`.
    #[inline]
    pub fn enter(&mut self, now: SimTime) {
        self.arrival_count += 1;
        self.present += 1;
        self.entered_sum += u128::from(now.ticks());
    }

    /// A job joins the line at `now`.
    #[inline]
    pub fn queue(&mut self, now: SimTime) {
        self.waiting += 1;
        self.since_sum += u128::from(now.ticks());
    }

    /// A job leaves the line, in which it stood since `since`.
    #[inline]
    pub fn leave_queue(&mut self, now: SimTime, since: SimTime) {
        self.waiting -= 1;
        self.since_sum -= u128::from(since.ticks());
        self.wait_sum += u128::from(now.since(since));
    }

    /// A job that entered at `entered` leaves, served.
    #[inline]
    pub fn complete(&mut self, now: SimTime, entered: SimTime) {
        self.completion_count += 1;
        self.response_sum += u128::from(now.since(entered));
        self.leave(entered);
    }

    /// A job that entered at `entered` leaves, not served to the end.
    pub fn abandon(&mut self, now: SimTime, entered: SimTime) {
        self.abandon_count += 1;
        self.abandon_sum += u128::from(now.since(entered));
        self.leave(entered);
    }

    #[inline]
    fn leave(&mut self, entered: SimTime) {
        self.present -= 1;
        self.entered_sum -= u128::from(entered.ticks());
    }

    /// Return how long the jobs present have been here so far, all together.
    pub const fn age(&self, now: SimTime) -> u128 {
        age(self.present, self.entered_sum, now)
    }

    /// Return how long the jobs in the line have waited so far, all together.
    pub const fn queue_age(&self, now: SimTime) -> u128 {
        age(self.waiting, self.since_sum, now)
    }

    /// Return both together.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            arrival_count: self.arrival_count + other.arrival_count,
            completion_count: self.completion_count + other.completion_count,
            abandon_count: self.abandon_count + other.abandon_count,
            wait_sum: self.wait_sum + other.wait_sum,
            response_sum: self.response_sum + other.response_sum,
            abandon_sum: self.abandon_sum + other.abandon_sum,
            blocked_sum: self.blocked_sum + other.blocked_sum,
            present: self.present + other.present,
            waiting: self.waiting + other.waiting,
            entered_sum: self.entered_sum + other.entered_sum,
            since_sum: self.since_sum + other.since_sum,
        }
    }
}

/// Requests of one class to one pool; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests granted.
    pub grant_count: u64,
    /// Requests given up.
    pub abandon_count: u64,
    /// Waiting times of the requests that wait no longer.
    pub wait_sum: u128,
    /// Requests that wait.
    pub waiting: u32,
    since_sum: u128,
}

impl Requests {
    /// A request joins the line at `now`.
    #[inline]
    pub fn queue(&mut self, now: SimTime) {
        self.waiting += 1;
        self.since_sum += u128::from(now.ticks());
    }

    /// A request leaves the line, in which it stood since `since`.
    #[inline]
    pub fn leave_queue(&mut self, now: SimTime, since: SimTime) {
        self.waiting -= 1;
        self.since_sum -= u128::from(since.ticks());
        self.wait_sum += u128::from(now.since(since));
    }

    /// Return how long the requests in the line have waited so far, all together.
    pub const fn queue_age(&self, now: SimTime) -> u128 {
        age(self.waiting, self.since_sum, now)
    }

    /// Return both together.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            grant_count: self.grant_count + other.grant_count,
            abandon_count: self.abandon_count + other.abandon_count,
            wait_sum: self.wait_sum + other.wait_sum,
            waiting: self.waiting + other.waiting,
            since_sum: self.since_sum + other.since_sum,
        }
    }
}

/// One cell for each pair of a resource and a class.
#[derive(Clone, Debug)]
pub struct Grid<T> {
    cells: Vec<T>,
    class_count: usize,
}

impl<T: Clone + Default> Grid<T> {
    /// Return a grid of empty cells.
    pub fn new(resource_count: usize, class_count: usize) -> Self {
        Self {
            cells: vec![T::default(); resource_count * class_count],
            class_count,
        }
    }

    /// Return the cell of `resource` and `class`.
    #[inline]
    pub fn cell(&mut self, resource: u32, class: u32) -> &mut T {
        &mut self.cells[resource as usize * self.class_count + class as usize]
    }

    /// Return the cells of `resource`, one for each class.
    pub fn of(&self, resource: usize) -> &[T] {
        let first = resource * self.class_count;
        &self.cells[first..first + self.class_count]
    }

    /// Return all cells, those of the first resource first.
    pub fn cells(&self) -> &[T] {
        &self.cells
    }
}

impl Grid<Visits> {
    /// Return the sum over the classes of `station`.
    pub fn total(&self, station: usize) -> Visits {
        self.of(station)
            .iter()
            .fold(Visits::default(), |sum, cell| sum.plus(cell))
    }
}

impl Grid<Requests> {
    /// Return the sum over the classes of `pool`.
    pub fn total(&self, pool: usize) -> Requests {
        self.of(pool)
            .iter()
            .fold(Requests::default(), |sum, cell| sum.plus(cell))
    }
}
