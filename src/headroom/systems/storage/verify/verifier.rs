//! The verifier of a run: stamps writes, judges reads, keeps the log.
//!
//! Invariant: an entry of the log is with the system before the request that it announces begins;
//! otherwise the request is not begun.

use std::fs::File;
use std::io;

use super::findings::Findings;
use super::ledger::Ledger;
use super::log::{Entry, Extent, Head, LogWriter};
use super::read_back::ReadBack;
use super::stamp::{self, Origin};
use crate::systems::storage::blocks::engine::content::Content;
use crate::systems::storage::workloads::request::{Kind, Request};

/// The parameters of a verifying run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of the run, its own.
    pub run: u64,
    /// Bytes (B) judged together. Of a write that covers a cell in part, the cell is not judged
    /// until it is written as a whole again.
    pub cell_bytes: u64,
    /// Bytes (B) of the target.
    pub target_bytes: u64,
}

/// Stamps, judges and keeps the log.
#[derive(Debug)]
pub struct Verifier {
    plan: Plan,
    ledger: Ledger,
    findings: Findings,
    log: Option<LogWriter<File>>,
    log_error: Option<io::Error>,
    /// Write or flush that each place carries.
    numbers: Vec<u64>,
    flush_count: u64,
}

impl Verifier {
    /// Return the verifier of a run, which keeps its log in `log`.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn new(plan: Plan, log: Option<File>) -> io::Result<Self> {
        let head = Head {
            run: plan.run,
            cell_bytes: plan.cell_bytes,
            target_bytes: plan.target_bytes,
        };
        Ok(Self {
            plan,
            ledger: Ledger::new(plan.target_bytes, plan.cell_bytes),
            findings: Findings::default(),
            log: log.map(|file| LogWriter::begin(file, head)).transpose()?,
            log_error: None,
            numbers: Vec::new(),
            flush_count: 0,
        })
    }

    /// Return whether `request` may begin: no request in flight uses its cells against it.
    pub fn is_free(&self, request: &Request) -> bool {
        let length = u64::from(request.length);
        match request.kind {
            Kind::Read => self.ledger.is_free(request.offset, length, false),
            Kind::Write | Kind::Trim => self.ledger.is_free(request.offset, length, true),
            Kind::Sync | Kind::DataSync => true,
        }
    }

    /// The request begins in `place`, whose buffer is stamped if it writes.
    pub fn begin(&mut self, place: u32, request: &Request, buffer: &mut [u8]) {
        let (offset, length) = (request.offset, u64::from(request.length));
        match request.kind {
            Kind::Read => self.ledger.begin_read(offset, length),
            Kind::Write => {
                let generation = self.ledger.begin_write(offset, length);
                self.put(place, generation);
                for edge in self.edges(request) {
                    // Whatever the buffer held before must not pass for a cell of another place.
                    let from = index(edge.offset - offset);
                    buffer[from..from + index(edge.length)].fill(0);
                    self.note(Entry::Unknown(edge));
                }
                if let Some(whole) = self.whole(request, generation) {
                    let from = index(whole.offset - offset);
                    self.stamp(whole, &mut buffer[from..from + index(whole.length)]);
                    self.note(Entry::Write(whole));
                }
            }
            Kind::Trim => {
                let generation = self.ledger.begin_write(offset, length);
                self.put(place, generation);
                self.note(Entry::Unknown(extent(offset, length, 0)));
            }
            Kind::Sync | Kind::DataSync => {
                self.flush_count += 1;
                self.put(place, self.flush_count);
                self.note(Entry::Flush(self.flush_count));
            }
        }
    }

    /// The request in `place` is over; `buffer` holds the data read or written.
    pub fn end(&mut self, place: u32, request: &Request, is_done: bool, buffer: &[u8]) {
        let (offset, length) = (request.offset, u64::from(request.length));
        let number = self.numbers.get(place as usize).copied().unwrap_or(0);
        match request.kind {
            Kind::Read => {
                self.ledger.end_read(offset, length);
                if is_done {
                    self.judge(request, buffer);
                }
            }
            Kind::Write => {
                self.ledger.end_write(offset, length, number, is_done);
                for edge in self.edges(request) {
                    self.ledger.forget(edge.offset, edge.length);
                }
                if let Some(whole) = self.whole(request, number).filter(|_| is_done) {
                    self.note(Entry::Written(whole));
                }
            }
            // Trimmed data may be there or not, indefinitely.
            Kind::Trim => self.ledger.forget(offset, length),
            Kind::Sync | Kind::DataSync => {
                if is_done {
                    self.note(Entry::Flushed(number));
                }
            }
        }
    }

    /// Return reads of everything of which something is known.
    pub fn read_back(&self) -> ReadBack {
        ReadBack::new(self.ledger.known())
    }

    /// Return the findings so far.
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Return why the log could not be kept, if so.
    pub const fn log_error(&self) -> Option<&io::Error> {
        self.log_error.as_ref()
    }

    /// Note the number of the write or flush that `place` carries.
    fn put(&mut self, place: u32, number: u64) {
        let place = place as usize;
        if place >= self.numbers.len() {
            self.numbers.resize(place + 1, 0);
        }
        self.numbers[place] = number;
    }

    /// Return the cells that `request` covers as a whole.
    fn whole(&self, request: &Request, generation: u64) -> Option<Extent> {
        let cell_bytes = self.plan.cell_bytes;
        let from = request.offset.next_multiple_of(cell_bytes);
        let to = (request.offset + u64::from(request.length)) / cell_bytes * cell_bytes;
        (from < to).then(|| extent(from, to - from, generation))
    }

    /// Return the parts of `request` that cover a cell in part only.
    fn edges(&self, request: &Request) -> impl Iterator<Item = Extent> + use<> {
        let end = request.offset + u64::from(request.length);
        let (from, to) = self.whole(request, 0).map_or((end, end), |whole| {
            (whole.offset, whole.offset + whole.length)
        });
        let parts = [(request.offset, from), (to, end)];
        parts
            .into_iter()
            .filter(|(from, to)| from < to)
            .map(|(from, to)| extent(from, to - from, 0))
    }

    fn stamp(&self, whole: Extent, buffer: &mut [u8]) {
        let mut offset = whole.offset;
        for cell in buffer.chunks_exact_mut(index(self.plan.cell_bytes)) {
            stamp::stamp(
                cell,
                Origin {
                    run: self.plan.run,
                    offset,
                    generation: whole.generation,
                },
            );
            offset += self.plan.cell_bytes;
        }
    }

    fn judge(&mut self, request: &Request, buffer: &[u8]) {
        let Some(whole) = self.whole(request, 0) else {
            return;
        };
        let from = index(whole.offset - request.offset);
        let cells =
            buffer[from..from + index(whole.length)].chunks_exact(index(self.plan.cell_bytes));
        let demands = self
            .ledger
            .demands(self.plan.run, whole.offset, whole.length);
        for (cell, demand) in cells.zip(demands) {
            self.findings.compare(stamp::read(cell), demand);
        }
    }

    fn note(&mut self, entry: Entry) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.append(entry)
        {
            self.log_error.get_or_insert(error);
        }
    }
}

