//! Exact sums over the visits of one class to one station or pool.
//!
//! The sums of a station are the totals over its classes, so each visit is counted once.

use crate::simulation::kernel::places::jobs::age;
use crate::simulation::kernel::time::SimTime;

/// Sums of ticks in 96 bits, side by side so that a cell of the hot path is one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    low: [u64; 4],
    high: [u32; 4],
}

/// Which of the sums.
#[derive(Clone, Copy)]
enum Sum {
    /// When the jobs present entered.
    Entered,
    /// When the jobs in the line joined it.
    Since,
    /// Times in the line of the waits that are over.
    Wait,
    /// Response times of the visits that ended with the service.
    Response,
}

impl Sums {
    #[inline]
    fn add(&mut self, sum: Sum, ticks: u64) {
        let (low, carry) = self.low[sum as usize].overflowing_add(ticks);
        self.low[sum as usize] = low;
        self.high[sum as usize] += u32::from(carry);
    }

    #[inline]
    fn subtract(&mut self, sum: Sum, ticks: u64) {
        let (low, borrow) = self.low[sum as usize].overflowing_sub(ticks);
        self.low[sum as usize] = low;
        self.high[sum as usize] -= u32::from(borrow);
    }

    fn of(&self, sum: Sum) -> u128 {
        (u128::from(self.high[sum as usize]) << 64) | u128::from(self.low[sum as usize])
    }
}

/// Visits of one class to one station, in one cache line: all that a plain visit touches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Visits {
    arrival_count: u64,
    present: u32,
    waiting: u32,
    sums: Sums,
}

/// Rarer statistics of the visits of one class to one station.
#[derive(Clone, Copy, Debug)]
pub struct RarerVisits {
    abandon_count: u64,
    abandon_sum: u128,
    left_count: u64,
    left_sum: u128,
    /// Times (ticks) that jobs held a server after their service, or before it, being blocked.
    pub blocked_sum: u128,
}

/// Totals of visits at some moment; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitTotals {
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
    /// Visits given up in the line.
    pub left_count: u64,
    /// Times in the line of the waits that ended so.
    pub left_sum: u128,
    /// Times that jobs held a server after their service, or before it, being blocked.
    pub blocked_sum: u128,
    /// Jobs present.
    pub present: u32,
    /// Jobs in the line.
    pub waiting: u32,
    /// Total time so far of the jobs present.
    pub age: u128,
    /// Total wait so far of the jobs in the line.
    pub queue_age: u128,
}

impl Visits {
    /// A job enters at `now`.
    #[inline]
    pub fn enter(&mut self, now: SimTime) {
        self.arrival_count += 1;
        self.present += 1;
        self.sums.add(Sum::Entered, now.ticks());
    }

    /// A job joins the line at `now`.
    #[inline]
    pub fn queue(&mut self, now: SimTime) {
        self.waiting += 1;
        self.sums.add(Sum::Since, now.ticks());
    }

    /// A job leaves the line, in which it stood since `since`.
    #[inline]
    pub fn leave_queue(&mut self, now: SimTime, since: SimTime) {
        self.waiting -= 1;
        self.sums.subtract(Sum::Since, since.ticks());
        self.sums.add(Sum::Wait, now.since(since));
    }

    /// A job that entered at `entered` leaves, served.
    #[inline]
    pub fn complete(&mut self, now: SimTime, entered: SimTime) {
        self.sums.add(Sum::Response, now.since(entered));
        self.leave(entered);
    }

    /// A job that entered at `entered` leaves.
    #[inline]
    pub fn leave(&mut self, entered: SimTime) {
        self.present -= 1;
        self.sums.subtract(Sum::Entered, entered.ticks());
    }

    /// Return the totals at `now`, including the `rarer` ones.
    #[inline]
    pub fn totals_at(&self, rarer: &RarerVisits, now: SimTime) -> VisitTotals {
        VisitTotals {
            arrival_count: self.arrival_count,
            completion_count: self.arrival_count - rarer.abandon_count - u64::from(self.present),
            abandon_count: rarer.abandon_count,
            wait_sum: self.sums.of(Sum::Wait),
            response_sum: self.sums.of(Sum::Response),
            abandon_sum: rarer.abandon_sum,
            left_count: rarer.left_count,
            left_sum: rarer.left_sum,
            blocked_sum: rarer.blocked_sum,
            present: self.present,
            waiting: self.waiting,
            age: age(self.present, self.sums.of(Sum::Entered), now),
            queue_age: age(self.waiting, self.sums.of(Sum::Since), now),
        }
    }
}

impl RarerVisits {
    /// No rarer visits, as at most stations.
    pub const NONE: Self = Self {
        abandon_count: 0,
        abandon_sum: 0,
        left_count: 0,
        left_sum: 0,
        blocked_sum: 0,
    };

    /// A job that entered at `entered` leaves, not served to the end.
    pub fn abandon(&mut self, now: SimTime, entered: SimTime) {
        self.abandon_count += 1;
        self.abandon_sum += u128::from(now.since(entered));
    }

    /// A job that stood in the line since `since` leaves it, not served.
    pub fn leave_line(&mut self, now: SimTime, since: SimTime) {
        self.left_count += 1;
        self.left_sum += u128::from(now.since(since));
    }
}

impl VisitTotals {
    /// Return both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            arrival_count: self.arrival_count + other.arrival_count,
            completion_count: self.completion_count + other.completion_count,
            abandon_count: self.abandon_count + other.abandon_count,
            wait_sum: self.wait_sum + other.wait_sum,
            response_sum: self.response_sum + other.response_sum,
            abandon_sum: self.abandon_sum + other.abandon_sum,
            left_count: self.left_count + other.left_count,
            left_sum: self.left_sum + other.left_sum,
            blocked_sum: self.blocked_sum + other.blocked_sum,
            present: self.present + other.present,
            waiting: self.waiting + other.waiting,
            age: self.age + other.age,
            queue_age: self.queue_age + other.queue_age,
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
    /// The part of them that belongs to requests given up.
    pub left_sum: u128,
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

    /// A request leaves the line, in which it stood since `since`, not granted.
    pub fn give_up(&mut self, now: SimTime, since: SimTime) {
        self.leave_queue(now, since);
        self.abandon_count += 1;
        self.left_sum += u128::from(now.since(since));
    }

    /// Return the total wait so far of the requests in the line.
    pub const fn queue_age(&self, now: SimTime) -> u128 {
        age(self.waiting, self.since_sum, now)
    }

    /// Return both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            grant_count: self.grant_count + other.grant_count,
            abandon_count: self.abandon_count + other.abandon_count,
            wait_sum: self.wait_sum + other.wait_sum,
            left_sum: self.left_sum + other.left_sum,
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

impl Grid<Requests> {
    /// Return the sum over the classes of `pool`.
    pub fn total(&self, pool: usize) -> Requests {
        self.of(pool)
            .iter()
            .fold(Requests::default(), |sum, cell| sum.plus(cell))
    }
}
