//! The special functions needed for inversion, in portable arithmetic.
//!
//! Invariant: only the four operations, the square root and the `libm` crate take part, so a value
//! has the same bits on every machine.
//!
//! Sources: Wichura (1988), *Algorithm AS 241: the percentage points of the normal distribution*
//! (relative error about 1e-16); Di Donato & Morris (1986), *Computation of the incomplete gamma
//! function ratios and their inverse* (series below the mean, continued fraction above it, Newton
//! steps); Press et al. (2007), *Numerical Recipes*, section 6.2.1 (where the steps start).

/// Return the standard normal quantile of the lower tail `lower`, where `upper` is 1 - `lower`.
///
/// Both tails are given, so that neither loses its last bits.
pub fn normal_quantile(lower: f64, upper: f64) -> f64 {
    let centred = if lower < upper {
        lower - 0.5
    } else {
        0.5 - upper
    };
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * ratio(r, &CENTRE);
    }
    let r = (-libm::log(lower.min(upper))).sqrt();
    let size = if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE)
    } else {
        ratio(r - 5.0, &TAIL)
    };
    if centred < 0.0 { -size } else { size }
}

/// Numerator and denominator of a rational approximation, constant term first.
type Rational = [[f64; 8]; 2];

fn ratio(r: f64, rational: &Rational) -> f64 {
    let [over, under] = rational.map(|terms| terms.iter().rev().fold(0.0, |sum, t| sum * r + t));
    over / under
}

