//! Users who think between two operations, driven by hand.

use super::operation::{Classes, Operation, Source, Stream};
use super::{Limits, Load};

#[derive(Clone, Copy, Debug)]
struct Asked;

impl Operation for Asked {
    const BLANK: Self = Self;

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> u32 {
        0
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }
}

/// A user whose think times are 10, 20, 30 ns, and so on.
struct User {
    streams: Vec<Stream>,
    thought_count: u64,
}

impl Source for User {
    type Operation = Asked;

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn fill(&mut self, _stream: usize, _count: usize, operations: &mut Vec<Asked>) {
        operations.push(Asked);
    }

    fn thinks(&self, _stream: usize) -> bool {
        true
    }

    fn think_ns(&mut self, _stream: usize) -> u64 {
        self.thought_count += 1;
        10 * self.thought_count
    }
}

/// Time from the end of an operation to the arrival of the next one is the think time, and no
/// part of a response time.
#[test]
fn a_user_thinks_before_each_operation_and_the_pause_is_in_no_response_time() {
    let user = User {
        streams: vec![Stream {
            name: "user".to_owned(),
            depth: 1,
        }],
        thought_count: 0,
    };
    let classes = Classes::new(vec!["all".to_owned()], vec![0], 1);
    let limits = Limits {
        operations: Some(3),
        failures_in_a_row: 1,
        ..Limits::default()
    };
    let mut load = Load::new(user, classes, limits, 4);
    load.start(false);
    let mut begins = Vec::new();
    while let Some(now_ns) = load.next_event_ns() {
        load.advance(now_ns);
        let place = load.take(&mut |_| true).expect("a place is free");
        load.begin(&[place], now_ns);
        begins.push(now_ns);
        load.succeed(place, now_ns + 7);
        load.replenish(now_ns + 7);
    }
    assert_eq!(begins, [10, 10 + 7 + 20, 37 + 7 + 30]);
    load.settle();
    assert_eq!(load.tallies()[0].response.sum_ns(), 3 * 7);
    assert!(load.is_over());
}
