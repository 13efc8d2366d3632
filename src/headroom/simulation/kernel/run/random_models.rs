//! Properties of all models: random programs of any nesting depth over stations and pools.
//!
//! Every finished run has passed the conservation laws of `invariants`. These tests also require
//! that it repeats bit for bit and ends in one of the allowed ways.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::mechanism::none;
use crate::simulation::kernel::plan::model::Stop;
use crate::simulation::kernel::run::result::Outcome;
use crate::simulation::kernel::{RunOptions, simulate};

const STATIONS: u32 = 4;
const POOLS: u32 = 2;
const COMPLETIONS: u64 = 300;
/// An overloaded model may never complete that number of jobs: the time (ms) bounds it.
const TIME_LIMIT: f64 = 1000.0;

/// Steps that end with what they began with, so that they may be anywhere.
fn steps(depth: u32, callable: u32) -> BoxedStrategy<Vec<Value>> {
    leaf(callable)
        .prop_recursive(depth, 24, 3, |inner| {
            let body = prop::collection::vec(inner, 0..3).prop_map(|parts| parts.concat());
            prop_oneof![
                2 => body.clone(),
                2 => held(body.clone()),
                1 => (body.clone(), amount(), any::<u64>()).prop_map(|(body, _, key)| {
                    let count = json!({"kind": "constant", "value": key % 4});
                    block(
                        json!({"op": "loop", "count": count, "stream": key}),
                        &[body],
                    )
                }),
                2 => branch(body.clone()),
                2 => fork(body.clone()),
                2 => attempt(body.clone()),
                1 => network(body),
            ]
        })
        .boxed()
}

fn leaf(callable: u32) -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![
        6 => (0..STATIONS, amount(), any::<u64>(), patience()).prop_map(
            |(station, amount, key, patience)| {
                vec![json!({"op": "use", "station": format!("s{station}"), "service": amount,
                            "stream": key, "patience": patience, "patience_stream": !key})]
            }
        ),
        1 => (any::<bool>(), 1_u32..4, any::<u64>()).prop_map(|(is_speed, value, key)| {
            let of = if is_speed { json!({"speed": "s1"}) } else { json!({"tokens": "k1"}) };
            let value = json!({"kind": "constant", "value": value});
            vec![json!({"op": "change", "of": of, "value": value, "stream": key})]
        }),
        1 => (amount(), any::<u64>())
            .prop_map(|(amount, key)| vec![json!({"op": "delay", "time": amount, "stream": key})]),
        1 => (amount(), any::<u64>()).prop_map(|(amount, key)| {
            vec![json!({"op": "set", "attribute": "size", "value": amount, "stream": key})]
        }),
        1 => (amount(), any::<u64>()).prop_map(|(amount, key)| {
            vec![json!({"op": "prioritize", "value": amount, "stream": key})]
        }),
        2 => (0..callable.max(1), any::<bool>()).prop_map(move |(program, waits)| {
            if callable == 0 {
                return vec![];
            }
            let op = if waits { "call" } else { "start" };
            vec![json!({"op": op, "program": format!("p{program}")})]
        }),
        1 => Just(vec![json!({"op": "reply"})]),
    ]
}

fn held(
    body: impl Strategy<Value = Vec<Value>> + Clone,
) -> impl Strategy<Value = Vec<Value>> + Clone {
    (body, 0..POOLS, 1_u32..3, patience()).prop_map(|(body, pool, tokens, patience)| {
        let pool = format!("k{pool}");
        let acquire = json!({"op": "acquire", "pool": pool, "tokens": tokens,
                             "patience": patience, "patience_stream": tokens});
        let release = json!({"op": "release", "pool": pool, "tokens": tokens});
        [vec![acquire], body, vec![release]].concat()
    })
}

