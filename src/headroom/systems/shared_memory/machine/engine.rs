//! Runs the processors of a machine through the words of their programs.
//!
//! What a processor finds in its own node takes its fixed time, in a loop that looks at nothing else.
//! A miss runs the protocol, each message through the stations of its way, as events in order of
//! time. A processor runs ahead of events only by as much as nothing else can reach it in.
//!
//! Invariant: events and protocol steps are in order of time, so the same words give the same run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::account::{Account, Spent};
use super::frames::{Frames, Room};
use super::network::Ring;
use super::placement::{PAGE_BITS, Page, Placement};
use super::server::Time;
use super::spec::{MachineSpec, Times};
use super::word::Action;
use crate::systems::shared_memory::protocol::{Agent, LocalOp, Message, Op, Protocol};

/// A line of shared memory: its home and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    home: u8,
    number: u32,
}

/// A message on its way to a node.
#[derive(Clone, Copy, Debug)]
struct Envelope<B> {
    place: Place,
    message: Message<B>,
    to: u8,
    /// Whether the receiver's stations have been passed.
    is_taken: bool,
}

/// The reason for which a processor waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Nothing: it runs.
    No,
    /// Its own access of a line, which ends the wait.
    Access(Place, Spent),
    /// A line is busy with something else: the access is then tried again.
    Line(Place, Spent),
    /// A lock.
    Lock,
    /// The end of the phase.
    End,
}

#[derive(Clone, Debug)]
struct Cpu<L> {
    node: u8,
    clock: Time,
    next: usize,
    /// Lines of the current access that are done.
    lines_done: u64,
    /// Whether the instructions before the current access are done.
    is_computed: bool,
    /// What the protocol without a cache waits for.
    uncached: L,
    waits: Waits,
    since: Time,
    account: Account,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    holder: Option<usize>,
    queue: VecDeque<usize>,
}

/// A machine in action.
pub struct Engine<'p, P: Protocol> {
    protocol: &'p P,
    spec: MachineSpec,
    times: Times,
    placement: Placement,
    line_bits: u32,
    index_has_home: bool,
    /// Distance of the homes in the cache's index.
    region_lines: u64,
    homes: Vec<Vec<P::Home>>,
    frames: Vec<Frames<P>>,
    cpus: Vec<Cpu<P::Line>>,
    locks: BTreeMap<u64, Lock>,
    /// Stations, with their counts.
    pub ring: Ring,
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    envelopes: Vec<Envelope<P::Body>>,
    free: Vec<usize>,
    sequence: u64,
    out: Vec<Message<P::Body>>,
    /// Messages so far.
    pub messages: u64,
}

impl<'p, P: Protocol> Engine<'p, P> {
    /// Return a machine with empty caches.
    ///
    /// # Errors
    ///
    /// Why there is no such machine.
    pub fn new(protocol: &'p P, spec: MachineSpec, placement: Placement) -> Result<Self, String> {
        spec.check()?;
        let lines_per_page = (1 << PAGE_BITS) / spec.line_bytes.min(1 << PAGE_BITS);
        let region = |home| u64::from(placement.count(home)) * lines_per_page;
        let homes = (0..spec.nodes).map(|home| {
            let count = usize::try_from(region(home)).map_err(|error| error.to_string())?;
            Ok(vec![protocol.uncached(); count])
        });
        let homes = homes.collect::<Result<Vec<_>, String>>()?;
        let frames = spec.cache.map(|cache| {
            let sets = cache.bytes / spec.line_bytes / u64::from(cache.ways);
            let frames = || Frames::new(protocol, sets, cache.ways);
            (0..spec.nodes).map(|_| frames()).collect::<Vec<_>>()
        });
        let cpu = |node| Cpu {
            node,
            clock: 0,
            next: 0,
            lines_done: 0,
            is_computed: false,
            uncached: protocol.absent(),
            waits: Waits::No,
            since: 0,
            account: Account::default(),
        };
        let nodes = 0..spec.nodes;
        Ok(Self {
            protocol,
            times: spec.times(),
            line_bits: spec.line_bytes.trailing_zeros(),
            index_has_home: spec.cache.is_none_or(|cache| cache.index_has_home),
            region_lines: (0..spec.nodes).map(region).max().unwrap_or(0),
            homes,
            frames: frames.unwrap_or_default(),
            cpus: nodes
                .flat_map(|node| (0..spec.cpus).map(move |_| node))
                .map(cpu)
                .collect(),
            locks: BTreeMap::new(),
            ring: Ring::new(spec.nodes),
            events: BinaryHeap::new(),
            envelopes: Vec::new(),
            free: Vec::new(),
            sequence: 0,
            out: Vec::new(),
            messages: 0,
            placement,
            spec,
        })
    }

