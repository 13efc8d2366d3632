//! Simulated time: whole ticks since the start of a run.
//!
//! One tick is 1e-9 of the model's time unit, so a decimal such as 0.1 ms is exact, sums never
//! drift, and the order of two events is one integer comparison.
//!
//! Invariant: time never wraps; an addition that would overflow is reported to the caller. The last
//! tick stands for what lies beyond the clock, and no event happens there.

use serde::Deserialize;

/// Ticks in one unit of the model's time.
pub const TICKS_PER_UNIT: f64 = 1e9;

/// A duration (ticks) that is too long for the clock.
pub const BEYOND: u64 = SimTime::MAX.ticks();

/// Simulated time (ticks) since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of every run.
    pub const ZERO: Self = Self(0);
    /// Later than every time that can be represented: never, or beyond the clock.
    pub const MAX: Self = Self(u64::MAX);

    /// Return the time `ticks` after the start.
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Return the ticks since the start.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Return the time `ticks` later, or None if it cannot be represented.
    #[inline]
    pub const fn after(self, ticks: u64) -> Option<Self> {
        match self.0.checked_add(ticks) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Return the ticks that passed since `earlier`.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        debug_assert!(self.0 >= earlier.0, "simulated time went backwards");
        self.0.wrapping_sub(earlier.0)
    }
}

/// Unit of every duration that a model is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimeUnit {
    /// Picoseconds.
    #[serde(rename = "ps")]
    Picosecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanosecond,
    /// Microseconds.
    #[serde(rename = "us")]
    Microsecond,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millisecond,
    /// Seconds.
    #[serde(rename = "s")]
    Second,
    /// Minutes.
    #[serde(rename = "min")]
    Minute,
    /// Hours.
    #[serde(rename = "h")]
    Hour,
}

impl TimeUnit {
    /// Return the name used in models.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Picosecond => "ps",
            Self::Nanosecond => "ns",
            Self::Microsecond => "us",
            Self::Millisecond => "ms",
            Self::Second => "s",
            Self::Minute => "min",
            Self::Hour => "h",
        }
    }

    /// Return `ticks`, a count or a time integral, in seconds.
    ///
    /// Divides by a power of ten rather than multiplying by a rounded fraction, so that a time
    /// that is a short decimal prints as one.
    pub fn seconds(self, ticks: u128) -> f64 {
        let (factor, ticks_per_factor) = match self {
            Self::Picosecond => (1.0, 1e21),
            Self::Nanosecond => (1.0, 1e18),
            Self::Microsecond => (1.0, 1e15),
            Self::Millisecond => (1.0, 1e12),
            Self::Second => (1.0, 1e9),
            Self::Minute => (60.0, 1e9),
            Self::Hour => (3600.0, 1e9),
        };
        nearest(ticks) * factor / ticks_per_factor
    }

    /// Return `seconds` in time units.
    pub fn from_seconds(self, seconds: f64) -> f64 {
        match self {
            Self::Picosecond => seconds * 1e12,
            Self::Nanosecond => seconds * 1e9,
            Self::Microsecond => seconds * 1e6,
            Self::Millisecond => seconds * 1e3,
            Self::Second => seconds,
            Self::Minute => seconds / 60.0,
            Self::Hour => seconds / 3600.0,
        }
    }
}

/// Return `value` as a float; most values fit in 64 bits, which convert in a fraction of the time.
#[inline]
pub fn nearest(value: u128) -> f64 {
    u64::try_from(value).map_or_else(|_| nearest_of_large(value), |small| small as f64)
}

/// A function of its own: otherwise the compiler converts small values in the same, slow way.
#[cold]
#[inline(never)]
fn nearest_of_large(value: u128) -> f64 {
    value as f64
}

/// Return `ticks` as whole ticks, rounded half up; a value beyond the range gives [`BEYOND`].
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates at `BEYOND`, which is reported when it is added, or reached"
)]
pub fn whole_ticks(ticks: f64) -> u64 {
    let rounded = ticks + 0.5;
    // Half the range converts in a third of the instructions.
    if rounded < i64::MAX as f64 {
        return (rounded as i64).max(0) as u64;
    }
    rounded as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_the_unit_are_exact() {
        assert_eq!(whole_ticks(0.1 * TICKS_PER_UNIT), 100_000_000);
        assert_eq!(
            TimeUnit::Millisecond.seconds(100_000_000).to_bits(),
            0.0001_f64.to_bits()
        );
        assert_eq!(
            TimeUnit::Hour.seconds(1_000_000_000).to_bits(),
            3600.0_f64.to_bits()
        );
    }

    #[test]
    fn an_addition_beyond_the_range_is_reported() {
        assert_eq!(SimTime::MAX.after(1), None);
        assert_eq!(SimTime::ZERO.after(whole_ticks(1e300)), Some(SimTime::MAX));
    }
}
