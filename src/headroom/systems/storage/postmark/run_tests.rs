//! Tests of runs: conservation, faults at any operation, calls that never return, threads.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::systems::storage::postmark::folder::SyncKind;
use crate::systems::storage::postmark::operations::Kind;

/// A folder in memory: name -> size; the call with number `fails_at` fails with `errno`, the one
/// with number `hangs_at` does not return before the gate is free.
#[derive(Clone, Default)]
struct Memory {
    files: Arc<Mutex<BTreeMap<CString, u64>>>,
    calls: Arc<Mutex<u64>>,
    syncs: Arc<Mutex<u64>>,
    fails_at: Option<u64>,
    errno: i32,
    hangs_at: Option<u64>,
    gate: Arc<Mutex<()>>,
    /// Is gone when no thread has the folder any more.
    _alive: Option<Sender<()>>,
}

impl Memory {
    /// Count a call that is part of the run; fail where the script requires it, after `half` is
    /// done.
    fn step(&self, half: impl FnOnce(&mut BTreeMap<CString, u64>)) -> io::Result<()> {
        let number = {
            let mut calls = self.calls.lock().expect("no panic");
            *calls += 1;
            *calls
        };
        if self.hangs_at == Some(number) {
            drop(self.gate.lock());
        }
        if self.fails_at == Some(number) {
            half(&mut self.files.lock().expect("no panic"));
            return Err(io::Error::from_raw_os_error(self.errno));
        }
        Ok(())
    }

    fn sync(&self, sync: Option<SyncKind>) -> u64 {
        *self.syncs.lock().expect("no panic") += u64::from(sync.is_some());
        1
    }
}

