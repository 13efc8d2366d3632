//! Both interfaces on a real file, and on the null target.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::json;

use super::scripted::assert_laws;
use super::skip::skip;
use crate::systems::storage::blocks::engine::{Measured, run};

const BYTES: u64 = 64 * 4096;

/// A file without a name.
struct Nameless(File);

impl Nameless {
    fn new(name: &str, bytes: u64) -> Self {
        let process = std::process::id();
        let path: PathBuf = std::env::temp_dir().join(format!("headroom-{process}-{name}"));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let file = file.expect("a temporary file");
        std::fs::remove_file(&path).expect("its name");
        file.set_len(bytes).expect("room");
        Self(file)
    }

    fn target(&self, bytes: u64) -> serde_json::Value {
        json!({"fd": self.0.as_raw_fd(), "bytes": bytes})
    }
}

/// Return whether the system provides rings, asked without the engine: there it must use them.
#[cfg(target_os = "linux")]
fn has_rings() -> bool {
    io_uring::IoUring::new(2).is_ok_and(|ring| {
        let facts = ring.params();
        ring.submit().is_ok() && facts.is_feature_ext_arg() && facts.is_feature_nodrop()
    })
}

#[cfg(not(target_os = "linux"))]
fn has_rings() -> bool {
    false
}

fn measure(interface: &str, changes: &serde_json::Value) -> Option<Measured> {
    measure_while(interface, changes, &mut || true)
}