fn branch(
    body: impl Strategy<Value = Vec<Value>> + Clone,
) -> impl Strategy<Value = Vec<Value>> + Clone {
    let share = 0.0..=1.0_f64;
    (body.clone(), body, share, any::<u64>(), 0..7_u32).prop_map(|(one, two, share, key, kind)| {
        let size = json!([{"attribute": "size"}, {"number": 1.5}, {"apply": "less"}]);
        let (choice, cases) = match kind {
            0 => ("round_robin", [json!({}), json!({})]),
            1 => ("condition", [json!({"condition": size}), json!({})]),
            2 => (
                "shortest_queue",
                [
                    json!({"of": {"station": "s0"}}),
                    json!({"of": {"pool": "k0"}}),
                ],
            ),
            _ => (
                "probability",
                [
                    json!({"probability": share}),
                    json!({"probability": 1.0 - share}),
                ],
            ),
        };
        let choice = match kind {
            3 => json!({"kind": "hash", "by": [{"jobs": "s1"}, "now", {"apply": "add"}]}),
            4 => {
                json!({"kind": "index", "by": [{"jobs": "s1"}, {"number": 2}, {"apply": "modulo"}]})
            }
            _ => json!({"kind": choice}),
        };
        let parts: Vec<Vec<Value>> = cases
            .into_iter()
            .zip([one, two])
            .map(|(mut case, body)| {
                if matches!(kind, 3 | 4) {
                    case = json!({});
                }
                case["op"] = json!("case");
                block(case, &[body])
            })
            .collect();
        block(
            json!({"op": "branch", "choice": choice, "stream": key}),
            &parts,
        )
    })
}

fn fork(
    body: impl Strategy<Value = Vec<Value>> + Clone,
) -> impl Strategy<Value = Vec<Value>> + Clone {
    let rest = prop_oneof![Just("continue"), Just("cancel")];
    (prop::collection::vec(body, 1..4), any::<u32>(), rest).prop_map(|(arms, pick, rest)| {
        let quorum = 1 + pick % u32::try_from(arms.len()).expect("few arms");
        let arms = arms
            .into_iter()
            .map(|arm| block(json!({"op": "arm"}), &[arm]));
        block(
            json!({"op": "fork", "quorum": quorum, "rest": rest}),
            &arms.collect::<Vec<_>>(),
        )
    })
}

fn attempt(
    body: impl Strategy<Value = Vec<Value>> + Clone,
) -> impl Strategy<Value = Vec<Value>> + Clone {
    let parts = (body.clone(), body, any::<[bool; 3]>());
    (parts, amount(), 1..4_u32, any::<[u64; 2]>()).prop_map(
        |((work, failed, has), time, tries, keys)| {
            let mut open = json!({"op": "attempt", "tries": tries, "stream": keys[0],
                                  "pause_stream": keys[1]});
            if has[0] {
                open["timeout"] = time;
            }
            if has[1] {
                open["pause"] = json!({"kind": "exponential", "mean": 1});
            }
            let mut parts = vec![block(json!({"op": "work"}), &[work])];
            if has[2] {
                parts.push(block(json!({"op": "failed"}), &[failed]));
            }
            block(open, &parts)
        },
    )
}

fn network(
    body: impl Strategy<Value = Vec<Value>> + Clone,
) -> impl Strategy<Value = Vec<Value>> + Clone {
    (body.clone(), body, any::<[u64; 2]>()).prop_map(|(one, two, keys)| {
        let nodes =
            [("a", one, "b", keys[0]), ("b", two, "a", keys[1])].map(|(name, body, other, key)| {
                let to = json!([{"node": other, "probability": 0.4},
                                {"node": null, "probability": 0.6}]);
                let open = json!({"op": "node", "name": name, "to": to, "stream": key});
                block(open, &[body])
            });
        block(json!({"op": "network"}), &nodes)
    })
}

fn block(open: Value, parts: &[Vec<Value>]) -> Vec<Value> {
    [vec![open], parts.concat(), vec![json!({"op": "end"})]].concat()
}

fn law() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        (0.1..5.0_f64).prop_map(|mean| json!({"kind": "exponential", "mean": mean})),
        Just(json!({"kind": "constant", "value": 1})),
        Just(json!({"kind": "uniform", "low": 0, "high": 2})),
        Just(json!({"kind": "discrete", "values": [0, 1, 2], "weights": [1, 1, 1]})),
    ]
}

fn patience() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![3 => Just(Value::Null), 1 => amount()]
}

/// Servers that come and go, at a station that supports it.
fn schedules(stations: &[Value], breakdowns: &[Value], has: bool) -> Vec<Value> {
    let can_change = |station: &&Value| {
        station["discipline"] != "infinite"
            && station.get("speeds").is_none()
            && breakdowns
                .iter()
                .all(|one| one["station"] != station["name"])
    };
    let changed = stations.iter().filter(|_| has).rev().find(can_change);
    changed
        .map(|station| {
            json!({"of": {"servers": station["name"]}, "times": [0, 3, 5.5, 9],
                   "values": [1, 4, 0, 2], "period": 13})
        })
        .into_iter()
        .collect()
}

