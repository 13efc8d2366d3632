//! One thread of a run: walks its operations, carries them out and clocks them.
//!
//! The tool's own work (drawing the next transaction, counting the last) lies between two readings
//! of the clock and is in no time that is reported, but in the length of the phases.
//!
//! Invariant: a worker that is stopped in the midst leaves no file behind that it can delete.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use super::clock::{Clock, processor_ns};
use super::folder::Folder;
use super::job::Sync;
use super::name::Name;
use super::operations::{Kind, Operation, Operations, Phase};
use super::recorder::{Recorder, Timed};

/// Why a run ended before all was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An operation failed.
    Failed {
        /// What was tried.
        kind: Kind,
        /// In which phase.
        phase: Phase,
        /// Number of the error, where the system gave one.
        errno: Option<i32>,
        /// What the system says.
        words: String,
    },
    /// Whoever asked for the run does not want it any more.
    Unwanted,
}

/// What the threads of a run share.
pub struct Shared {
    /// The clock of the run.
    pub clock: Clock,
    /// Begin of the transactions (ns), once they have begun.
    pub zero_ns: AtomicU64,
    /// Operations of phases alone and transactions done, by thread.
    pub done: Vec<AtomicU64>,
    /// True once the run is to end.
    pub is_over: AtomicBool,
    ending: Mutex<Option<Ending>>,
    barrier: Barrier,
    /// Time and processor time (ns) at the borders of the phases.
    marks: Mutex<Vec<(u64, u64)>>,
}

impl Shared {
    /// Return what `threads` threads share.
    pub fn new(clock: Clock, threads: usize) -> Self {
        Self {
            clock,
            zero_ns: AtomicU64::new(0),
            done: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            is_over: AtomicBool::new(false),
            ending: Mutex::new(None),
            barrier: Barrier::new(threads),
            marks: Mutex::new(Vec::new()),
        }
    }

    /// End the run; the first reason counts.
    pub fn end(&self, ending: Ending) {
        held(&self.ending).get_or_insert(ending);
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Return why the run ended early.
    pub fn ending(&self) -> Option<Ending> {
        held(&self.ending).clone()
    }

    /// Return time and processor time (ns) at the borders of the phases.
    pub fn marks(&self) -> Vec<(u64, u64)> {
        held(&self.marks).clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Wait for all threads; one of them marks the border between two phases.
    fn meet(&self) {
        if self.barrier.wait().is_leader() {
            let now_ns = self.clock.now_ns();
            self.zero_ns.store(now_ns, Ordering::Relaxed);
            held(&self.marks).push((now_ns, processor_ns()));
        }
        self.barrier.wait();
    }
}

/// Lock, whatever a thread that panicked left: the panic itself is passed on by who joins it.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One thread of a run.
pub struct Worker<'a, F> {
    thread: usize,
    operations: Operations,
    folder: F,
    sync: Option<Sync>,
    stop_ns: Option<u64>,
    shared: &'a Shared,
    recorder: Recorder,
    written_count: u64,
    in_doubt: [Option<Operation>; 2],
}

/// What a thread leaves.
pub struct Left {
    /// What it saw.
    pub recorder: Recorder,
    /// True where its transactions ended for want of files.
    pub is_out_of_files: bool,
    /// True where its transactions ended because their time was over.
    pub is_out_of_time: bool,
    /// Files that it could not delete.
    pub left_count: u64,
}

impl<'a, F: Folder> Worker<'a, F> {
    /// Return the thread with number `thread`.
    pub fn new(
        thread: usize,
        operations: Operations,
        folder: F,
        sync: Option<Sync>,
        stop_ns: Option<u64>,
        shared: &'a Shared,
    ) -> Self {
        Self {
            thread,
            operations,
            folder,
            sync,
            stop_ns,
            shared,
            recorder: Recorder::new(),
            written_count: 0,
            in_doubt: [None; 2],
        }
    }

    /// Do all phases, together with the other threads.
    pub fn run(mut self) -> Left {
        let mut is_out_of_time = false;
        for phase in Phase::ALL {
            self.shared.meet();
            let done = match phase {
                Phase::Transactions => self.transactions().map(|is_late| is_out_of_time = is_late),
                _ => self.alone(phase),
            };
            if let Err(ending) = done {
                self.shared.end(ending);
            }
        }
        self.shared.meet();
        let left_count = if self.shared.is_over() {
            self.clean()
        } else {
            0
        };
        let undone = self.operations.undone();
        self.recorder.counters.full_append_count = undone.full_append_count;
        self.recorder.counters.full_create_count = undone.full_create_count;
        Left {
            recorder: self.recorder,
            is_out_of_files: undone.is_out_of_files,
            is_out_of_time,
            left_count,
        }
    }