const fn extent(offset: u64, length: u64, generation: u64) -> Extent {
    Extent {
        offset,
        length,
        generation,
    }
}

impl Content for Verifier {
    fn is_careful(&self) -> bool {
        true
    }

    fn admits(&mut self, request: &Request) -> bool {
        self.log_error.is_none() && self.is_free(request)
    }

    fn begin(&mut self, place: u32, request: &Request, buffer: &mut [u8]) {
        Self::begin(self, place, request, buffer);
    }

    fn end(&mut self, place: u32, request: &Request, buffer: &[u8], errno: Option<i32>) {
        Self::end(self, place, request, errno.is_none(), buffer);
    }
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::findings::Fault;
    use super::*;
    use crate::systems::storage::soft::device::{Data, SoftDevice};

    const CELL: u32 = 512;
    const PLAN: Plan = Plan {
        run: 3,
        cell_bytes: 512,
        target_bytes: 16 * 512,
    };

    fn request(kind: Kind, cell: u64, cells: u32) -> Request {
        Request {
            kind,
            offset: cell * u64::from(CELL),
            length: cells * CELL,
            due_ns: None,
        }
    }

    fn verifier() -> Verifier {
        Verifier::new(PLAN, None).expect("no log")
    }

    fn device(script: &str) -> SoftDevice {
        let script = serde_json::from_str(script).expect("a script");
        SoftDevice::new(script, PLAN.target_bytes).expect("a script that can be")
    }

