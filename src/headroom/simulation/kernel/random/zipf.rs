//! Zipf's law on 1 to n: value k with a probability proportional to k^-s, for any s above 0.
//!
//! It is exact for every n in constant memory: only the first few terms are tabulated.
//!
//! Sources: Hoermann & Derflinger (1996), *Rejection-inversion to generate variates from monotone
//! discrete distributions* (drawing; about 1.1 uniforms a variate at most); Euler-Maclaurin
//! summation for the tails that inversion needs.

use rand::RngExt;

use crate::simulation::kernel::random::stream::Stream;

/// Zipf's law, prepared for drawing by rejection-inversion.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    sure: f64,
}

impl Zipf {
    /// Prepare the law on 1 to `count` with `exponent` > 0; `count` is a whole number.
    pub fn new(count: f64, exponent: f64) -> Self {
        let mut zipf = Self {
            count,
            exponent,
            integral_first: 0.0,
            integral_last: 0.0,
            sure: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(count + 0.5);
        zipf.sure = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Draw a value in [1, count].
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        loop {
            let share: f64 = stream.random();
            let area = self.integral_last + share * (self.integral_first - self.integral_last);
            let x = self.integral_inverse(area);
            let value = libm::floor(x + 0.5).clamp(1.0, self.count);
            // Nearly always the first test decides, without a power.
            if value - x <= self.sure || area >= self.integral(value + 0.5) - self.weight(value) {
                return value;
            }
        }
    }

    /// Unnormalised probability of `x`.
    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Integral of the weight from 1 to `x`, also at an exponent of 1 and next to it.
    fn integral(&self, x: f64) -> f64 {
        let log_x = libm::log(x);
        over_argument(libm::expm1, (1.0 - self.exponent) * log_x) * log_x
    }

    fn integral_inverse(&self, area: f64) -> f64 {
        // Rounding may lead a little past the pole.
        let argument = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(over_argument(libm::log1p, argument) * area)
    }
}

/// Return `function(x)` / x, its series next to zero; for expm1 and log1p.
fn over_argument(function: fn(f64) -> f64, x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { function(x) / x }
}

/// Values whose weights are added one by one; Euler-Maclaurin takes over beyond.
const SUMMED: u32 = 32;

/// Zipf's law, prepared for inversion.
#[derive(Clone, Debug)]
pub struct ZipfQuantile {
    count: f64,
    exponent: f64,
    /// Weight above k, for k = 0 to `SUMMED` or the end.
    tails: Box<[f64]>,
}

impl ZipfQuantile {
    /// Prepare the law on 1 to `count` with `exponent` > 0; `count` is a whole number.
    pub fn new(count: f64, exponent: f64) -> Self {
        let mut law = Self {
            count,
            exponent,
            tails: Box::default(),
        };
        let summed = count.min(f64::from(SUMMED));
        let mut tail = law.far_tail(summed);
        let mut tails = vec![tail];
        let mut value = summed;
        while value >= 1.0 {
            tail += libm::pow(value, -exponent);
            tails.push(tail);
            value -= 1.0;
        }
        tails.reverse();
        law.tails = tails.into_boxed_slice();
        law
    }

    /// Return the smallest value that leaves at most the share `upper` above it.
    pub fn at(&self, upper: f64) -> f64 {
        let target = upper * self.tails[0];
        let near = self.tails.partition_point(|&tail| tail > target);
        if near < self.tails.len() {
            return (near as f64).max(1.0);
        }
        let mut value = self.guess(target);
        while value > f64::from(SUMMED) + 1.0 && self.far_tail(value - 1.0) <= target {
            value -= 1.0;
        }
        while value < self.count && self.far_tail(value) > target {
            value += 1.0;
        }
        value
    }

    /// The point from which the integral to count + 1/2 is `target`, rounded.
    fn guess(&self, target: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let end = self.count + 0.5;
        let relative = target * libm::pow(end, -power);
        let log_ratio = if power == 0.0 {
            -relative
        } else {
            libm::log1p(-power * relative) / power
        };
        libm::floor(end * libm::exp(log_ratio) + 0.5).clamp(f64::from(SUMMED) + 1.0, self.count)
    }