/// Run on `interface` while it `is_wanted`; None if this machine has no such interface.
fn measure_while(
    interface: &str,
    changes: &serde_json::Value,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Option<Measured> {
    let mut job = json!({"seed": 3, "interface": interface, "target": {"kind": "nothing"}});
    for (key, value) in changes.as_object().expect("an object") {
        job[key] = value.clone();
    }
    match run(job.to_string().as_bytes(), is_wanted) {
        Ok(measured) => Some(measured),
        Err(error) if interface == "io_uring" && !has_rings() => {
            skip(&format!("no io_uring here: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn workload(changes: &serde_json::Value) -> serde_json::Value {
    let mut workload = json!({"kind": "micro", "block_bytes": 4096});
    for (key, value) in changes.as_object().expect("an object") {
        workload[key] = value.clone();
    }
    workload
}

#[test]
fn what_is_written_is_unlike_any_other_block_and_compresses_as_asked() {
    for interface in ["io_uring", "threads"] {
        let file = Nameless::new(&format!("write-{interface}"), BYTES);
        let plan = json!({
            "target": {"kind": "files", "files": [file.target(BYTES)]},
            "workload": workload(&json!({"depth": 4, "pattern": "sequential", "read_share": 0.0})),
            "stop": {"requests": 64},
            "data": {"compressible_share": 0.25},
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        assert_eq!(measured.outcome.classes[0].bytes, BYTES);
        assert_laws(&measured.outcome);
        let mut data = Vec::new();
        (&file.0).read_to_end(&mut data).expect("what was written");
        let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
        for block in &blocks {
            let zeros = block.iter().rev().take_while(|&&byte| byte == 0).count();
            assert!((1024..1032).contains(&zeros), "{zeros}");
        }
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 64);
    }
}

#[test]
fn several_files_are_one_target_and_all_of_them_are_loaded() {
    for interface in ["io_uring", "threads"] {
        let files = [0, 1, 2].map(|n| Nameless::new(&format!("many-{interface}-{n}"), 8 * 4096));
        let plan = json!({
            "target": {"kind": "files", "files": files.each_ref().map(|one| one.target(8 * 4096))},
            "workload": workload(&json!({"pattern": "sequential", "read_share": 0.0})),
            "stop": {"requests": 24},
            "sync": {"every": 24, "kind": "fdatasync"},
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        assert_eq!(measured.outcome.classes[1].completion_count, 1);
        for file in &files {
            let mut first = [0; 4096];
            for block in 0..8 {
                file.0
                    .read_exact_at(&mut first, block * 4096)
                    .expect("a block");
                assert!(first.iter().any(|&byte| byte != 0));
            }
        }
    }
}

#[test]
fn every_interface_measures_the_load_that_was_asked_for() {
    for interface in ["io_uring", "threads", "auto"] {
        for load in [
            json!({"depth": 1}),
            json!({"depth": 8, "streams": 2, "read_share": 0.5}),
            json!({"rate_per_s": 100_000.0, "read_share": 0.5}),
        ] {
            let file = Nameless::new(&format!("load-{interface}"), BYTES);
            let plan = json!({
                "target": {"kind": "files", "files": [file.target(BYTES)]},
                "workload": workload(&load),
                "stop": {"requests": 3000},
                "sync": {"every": 50, "kind": "fsync"},
            });
            let Some(measured) = measure(interface, &plan) else {
                continue;
            };
            assert_laws(&measured.outcome);
            let classes = measured
                .outcome
                .classes
                .iter()
                .filter(|one| one.name != "sync");
            assert_eq!(classes.map(|one| one.completion_count).sum::<u64>(), 3000);
            assert!(measured.outcome.failures.is_empty());
            assert!(measured.usage.user_s + measured.usage.system_s > 0.0);
        }
    }
}

#[test]
fn a_file_that_ends_before_its_target_fails_where_it_ends() {
    for interface in ["io_uring", "threads"] {
        let file = Nameless::new(&format!("short-{interface}"), 10 * 4096);
        let plan = json!({
            "target": {"kind": "files", "files": [file.target(BYTES)]},
            "workload": workload(&json!({"pattern": "sequential"})),
            "stop": {"requests": 64},
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        assert_eq!(measured.outcome.classes[0].completion_count, 10);
        let failure = measured.outcome.failures[0].failure;
        assert_eq!((failure.errno, failure.count), (0, 54));
        assert_eq!(failure.first.offset, 10 * 4096);
    }
}

#[test]
fn a_target_that_is_closed_ends_the_run_and_says_why() {
    for interface in ["io_uring", "threads"] {
        let plan = json!({
            "target": {"kind": "files", "files": [{"fd": 1_000_000, "bytes": BYTES}]},
            "workload": workload(&json!({})),
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        assert_eq!(measured.outcome.stop_reason.name(), "target_failed");
        let problem = measured.outcome.problem.expect("a problem");
        assert!(problem.contains("Bad file descriptor"), "{problem}");
    }
}

#[test]
fn nothing_is_done_at_once_and_completely() {
    for interface in ["io_uring", "threads"] {
        let plan = json!({
            "workload": workload(&json!({"depth": 2})),
            "stop": {"requests": 10_000},
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        assert_eq!(measured.outcome.classes[0].completion_count, 10_000);
        assert_eq!(measured.outcome.classes[0].bytes, 10_000 * 4096);
        assert_laws(&measured.outcome);
    }
}

#[test]
fn an_interrupt_ends_a_run_that_would_never_end_and_keeps_what_it_measured() {
    for interface in ["io_uring", "threads"] {
        let plan = json!({"workload": workload(&json!({"rate_per_s": 1000.0}))});
        let mut asked = 0;
        let mut is_wanted = || {
            asked += 1;
            asked < 2
        };
        let Some(measured) = measure_while(interface, &plan, &mut is_wanted) else {
            continue;
        };
        assert_eq!(measured.outcome.stop_reason.name(), "interrupted");
        assert!(measured.outcome.classes[0].completion_count > 0);
        assert_laws(&measured.outcome);
    }
}

#[test]
fn a_trim_makes_holes_in_a_file_that_keeps_its_size() {
    use std::os::unix::fs::MetadataExt;
    for interface in ["io_uring", "threads"] {
        let file = Nameless::new(&format!("trim-{interface}"), BYTES);
        let content = vec![7; usize::try_from(BYTES).expect("small")];
        file.0.write_all_at(&content, 0).expect("room");
        file.0.sync_all().expect("a disk");
        let plan = json!({
            "target": {"kind": "files", "files": [file.target(BYTES)]},
            "workload": workload(&json!({
                "pattern": "sequential", "read_share": 0.0, "trim_share": 1.0,
                "range_bytes": BYTES / 2,
            })),
            "stop": {"requests": 32},
        });
        let Some(measured) = measure(interface, &plan) else {
            continue;
        };
        let class = &measured.outcome.classes[0];
        assert_eq!((class.name.as_str(), class.completion_count), ("trim", 32));
        let state = file.0.metadata().expect("a file");
        assert_eq!(state.len(), BYTES);
        assert!(state.blocks() * 512 <= BYTES / 2, "{}", state.blocks());
        let mut found = vec![1; content.len()];
        file.0.read_exact_at(&mut found, 0).expect("all of it");
        let half = content.len() / 2;
        assert!(found[..half].iter().all(|&byte| byte == 0));
        assert!(found[half..].iter().all(|&byte| byte == 7));
    }
}
