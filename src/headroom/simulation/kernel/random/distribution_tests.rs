//! Draws follow their distribution, in both sampling methods.

use proptest::prelude::*;

use super::*;
use crate::simulation::kernel::random::special::gamma_tails;
use crate::simulation::kernel::random::stream;

fn law(json: &str) -> Distribution {
    serde_json::from_str(json).expect("a distribution")
}

fn draws(law: &Distribution, sampling: Sampling, seed: u64, count: usize) -> Vec<f64> {
    let mut sampler = law.compile_as(1e9, sampling).expect("a sampler");
    let mut stream = stream::open(seed, 7);
    let draw = |_| sampler.draw(&mut stream) as f64 / 1e9;
    (0..count).map(draw).collect()
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean).powi(2));
    (mean, square.sum::<f64>() / count)
}

/// Law, mean and variance, worked out by hand.
const MOMENTS: [(&str, f64, f64); 21] = [
    (r#"{"kind":"constant","value":2.5}"#, 2.5, 0.0),
    (r#"{"kind":"uniform","low":1,"high":3}"#, 2.0, 1.0 / 3.0),
    (r#"{"kind":"exponential","mean":5}"#, 5.0, 25.0),
    (r#"{"kind":"erlang","mean":6,"stages":3}"#, 6.0, 12.0),
    (r#"{"kind":"gamma","mean":5,"c2":0.4}"#, 5.0, 10.0),
    (r#"{"kind":"gamma","mean":5,"c2":3}"#, 5.0, 75.0),
    (r#"{"kind":"hyperexponential","mean":5,"c2":4}"#, 5.0, 100.0),
    (r#"{"kind":"lognormal","mean":5,"c2":0.5}"#, 5.0, 12.5),
    (r#"{"kind":"weibull","scale":3,"shape":1}"#, 3.0, 9.0),
    (r#"{"kind":"pareto","low":1,"shape":6}"#, 1.2, 0.06),
    (r#"{"kind":"normal","mean":9,"deviation":1}"#, 9.0, 1.0),
    (
        r#"{"kind":"triangular","low":0,"mode":3,"high":6}"#,
        3.0,
        1.5,
    ),
    (r#"{"kind":"empirical","values":[5,1,3]}"#, 3.0, 8.0 / 3.0),
    (
        r#"{"kind":"discrete","values":[1,5],"weights":[3,1]}"#,
        2.0,
        3.0,
    ),
    (r#"{"kind":"geometric","mean":4,"low":1}"#, 4.0, 12.0),
    (
        r#"{"kind":"zipf","count":3,"exponent":1}"#,
        18.0 / 11.0,
        72.0 / 121.0,
    ),
    // 0 or 1, or-ed with 0 or 1.
    (
        r#"{"kind":"nurand","a":1,"low":0,"high":1,"c":0}"#,
        0.75,
        0.1875,
    ),
    (
        r#"{"kind":"coxian","means":[1,4],"onward":[0.5]}"#,
        3.0,
        13.0,
    ),
    (
        r#"{"kind":"sum","laws":[{"kind":"constant","value":1},{"kind":"exponential","mean":2}]}"#,
        3.0,
        4.0,
    ),
    (
        r#"{"kind":"mixture","weights":[3,1],"laws":[
            {"kind":"constant","value":1},{"kind":"erlang","mean":5,"stages":1}]}"#,
        2.0,
        9.25,
    ),
    (
        r#"{"kind":"scaled","factor":2,"law":{"kind":"exponential","mean":2}}"#,
        4.0,
        16.0,
    ),
];

/// Oracle: the mean to 5 standard errors, the variance to 6% (the heaviest tail moves by 1%).
#[test]
fn the_moments_of_the_draws_are_those_of_the_law() {
    for (json, mean, variance) in MOMENTS {
        for sampling in [Sampling::Fast, Sampling::Inversion, Sampling::Antithetic] {
            let values = draws(&law(json), sampling, 3, 200_000);
            let (seen_mean, seen_variance) = moments(&values);
            let error = (variance / 200_000.0_f64).sqrt();
            assert!(
                (seen_mean - mean).abs() <= 5.0 * error,
                "{json} {sampling:?}: {seen_mean}"
            );
            let bound = 0.06 * variance;
            assert!(
                (seen_variance - variance).abs() <= bound,
                "{json}: {seen_variance}"
            );
        }
    }
}

/// A law and its distribution function.
type Known = (&'static str, fn(f64) -> f64);

fn known_laws() -> Vec<Known> {
    vec![
        (r#"{"kind":"uniform","low":1,"high":3}"#, |x| {
            (x - 1.0) / 2.0
        }),
        (r#"{"kind":"exponential","mean":5}"#, |x| {
            1.0 - libm::exp(-x / 5.0)
        }),
        (r#"{"kind":"erlang","mean":6,"stages":3}"#, |x| {
            gamma_tails(3.0, x / 2.0).0
        }),
        (r#"{"kind":"gamma","mean":5,"c2":4}"#, |x| {
            gamma_tails(0.25, x / 20.0).0
        }),
        (r#"{"kind":"hyperexponential","mean":1,"c2":3}"#, |x| {
            let p = f64::midpoint(1.0, 0.5_f64.sqrt());
            let tail = |p: f64| p * libm::exp(-x * 2.0 * p);
            1.0 - tail(p) - tail(1.0 - p)
        }),
        (r#"{"kind":"lognormal","mean":1,"c2":1}"#, |x| {
            let variance = libm::log(2.0);
            1.0 - normal_upper((libm::log(x) + variance / 2.0) / variance.sqrt())
        }),
        (r#"{"kind":"weibull","scale":2,"shape":0.7}"#, |x| {
            1.0 - libm::exp(-libm::pow(x / 2.0, 0.7))
        }),
        (r#"{"kind":"pareto","low":2,"shape":1.5}"#, |x| {
            1.0 - libm::pow(x / 2.0, -1.5)
        }),
        (
            r#"{"kind":"bounded_pareto","low":1,"high":10,"shape":1}"#,
            |x| (1.0 - 1.0 / x) / 0.9,
        ),
        (r#"{"kind":"normal","mean":1,"deviation":1}"#, |x| {
            1.0 - normal_upper(x - 1.0) / normal_upper(-1.0)
        }),
        (r#"{"kind":"triangular","low":0,"mode":1,"high":4}"#, |x| {
            if x < 1.0 {
                x * x / 4.0
            } else {
                1.0 - (4.0 - x) * (4.0 - x) / 12.0
            }
        }),
        (r#"{"kind":"coxian","means":[1,2],"onward":[1]}"#, |x| {
            1.0 - 2.0 * libm::exp(-x / 2.0) + libm::exp(-x)
        }),
    ]
}

/// Oracle: Kolmogorov-Smirnov against the distribution function; 1.95 is the point of 0.1%.
#[test]
fn the_draws_follow_the_distribution_function() {
    for (json, function) in known_laws() {
        for sampling in [Sampling::Fast, Sampling::Inversion, Sampling::Antithetic] {
            let mut values = draws(&law(json), sampling, 11, 40_000);
            values.sort_by(f64::total_cmp);
            let count = values.len() as f64;
            let distance = values.iter().enumerate().map(|(index, &value)| {
                let share = function(value);
                let (below, above) = (index as f64 / count, (index as f64 + 1.0) / count);
                (share - below).abs().max((share - above).abs())
            });
            let distance = distance.fold(0.0, f64::max) * count.sqrt();
            assert!(distance < 1.95, "{json} {sampling:?}: {distance}");
        }
    }
}

/// Laws that take one number a draw under inversion, and rise with it.
fn one_number_laws() -> impl Iterator<Item = &'static str> {
    let composed = ["constant", "nurand", "coxian", "sum", "mixture"];
    let is_plain = move |json: &&str| {
        let is_kind = |kind: &&str| json.starts_with(&format!(r#"{{"kind":"{kind}""#));
        !composed.iter().any(is_kind)
    };
    MOMENTS.into_iter().map(|entry| entry.0).filter(is_plain)
}

#[test]
fn inversion_takes_one_number_a_draw_and_rises_with_it() {
    for json in one_number_laws() {
        let mut uniforms = stream::open(5, 7);
        let numbers: Vec<f64> = (0..2000)
            .map(|_| Sampling::Inversion.tails(&mut uniforms).0)
            .collect();
        let values = draws(&law(json), Sampling::Inversion, 5, 2000);
        let mut pairs: Vec<(f64, f64)> = numbers.into_iter().zip(values).collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(pairs.is_sorted_by(|one, other| one.1 <= other.1), "{json}");
    }
}

/// A mixture and phases stay in step too: the n-th draw starts at the same random number.
#[test]
fn composed_laws_take_as_many_numbers_at_every_draw() {
    use rand::Rng;
    for (json, count) in [
        (r#"{"kind":"coxian","means":[1,4,2],"onward":[0.5,0.5]}"#, 5),
        (r#"{"kind":"nurand","a":255,"low":1,"high":1000,"c":7}"#, 2),
        (
            r#"{"kind":"mixture","weights":[1,1],"laws":[{"kind":"constant","value":1},
                {"kind":"sum","laws":[{"kind":"exponential","mean":5},
                {"kind":"zipf","count":9,"exponent":1}]}]}"#,
            3,
        ),
    ] {
        let mut sampler = law(json)
            .compile_as(1.0, Sampling::Inversion)
            .expect("a sampler");
        let (mut used, mut counted) = (stream::open(1, 1), stream::open(1, 1));
        for _ in 0..500 {
            sampler.draw(&mut used);
            for _ in 0..count {
                counted.next_u64();
            }
            assert_eq!(
                used.clone().next_u64(),
                counted.clone().next_u64(),
                "{json}"
            );
        }
    }
}

/// Oracle: a pair (U, 1 - U) of a symmetrical law is centred on the middle.
#[test]
fn antithetic_draws_lie_on_the_other_side() {
    let uniform = law(r#"{"kind":"uniform","low":1,"high":3}"#);
    let pairs = draws(&uniform, Sampling::Inversion, 5, 1000)
        .into_iter()
        .zip(draws(&uniform, Sampling::Antithetic, 5, 1000));
    for (one, other) in pairs {
        assert!((one + other - 4.0).abs() < 1e-8);
    }
    let heavy = law(r#"{"kind":"lognormal","mean":5,"c2":1}"#);
    let one = draws(&heavy, Sampling::Inversion, 5, 20_000);
    let other = draws(&heavy, Sampling::Antithetic, 5, 20_000);
    let average: Vec<f64> = one
        .iter()
        .zip(&other)
        .map(|(a, b)| f64::midpoint(*a, *b))
        .collect();
    assert!(moments(&average).1 < 0.4 * moments(&one).1);
}

#[test]
fn a_replay_repeats_or_ends() {
    let json = r#"{"kind":"replay","values":[3,1,2],"at_end":"repeat"}"#;
    assert_eq!(
        draws(&law(json), Sampling::Fast, 1, 5),
        [3.0, 1.0, 2.0, 3.0, 1.0]
    );
    let json = r#"{"kind":"replay","values":[3,1],"at_end":"stop"}"#;
    let mut sampler = law(json).compile(1.0).expect("a sampler");
    let mut stream = stream::open(1, 1);
    assert_eq!(
        (sampler.draw(&mut stream), sampler.is_exhausted()),
        (3, false)
    );
    assert_eq!(
        (sampler.draw(&mut stream), sampler.is_exhausted()),
        (1, true)
    );
    assert_eq!(sampler.draw(&mut stream), Sampler::NO_VALUE);
}

/// The arithmetic is portable: a change of these bits is a change of every result.
#[test]
fn the_bits_of_each_law_are_pinned() {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    for (json, ..) in MOMENTS {
        for sampling in [Sampling::Fast, Sampling::Inversion] {
            for value in draws(&law(json), sampling, 1, 50) {
                digest = (digest ^ value.to_bits()).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    assert_eq!(digest, 0x8a08_27bd_599d_c2e8, "{digest:#x}");
}

#[test]
fn parameters_outside_their_range_are_refused() {
    for json in [
        r#"{"kind":"geometric","mean":0.5,"low":1}"#,
        r#"{"kind":"zipf","count":0,"exponent":1}"#,
        r#"{"kind":"zipf","count":5,"exponent":0}"#,
        r#"{"kind":"nurand","a":6,"low":1,"high":9,"c":0}"#,
        r#"{"kind":"nurand","a":7,"low":1,"high":9,"c":8}"#,
        r#"{"kind":"replay","values":[],"at_end":"stop"}"#,
        r#"{"kind":"coxian","means":[1,2],"onward":[]}"#,
        r#"{"kind":"coxian","means":[1,2],"onward":[1.5]}"#,
        r#"{"kind":"sum","laws":[]}"#,
        r#"{"kind":"sum","laws":[{"kind":"exponential","mean":0}]}"#,
        r#"{"kind":"mixture","weights":[0],"laws":[{"kind":"constant","value":1}]}"#,
        r#"{"kind":"scaled","factor":0,"law":{"kind":"constant","value":1}}"#,
    ] {
        let error = law(json).compile(1e9).expect_err(json).to_string();
        assert!(error.contains("outside its range"), "{error}");
    }
}

proptest! {
    #[test]
    fn draws_repeat_bit_for_bit(index in 0..MOMENTS.len(), seed: u64) {
        let law = law(MOMENTS[index].0);
        for sampling in [Sampling::Fast, Sampling::Inversion, Sampling::Antithetic] {
            let one = draws(&law, sampling, seed, 20);
            prop_assert_eq!(one, draws(&law, sampling, seed, 20));
        }
    }

    /// Any seed and any parameters: the mean is within 6 standard errors.
    #[test]
    fn means_hold_for_all_parameters(
        mean in 0.01..1000.0_f64,
        c2 in 0.05..3.0_f64,
        kind in prop::sample::select(vec!["gamma", "lognormal"]),
        seed: u64,
    ) {
        let law = law(&format!(r#"{{"kind":"{kind}","mean":{mean},"c2":{c2}}}"#));
        for sampling in [Sampling::Fast, Sampling::Inversion] {
            let (seen, _) = moments(&draws(&law, sampling, seed, 4000));
            prop_assert!((seen / mean - 1.0).abs() < 7.0 * (c2 / 4000.0).sqrt(), "{}", seen);
        }
    }
}