impl Folder for Memory {
    fn create(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64> {
        self.step(|files| {
            files.insert(name.to_owned(), bytes / 2);
        })?;
        let before = self
            .files
            .lock()
            .expect("no panic")
            .insert(name.to_owned(), bytes);
        assert_eq!(before, None, "{name:?} exists");
        Ok(self.sync(sync))
    }

    fn read(&mut self, name: &CStr, bytes: u64) -> io::Result<()> {
        self.step(|_| {})?;
        assert_eq!(self.files.lock().expect("no panic").get(name), Some(&bytes));
        Ok(())
    }

    fn append(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64> {
        self.step(|_| {})?;
        *self
            .files
            .lock()
            .expect("no panic")
            .get_mut(name)
            .expect("the file exists") += bytes;
        Ok(self.sync(sync))
    }

    fn delete(&mut self, name: &CStr) -> io::Result<()> {
        self.step(|_| {})?;
        let found = self.files.lock().expect("no panic").remove(name);
        found
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn job(job: &serde_json::Value) -> Job {
    Job::from_json(job.to_string().as_bytes()).expect("a sound job")
}

fn run_on(memory: &Memory, asked: &serde_json::Value) -> Outcome {
    let job = job(asked);
    let parameters = job.parameters().expect("sound parameters");
    run_in(&job, &parameters, |_, _| memory.clone(), &mut |_| true).expect("a run")
}

fn asked(threads: u64) -> serde_json::Value {
    json!({
        "seed": 7, "target": {"kind": "nothing"}, "threads": threads,
        "workload": {"kind": "postmark", "files": 60, "transactions": 300, "subdirectories": 3},
        "sync": {"every": 2, "kind": "fdatasync"},
    })
}

/// Times that were counted in a histogram.
fn counted(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.tables.histograms.iter().find(|one| one.0 == name);
    found.map_or(0, |one| one.1.histogram.counts.iter().sum())
}

#[test]
fn what_is_created_is_deleted_and_every_operation_is_timed() {
    for threads in [1, 4] {
        let memory = Memory::default();
        let outcome = run_on(&memory, &asked(threads));
        let counters = outcome.facts.counters;
        assert_eq!(outcome.facts.stopped, None);
        assert!(memory.files.lock().expect("no panic").is_empty());
        assert_eq!(
            counters.created_alone_count + counters.created_mixed_count,
            counters.deleted_alone_count + counters.deleted_mixed_count
        );
        assert_eq!(counters.transaction_count, 300);
        assert_eq!(counters.sync_count, *memory.syncs.lock().expect("no panic"));
        for (name, count) in [
            ("transaction", counters.transaction_count),
            ("create", counters.created_mixed_count),
            ("read", counters.read_count),
            ("append", counters.appended_count),
            ("delete", counters.deleted_mixed_count),
            ("creation", counters.created_alone_count),
            ("deletion", counters.deleted_alone_count),
        ] {
            assert_eq!(
                counted(&outcome, name),
                count,
                "{name} with {threads} threads"
            );
        }
    }
}

#[test]
fn bytes_are_those_of_the_operations() {
    let outcome = run_on(&Memory::default(), &asked(1));
    let parameters = job(&asked(1)).parameters().expect("sound parameters");
    let (mut read, mut written) = (0, 0);
    for one in Operations::new(parameters, 7, 0) {
        match one.kind {
            Kind::Read => read += one.bytes,
            Kind::Create | Kind::Append => written += one.bytes,
            _ => {}
        }
    }
    assert_eq!(outcome.facts.counters.read_bytes, read);
    assert_eq!(outcome.facts.counters.written_bytes, written);
}

proptest! {
    /// Fault: whichever operation fails, the run stops, reports it, and leaves nothing behind.
    #[test]
    fn a_run_that_fails_anywhere_leaves_nothing(
        fails_at in 1_u64..700,
        threads in 1_u64..4,
        (errno, reason) in prop_oneof![
            Just((libc::ENOSPC, "no_space")), Just((libc::EDQUOT, "no_space")), Just((libc::EIO, "failed"))
        ]
    ) {
        let memory = Memory { fails_at: Some(fails_at), errno, ..Memory::default() };
        let outcome = run_on(&memory, &asked(threads));
        prop_assert!(memory.files.lock().expect("no panic").is_empty());
        let calls = *memory.calls.lock().expect("no panic");
        prop_assert_eq!(outcome.facts.stopped.is_some(), fails_at <= calls);
        if let Some(stopped) = &outcome.facts.stopped {
            prop_assert_eq!(stopped.reason, reason);
            prop_assert_eq!(stopped.errno, Some(errno));
            prop_assert_eq!(outcome.facts.left_count, 0);
        }
        let counters = outcome.facts.counters;
        prop_assert_eq!(counted(&outcome, "transaction"), counters.transaction_count);
    }
}

#[test]
fn a_run_that_is_not_wanted_ends_and_leaves_nothing() {
    let memory = Memory::default();
    let mut asked = asked(2);
    asked["workload"]["transactions"] = json!(u64::MAX / 4);
    // A pool that creates and deletes by chance would run out of files one day.
    asked["workload"]["create_bias"] = json!(-1);
    let job = job(&asked);
    let parameters = job.parameters().expect("sound parameters");
    let run = run_in(&job, &parameters, |_, _| memory.clone(), &mut |_| false);
    let stopped = run.expect("a run").facts.stopped.expect("it was stopped");
    assert_eq!(stopped.reason, "unwanted");
    assert!(memory.files.lock().expect("no panic").is_empty());
}

#[test]
fn time_ends_the_transactions_and_the_files_are_deleted() {
    let memory = Memory::default();
    let mut asked = asked(2);
    asked["workload"]["transactions"] = json!(u64::MAX / 4);
    // A pool that creates and deletes by chance would run out of files one day.
    asked["workload"]["create_bias"] = json!(-1);
    asked["stop"] = json!({"seconds": 0.001});
    let facts = run_on(&memory, &asked).facts;
    assert_eq!(facts.stopped.map(|stopped| stopped.reason), Some("time"));
    let counters = facts.counters;
    assert_eq!(
        counters.created_alone_count + counters.created_mixed_count,
        counters.deleted_alone_count + counters.deleted_mixed_count
    );
    assert!(memory.files.lock().expect("no panic").is_empty());
}

#[test]
fn a_pool_that_runs_out_is_said() {
    let mut asked = asked(1);
    asked["workload"]["create_bias"] = json!(0);
    let facts = run_on(&Memory::default(), &asked).facts;
    assert_eq!(
        facts.stopped.map(|stopped| stopped.reason),
        Some("out_of_files")
    );
    assert_eq!(facts.counters.deleted_mixed_count, 60);
}

/// A run in which one call hangs: its outcome, and the means to let the call return.
struct Hung<'a> {
    outcome: Outcome,
    closed: MutexGuard<'a, ()>,
    alive: Receiver<()>,
}

impl Hung<'_> {
    /// Let the call return, and wait until its thread has ended.
    fn let_go(self) {
        drop(self.closed);
        assert!(self.alive.recv().is_err());
    }
}

/// Run `asked` in `memory`, whose call `hangs_at` hangs; the wait for it is short.
fn hang<'a>(
    memory: &'a Memory,
    asked: &serde_json::Value,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Hung<'a> {
    let mut asked = asked.clone();
    for key in ["silence_s", "drain_s"] {
        if asked.get(key).is_none() {
            asked[key] = json!(0.05);
        }
    }
    let job = job(&asked);
    let parameters = job.parameters().expect("sound parameters");
    let closed = memory.gate.lock().expect("no panic");
    let (sender, alive) = channel();
    let folder = |_, _: &Arc<Signs>| Memory {
        _alive: Some(sender.clone()),
        ..memory.clone()
    };
    let outcome = run_in(&job, &parameters, folder, is_wanted).expect("a run");
    drop(sender);
    Hung {
        outcome,
        closed,
        alive,
    }
}

/// Names of the existing files.
fn names(memory: &Memory) -> Vec<String> {
    let files = memory.files.lock().expect("no panic");
    let name = |name: &CString| name.to_string_lossy().into_owned();
    files.keys().map(name).collect()
}

#[test]
fn a_call_that_never_returns_ends_the_run_and_what_was_done_is_kept() {
    let memory = Memory {
        hangs_at: Some(200),
        ..Memory::default()
    };
    let hung = hang(&memory, &asked(1), &mut |_| true);
    let facts = &hung.outcome.facts;
    let stopped = facts.stopped.clone().expect("it was stopped");
    assert_eq!(stopped.reason, "silent");
    assert_eq!(stopped.phase, Some("transactions"));
    assert!(stopped.operation.is_some());
    assert!(
        stopped.words.contains("no call has returned for"),
        "{}",
        stopped.words
    );
    assert_eq!(facts.stuck_count, 1);
    assert_eq!(facts.counters.created_alone_count, 60);
    assert!(facts.counters.transaction_count > 0);
    assert_eq!(
        counted(&hung.outcome, "transaction"),
        facts.counters.transaction_count
    );
    assert!(facts.times.transactions_s > 0.0);
    let files = names(&memory);
    assert!(!files.is_empty() && facts.left_count >= files.len() as u64);
    hung.let_go();
    // The call that returned after all was the last one.
    assert_eq!(*memory.calls.lock().expect("no panic"), 200);
}

#[test]
fn the_others_delete_their_files_while_one_hangs() {
    let memory = Memory {
        hangs_at: Some(100),
        ..Memory::default()
    };
    let mut asked = asked(3);
    asked["workload"]["subdirectories"] = json!(0);
    let hung = hang(&memory, &asked, &mut |_| true);
    let facts = &hung.outcome.facts;
    assert_eq!(facts.stopped.as_ref().map(|one| one.reason), Some("silent"));
    assert_eq!((facts.stuck_count, facts.threads), (1, 3));
    let files = names(&memory);
    let owner = |name: &String| name.split('.').next().map(str::to_owned);
    let mut owners: Vec<_> = files.iter().map(owner).collect();
    owners.dedup();
    assert_eq!(owners.len(), 1, "{files:?}");
    assert!(facts.left_count >= files.len() as u64);
    hung.let_go();
}

#[test]
fn an_interrupt_is_heard_while_a_call_hangs() {
    let memory = Memory {
        hangs_at: Some(200),
        ..Memory::default()
    };
    let mut asked = asked(2);
    asked["silence_s"] = json!(1e6);
    let mut looks = 0;
    let hung = hang(&memory, &asked, &mut |_| {
        looks += 1;
        looks < 3
    });
    let facts = &hung.outcome.facts;
    assert_eq!(
        facts.stopped.as_ref().map(|one| one.reason),
        Some("unwanted")
    );
    assert_eq!(facts.stuck_count, 1);
    assert!(facts.counters.transaction_count > 0);
    hung.let_go();
}

#[test]
fn a_fault_counts_as_the_reason_where_cleaning_hangs_after_it() {
    let memory = Memory {
        fails_at: Some(150),
        errno: libc::EIO,
        hangs_at: Some(160),
        ..Memory::default()
    };
    let hung = hang(&memory, &asked(1), &mut |_| true);
    let facts = &hung.outcome.facts;
    assert_eq!(facts.stopped.as_ref().map(|one| one.reason), Some("failed"));
    assert_eq!(facts.stuck_count, 1);
    assert!(facts.left_count >= names(&memory).len() as u64);
    hung.let_go();
}

#[test]
#[should_panic(expected = "exists")]
fn a_thread_that_panics_holds_nobody_up() {
    let memory = Memory::default();
    let taken = CString::new("s0/0.1").expect("a name");
    let mut asked = asked(2);
    asked["workload"]["subdirectories"] = json!(1);
    memory.files.lock().expect("no panic").insert(taken, 1);
    run_on(&memory, &asked);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Fault: whichever call hangs, the run ends, reports it, and counts its remains.
    #[test]
    fn a_run_that_hangs_anywhere_ends(hangs_at in 1_u64..700, threads in 1_u64..4) {
        let memory = Memory { hangs_at: Some(hangs_at), ..Memory::default() };
        let hung = hang(&memory, &asked(threads), &mut |_| true);
        let facts = &hung.outcome.facts;
        let did_hang = hangs_at <= *memory.calls.lock().expect("no panic");
        prop_assert_eq!(facts.stuck_count, u64::from(did_hang));
        prop_assert_eq!(facts.stopped.as_ref().map(|one| one.reason), did_hang.then_some("silent"));
        prop_assert!(facts.left_count >= names(&memory).len() as u64);
        prop_assert_eq!(counted(&hung.outcome, "transaction"), facts.counters.transaction_count);
        prop_assert_eq!(counted(&hung.outcome, "creation"), facts.counters.created_alone_count);
        hung.let_go();
    }
}
