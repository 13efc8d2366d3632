//! Properties of all models: random programs, nested to any depth, over stations and pools.
//!
//! Every finished run has passed the conservation laws of `invariants` by then; here it must also
//! repeat bit for bit, and end in one of the ways that are allowed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::error::SimulationError;
use super::model::Stop;
use super::result::Outcome;
use super::simulate;

const STATIONS: u32 = 3;
const POOLS: u32 = 2;
const COMPLETIONS: u64 = 300;
/// An overloaded model may never complete so many jobs: the time (ms) bounds it.
const TIME_LIMIT: f64 = 1000.0;

/// Steps that end with what they began with, so that they may stand anywhere.
fn steps(depth: u32, callable: u32) -> BoxedStrategy<Vec<Value>> {
    let leaf = prop_oneof![
        4 => (0..STATIONS, law(), any::<u64>()).prop_map(|(station, law, key)| {
            vec![json!({"op": "use", "station": format!("s{station}"), "service": law, "stream": key})]
        }),
        1 => (law(), any::<u64>())
            .prop_map(|(law, key)| vec![json!({"op": "delay", "time": law, "stream": key})]),
        1 => (0..callable.max(1)).prop_map(move |program| {
            if callable == 0 {
                return vec![];
            }
            vec![json!({"op": "call", "program": format!("p{program}")})]
        }),
    ];
    leaf.prop_recursive(depth, 24, 3, |inner| {
        let body = prop::collection::vec(inner, 0..3).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone(),
            (body.clone(), 0..POOLS, 1_u32..3).prop_map(|(body, pool, tokens)| {
                let pool = format!("k{pool}");
                let acquire = json!({"op": "acquire", "pool": pool, "tokens": tokens});
                let release = json!({"op": "release", "pool": pool, "tokens": tokens});
                [vec![acquire], body, vec![release]].concat()
            }),
            (body.clone(), 0_u32..4, any::<u64>()).prop_map(|(body, count, key)| {
                let count = json!({"kind": "constant", "value": count});
                block(
                    json!({"op": "loop", "count": count, "stream": key}),
                    &[body],
                )
            }),
            (body.clone(), body.clone(), 0.0..=1.0_f64, any::<u64>()).prop_map(
                |(one, two, share, key)| {
                    let cases = [(one, share), (two, 1.0 - share)].map(|(body, probability)| {
                        block(json!({"op": "case", "probability": probability}), &[body])
                    });
                    block(json!({"op": "branch", "stream": key}), &cases)
                }
            ),
            prop::collection::vec(body, 1..4).prop_map(|arms| {
                let arms = arms
                    .into_iter()
                    .map(|arm| block(json!({"op": "arm"}), &[arm]));
                block(json!({"op": "fork"}), &arms.collect::<Vec<_>>())
            }),
        ]
    })
    .boxed()
}

fn block(open: Value, parts: &[Vec<Value>]) -> Vec<Value> {
    [vec![open], parts.concat(), vec![json!({"op": "end"})]].concat()
}

fn law() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.1..5.0_f64).prop_map(|mean| json!({"kind": "exponential", "mean": mean})),
        Just(json!({"kind": "constant", "value": 1})),
        Just(json!({"kind": "uniform", "low": 0, "high": 2})),
        Just(json!({"kind": "discrete", "values": [0, 1, 2], "weights": [1, 1, 1]})),
    ]
}

fn model() -> impl Strategy<Value = Value> {
    let programs = (steps(1, 0), steps(3, 1), steps(4, 2));
    let sizes = (1_u32..4, 2_u32..6, 1_u32..12);
    (programs, sizes, any::<[u64; 2]>()).prop_map(|(programs, (servers, tokens, people), keys)| {
        let stations: Vec<Value> = (0..STATIONS)
            .map(|s| json!({"name": format!("s{s}"), "servers": servers}))
            .collect();
        let pools: Vec<Value> = (0..POOLS)
            .map(|k| json!({"name": format!("k{k}"), "tokens": tokens}))
            .collect();
        let programs: Vec<Value> = [programs.0, programs.1, programs.2]
            .into_iter()
            .enumerate()
            .map(|(index, steps)| json!({"name": format!("p{index}"), "steps": steps}))
            .collect();
        let think = json!({"kind": "exponential", "mean": 1});
        let arrive = json!({"kind": "exponential", "mean": 2});
        json!({
            "format": 1, "name": "random", "time_unit": "ms", "stop": {},
            "stations": stations, "pools": pools, "programs": programs,
            "classes": [
                {"kind": "closed", "name": "closed", "program": "p2", "population": people,
                 "think": think, "stream": keys[0]},
                {"kind": "open", "name": "open", "program": "p1", "interarrival": arrive,
                 "stream": keys[1]},
            ],
        })
    })
}

fn run(model: &Value, seed: u64) -> Result<Outcome, SimulationError> {
    let stop = Stop {
        completions: Some(COMPLETIONS),
        time: Some(TIME_LIMIT),
    };
    simulate(model.to_string().as_bytes(), seed, stop, &mut || true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_model_repeats_and_ends_as_allowed(model in model(), seed in any::<u64>()) {
        match (run(&model, seed), run(&model, seed)) {
            (Ok(one), Ok(two)) => {
                prop_assert_eq!(&one, &two);
                let is_timed_out = one.simulated_s >= TIME_LIMIT / 1000.0;
                let completed = one.classes.columns[1].1.iter().rev().take(2).sum::<f64>();
                prop_assert!(is_timed_out || completed >= COMPLETIONS as f64);
            }
            (Err(one), Err(two)) => {
                prop_assert!(matches!(one, SimulationError::Deadlock { .. }), "{one}");
                prop_assert_eq!(one.to_string(), two.to_string());
            }
            (one, two) => prop_assert!(false, "{one:?} once and {two:?} again"),
        }
    }

    #[test]
    fn damaged_data_are_refused_and_never_crash(
        model in model(), cut in 0.0..1.0_f64, noise in any::<u8>()
    ) {
        let mut bytes = model.to_string().into_bytes();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the length"
        )]
        let place = (cut * bytes.len() as f64) as usize;
        bytes[place] = noise;
        let stop = Stop { completions: Some(10), time: Some(1000.0) };
        let _ = simulate(&bytes, 1, stop, &mut || true);
    }
}
