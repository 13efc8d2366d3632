//! The soft device behind the engine, in time of its own.
//!
//! Nobody waits: where the engine would, the clock jumps to the next event. So what is reported is
//! exactly what the script says, on any machine, and hours of load take seconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::device::{Data, SoftDevice};
use crate::systems::storage::engine::EngineError;
use crate::systems::storage::engine::backend::{Backend, Completion, Operation};
use crate::systems::storage::engine::buffers::Buffers;
use crate::systems::storage::request::Kind;

/// A soft device that carries operations out.
#[derive(Debug)]
pub struct SoftBackend<'a> {
    device: &'a mut SoftDevice,
    buffers: &'a mut Buffers,
    now_ns: u64,
    pushed: Vec<(u32, Operation)>,
    /// When (ns) the operation of a place is done, in the order in which they were begun.
    pending: BinaryHeap<Reverse<(u64, u64, u32, i32)>>,
    begun_count: u64,
}

impl<'a> SoftBackend<'a> {
    /// Return a backend with one place for each of `buffers`.
    pub const fn new(device: &'a mut SoftDevice, buffers: &'a mut Buffers) -> Self {
        Self {
            device,
            buffers,
            now_ns: 0,
            pushed: Vec::new(),
            pending: BinaryHeap::new(),
            begun_count: 0,
        }
    }

    fn begin(&mut self, place: u32, operation: Operation) {
        let from = operation.at as usize;
        let part = self.buffers.place(place);
        let data = match operation.kind {
            Kind::Read => Data::Into(&mut part[from..from + operation.length as usize]),
            Kind::Write => Data::From(&part[from..from + operation.length as usize]),
            Kind::Sync | Kind::DataSync | Kind::Trim => Data::Nothing,
        };
        let answer = self
            .device
            .carry(self.now_ns, operation.kind, operation.offset, data);
        self.begun_count += 1;
        let key = (answer.done_ns, self.begun_count, place, answer.result);
        self.pending.push(Reverse(key));
    }
}

impl Backend for SoftBackend<'_> {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn buffer(&mut self, place: u32) -> &mut [u8] {
        self.buffers.place(place)
    }

    fn push(&mut self, place: u32, operation: Operation) {
        self.pushed.push((place, operation));
    }

    fn turn(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        for (place, operation) in std::mem::take(&mut self.pushed) {
            self.begin(place, operation);
        }
        let next_ns = self.pending.peek().map_or(u64::MAX, |next| next.0.0);
        let until_ns = until_ns.unwrap_or(u64::MAX);
        if next_ns > until_ns {
            self.now_ns = self.now_ns.max(until_ns);
            return Ok(());
        }
        self.now_ns = self.now_ns.max(next_ns);
        while let Some(&Reverse((done_ns, _, place, result))) = self.pending.peek() {
            if done_ns > self.now_ns {
                break;
            }
            self.pending.pop();
            done.push(Completion {
                place,
                result,
                done_ns,
            });
        }
        Ok(())
    }
}