    /// Carry `request` out, one at a time.
    fn carry(verifier: &mut Verifier, device: &mut SoftDevice, request: &Request) {
        let mut buffer = vec![0; request.length as usize];
        verifier.begin(0, request, &mut buffer);
        let data = match request.kind {
            Kind::Read => Data::Into(&mut buffer),
            Kind::Write => Data::From(&buffer),
            _ => Data::Nothing,
        };
        let answer = device.carry(0, request.kind, request.offset, data);
        verifier.end(0, request, answer.result >= 0, &buffer);
    }

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let one = (any::<bool>(), 0_u64..16, 1_u32..5).prop_map(|(is_read, cell, cells)| {
            let cells = cells.min(16 - u32::try_from(cell).expect("small"));
            let kind = if is_read { Kind::Read } else { Kind::Write };
            request(kind, cell, cells)
        });
        proptest::collection::vec(one, 1..60)
    }

    proptest! {
        #[test]
        fn an_honest_device_gives_no_alarm(requests in requests()) {
            let (mut verifier, mut device) = (verifier(), device("{}"));
            for one in &requests {
                carry(&mut verifier, &mut device, one);
            }
            prop_assert!(verifier.findings().is_clean(), "{:?}", verifier.findings());
        }

        #[test]
        fn a_write_that_failed_gives_no_alarm(requests in requests(), failing in 1_u64..20) {
            let script = format!(r#"{{"errors": [{{"kind": "write", "times": {failing}}}],
                "torn": [{{"write": 30, "kept_bytes": 0}}]}}"#);
            let (mut verifier, mut device) = (verifier(), device(&script));
            for one in requests.iter().take(25) {
                carry(&mut verifier, &mut device, one);
            }
            prop_assert!(verifier.findings().is_clean());
        }

        #[test]
        fn a_lost_write_is_found_when_it_is_read(cell in 0_u64..16) {
            let (mut verifier, mut device) = (verifier(), device(r#"{"lost": [2]}"#));
            for kind in [Kind::Write, Kind::Write, Kind::Read] {
                carry(&mut verifier, &mut device, &request(kind, cell, 1));
            }
            let found = verifier.findings().kept();
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!((found[0].fault, found[0].offset), (Fault::Lost, cell * 512));
            prop_assert_eq!((found[0].demanded, found[0].found.map(|one| one.generation)), (2, Some(1)));
        }
    }

    #[test]
    fn each_fault_of_a_device_is_found_as_what_it_is() {
        let cases = [
            (
                r#"{"torn": [{"write": 2, "kept_bytes": 100}]}"#,
                Fault::Torn,
            ),
            (
                r#"{"misdirected": [{"write": 2, "to": 0}]}"#,
                Fault::Misdirected,
            ),
            (r#"{"lost": [1, 2]}"#, Fault::Foreign),
            (r#"{"lost": [2]}"#, Fault::Lost),
        ];
        for (script, fault) in cases {
            let (mut verifier, mut device) = (verifier(), device(script));
            for (kind, cell) in [
                (Kind::Write, 4),
                (Kind::Write, 4),
                (Kind::Read, 4),
                (Kind::Read, 0),
            ] {
                carry(&mut verifier, &mut device, &request(kind, cell, 1));
            }
            assert_eq!(verifier.findings().count(fault), 1, "{script}");
        }
    }

    #[test]
    fn a_cell_that_is_written_in_part_is_judged_by_nobody() {
        let (mut verifier, mut device) = (verifier(), device("{}"));
        let part = Request {
            kind: Kind::Write,
            offset: 700,
            length: 1000,
            due_ns: None,
        };
        for one in [
            request(Kind::Write, 0, 16),
            part,
            request(Kind::Read, 0, 16),
        ] {
            carry(&mut verifier, &mut device, &one);
        }
        let findings = verifier.findings();
        assert!(findings.is_clean(), "{findings:?}");
        assert_eq!((findings.cell_count, findings.unknown_count), (16, 2));
    }

    proptest! {
        #[test]
        fn requests_that_cover_cells_in_part_give_no_alarm_whatever_their_buffers_held(
            requests in proptest::collection::vec((any::<bool>(), 0_u64..60, 1_u32..20), 1..80),
            failing in 0_u64..10,
        ) {
            // Cells of 512 B, requests in steps of 128 B, through one buffer as an engine has it.
            let script = format!(r#"{{"errors": [{{"kind": "write", "times": {failing}}}]}}"#);
            let (mut verifier, mut device) = (verifier(), device(&script));
            let mut shared = vec![0; 20 * 128];
            for (is_read, step, steps) in requests {
                let kind = if is_read { Kind::Read } else { Kind::Write };
                let length = 128 * steps.min(64 - u32::try_from(step).expect("small"));
                let one = Request { kind, offset: 128 * step, length, due_ns: None };
                let buffer = &mut shared[..length as usize];
                verifier.begin(0, &one, buffer);
                let data = if is_read { Data::Into(buffer) } else { Data::From(buffer) };
                let answer = device.carry(0, kind, one.offset, data);
                verifier.end(0, &one, answer.result >= 0, &shared[..length as usize]);
            }
            prop_assert!(verifier.findings().is_clean(), "{:?}", verifier.findings());
        }
    }

    #[test]
    fn requests_that_would_meet_wait() {
        let mut verifier = Verifier::new(PLAN, None).expect("no log");
        let mut buffer = vec![0; 2 * CELL as usize];
        verifier.begin(0, &request(Kind::Write, 4, 2), &mut buffer);
        assert!(!verifier.is_free(&request(Kind::Read, 5, 1)));
        assert!(!verifier.is_free(&request(Kind::Write, 3, 2)));
        assert!(verifier.is_free(&request(Kind::Write, 6, 1)));
        assert!(verifier.is_free(&request(Kind::Sync, 0, 0)));
        verifier.end(0, &request(Kind::Write, 4, 2), true, &buffer);
        assert!(verifier.is_free(&request(Kind::Read, 5, 1)));
    }
}
