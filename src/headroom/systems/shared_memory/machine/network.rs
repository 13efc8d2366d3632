//! The way of a message: controller, bus, the links of a ring, bus and controller of the other side.
//!
//! A card has queues of limited size (IEEE 1596): a controller is blocked while the outgoing one is
//! full, and a packet that finds the incoming one full is refused by a busy echo and sent again.
//! Refused packets come in batches, of which the older goes first: without this, packets that come
//! again in step can keep one out for ever.

use super::server::{Queue, Server, Time};
use super::spec::{MachineSpec, Times};

/// Stations of a node.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// I/O bus of the processors.
    pub io_bus: Server,
    /// Remote access controller, which executes the protocol.
    pub controller: Server,
    /// Bus between controller and link.
    pub bus: Server,
    /// Link to the next node.
    pub link: Server,
    /// Packets that came and that the controller has not yet worked on.
    incoming: Queue,
    /// Packets that found it full.
    refused: Refused,
    /// Packets that the controller has put out and that have not yet left the link.
    outgoing: Queue,
}

/// Which of two batches of refused packets one belongs to.
pub type Batch = u8;

/// Packets that a node refused and has not yet taken, in two batches.
///
/// Only the older batch is let in; who is refused meanwhile joins the younger one. A batch does not
/// grow once it is the older one, so it ends, and each packet is taken in the end.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    waiting: [u64; 2],
    older: Batch,
}

impl Refused {
    /// Let a packet in, or return the batch that it belongs to from now on.
    fn admit(&mut self, batch: Option<Batch>, has_room: bool) -> Option<Batch> {
        let older = self.older;
        let is_first = self.waiting[usize::from(older)] == 0 || batch == Some(older);
        if !(has_room && is_first) {
            let batch = batch.unwrap_or_else(|| {
                self.waiting[usize::from(1 - older)] += 1;
                1 - older
            });
            self.turn();
            return Some(batch);
        }
        if let Some(batch) = batch {
            self.waiting[usize::from(batch)] -= 1;
            self.turn();
        }
        None
    }

    /// The younger batch is the older one once that is empty.
    fn turn(&mut self) {
        if self.waiting[usize::from(self.older)] == 0 {
            self.older = 1 - self.older;
        }
    }
}

/// A message between two nodes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Who sends it.
    pub from: u8,
    /// Who gets it.
    pub to: u8,
    /// Whether it has a line.
    pub has_data: bool,
}

/// All nodes on a ring.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Stations by node.
    pub nodes: Vec<Stations>,
    /// Packets that were refused, and sent again.
    pub retries: u64,
}

impl Ring {
    /// Return an idle ring.
    pub fn new(spec: &MachineSpec) -> Self {
        let stations = Stations {
            incoming: Queue::new(spec.incoming_queue),
            outgoing: Queue::new(spec.outgoing_queue),
            ..Stations::default()
        };
        Self {
            nodes: vec![stations; usize::from(spec.nodes)],
            retries: 0,
        }
    }

    /// Forget the work so far.
    pub fn start_accounts(&mut self) {
        self.retries = 0;
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
        let room = sender.outgoing.has_room_at();
        if room > at {
            sender.controller.block(room);
            at = room;
        }
        if times.crossing > 0 {
            at = sender.io_bus.serve(at, times.crossing);
        }
        at = sender.bus.serve(at, times.bus[kind]);
        let (left, end) = self.pass_links(times, at, from, to, times.link[kind]);
        self.nodes[usize::from(from)].outgoing.take(left);
        end
    }

    /// Send a packet over the links; return when it has left the first one, and when it is there.
    fn pass_links(
        &mut self,
        times: &Times,
        now: Time,
        from: u8,
        to: u8,
        packet: Time,
    ) -> (Time, Time) {
        // The head of a packet continues before its tail has come: one time on a link for all hops.
        let count = self.nodes.len();
        let mut node = usize::from(from);
        let (mut head, mut left) = (now, None);
        while node != usize::from(to) {
            let tail = self.nodes[node].link.serve(head, packet);
            left.get_or_insert(tail);
            head = tail - packet + times.hop;
            node = (node + 1) % count;
        }
        (left.unwrap_or(now), head + packet)
    }

    /// Return when a packet that comes at `now` is there again if it has to be sent again, and its
    /// batch: the busy echo takes the rest of the ring, the packet its way again. None if it finds a
    /// place.
    ///
    /// The echo's time on the links is part of its packet's.
    pub fn refuse(
        &mut self,
        times: &Times,
        now: Time,
        packet: Packet,
        batch: Option<Batch>,
    ) -> Option<(Time, Batch)> {
        let Packet { from, to, has_data } = packet;
        let receiver = &mut self.nodes[usize::from(to)];
        let has_room = receiver.incoming.has_room_at() <= now;
        let batch = receiver.refused.admit(batch, has_room)?;
        self.retries += 1;
        let count = self.nodes.len();
        let back = (count + usize::from(from) - usize::from(to)) % count;
        let echoed = now + back as Time * times.hop;
        let (_, end) = self.pass_links(times, echoed, from, to, times.link[usize::from(has_data)]);
        // Time must pass, also on links without delay.
        Some((end.max(now + 1), batch))
    }

    /// Take a message that comes at `now`; return when the controller has worked on it.
    pub fn take(&mut self, times: &Times, now: Time, at: u8, has_data: bool) -> Time {
        let receiver = &mut self.nodes[usize::from(at)];
        let mut now = receiver.bus.serve(now, times.bus[usize::from(has_data)]);
        if times.crossing > 0 {
            now = receiver.io_bus.serve(now, times.crossing);
        }
        let end = receiver.controller.serve(now, work(times, has_data));
        receiver.incoming.take(end);
        end
    }
}

fn work(times: &Times, has_data: bool) -> Time {
    times.controller + if has_data { times.memory } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::Refused;

    #[test]
    fn who_was_refused_first_is_let_in_before_all_who_come_later() {
        let mut node = Refused::default();
        assert_eq!(node.admit(None, true), None);
        let first = node.admit(None, false);
        let second = node.admit(None, true);
        assert!(first.is_some() && second.is_some() && first != second);
        assert_eq!(node.admit(second, true), second);
        assert_eq!(node.admit(first, false), first);
        assert_eq!(node.admit(first, true), None);
        let third = node.admit(None, true);
        assert!(third.is_some() && third != second);
        assert_eq!(node.admit(second, true), None);
        assert_eq!(node.admit(third, true), None);
        assert_eq!(node.admit(None, true), None);
    }
}
