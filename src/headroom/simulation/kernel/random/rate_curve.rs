//! A Poisson process whose rate changes at given times, once or periodically.
//!
//! The method is exact: the n-th arrival is where the integral of the rate reaches the n-th arrival
//! of a Poisson process of rate 1, and the integral of a piecewise constant rate is inverted piece
//! by piece. It uses one exponential per arrival, so common random numbers stay in step when a rate
//! changes. No candidate is rejected, no matter how uneven the rates are, whereas thinning needs a
//! random number of random numbers, more of them the further the rate is below its peak.
//!
//! Invariant: the position is a whole number of ticks and a fraction below 1, so a run of any
//! length loses no precision.
//!
//! Source: Cinlar (1975), *Introduction to Stochastic Processes*, section 4.7 (inversion; thinning
//! is from Lewis & Shedler 1979).

use crate::simulation::kernel::time::{BEYOND, whole_ticks};

/// The rate as compiled.
#[derive(Clone, Debug)]
pub struct RateCurve {
    /// Pieces in order; the first starts at 0.
    pieces: Box<[Piece]>,
    /// Ticks of a period and the arrivals expected in it, if the curve repeats.
    period: Option<(u64, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The end of the piece, in ticks from the start of the period; the last may have no end.
    end: Option<u64>,
    /// Arrivals per tick.
    rate: f64,
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Start of the period (ticks).
    base: u64,
    /// Whole ticks since then, and the rest.
    whole: u64,
    part: f64,
    piece: usize,
}

impl RateCurve {
    /// Compile pieces that start at `times` and have `rates`, in units of `scale` ticks.
    ///
    /// # Errors
    ///
    /// Fails, with the reason, if the curve never brings an arrival.
    pub fn new(
        times: &[f64],
        rates: &[f64],
        period: Option<f64>,
        scale: f64,
    ) -> Result<Self, String> {
        check(times, rates)?;
        let starts: Vec<u64> = times.iter().map(|time| whole_ticks(time * scale)).collect();
        let period = period.map(|period| whole_ticks(period * scale));
        let ends: Vec<Option<u64>> = starts[1..]
            .iter()
            .copied()
            .map(Some)
            .chain([period])
            .collect();
        let is_rising = |(start, end): (&u64, &Option<u64>)| end.is_none_or(|end| end > *start);
        if !starts.iter().zip(&ends).all(is_rising) {
            return Err("the times do not rise by a tick or more up to the period".to_owned());
        }
        let pieces = ends.into_iter().zip(rates).map(|(end, rate)| Piece {
            end,
            rate: rate / scale,
        });
        let pieces: Box<[Piece]> = pieces.collect();
        let period = period.map(|period| (period, expected(&pieces)));
        Ok(Self { pieces, period })
    }

    /// Move `at` on until `mass` arrivals were expected; return the time (ticks), [`BEYOND`] if it
    /// cannot be represented, or None if so many never come.
    pub fn advance(&self, at: &mut Position, mass: f64) -> Option<u64> {
        let mut mass = mass;
        loop {
            let piece = self.pieces[at.piece];
            let room = piece.end.map_or(f64::INFINITY, |end| {
                piece.rate * ((end - at.whole) as f64 - at.part)
            });
            // A piece without arrivals has no room, even if it has no end.
            if piece.rate > 0.0 && mass <= room {
                let ticks = at.part + mass / piece.rate;
                return Some(at.step(ticks).unwrap_or(BEYOND));
            }
            mass -= room.min(mass);
            at.whole = piece.end?;
            at.part = 0.0;
            at.piece += 1;
            if at.piece == self.pieces.len() {
                let Some(rest) = self.next_period(at, mass) else {
                    return self.period.map(|_| BEYOND);
                };
                mass = rest;
            }
        }
    }

