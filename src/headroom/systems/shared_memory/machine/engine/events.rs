//! Messages between nodes: their way through the stations, and the protocol's steps at its end.

use std::cmp::Reverse;

use super::super::network::Packet;
use super::{Agent, Effect, Engine, Envelope, Message, Place, Protocol, Spent, Time, Waits};

impl<P: Protocol> Engine<'_, P> {
    /// Send what the protocol has put out.
    pub(super) fn send_all(&mut self, now: Time, from: u8, place: Place) {
        let out = std::mem::take(&mut self.out);
        for &message in &out {
            let to = node_of(message.to, place);
            let has_data = self.protocol.has_data(&message.body);
            let time = self.ring.send(&self.times, now, from, to, has_data);
            self.messages += 1;
            self.post(
                time,
                Envelope {
                    place,
                    message,
                    to,
                    is_taken: false,
                    batch: None,
                },
            );
        }
        self.out = out;
        self.out.clear();
    }

    pub(super) fn post(&mut self, time: Time, envelope: Envelope<P::Body>) {
        let slot = if let Some(slot) = self.free.pop() {
            self.envelopes[slot] = envelope;
            slot
        } else {
            self.envelopes.push(envelope);
            self.envelopes.len() - 1
        };
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, slot)));
    }

    pub(super) fn handle_event(&mut self) {
        let Some(Reverse((now, _, slot))) = self.events.pop() else {
            return;
        };
        let envelope = self.envelopes[slot];
        self.free.push(slot);
        if !envelope.is_taken {
            self.take(now, envelope);
            return;
        }
        match envelope.message.to {
            Agent::Home => self.step_home(now, &envelope),
            Agent::Cache(_) => self.step_cache(now, &envelope),
        }
    }

    /// Take a packet that has come, or have it sent again.
    fn take(&mut self, now: Time, envelope: Envelope<P::Body>) {
        let Envelope {
            place, message, to, ..
        } = envelope;
        let packet = Packet {
            from: node_of(message.from, place),
            to,
            has_data: self.protocol.has_data(&message.body),
        };
        let refused = self.ring.refuse(&self.times, now, packet, envelope.batch);
        let is_taken = refused.is_none();
        let (time, batch) = if let Some((again, batch)) = refused {
            (again, Some(batch))
        } else {
            let end = self.ring.take(&self.times, now, to, packet.has_data);
            (end, None)
        };
        self.post(
            time,
            Envelope {
                is_taken,
                batch,
                ..envelope
            },
        );
    }

    pub(super) fn step_home(&mut self, now: Time, envelope: &Envelope<P::Body>) {
        let Envelope { place, message, .. } = *envelope;
        let Agent::Cache(from) = message.from else {
            return;
        };
        let home = &mut self.homes[usize::from(place.home)][place.number as usize];
        let step = self
            .protocol
            .receive_home(*home, from, message.body, &mut self.out);
        *home = step.state;
        let is_idle = self.protocol.home_view(home).is_idle;
        self.send_all(now, place.home, place);
        if step.is_done {
            self.finish_all(place.home, place, now);
        }
        if is_idle {
            self.wake(place.home, now);
        }
    }

    pub(super) fn step_cache(&mut self, now: Time, envelope: &Envelope<P::Body>) {
        let Envelope {
            place, message, to, ..
        } = *envelope;
        if self.frames.is_empty() {
            self.take_uncached(now, envelope);
            return;
        }
        let (line, set) = self.keys(place);
        let frames = &mut self.frames[usize::from(to)];
        let frame = frames.find(line, set);
        let state = frame.map_or_else(|| self.protocol.absent(), |frame| frames.state(frame));
        let step = self
            .protocol
            .receive(to, state, message.from, message.body, &mut self.out);
        if let Some(frame) = frame {
            frames.set(frame, step.state);
        }
        let before = self.protocol.view(&state);
        let after = self.protocol.view(&step.state);
        if before.readable.is_some() && before.is_idle && after.readable.is_none() {
            self.note_invalidation(place);
        }
        let is_idle = self.protocol.view(&step.state).is_idle;
        self.send_all(now, to, place);
        // A processor continues with its data, even if the protocol has more to do.
        if step.is_done || matches!(step.effect, Some(Effect::Read(_))) {
            self.finish_all(to, place, now);
        }
        if is_idle {
            self.wake(to, now);
        }
    }

    /// Count a copy that was taken away at the page of its line.
    fn note_invalidation(&mut self, place: Place) {
        if let Some(page) = self
            .placement
            .page_of(place.home, place.number >> self.within())
        {
            self.pages[page].invalidations += 1;
        }
        if let Some(lines) = self.lost_copies.get_mut(usize::from(place.home)) {
            lines[place.number as usize] += 1;
        }
    }

    /// Take an answer of the home without a cache; no processor waits for the end of a posted write.
    pub(super) fn take_uncached(&mut self, now: Time, envelope: &Envelope<P::Body>) {
        let Message { from, body, .. } = envelope.message;
        let mut is_mine = false;
        for index in self.cpus_of(envelope.to) {
            let cpu = &self.cpus[index];
            if !matches!(cpu.waits, Waits::Access(place, _) if place == envelope.place) {
                continue;
            }
            let step = self
                .protocol
                .receive(cpu.node, cpu.uncached, from, body, &mut self.out);
            if step.is_done {
                self.finish(index, now);
                is_mine = true;
                break;
            }
        }
        if !is_mine {
            self.end_posted(envelope.to, envelope.place, now);
        }
    }

    /// A posted write is done; return whether the node had one of this line.
    fn end_posted(&mut self, node: u8, place: Place, now: Time) -> bool {
        let posted = &mut self.posted[usize::from(node)];
        let Some(at) = posted.iter().position(|one| *one == place) else {
            return false;
        };
        posted.swap_remove(at);
        let are_all_done = posted.is_empty();
        for index in self.cpus_of(node) {
            let cpu = &mut self.cpus[index];
            match cpu.waits {
                Waits::Room(kind) => self.retry(index, kind, now),
                // A barrier waits until all see what was written before it.
                Waits::End if are_all_done && cpu.clock < now => {
                    let time = now - cpu.clock;
                    cpu.account.times[Spent::Remote as usize] += time;
                    cpu.clock = now;
                    self.note_tag(index, 0, time);
                }
                _ => {}
            }
        }
        true
    }

    /// End the access of a node to a line: a posted write, or what its processor waits for.
    pub(super) fn finish_all(&mut self, node: u8, place: Place, now: Time) {
        if self.end_posted(node, place, now) {
            return;
        }
        for index in self.cpus_of(node) {
            if matches!(self.cpus[index].waits, Waits::Access(one, _) if one == place) {
                self.finish(index, now);
            }
        }
    }

    /// Let the processors of a node try again that wait for a line to become idle.
    pub(super) fn wake(&mut self, node: u8, now: Time) {
        for index in self.cpus_of(node) {
            if let Waits::Line(_, kind) = self.cpus[index].waits {
                self.retry(index, kind, now);
            }
        }
    }

    /// Let a processor try its access again.
    fn retry(&mut self, index: usize, kind: Spent, now: Time) {
        let cpu = &mut self.cpus[index];
        let time = now.max(cpu.clock) - cpu.since;
        cpu.account.times[kind as usize] += time;
        cpu.clock = now.max(cpu.clock);
        cpu.waits = Waits::No;
        if kind == Spent::Remote {
            self.note_tag(index, 0, time);
        }
    }

    pub(super) fn cpus_of(&self, node: u8) -> std::ops::Range<usize> {
        let cpus = usize::from(self.spec.cpus);
        usize::from(node) * cpus..(usize::from(node) + 1) * cpus
    }
}

/// Return the node of an agent that works on a line.
fn node_of(agent: Agent, place: Place) -> u8 {
    match agent {
        Agent::Home => place.home,
        Agent::Cache(node) => node,
    }
}
