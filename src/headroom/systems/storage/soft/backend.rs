//! The soft device behind the engine, in its own virtual time.
//!
//! Nothing waits: the clock jumps to the next event instead. So the report equals the script
//! exactly, on any machine, and hours of load take seconds.

use super::device::{Data, SoftDevice};
use super::virtual_time::VirtualTime;
use crate::recording::load::carrier::{Backend, Completion};
use crate::systems::storage::blocks::engine::EngineError;
use crate::systems::storage::blocks::engine::backend::Operation;
use crate::systems::storage::blocks::engine::buffers::Buffers;
use crate::systems::storage::workloads::request::Kind;

/// A soft device that carries operations out.
#[derive(Debug)]
pub struct SoftBackend<'a> {
    device: &'a mut SoftDevice,
    buffers: &'a mut Buffers,
    pushed: Vec<(u32, Operation)>,
    time: VirtualTime,
}

impl<'a> SoftBackend<'a> {
    /// Return a backend with one place for each of `buffers`.
    pub fn new(device: &'a mut SoftDevice, buffers: &'a mut Buffers) -> Self {
        Self {
            device,
            buffers,
            pushed: Vec::new(),
            time: VirtualTime::default(),
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
            .carry(self.time.now_ns(), operation.kind, operation.offset, data);
        self.time.begin(place, answer.done_ns, answer.result);
    }
}

impl Backend<Operation> for SoftBackend<'_> {
    type Error = EngineError;

    fn now_ns(&mut self) -> u64 {
        self.time.now_ns()
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
        self.time.turn(until_ns, done);
        Ok(())
    }
}