    /// Sum of the weights of k + 1 to the end by Euler-Maclaurin, for k from `SUMMED` on.
    fn far_tail(&self, k: f64) -> f64 {
        if k >= self.count {
            return 0.0;
        }
        let (s, first, last) = (self.exponent, libm::pow(k, -self.exponent), self.count);
        let log_ratio = libm::log(last / k);
        let integral = first * k * over_argument(libm::expm1, (1.0 - s) * log_ratio) * log_ratio;
        let end = libm::pow(last, -s);
        // Odd derivatives of x^-s, one after the other.
        let slope = |weight: f64, x: f64| -s * weight / x;
        let third = |weight: f64, x: f64| slope(weight, x) * (s + 1.0) * (s + 2.0) / (x * x);
        let fifth = |weight: f64, x: f64| third(weight, x) * (s + 3.0) * (s + 4.0) / (x * x);
        integral + (end - first) / 2.0 + (slope(end, last) - slope(first, k)) / 12.0
            - (third(end, last) - third(first, k)) / 720.0
            + (fifth(end, last) - fifth(first, k)) / 30_240.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simulation::kernel::random::stream;

    fn shares(count: u32, exponent: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=count)
            .map(|k| libm::pow(f64::from(k), -exponent))
            .collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    /// Oracle: a chi-square test of 100 000 draws on 1 to 20 (19 degrees; 43.82 is the 99.9%
    /// point), also at and next to an exponent of 1.
    #[test]
    fn draws_fall_on_the_values_as_often_as_the_law_says() {
        for (key, exponent) in [0.01, 0.5, 0.999_999, 1.0, 1.2, 3.0]
            .into_iter()
            .enumerate()
        {
            let zipf = Zipf::new(20.0, exponent);
            let mut stream = stream::open(5, key as u64);
            let mut counts = [0.0_f64; 20];
            for _ in 0..100_000 {
                let value = zipf.draw(&mut stream);
                assert!(libm::floor(value).to_bits() == value.to_bits());
                let place = (1..=20).position(|k| (f64::from(k) - value).abs() < 0.5);
                counts[place.expect("a value from 1 to 20")] += 1.0;
            }
            let expected = shares(20, exponent);
            let distance: f64 = counts
                .iter()
                .zip(&expected)
                .map(|(count, share)| (count - 1e5 * share).powi(2) / (1e5 * share))
                .sum();
            assert!(distance < 43.82, "exponent {exponent}: {distance}");
        }
    }

    proptest! {
        /// Oracle: the sum of all weights, one by one.
        #[test]
        fn inversion_finds_the_value_that_summing_finds(
            count in 1..5000_u32,
            exponent in 0.01..4.0_f64,
            upper in 0.0001..0.9999_f64,
        ) {
            let value = ZipfQuantile::new(f64::from(count), exponent).at(upper);
            let mut above: f64 = shares(count, exponent).iter().sum();
            let mut summed = 0.0;
            for share in shares(count, exponent) {
                above -= share;
                summed += 1.0;
                // The sums of the oracle are good to about 1e-12 only.
                prop_assume!((above - upper).abs() > 1e-11);
                if above < upper {
                    break;
                }
            }
            prop_assert!((value - summed).abs() < 0.5, "{} against {}", value, summed);
        }

        #[test]
        fn both_ways_stay_inside_at_any_size(
            log_count in 0.0..50.0_f64,
            exponent in 0.001..12.0_f64,
            upper in 1e-15..1.0_f64,
        ) {
            let count = libm::floor(libm::exp2(log_count));
            let inverted = ZipfQuantile::new(count, exponent).at(upper);
            prop_assert!(inverted >= 1.0 && inverted <= count);
            let drawn = Zipf::new(count, exponent).draw(&mut stream::open(1, 2));
            prop_assert!(drawn >= 1.0 && drawn <= count);
        }
    }
}