fn amount() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        3 => law(),
        1 => (law(), any::<u64>()).prop_map(|(law, key)| {
            let draw = json!({"draw": {"law": law, "stream": key}});
            let code = json!([draw, {"attribute": "size"}, {"apply": "maximum"}, {"free": "k1"},
                              {"apply": "minimum"}]);
            json!({"kind": "expression", "code": code})
        }),
    ]
}

fn station(name: u32) -> impl Strategy<Value = Value> {
    let disciplines = prop::sample::select(vec![
        "fcfs",
        "fcfs",
        "lcfs",
        "lcfs_preempt",
        "priority",
        "priority_preempt",
        "ps",
        "infinite",
        "random",
        "elevator",
        "elevator_two_way",
        "nearest",
    ]);
    let when_full = prop_oneof![Just("block"), Just("reject")];
    let has = any::<[bool; 4]>();
    (disciplines, 1_u32..4, 0_u32..3, when_full, has).prop_map(
        move |(discipline, servers, buffer, when_full, has)| {
            let mut station = json!({"name": format!("s{name}"), "servers": servers,
                                     "discipline": discipline, "when_full": when_full});
            if has[0] && has[1] && discipline != "infinite" {
                station["buffer"] = json!(buffer);
            }
            let may_differ = !matches!(discipline, "ps" | "infinite");
            if has[2] {
                let speed = |server: u32| {
                    if may_differ {
                        1.0 + f64::from(server)
                    } else {
                        2.0
                    }
                };
                let speeds: Vec<f64> = (0..servers).map(speed).collect();
                station["speeds"] = json!(speeds);
            }
            if matches!(discipline, "elevator" | "elevator_two_way" | "nearest") {
                let law = json!({"kind": "uniform", "low": 0, "high": 9});
                station["position"] = json!({"kind": "expression", "code": [
                    {"attribute": "size"}, {"draw": {"law": law, "stream": name}},
                    {"apply": "multiply"},
                ]});
            }
            if has[3] && discipline == "ps" {
                station["limit"] = json!(servers);
            }
            if has[3] && matches!(discipline, "fcfs" | "priority" | "random" | "elevator") {
                station["batch"] = json!({"least": 1, "most": 1 + buffer});
            }
            station
        },
    )
}

fn breakdowns(stations: &[Value], unit: Option<&str>, key: u64) -> Vec<Value> {
    let can_break =
        |station: &&Value| station["discipline"] != "infinite" && station.get("batch").is_none();
    let broken = stations.iter().find(can_break);
    broken
        .zip(unit)
        .map(|(station, unit)| {
            json!({"station": station["name"], "unit": unit, "stream": key,
                   "time_to_failure": {"kind": "exponential", "mean": 20},
                   "repair": {"kind": "exponential", "mean": 3}})
        })
        .into_iter()
        .collect()
}

/// No mix, or a mix whose classes walk all programs.
fn mixes() -> impl Strategy<Value = Vec<Value>> {
    let draws = prop::sample::select(vec!["independent", "deck", "computed"]);
    let starts = prop::sample::select(vec!["thinking", "ready"]);
    let sizes = (1_u32..8, prop::collection::vec(1_u32..5, 1..4));
    (draws, starts, sizes, any::<bool>(), any::<[u64; 2]>()).prop_map(
        |(draw, start, (people, weights), has, keys)| {
            let think = json!({"kind": "exponential", "mean": 2});
            let member = |(index, weight): (usize, u32)| {
                json!({"name": format!("m{index}"), "program": format!("p{index}"),
                       "weight": weight, "priority": index})
            };
            let classes: Vec<Value> = weights.into_iter().enumerate().map(member).collect();
            let mut mix = json!({"name": "mix", "population": people, "draw": draw,
                                 "start": start, "think": think, "stream": keys[0],
                                 "draw_stream": keys[1], "classes": classes});
            if draw == "computed" {
                // Its classes in turn, as a number that each job counts.
                let turn = json!([{"attribute": "turn"}, {"number": 1}, {"apply": "add"},
                                  {"number": mix["classes"].as_array().map_or(1, Vec::len)},
                                  {"apply": "modulo"}]);
                let value = json!({"kind": "expression", "code": turn});
                mix["sets"] = json!([{"attribute": "turn", "value": value}]);
                mix["index"] = json!({"kind": "expression", "code": [{"attribute": "turn"}]});
            }
            if has { vec![mix] } else { vec![] }
        },
    )
}

