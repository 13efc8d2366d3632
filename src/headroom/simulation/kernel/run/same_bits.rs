//! Results bit for bit: of 1,000 random models since 0.1.0, and of fused and original instructions.
//!
//! A change of the kernel that moves a bit of a result shows here, whether it is meant or not. If
//! it is meant, raise `KERNEL_VERSION`, say why under "Results changed", and replace the digests by
//! those that the failed test prints.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::mechanism::none;
use crate::simulation::kernel::plan::model::Stop;
use crate::simulation::kernel::run::random_models;
use crate::simulation::kernel::run::result::{Outcome, TableSet};
use crate::simulation::kernel::statistics::waits::WaitsOf;
use crate::simulation::kernel::{RunOptions, simulate};

/// Digests of 100 models each: nested programs, then networks.
const DIGESTS: [u64; 10] = [
    0xa5bd_3a6f_9e54_b507,
    0xf4c0_1493_2ed0_41d2,
    0xeddc_12ac_6476_1b18,
    0x101f_9faa_aa9f_1761,
    0xefa5_338f_8282_0419,
    0xe863_8403_7251_0984,
    0x8767_8ce9_5536_e412,
    0xb00d_185a_7cb9_6a37,
    0xceb3_0107_2fa5_d8bd,
    0xd67e_ba9e_50c1_1c9c,
];
const MODELS: usize = 100;
/// Columns of the table of classes that the digests cover.
const CLASS_COLUMNS: usize = 11;

/// A network of stations between which jobs go at random: first come, first served, mostly plain,
/// some with little room or of another kind.
fn network() -> impl Strategy<Value = Value> {
    let station = (0_u32..8, 1_u32..4, 0_u32..4, 0.2..2.0_f64);
    let stations = prop::collection::vec(station, 2..7);
    let class = (
        any::<[bool; 3]>(),
        1_u32..12,
        prop::collection::vec(0.1..1.0_f64, 6),
        0_usize..3,
    );
    let classes = prop::collection::vec(class, 1..4);
    (stations, classes, any::<bool>(), any::<u64>()).prop_map(|(stations, classes, blocks, key)| {
        let count = stations.len();
        let declared: Vec<Value> = stations
            .iter()
            .enumerate()
            .map(|(index, &(kind, servers, buffer, _))| {
                let mut station = json!({"name": format!("s{index}"), "servers": servers,
                                         "discipline": "fcfs", "when_full": "block"});
                match kind {
                    0 => station["discipline"] = json!("lcfs"),
                    1 => station["discipline"] = json!("infinite"),
                    // The first station always has room, so that no ring of full ones blocks.
                    2..5 if blocks && index > 0 => station["buffer"] = json!(buffer),
                    _ => {}
                }
                station
            })
            .collect();
        let programs: Vec<Value> = classes
            .iter()
            .enumerate()
            .map(|(class, (flags, _, weights, first))| {
                let visit = |index: usize| {
                    let mean = stations[index].3;
                    let law = match (index + class) % 4 {
                        0 => json!({"kind": "uniform", "low": 0, "high": mean}),
                        1 if flags[2] => json!({"kind": "constant", "value": mean}),
                        _ => json!({"kind": "exponential", "mean": mean}),
                    };
                    json!({"op": "use", "station": format!("s{index}"), "service": law,
                           "stream": key ^ (index * 8 + class) as u64})
                };
                let mut steps = vec![visit(first % count)];
                let total: f64 = weights[..count].iter().sum();
                steps.push(json!({"op": "branch", "choice": {"kind": "probability"},
                                  "stream": !key ^ class as u64}));
                for (index, weight) in weights[..count].iter().enumerate() {
                    steps.push(json!({"op": "case", "probability": weight / total}));
                    steps.push(visit(index));
                    if flags[0] && index + 1 < count {
                        steps.push(visit(index + 1));
                    }
                    steps.push(json!({"op": "end"}));
                }
                steps.push(json!({"op": "end"}));
                if class > 0 && flags[1] {
                    steps.push(json!({"op": "call", "program": "p0"}));
                }
                json!({"name": format!("p{class}"), "steps": steps})
            })
            .collect();
        let joined: Vec<Value> = classes
            .iter()
            .enumerate()
            .map(|(class, (flags, people, _, _))| {
                let (name, program) = (format!("c{class}"), format!("p{class}"));
                let law = json!({"kind": "exponential", "mean": f64::from(*people)});
                if flags[2] {
                    return json!({"kind": "open", "name": name, "program": program,
                                  "interarrival": law, "stream": class});
                }
                let mut closed = json!({"kind": "closed", "name": name, "program": program,
                                        "population": people, "stream": class});
                if flags[0] {
                    closed["think"] = law;
                }
                closed
            })
            .collect();
        json!({"format": 2, "name": "network", "time_unit": "ms", "stop": {},
               "stations": declared, "pools": [], "programs": programs, "classes": joined})
    })
}

/// Take values of `strategy`, the same ones every time.
fn values<T>(strategy: &impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let mut draw = || strategy.new_tree(&mut runner).expect("nothing is filtered");
    (0..count).map(|_| draw().current()).collect()
}

fn run(model: &Value, seed: u64, trace_limit: usize) -> Result<Outcome, SimulationError> {
    run_with(model, seed, trace_limit, Vec::new())
}