    /// Run a phase: one list of words for each processor, which all meet at its end.
    ///
    /// # Errors
    ///
    /// There is not one list for each processor, a lock is given back by a processor that does not
    /// have it, or all processors wait for locks.
    pub fn run_phase(&mut self, words: &[&[u64]]) -> Result<(), String> {
        if words.len() != self.cpus.len() {
            let (lists, cpus) = (words.len(), self.cpus.len());
            return Err(format!("{lists} lists of words for {cpus} processors"));
        }
        for cpu in &mut self.cpus {
            (cpu.next, cpu.waits) = (0, Waits::No);
        }
        loop {
            let first = self.running();
            let event = self.events.peek().map(|Reverse((time, ..))| *time);
            match (first, event) {
                (Some((cpu, clock)), _) if event.is_none_or(|time| clock <= time) => {
                    self.run(cpu, words[cpu], event)?;
                }
                (_, Some(_)) => self.handle_event(),
                (_, None) => break,
            }
        }
        if self.cpus.iter().any(|cpu| cpu.waits != Waits::End) {
            return Err("all processors wait for locks: the program has a deadlock".into());
        }
        self.meet();
        Ok(())
    }

    /// Return the running processor that is the farthest behind.
    fn running(&self) -> Option<(usize, Time)> {
        let running = self.cpus.iter().enumerate();
        let running = running.filter(|(_, cpu)| cpu.waits == Waits::No);
        running
            .map(|(index, cpu)| (index, cpu.clock))
            .min_by_key(|&(_, clock)| clock)
    }

    /// All processors have come to the barrier.
    fn meet(&mut self) {
        let last = self.cpus.iter().map(|cpu| cpu.clock).max().unwrap_or(0);
        let end = last
            + if self.cpus.len() > 1 {
                self.times.barrier
            } else {
                0
            };
        for cpu in &mut self.cpus {
            cpu.account.spend(Spent::Waiting, end - cpu.clock);
            cpu.clock = end;
        }
    }

    /// Run a processor until it waits, or until something else may come first.
    fn run(&mut self, index: usize, words: &[u64], event: Option<Time>) -> Result<(), String> {
        let others = self.cpus.iter().enumerate();
        let others = others.filter(|&(other, cpu)| other != index && cpu.waits == Waits::No);
        // Processors of one node share its bus; what others send takes the request and a hop.
        let reach = self.times.request + self.times.controller + self.times.hop;
        let node = self.cpus[index].node;
        let (mut bound, mut earliest) = (event.unwrap_or(Time::MAX), event.unwrap_or(Time::MAX));
        for (_, cpu) in others {
            bound = bound.min(cpu.clock + if cpu.node == node { 0 } else { reach });
            earliest = earliest.min(cpu.clock);
        }
        loop {
            let cpu = &mut self.cpus[index];
            let Some(&word) = words.get(cpu.next) else {
                cpu.waits = Waits::End;
                return Ok(());
            };
            let action = Action::of(word);
            // Locks reach others at once: no other processor may be behind.
            if matches!(action, Action::Lock(_) | Action::Unlock(_)) && cpu.clock > earliest {
                return Ok(());
            }
            match action {
                Action::Access {
                    address,
                    bytes,
                    is_write,
                    instructions,
                } => {
                    if !cpu.is_computed {
                        cpu.is_computed = true;
                        let time = u64::from(instructions) * self.times.instruction;
                        cpu.clock += time;
                        cpu.account.times[Spent::Compute as usize] += time;
                        cpu.account.counts[Spent::Compute as usize] += u64::from(instructions);
                    }
                    if !self.access(index, address, bytes, is_write) {
                        return Ok(());
                    }
                }
                Action::Compute(instructions) => {
                    let time = instructions * self.times.instruction;
                    cpu.clock += time;
                    cpu.account.times[Spent::Compute as usize] += time;
                    cpu.account.counts[Spent::Compute as usize] += instructions;
                }
                Action::Lock(lock) => {
                    cpu.next += 1;
                    if !self.lock(index, lock) {
                        return Ok(());
                    }
                    continue;
                }
                Action::Unlock(lock) => {
                    cpu.next += 1;
                    // The next holder may come before this processor's next access.
                    return self.unlock(index, lock);
                }
            }
            let cpu = &mut self.cpus[index];
            cpu.next += 1;
            if cpu.clock > bound {
                return Ok(());
            }
        }
    }

