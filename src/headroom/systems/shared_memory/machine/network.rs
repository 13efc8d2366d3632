//! The way of a message: controller, bus, the links of a ring, bus and controller of the other side.

use super::server::{Server, Time};
use super::spec::Times;

/// Stations of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stations {
    /// I/O bus of the processors.
    pub io_bus: Server,
    /// Remote access controller, which executes the protocol.
    pub controller: Server,
    /// Bus between controller and link.
    pub bus: Server,
    /// Link to the next node.
    pub link: Server,
}

/// All nodes on a ring.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Stations by node.
    pub nodes: Vec<Stations>,
}

impl Ring {
    /// Return an idle ring.
    pub fn new(nodes: u8) -> Self {
        Self {
            nodes: vec![Stations::default(); usize::from(nodes)],
        }
    }

    /// Forget the work so far.
    pub fn start_accounts(&mut self) {
        for node in &mut self.nodes {
            let stations = [
                &mut node.io_bus,
                &mut node.controller,
                &mut node.bus,
                &mut node.link,
            ];
            for station in stations {
                station.start_account();
            }
        }
    }

    /// Send a message that the controller starts with at `now`; return when it reaches the bus of
    /// the other side.
    pub fn send(&mut self, times: &Times, now: Time, from: u8, to: u8, has_data: bool) -> Time {
        let kind = usize::from(has_data);
        let sender = &mut self.nodes[usize::from(from)];
        let mut at = sender.controller.serve(now, work(times, has_data));
        if times.crossing > 0 {
            at = sender.io_bus.serve(at, times.crossing);
        }
        at = sender.bus.serve(at, times.bus[kind]);
        // The head of a packet continues before its tail has come: one time on a link for all hops.
        let count = self.nodes.len();
        let mut node = usize::from(from);
        let mut head = at;
        while node != usize::from(to) {
            let tail = self.nodes[node].link.serve(head, times.link[kind]);
            head = tail - times.link[kind] + times.hop;
            node = (node + 1) % count;
        }
        head + times.link[kind]
    }

    /// Take a message that comes at `now`; return when the controller has worked on it.
    pub fn take(&mut self, times: &Times, now: Time, at: u8, has_data: bool) -> Time {
        let receiver = &mut self.nodes[usize::from(at)];
        let mut now = receiver.bus.serve(now, times.bus[usize::from(has_data)]);
        if times.crossing > 0 {
            now = receiver.io_bus.serve(now, times.crossing);
        }
        receiver.controller.serve(now, work(times, has_data))
    }
}

fn work(times: &Times, has_data: bool) -> Time {
    times.controller + if has_data { times.memory } else { 0 }
}