    /// Do the phase before or after the transactions.
    fn alone(&mut self, phase: Phase) -> Result<(), Ending> {
        while !self.shared.is_over() {
            let Some(operation) = self.operations.next_of(phase) else {
                break;
            };
            self.in_doubt = [Some(operation), None];
            let began_ns = self.shared.clock.now_ns();
            self.carry_out(&operation)?;
            let time_ns = self.shared.clock.now_ns() - began_ns;
            self.recorder.record_alone(phase, time_ns);
            self.has_done_one();
        }
        Ok(())
    }

    /// Do the transactions; return whether their time was over before they were.
    fn transactions(&mut self) -> Result<bool, Ending> {
        let zero_ns = self.shared.zero_ns.load(Ordering::Relaxed);
        while !self.shared.is_over() {
            let Some(first) = self.operations.next_of(Phase::Transactions) else {
                break;
            };
            let second = if first.ends_transaction {
                None
            } else {
                self.operations.next_of(Phase::Transactions)
            };
            let ended_ns = self.transaction(&first, second.as_ref(), zero_ns)?;
            self.recorder.counters.transaction_count += 1;
            self.has_done_one();
            if self.stop_ns.is_some_and(|stop_ns| ended_ns >= stop_ns) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Do one transaction; return when (ns) it ended since the transactions began.
    fn transaction(
        &mut self,
        first: &Operation,
        second: Option<&Operation>,
        zero_ns: u64,
    ) -> Result<u64, Ending> {
        self.in_doubt = [Some(*first), second.copied()];
        let began_ns = self.shared.clock.now_ns() - zero_ns;
        let mut ended_ns = began_ns;
        let mut times = [(Kind::Nothing, 0, None); 2];
        for (time, operation) in times
            .iter_mut()
            .zip([Some(first), second].into_iter().flatten())
        {
            let sync_ns = self.carry_out(operation)?;
            let now_ns = self.shared.clock.now_ns() - zero_ns;
            *time = (operation.kind, now_ns - ended_ns, sync_ns);
            ended_ns = now_ns;
        }
        for (kind, time_ns, sync_ns) in times {
            if let Some(timed) = Timed::of(kind) {
                self.recorder.record(timed, time_ns, ended_ns);
            }
            if let Some(sync_ns) = sync_ns {
                self.recorder.record(Timed::Sync, sync_ns, ended_ns);
            }
        }
        self.recorder
            .record(Timed::Transaction, ended_ns - began_ns, ended_ns);
        Ok(ended_ns)
    }

    /// Carry out an operation; return the time (ns) that making it durable took, where it was.
    fn carry_out(&mut self, operation: &Operation) -> Result<Option<u64>, Ending> {
        let is_spread = self.operations.is_spread();
        let name = Name::of_file(operation, self.thread, is_spread);
        let sync = self.sync_due(operation.kind);
        let kind = sync.map(|sync| sync.kind);
        let done = match operation.kind {
            Kind::Create => self.folder.create(name.text(), operation.bytes, kind),
            Kind::Append => self.folder.append(name.text(), operation.bytes, kind),
            Kind::Read => self.folder.read(name.text(), operation.bytes).map(|()| 0),
            Kind::Delete => self.folder.delete(name.text()).map(|()| 0),
            Kind::Nothing => Ok(0),
        };
        let sync_ns = done.map_err(|error| failed(operation, &error))?;
        self.recorder.counters.count(operation);
        self.recorder.counters.sync_count += u64::from(sync.is_some());
        Ok(sync.map(|_| sync_ns))
    }

    /// Return how the file that is written now is to be made durable.
    fn sync_due(&mut self, kind: Kind) -> Option<Sync> {
        let sync = self.sync?;
        if !matches!(kind, Kind::Create | Kind::Append) {
            return None;
        }
        self.written_count += 1;
        (self.written_count % sync.every == 0).then_some(sync)
    }

    #[inline]
    fn has_done_one(&self) {
        let done = &self.shared.done[self.thread];
        // No other thread writes here: a plain addition is enough.
        done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Delete all files that exist, and those whose operation was cut off; return how many stay.
    fn clean(&mut self) -> u64 {
        let is_spread = self.operations.is_spread();
        let mut left_count = 0;
        for operation in self.in_doubt.into_iter().flatten() {
            let name = Name::of_file(&operation, self.thread, is_spread);
            left_count += u64::from(is_left(self.folder.delete(name.text())));
        }
        while let Some(operation) = self.operations.next_of(Phase::Deletion) {
            let name = Name::of_file(&operation, self.thread, is_spread);
            left_count += u64::from(is_left(self.folder.delete(name.text())));
        }
        left_count
    }
}

/// Return whether a file is still there after it was to be deleted.
fn is_left(deleted: io::Result<()>) -> bool {
    deleted.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

fn failed(operation: &Operation, error: &io::Error) -> Ending {
    Ending::Failed {
        kind: operation.kind,
        phase: operation.phase,
        errno: error.raw_os_error(),
        words: error.to_string(),
    }
}