    /// Access all lines of some bytes; return whether the processor continues at once.
    #[inline]
    fn access(&mut self, index: usize, address: u64, bytes: u32, is_write: bool) -> bool {
        let page = self.placement.of(address);
        if page.is_private {
            let cpu = &mut self.cpus[index];
            cpu.clock += self.times.private;
            cpu.account.spend(Spent::Private, self.times.private);
            cpu.is_computed = false;
            return true;
        }
        let first = address >> self.line_bits;
        let last = (address + u64::from(bytes) - 1) >> self.line_bits;
        for line in first + self.cpus[index].lines_done..=last {
            let page = if line == first {
                page
            } else {
                self.placement.of(line << self.line_bits)
            };
            if !self.access_line(index, self.place(page, line), is_write) {
                return false;
            }
            self.cpus[index].lines_done += 1;
        }
        let cpu = &mut self.cpus[index];
        (cpu.lines_done, cpu.is_computed) = (0, false);
        true
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "fewer than 2^32 lines of a home"
    )]
    fn place(&self, page: Page, line: u64) -> Place {
        let within = PAGE_BITS.saturating_sub(self.line_bits);
        let number = u64::from(page.number) << within | line & ((1 << within) - 1);
        Place {
            home: page.home,
            number: number as u32,
        }
    }

    /// Access a line; return whether the processor continues at once.
    #[inline]
    fn access_line(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        if self.cpus[index].node == place.home {
            return self.access_local(index, place, is_write);
        }
        if self.frames.is_empty() {
            return self.access_home(index, place, is_write);
        }
        let node = usize::from(self.cpus[index].node);
        let (line, set) = self.keys(place);
        let Some(frame) = self.frames[node].find(line, set) else {
            return self.miss(index, place, is_write);
        };
        let state = self.frames[node].touch(frame);
        let view = self.protocol.view(&state);
        let is_hit = if is_write {
            view.is_writable
        } else {
            view.readable.is_some()
        };
        if is_hit {
            if is_write {
                // A clean exclusive copy becomes a changed one.
                let step =
                    self.protocol
                        .start(self.cpus[index].node, state, Op::Write, &mut self.out);
                self.frames[node].set(frame, step.state);
            }
            self.pass(index, Spent::Hit, self.times.hit[usize::from(is_write)]);
            return true;
        }
        if view.is_idle {
            self.start(index, place, frame, is_write);
        } else {
            self.wait(index, Waits::Line(place, Spent::Remote));
        }
        false
    }

    /// Spend the time of an access that ends in the node.
    #[inline]
    fn pass(&mut self, index: usize, kind: Spent, time: Time) {
        let cpu = &mut self.cpus[index];
        cpu.account.to_others += u64::from(kind != Spent::Local);
        if kind == Spent::Local && !self.spec.is_on_card {
            cpu.account.spend(kind, time);
            cpu.clock += time;
            return;
        }
        let bus = &mut self.ring.nodes[usize::from(cpu.node)].io_bus;
        let end = bus.serve(cpu.clock, time);
        cpu.account.spend(kind, end - cpu.clock);
        cpu.clock = end;
    }

    /// Return a number of a line among all, and the one that decides its set.
    #[inline]
    fn keys(&self, place: Place) -> (u64, u64) {
        let number = u64::from(place.number);
        let line = u64::from(place.home) * self.region_lines + number;
        (line, if self.index_has_home { line } else { number })
    }

    fn access_local(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        let home = self.homes[usize::from(place.home)][place.number as usize];
        let view = self.protocol.home_view(&home);
        let is_ready = if is_write {
            view.is_writable
        } else {
            view.readable.is_some()
        };
        if is_ready {
            self.pass(index, Spent::Local, self.times.local[usize::from(is_write)]);
            return true;
        }
        if !view.is_idle {
            self.wait(index, Waits::Line(place, Spent::Local));
            return false;
        }
        let op = if is_write {
            LocalOp::Write
        } else {
            LocalOp::Read
        };
        let now = self.request(index);
        let step = self.protocol.start_local(home, op, &mut self.out);
        self.homes[usize::from(place.home)][place.number as usize] = step.state;
        // Copies elsewhere are what the processor waits for.
        self.wait(index, Waits::Access(place, Spent::Remote));
        self.send_all(now, place.home, place);
        if step.is_done {
            self.finish(index, now);
        }
        false
    }

    /// Access a line without a cache.
    fn access_home(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        let node = self.cpus[index].node;
        let op = if is_write { Op::Write } else { Op::Read };
        let step = self
            .protocol
            .start(node, self.protocol.absent(), op, &mut self.out);
        self.cpus[index].uncached = step.state;
        if is_write && self.spec.posts_writes {
            self.pass(index, Spent::Remote, self.times.posted_write);
            let now = self.cpus[index].clock;
            self.send_all(now, node, place);
            return true;
        }
        let now = self.request(index);
        self.wait(index, Waits::Access(place, Spent::Remote));
        self.send_all(now, node, place);
        false
    }

    fn miss(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        let node = usize::from(self.cpus[index].node);
        let (line, set) = self.keys(place);
        match self.frames[node].room(self.protocol, set) {
            Room::Free(frame) => {
                self.frames[node].claim(self.protocol, frame, line);
                self.start(index, place, frame, is_write);
            }
            Room::Evict(frame) => return self.evict(index, place, frame, is_write),
            // Another processor's line of this set ends sooner or later; its end wakes all.
            Room::Busy => self.wait(index, Waits::Line(place, Spent::Remote)),
        }
        false
    }

    /// Give up the line of a frame; the access is tried again when that is done.
    fn evict(&mut self, index: usize, place: Place, frame: usize, is_write: bool) -> bool {
        let node = self.cpus[index].node;
        let victim = self.frames[usize::from(node)].line(frame);
        let victim = self.place_of(victim);
        self.cpus[index].account.evictions += 1;
        let state = self.frames[usize::from(node)].state(frame);
        let step = self.protocol.start(node, state, Op::Evict, &mut self.out);
        self.frames[usize::from(node)].set(frame, step.state);
        if step.is_done {
            return self.miss(index, place, is_write);
        }
        let now = self.request(index);
        self.wait(index, Waits::Line(victim, Spent::Remote));
        self.send_all(now, node, victim);
        false
    }

    #[allow(clippy::cast_possible_truncation, reason = "the inverse of keys")]
    fn place_of(&self, line: u64) -> Place {
        let region = self.region_lines.max(1);
        Place {
            home: (line / region) as u8,
            number: (line % region) as u32,
        }
    }

    /// Start the protocol for a line that this processor waits for.
    fn start(&mut self, index: usize, place: Place, frame: usize, is_write: bool) {
        let node = self.cpus[index].node;
        let op = if is_write { Op::Write } else { Op::Read };
        let now = self.request(index);
        let state = self.frames[usize::from(node)].state(frame);
        let step = self.protocol.start(node, state, op, &mut self.out);
        self.frames[usize::from(node)].set(frame, step.state);
        self.wait(index, Waits::Access(place, Spent::Remote));
        self.send_all(now, node, place);
        if step.is_done {
            self.finish(index, now);
        }
    }

    /// Take an access to the controller; return when it is there.
    fn request(&mut self, index: usize) -> Time {
        let cpu = &mut self.cpus[index];
        cpu.since = cpu.clock;
        let bus = &mut self.ring.nodes[usize::from(cpu.node)].io_bus;
        bus.serve(cpu.clock, self.times.request)
    }

    fn wait(&mut self, index: usize, waits: Waits) {
        let cpu = &mut self.cpus[index];
        if matches!(waits, Waits::Line(..) | Waits::Lock) {
            cpu.since = cpu.clock;
        }
        cpu.waits = waits;
    }

    /// The access of a processor is done at the controller.
    fn finish(&mut self, index: usize, now: Time) {
        let cpu = &mut self.cpus[index];
        let Waits::Access(place, kind) = cpu.waits else {
            return;
        };
        cpu.account.to_others += u64::from(place.home != cpu.node);
        let bus = &mut self.ring.nodes[usize::from(cpu.node)].io_bus;
        let end = bus.serve(now, self.times.reply);
        cpu.account.spend(kind, end - cpu.since);
        cpu.clock = end;
        cpu.waits = Waits::No;
        // The line is done: the next one of this access, or the next word.
        cpu.lines_done += 1;
    }

    /// Send what the protocol has put out.
    fn send_all(&mut self, now: Time, from: u8, place: Place) {
        let out = std::mem::take(&mut self.out);
        for &message in &out {
            let to = match message.to {
                Agent::Home => place.home,
                Agent::Cache(node) => node,
            };
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
                },
            );
        }
        self.out = out;
        self.out.clear();
    }

    fn post(&mut self, time: Time, envelope: Envelope<P::Body>) {
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

    fn handle_event(&mut self) {
        let Some(Reverse((now, _, slot))) = self.events.pop() else {
            return;
        };
        let envelope = self.envelopes[slot];
        self.free.push(slot);
        if !envelope.is_taken {
            let has_data = self.protocol.has_data(&envelope.message.body);
            let time = self.ring.take(&self.times, now, envelope.to, has_data);
            self.post(
                time,
                Envelope {
                    is_taken: true,
                    ..envelope
                },
            );
            return;
        }
        match envelope.message.to {
            Agent::Home => self.step_home(now, &envelope),
            Agent::Cache(_) => self.step_cache(now, &envelope),
        }
    }

    fn step_home(&mut self, now: Time, envelope: &Envelope<P::Body>) {
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

    fn step_cache(&mut self, now: Time, envelope: &Envelope<P::Body>) {
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
        let is_idle = self.protocol.view(&step.state).is_idle;
        self.send_all(now, to, place);
        if step.is_done {
            self.finish_all(to, place, now);
        }
        if is_idle {
            self.wake(to, now);
        }
    }

    /// Take an answer of the home without a cache; no processor waits for the end of a posted write.
    fn take_uncached(&mut self, now: Time, envelope: &Envelope<P::Body>) {
        let Message { from, body, .. } = envelope.message;
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
                return;
            }
        }
    }

    /// End the access of the processor of a node that waits for a line.
    fn finish_all(&mut self, node: u8, place: Place, now: Time) {
        for index in self.cpus_of(node) {
            if matches!(self.cpus[index].waits, Waits::Access(one, _) if one == place) {
                self.finish(index, now);
            }
        }
    }

    /// Let the processors of a node try again that wait for a line to become idle.
    fn wake(&mut self, node: u8, now: Time) {
        for index in self.cpus_of(node) {
            let cpu = &mut self.cpus[index];
            if let Waits::Line(_, kind) = cpu.waits {
                cpu.account.times[kind as usize] += now.max(cpu.clock) - cpu.since;
                cpu.clock = now.max(cpu.clock);
                cpu.waits = Waits::No;
            }
        }
    }

    fn cpus_of(&self, node: u8) -> std::ops::Range<usize> {
        let cpus = usize::from(self.spec.cpus);
        usize::from(node) * cpus..(usize::from(node) + 1) * cpus
    }

    /// Take a lock; return whether it was free.
    fn lock(&mut self, index: usize, lock: u64) -> bool {
        let lock = self.locks.entry(lock).or_default();
        if lock.holder.is_some() {
            lock.queue.push_back(index);
            self.wait(index, Waits::Lock);
            return false;
        }
        lock.holder = Some(index);
        let cpu = &mut self.cpus[index];
        cpu.clock += self.times.lock;
        cpu.account.spend(Spent::Waiting, self.times.lock);
        true
    }

    fn unlock(&mut self, index: usize, lock: u64) -> Result<(), String> {
        let now = self.cpus[index].clock;
        let held = self.locks.entry(lock).or_default();
        if held.holder != Some(index) {
            return Err(format!(
                "processor {index} gives back lock {lock}, which it does not have"
            ));
        }
        held.holder = held.queue.pop_front();
        if let Some(next) = held.holder {
            let cpu = &mut self.cpus[next];
            let start = now.max(cpu.clock) + self.times.lock;
            cpu.account.spend(Spent::Waiting, start - cpu.since);
            cpu.clock = start;
            cpu.waits = Waits::No;
        }
        Ok(())
    }

    /// Check all lines; between phases nothing is in progress.
    ///
    /// # Errors
    ///
    /// The line, and what does not fit together.
    pub fn check_quiet(&self) -> Result<(), String> {
        for (home, states) in (0_u8..).zip(&self.homes) {
            for (number, state) in (0_u32..).zip(states) {
                let (line, set) = self.keys(Place { home, number });
                let copies: Vec<P::Line> = self
                    .frames
                    .iter()
                    .map(|frames| {
                        let frame = frames.find(line, set);
                        frame.map_or_else(|| self.protocol.absent(), |frame| frames.state(frame))
                    })
                    .collect();
                self.protocol
                    .check_quiet(state, &copies)
                    .map_err(|why| format!("line {number} of home {home}: {why}"))?;
            }
        }
        Ok(())
    }

    /// Return the account of each processor.
    pub fn accounts(&self) -> Vec<Account> {
        self.cpus.iter().map(|cpu| cpu.account).collect()
    }

    /// Return the time since the start: at the end of a phase the same for all.
    pub fn clock(&self) -> Time {
        self.cpus.iter().map(|cpu| cpu.clock).max().unwrap_or(0)
    }
}