pub(super) fn model() -> impl Strategy<Value = Value> {
    let programs = (steps(1, 0), steps(3, 1), steps(4, 2));
    let stations = [station(0), station(1), station(2), station(3)];
    let units = prop::sample::select(vec![None, None, Some("all"), Some("each")]);
    let orders = prop::sample::select(vec!["fcfs", "priority"]);
    let sizes = (2_u32..6, 1_u32..12, units, orders);
    let groups = any::<[bool; 3]>();
    (
        programs,
        stations,
        sizes,
        any::<[u64; 3]>(),
        mixes(),
        groups,
    )
        .prop_map(
            |(programs, stations, (tokens, people, unit, order), keys, mixes, groups)| {
                let mut stations = Vec::from(stations);
                if groups[0] {
                    stations[1]["group"] = json!("group");
                    stations[3]["group"] = json!("group");
                }
                let breakdowns = breakdowns(&stations, unit, keys[2]);
                let schedules = schedules(&stations, &breakdowns, groups[2]);
                let pool = |k: u32| {
                    let mut pool =
                        json!({"name": format!("k{k}"), "tokens": tokens, "order": order});
                    if groups[1] {
                        pool["group"] = json!("group");
                    }
                    pool
                };
                let pools: Vec<Value> = (0..POOLS).map(pool).collect();
                let programs: Vec<Value> = [programs.0, programs.1, programs.2]
                    .into_iter()
                    .enumerate()
                    .map(|(index, steps)| json!({"name": format!("p{index}"), "steps": steps}))
                    .collect();
                let think = json!({"kind": "exponential", "mean": 1});
                let arrive = json!({"kind": "exponential", "mean": 2});
                json!({
                    "format": 2, "name": "random", "time_unit": "ms", "stop": {},
                    "attributes": [{"name": "size", "initial": 1.0}, {"name": "turn", "initial": 0.0}],
                    "stations": stations, "pools": pools, "programs": programs,
                    "breakdowns": breakdowns, "schedules": schedules,
                    "classes": [
                        {"kind": "closed", "name": "closed", "program": "p2", "population": people,
                         "think": think, "stream": keys[0], "priority": 1},
                        {"kind": "open", "name": "open", "program": "p1", "interarrival": arrive,
                         "stream": keys[1], "initial": 1},
                    ],
                    "mixes": mixes,
                })
            },
        )
}

fn run(model: &Value, seed: u64) -> Result<Outcome, SimulationError> {
    let options = RunOptions {
        seed,
        stop: stop(COMPLETIONS),
        sample_every: Some(10.0),
        trace_limit: 1000,
        ..RunOptions::default()
    };
    simulate(model.to_string().as_bytes(), options, none, &mut || true)
}

/// Return a model whose jobs fail with the last try of attempts, and of which some are late.
fn losing(model: &Value) -> Value {
    let (goes_on, loses) = (r#""op":"attempt""#, r#""loses":true,"op":"attempt""#);
    let text = model.to_string().replace(goes_on, loses);
    let mut model: Value = serde_json::from_str(&text).expect("a model is JSON");
    model["late_after"] = json!({"open": 2.0});
    model
}

fn stop(completions: u64) -> Stop {
    Stop {
        completions: Some(completions),
        time: Some(TIME_LIMIT),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_model_repeats_and_ends_as_allowed(
        model in model(), loses in any::<bool>(), seed in any::<u64>()
    ) {
        let model = if loses { losing(&model) } else { model };
        match (run(&model, seed), run(&model, seed)) {
            (Ok(one), Ok(two)) => {
                prop_assert_eq!(&one, &two);
                let is_timed_out = one.simulated_s >= TIME_LIMIT / 1000.0;
                let classes = &one.snapshots.classes;
                let last = classes.columns[1].1.iter().rev().take(classes.names.len());
                let completed = last.sum::<f64>();
                prop_assert!(is_timed_out || completed >= COMPLETIONS as f64);
            }
            (Err(one), Err(two)) => {
                let is_allowed = matches!(
                    one,
                    SimulationError::Deadlock { .. } | SimulationError::NoProgress { .. }
                );
                prop_assert!(is_allowed, "{one}");
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
        let options = RunOptions { stop: stop(10), ..RunOptions::default() };
        let _ = simulate(&bytes, options, none, &mut || true);
    }
}
