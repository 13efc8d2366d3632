//! One thread of a run: carries out its operations and measures them.
//!
//! The tool's own work (drawing the next transaction, counting the last) happens between two
//! readings of the clock. It is included only in the length of the phases, not in any other
//! reported time.
//!
//! Invariant: a worker stopped midway leaves no file behind that it can delete.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::folder::Folder;
use super::job::Sync;
use super::name::Name;
use super::operations::{Kind, Operation, Phase};
use super::part::{Ending, Halt, Part, Place, Shared};
use super::recorder::Timed;
use crate::recording::crew::Held;

/// One thread of a run.
pub struct Worker<F> {
    /// Its number.
    pub thread: usize,
    /// The folder that it works in.
    pub folder: F,
    /// Which files it makes durable.
    pub sync: Option<Sync>,
    /// Maximum length (ns) of its transactions.
    pub stop_ns: Option<u64>,
    /// State shared by all threads.
    pub shared: Arc<Shared>,
    /// Its part and its signs of life.
    pub place: Place,
    /// Files that it wrote.
    pub written_count: u64,
}

/// An operation that was carried out.
struct Done {
    /// When (ns) it ended.
    at_ns: u64,
    /// Time (ns) to make the file durable, if it was.
    sync_ns: Option<u64>,
}

impl<F: Folder> Worker<F> {
    /// Do all phases, together with the other threads.
    pub fn run(mut self) {
        let slot = Arc::clone(&self.place.slot);
        let Some(mut part) = Held::new(&slot) else {
            return;
        };
        match self.phases(&mut part) {
            Err(Halt::Left) => return,
            Err(Halt::End(ending)) => self.shared.end(ending),
            Ok(()) => {}
        }
        part.is_in_phases = false;
        if !self.shared.is_over() {
            part.left_count = Some(0);
            return;
        }
        self.shared.leave();
        if let Ok(left_count) = self.clean(&mut part) {
            part.left_count = Some(left_count);
        }
    }

    /// Do the phases, up to the end of the run.
    fn phases(&mut self, part: &mut Held<'_, Part>) -> Result<(), Halt> {
        for phase in Phase::ALL {
            if !part.released(|| self.shared.meet())? {
                return Ok(());
            }
            match phase {
                Phase::Transactions => self.transactions(part)?,
                _ => self.alone(part, phase)?,
            }
        }
        part.released(|| self.shared.meet())?;
        Ok(())
    }

    /// Do the phase before or after the transactions.
    fn alone(&mut self, part: &mut Held<'_, Part>, phase: Phase) -> Result<(), Halt> {
        while !self.shared.is_over() {
            let Some(operation) = part.operations.next_of(phase) else {
                break;
            };
            part.in_doubt = [Some(operation), None];
            let began_ns = self.shared.clock.now_ns();
            let done = self.carry_out(part, &operation, began_ns)?;
            part.recorder.record_alone(phase, done.at_ns - began_ns);
            self.place.signs.has_done_one();
        }
        Ok(())
    }

    /// Do the transactions, until their time is over.
    fn transactions(&mut self, part: &mut Held<'_, Part>) -> Result<(), Halt> {
        let zero_ns = self.shared.zero_ns.load(Ordering::Relaxed);
        while !self.shared.is_over() {
            let Some(first) = part.operations.next_of(Phase::Transactions) else {
                break;
            };
            let second = if first.ends_transaction {
                None
            } else {
                part.operations.next_of(Phase::Transactions)
            };
            let ended_ns = self.transaction(part, first, second, zero_ns)?;
            part.recorder.counters.transaction_count += 1;
            self.place.signs.has_done_one();
            if self.stop_ns.is_some_and(|stop_ns| ended_ns >= stop_ns) {
                part.is_out_of_time = true;
                break;
            }
        }
        Ok(())
    }