fn run_with(
    model: &Value,
    seed: u64,
    trace_limit: usize,
    waits: Vec<WaitsOf>,
) -> Result<Outcome, SimulationError> {
    let options = RunOptions {
        seed,
        stop: Stop {
            completions: Some(400),
            time: Some(300.0),
        },
        sample_every: seed.is_multiple_of(2).then_some(10.0),
        interval_ends: if seed.is_multiple_of(3) {
            vec![20.0, 45.5]
        } else {
            Vec::new()
        },
        waits,
        trace_limit,
        ..RunOptions::default()
    };
    simulate(model.to_string().as_bytes(), options, none, &mut || true)
}

/// FNV-1a over what is written.
struct Digest(u64);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

/// Return a digest of all results of `models`: floats are written to their last bit.
fn digest(models: &[Value]) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for (model, seed) in models.iter().zip(0..) {
        let trace_limit = if u64::is_multiple_of(seed, 5) { 200 } else { 0 };
        match run(model, seed, trace_limit) {
            Ok(mut outcome) => {
                // The outcomes of jobs came after the first digests.
                outcome.snapshots.classes.columns.truncate(CLASS_COLUMNS);
                if let Some(samples) = &mut outcome.samples {
                    samples.classes.columns.truncate(CLASS_COLUMNS);
                }
                if let Some(intervals) = &mut outcome.intervals {
                    intervals.tables.classes.columns.truncate(CLASS_COLUMNS);
                }
                write!(digest, "{outcome:?}")
            }
            Err(error) => write!(digest, "{error}"),
        }
        .expect("a digest takes everything");
    }
    digest.0
}

#[test]
fn random_models_have_the_same_bits_as_ever() {
    let nested = values(&random_models::model(), 5 * MODELS);
    let networks = values(&network(), 5 * MODELS);
    let found: Vec<u64> = nested
        .chunks(MODELS)
        .chain(networks.chunks(MODELS))
        .map(digest)
        .collect();
    assert_eq!(found, DIGESTS, "{found:#018x?}");
}

/// Return whether a service may be interrupted, so that a visit waits more than once.
fn interrupts(model: &Value) -> bool {
    let breaks = model["breakdowns"].as_array();
    breaks.is_some_and(|found| !found.is_empty())
        || model["stations"].to_string().contains("preempt")
}

/// Return the waits at all stations and pools of a run, of all classes and of the first.
fn all_waits(of: &TableSet) -> Vec<WaitsOf> {
    let class = of.classes.names.first().cloned();
    [(false, &of.stations), (true, &of.pools)]
        .into_iter()
        .flat_map(|(is_pool, table)| table.names.iter().map(move |row| (is_pool, row.clone())))
        .flat_map(|(is_pool, row)| [None, class.clone()].map(|class| (is_pool, row.clone(), class)))
        .map(|(is_pool, row, class)| WaitsOf {
            is_pool,
            row,
            class,
        })
        .collect()
}

proptest! {
    #![proptest_config(Config { cases: 300, ..Config::default() })]

    /// Whose waits are kept changes nothing else, though it takes other instructions; and the waits
    /// at each station add up to those of its table, or to less where jobs are still there.
    #[test]
    fn kept_waits_add_up_and_change_nothing_else(
        model in prop_oneof![network(), random_models::model()], seed in any::<u64>()
    ) {
        // A run that fails has no waits.
        let Ok(without) = run(&model, seed, 0) else {
            return Ok(());
        };
        let wanted = all_waits(&without.snapshots);
        let count = wanted.len();
        let mut with = run_with(&model, seed, 0, wanted).expect("it is the same run");
        let waits = with.histograms.split_off(with.histograms.len() - count);
        let tables = [&mut with.snapshots.stations, &mut with.snapshots.pools];
        let lags = tables.map(|table| table.maxima.pop().expect("there are lags").1);
        prop_assert_eq!(format!("{without:?}"), format!("{with:?}"));
        let table = &with.snapshots.stations;
        let last = |name: &str, row: usize| {
            let column = table.columns.iter().find(|column| column.0 == name);
            let values = &column.expect("a column of every run").1;
            values[values.len() - table.names.len() + row]
        };
        for row in 0..table.names.len() {
            let kept = &waits[2 * row];
            let served: u64 = kept.counts.iter().sum();
            let bins = kept.bin_low.len();
            let sum = |bounds: &[f64]| -> f64 {
                let counts = kept.counts.iter().enumerate();
                counts.map(|(at, &n)| n as f64 * bounds[at % bins]).sum()
            };
            let total = last("wait_s_sum", row);
            prop_assert!(sum(&kept.bin_low) <= total * (1.0 + 1e-9));
            prop_assert!(last("completion_count", row) <= served as f64);
            let longest = kept.bin_low.last().copied().unwrap_or_default();
            prop_assert!(interrupts(&model) || longest <= lags[0][row]);
            if last("arrival_count", row) <= served as f64 {
                prop_assert!(total <= sum(&kept.bin_high) * (1.0 + 1e-9));
            }
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 300, ..Config::default() })]

    /// A run with a trace walks the original instructions, one without the fused ones.
    #[test]
    fn fused_instructions_have_the_results_of_the_originals(
        model in prop_oneof![network(), random_models::model()], seed in any::<u64>()
    ) {
        let (fused, traced) = (run(&model, seed, 0), run(&model, seed, 1));
        match (fused, traced) {
            (Ok(fused), Ok(mut traced)) => {
                prop_assert!(traced.trace.take().is_some());
                prop_assert_eq!(format!("{fused:?}"), format!("{traced:?}"));
            }
            (Err(fused), Err(traced)) => {
                prop_assert_eq!(fused.to_string(), traced.to_string());
            }
            (fused, traced) => prop_assert!(false, "{fused:?} and {traced:?}"),
        }
    }
}