    /// Go to the start of the next period in which `mass` is exhausted; return the remainder.
    fn next_period(&self, at: &mut Position, mass: f64) -> Option<f64> {
        let (period, expected) = self.period?;
        let skipped = libm::floor(mass / expected);
        let ticks = period.checked_mul(whole_ticks(skipped).checked_add(1)?)?;
        *at = Position {
            base: at.base.checked_add(ticks)?,
            ..Position::default()
        };
        Some((mass - skipped * expected).max(0.0))
    }
}

impl Position {
    /// Go to `ticks` after the whole tick; return the time from the start, rounded.
    fn step(&mut self, ticks: f64) -> Option<u64> {
        let whole = libm::floor(ticks);
        if whole >= 18_446_744_073_709_551_616.0 {
            return None;
        }
        self.whole = self.whole.checked_add(whole_ticks(whole))?;
        self.part = ticks - whole;
        let rounded = u64::from(self.part >= 0.5);
        self.base.checked_add(self.whole)?.checked_add(rounded)
    }
}

/// Arrivals expected in a period.
fn expected(pieces: &[Piece]) -> f64 {
    let mut start = 0;
    let mut sum = 0.0;
    for piece in pieces {
        let end = piece.end.unwrap_or(start);
        sum += piece.rate * (end - start) as f64;
        start = end;
    }
    sum
}

fn check(times: &[f64], rates: &[f64]) -> Result<(), String> {
    let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
    if times.is_empty() || times.len() != rates.len() {
        return Err("there are not as many rates as times".to_owned());
    }
    if !times.iter().chain(rates).all(is_number) {
        return Err("a time or a rate is negative or not a number".to_owned());
    }
    if times[0] > 0.0 {
        return Err("the first time is not 0".to_owned());
    }
    if rates.iter().all(|&rate| rate <= 0.0) {
        return Err("all rates are 0, so nothing ever arrives".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Oracle: a mass of 1 a step through rates 2, 0 and 0.5 by hand, with a period of 10.
    #[test]
    fn steps_of_one_arrival_fall_where_the_integral_says() {
        let curve = RateCurve::new(&[0.0, 1.0, 4.0], &[2.0, 0.0, 0.5], Some(10.0), 1000.0)
            .expect("a curve");
        let mut at = Position::default();
        let times: Vec<u64> = (0..10)
            .map(|_| curve.advance(&mut at, 1.0).expect("an arrival"))
            .collect();
        let by_hand = [
            500, 1000, 6000, 8000, 10_000, 10_500, 11_000, 16_000, 18_000, 20_000,
        ];
        assert_eq!(times, by_hand);
    }

    #[test]
    fn after_the_last_rate_above_zero_nothing_arrives() {
        let curve = RateCurve::new(&[0.0, 2.0], &[1.0, 0.0], None, 1000.0).expect("a curve");
        let mut at = Position::default();
        assert_eq!(curve.advance(&mut at, 1.5), Some(1500));
        assert_eq!(curve.advance(&mut at, 1.5), None);
    }

    #[test]
    fn many_periods_without_an_arrival_are_passed_at_once() {
        let rate = libm::exp2(-30.0);
        let curve = RateCurve::new(&[0.0, 1.0], &[0.0, rate], Some(2.0), 1024.0).expect("a curve");
        let mut at = Position::default();
        let time = curve.advance(&mut at, 1.0 + rate / 2.0);
        assert_eq!(time, Some((1 << 30) * 2048 + 1536));
        assert_eq!(
            curve.advance(&mut at, 1e300),
            Some(BEYOND),
            "no such time can be told"
        );
    }

    #[test]
    fn curves_that_bring_nothing_or_go_back_are_refused() {
        let refuse = |times: &[f64], rates: &[f64], period: Option<f64>, reason: &str| {
            let error = RateCurve::new(times, rates, period, 1000.0).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        };
        refuse(&[], &[], None, "as many rates as times");
        refuse(&[0.0, 1.0], &[1.0], None, "as many rates as times");
        refuse(&[0.0], &[f64::NAN], None, "not a number");
        refuse(&[1.0], &[1.0], None, "first time is not 0");
        refuse(&[0.0], &[0.0], None, "nothing ever arrives");
        refuse(&[0.0, 2.0, 1.0], &[1.0, 1.0, 1.0], None, "do not rise");
        refuse(&[0.0, 2.0], &[1.0, 1.0], Some(1.5), "do not rise");
    }

    proptest! {
        /// The order and the mass are kept: n steps of mass m lead where one of n m leads.
        #[test]
        fn many_steps_lead_where_one_long_step_leads(
            rates in prop::collection::vec(0.0..5.0_f64, 1..6),
            steps in 1..50_u32,
            mass in 0.001..20.0_f64,
            is_periodic: bool,
        ) {
            prop_assume!(rates.iter().sum::<f64>() > 0.1 && *rates.last().unwrap_or(&0.0) > 0.01);
            let times: Vec<f64> = (0..rates.len()).map(|index| index as f64 * 1.5).collect();
            let period = is_periodic.then_some(rates.len() as f64 * 1.5);
            let curve = RateCurve::new(&times, &rates, period, 1e6).expect("a curve");
            let (mut many, mut once) = (Position::default(), Position::default());
            let mut last = 0;
            for _ in 0..steps {
                let time = curve.advance(&mut many, mass).expect("an arrival");
                prop_assert!(time >= last);
                last = time;
            }
            let time = curve.advance(&mut once, mass * f64::from(steps)).expect("an arrival");
            prop_assert!(time.abs_diff(last) <= 2, "{} against {}", time, last);
        }
    }
}