    /// Do one transaction; return when (ns) it ended since the transactions began.
    fn transaction(
        &mut self,
        part: &mut Held<'_, Part>,
        first: Operation,
        second: Option<Operation>,
        zero_ns: u64,
    ) -> Result<u64, Halt> {
        part.in_doubt = [Some(first), second];
        let began_ns = self.shared.clock.now_ns();
        let mut ended_ns = began_ns;
        let mut times = [(Kind::Nothing, 0, None); 2];
        for (time, operation) in times.iter_mut().zip([Some(first), second].iter().flatten()) {
            let done = self.carry_out(part, operation, ended_ns)?;
            *time = (operation.kind, done.at_ns - ended_ns, done.sync_ns);
            ended_ns = done.at_ns;
        }
        let since_ns = ended_ns - zero_ns;
        for (kind, time_ns, sync_ns) in times {
            if let Some(timed) = Timed::of(kind) {
                part.recorder.record(timed, time_ns, since_ns);
            }
            if let Some(sync_ns) = sync_ns {
                part.recorder.record(Timed::Sync, sync_ns, since_ns);
            }
        }
        let time_ns = ended_ns - began_ns;
        part.recorder.record(Timed::Transaction, time_ns, since_ns);
        Ok(since_ns)
    }

    /// Carry out an operation that begins at `began_ns`.
    #[inline]
    fn carry_out(
        &mut self,
        part: &mut Held<'_, Part>,
        operation: &Operation,
        began_ns: u64,
    ) -> Result<Done, Halt> {
        let name = Name::of_file(operation, self.thread, part.operations.is_spread());
        let sync = self.sync_due(operation.kind);
        let kind = sync.map(|sync| sync.kind);
        part.doing = Some((*operation, began_ns));
        let (folder, clock) = (&mut self.folder, self.shared.clock);
        let (done, at_ns) = part.released(|| {
            let done = match operation.kind {
                Kind::Create => folder.create(name.text(), operation.bytes, kind),
                Kind::Append => folder.append(name.text(), operation.bytes, kind),
                Kind::Read => folder.read(name.text(), operation.bytes).map(|()| 0),
                Kind::Delete => folder.delete(name.text()).map(|()| 0),
                Kind::Nothing => Ok(0),
            };
            (done, clock.now_ns())
        })?;
        part.doing = None;
        self.place.signs.answered().map_err(|_| Halt::Left)?;
        let sync_ns = done.map_err(|error| failed(operation, &error))?;
        part.recorder.counters.count(operation);
        part.recorder.counters.sync_count += u64::from(sync.is_some());
        Ok(Done {
            at_ns,
            sync_ns: sync.map(|_| sync_ns),
        })
    }

    /// Return how to make the file being written durable.
    fn sync_due(&mut self, kind: Kind) -> Option<Sync> {
        let sync = self.sync?;
        if !matches!(kind, Kind::Create | Kind::Append) {
            return None;
        }
        self.written_count += 1;
        self.written_count
            .is_multiple_of(sync.every)
            .then_some(sync)
    }

    /// Delete all files that exist, and those whose operation was interrupted; return how many
    /// stay.
    fn clean(&mut self, part: &mut Held<'_, Part>) -> Result<u64, Halt> {
        let mut left_count = 0;
        for operation in part.in_doubt.into_iter().flatten() {
            left_count += u64::from(self.leaves(part, &operation)?);
        }
        while let Some(operation) = part.operations.next_of(Phase::Deletion) {
            part.in_doubt = [Some(operation), None];
            left_count += u64::from(self.leaves(part, &operation)?);
        }
        Ok(left_count)
    }

    /// Delete the file of an operation; return whether it is still there.
    fn leaves(&mut self, part: &mut Held<'_, Part>, operation: &Operation) -> Result<bool, Halt> {
        let name = Name::of_file(operation, self.thread, part.operations.is_spread());
        let deletion = Operation {
            phase: Phase::Deletion,
            kind: Kind::Delete,
            ..*operation
        };
        part.doing = Some((deletion, self.shared.clock.now_ns()));
        let deleted = part.released(|| self.folder.delete(name.text()))?;
        part.doing = None;
        self.place.signs.answered().map_err(|_| Halt::Left)?;
        Ok(deleted.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
    }
}

fn failed(operation: &Operation, error: &io::Error) -> Halt {
    Halt::End(Ending::Failed {
        kind: operation.kind,
        phase: operation.phase,
        errno: error.raw_os_error(),
        words: error.to_string(),
    })
}
