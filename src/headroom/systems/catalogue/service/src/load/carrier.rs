//! An operation is one step: the client of its place carries all of it out.

use headroom::recording::load::Load;
use headroom::recording::load::carrier::{self, Completion};

use super::source::{Operation, Operations};

/// Hands operations to clients.
#[derive(Clone, Copy, Debug)]
pub struct Carrier;

impl carrier::Carrier for Carrier {
    type Source = Operations;
    type Step = Operation;

    fn begin<'b>(
        &mut self,
        load: &Load<Operations>,
        place: u32,
        _buffer: impl FnOnce() -> &'b mut [u8],
    ) -> Operation {
        *load.operation(place)
    }

    fn end<'b>(
        &mut self,
        load: &mut Load<Operations>,
        completion: Completion,
        _buffer: impl FnOnce() -> &'b [u8],
    ) -> Option<Operation> {
        let Completion {
            place,
            result,
            done_ns,
        } = completion;
        if result < 0 {
            load.fail(place, -result, done_ns);
        } else {
            load.succeed(place, done_ns);
        }
        None
    }
}