const CENTRE: Rational = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_545e3,
    ],
];
const MIDDLE: Rational = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const TAIL: Rational = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// Return the probability that a standard normal value is above `x`.
pub fn normal_upper(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Return the lower and the upper tail of the gamma distribution with `shape` and scale 1 at `x`.
pub fn gamma_tails(shape: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    let log_front = shape * libm::log(x) - x - libm::lgamma(shape);
    if x < shape + 1.0 {
        let lower = (libm::exp(log_front) * gamma_series(shape, x)).min(1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = (libm::exp(log_front) * gamma_fraction(shape, x)).min(1.0);
        (1.0 - upper, upper)
    }
}

/// The power series of the lower tail; converges for every `x`, quickly below the mean.
fn gamma_series(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut above) = (1.0 / shape, 1.0 / shape, shape);
    while term > sum * f64::EPSILON / 4.0 {
        above += 1.0;
        term *= x / above;
        sum += term;
    }
    sum
}

/// The continued fraction of the upper tail by the method of Lentz, for `x` above the mean.
fn gamma_fraction(shape: f64, x: f64) -> f64 {
    let mut base = x + 1.0 - shape;
    let mut over = 1e300;
    let mut under = 1.0 / base;
    let mut fraction = under;
    for index in 1..=LONGEST_FRACTION {
        let index = f64::from(index);
        let part = -index * (index - shape);
        base += 2.0;
        under = 1.0 / away_from_zero(part * under + base);
        over = away_from_zero(base + part / over);
        let step = over * under;
        fraction *= step;
        if (step - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

/// Terms of a continued fraction after which its value no longer moves, for shapes up to 1e8.
const LONGEST_FRACTION: u32 = 100_000;

fn away_from_zero(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

/// Return the quantile of the gamma distribution with `shape` and scale 1.
///
/// Newton's method with Halley's correction, kept inside a bracket that each step narrows.
pub fn gamma_quantile(shape: f64, lower: f64, upper: f64) -> f64 {
    let (mut left, mut right) = (0.0, f64::INFINITY);
    let mut x = gamma_start(shape, lower, upper);
    for _ in 0..MOST_STEPS {
        let (below, above) = gamma_tails(shape, x);
        let error = if lower < upper {
            below - lower
        } else {
            upper - above
        };
        if error > 0.0 {
            right = x;
        } else {
            left = x;
        }
        let log_density = (shape - 1.0) * libm::log(x) - x - libm::lgamma(shape);
        let newton = error / libm::exp(log_density);
        let bend = (shape - 1.0) / x - 1.0;
        let step = newton / (1.0 - (0.5 * newton * bend).clamp(-1.0, 0.5));
        if step.abs() <= LAST_STEP * x {
            return x - step;
        }
        x = inside(x - step, left, right);
    }
    x
}

/// Steps shrink with the third power, so the one after such a step would be lost in rounding.
const LAST_STEP: f64 = 1e-7;
/// Steps after which a bracket of 64-bit numbers is closed, even by halving alone.
const MOST_STEPS: u32 = 200;

/// Return `x` if it is between the bounds, else a point that is.
fn inside(x: f64, left: f64, right: f64) -> f64 {
    if x > left && x < right {
        return x;
    }
    if right.is_infinite() {
        return 2.0 * left + 1.0;
    }
    if left == 0.0 {
        return right / 16.0;
    }
    f64::midpoint(left, right)
}

/// A first guess: Wilson & Hilferty's cube; below a shape of 1, and far below the mean, the power
/// law that rules near zero, and the exponential tail where it ends.
fn gamma_start(shape: f64, lower: f64, upper: f64) -> f64 {
    let guess = if shape < 1.0 {
        let bend = 1.0 - shape * (0.253 + 0.12 * shape);
        if lower < bend {
            libm::pow(lower / bend, 1.0 / shape)
        } else {
            1.0 - libm::log(upper / (1.0 - bend))
        }
    } else {
        let part = 1.0 / (9.0 * shape);
        let cube = 1.0 - part + normal_quantile(lower, upper) * part.sqrt();
        if cube < 0.2 {
            libm::exp((libm::log(lower) + libm::lgamma(shape + 1.0)) / shape)
        } else {
            shape * cube * cube * cube
        }
    };
    guess.clamp(f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Oracle: published percentage points (x such that the upper tail is the given one).
    #[test]
    fn the_normal_quantile_agrees_with_published_points() {
        for (upper, x) in [
            (0.5, 0.0),
            (0.025, 1.959_963_984_540_054),
            (0.005, 2.575_829_303_548_901),
            (1e-9, 5.997_807_015_007_687),
            (1e-15, 7.941_345_326_170_998),
        ] {
            assert!((normal_quantile(1.0 - upper, upper) - x).abs() < 1e-14 * x.max(1.0));
            assert!((normal_quantile(upper, 1.0 - upper) + x).abs() < 1e-14 * x.max(1.0));
        }
    }

    /// Oracle: chi-square points (shape = degrees / 2, x = point / 2) and the exponential.
    #[test]
    fn the_gamma_quantile_agrees_with_published_points() {
        for (degrees, upper, point) in [
            (1.0, 0.05, 3.841_458_820_694_124),
            (10.0, 0.05, 18.307_038_053_275_147),
            (100.0, 0.01, 135.806_723_171_026_76),
            (2.0, 1e-12, 55.262_042_231_857_1),
        ] {
            let x = gamma_quantile(degrees / 2.0, 1.0 - upper, upper);
            assert!((2.0 * x / point - 1.0).abs() < 1e-11, "{degrees}: {x}");
        }
    }

    proptest! {
        #[test]
        fn the_normal_tail_inverts_its_quantile(x in -8.0..8.0_f64) {
            let (lower, upper) = (normal_upper(-x), normal_upper(x));
            prop_assert!((normal_quantile(lower, upper) - x).abs() < 1e-12 * x.abs().max(1.0));
        }

        #[test]
        fn the_gamma_tails_invert_their_quantile(
            log_shape in -3.0..9.0_f64,
            log_tail in -30.0..-0.7_f64,
            is_lower: bool,
        ) {
            let (shape, tail) = (libm::exp(log_shape), libm::exp(log_tail));
            let (lower, upper) = if is_lower { (tail, 1.0 - tail) } else { (1.0 - tail, tail) };
            let x = gamma_quantile(shape, lower, upper);
            // Below the smallest number there is nothing to invert.
            prop_assume!(x > 1e-290);
            let (below, above) = gamma_tails(shape, x);
            let ratio = if is_lower { below / lower } else { above / upper };
            prop_assert!((ratio - 1.0).abs() < 1e-8, "shape {} x {} ratio {}", shape, x, ratio);
        }
    }
}
