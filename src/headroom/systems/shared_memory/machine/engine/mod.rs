//! Runs the processors of a machine through the words of their programs.
//!
//! What a processor finds in its own node takes its fixed time, in a loop that looks at nothing else.
//! A miss runs the protocol, each message through the stations of its way, as events in order of
//! time. A processor runs ahead of events only by as much as nothing else can reach it in.
//!
//! Invariant: events and protocol steps are in order of time, so the same words give the same run.

mod access;
mod events;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::account::{Account, Spent};
use super::frames::{Frames, Room};
use super::network::{Batch, Ring};
use super::placement::{PAGE_BITS, Page, Placement};
use super::server::Time;
use super::spec::{MachineSpec, Times};
use super::word::{Action, Sync};
use crate::systems::shared_memory::protocol::{Agent, Effect, LocalOp, Message, Op, Protocol};

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
    /// The batch of refused packets that it belongs to.
    batch: Option<Batch>,
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
    /// One of the node's posted writes has to end first: the access is then tried again.
    Room(Spent),
    /// A lock, or a signal.
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
    /// Page of the access that leaves the node.
    page: usize,
    account: Account,
}

/// Accesses that left their node, of a page or a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Number.
    pub count: u64,
    /// Time of processors.
    pub time: Time,
    /// Copies that another node's write took away.
    pub invalidations: u64,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    holder: Option<usize>,
    queue: VecDeque<usize>,
}

/// A signal that processors give and await.
#[derive(Clone, Debug, Default)]
struct Signal {
    /// When all posts up to each one were given.
    clocks: Vec<Time>,
    /// Who waits, for how many posts, and what for.
    queue: Vec<(usize, u32, Sync)>,
}

impl<L> Cpu<L> {
    /// Spend the time of some accesses or instructions.
    #[inline]
    fn spend(&mut self, kind: Spent, count: u64, each: Time) {
        let time = count * each;
        self.clock += time;
        self.account.times[kind as usize] += time;
        self.account.counts[kind as usize] += count;
    }

    /// Spend time in further levels of the own caches: the processor's own work, as the first is.
    #[inline]
    fn spend_in_caches(&mut self, time: Time) {
        self.clock += time;
        self.account.times[Spent::Compute as usize] += time;
    }
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
    signals: Vec<Signal>,
    /// Lines with a posted write in progress, by node.
    posted: Vec<Vec<Place>>,
    /// What left its node, by page.
    pub pages: Vec<Remote>,
    /// A tag of each word, by processor; none if nobody asked.
    tags: Vec<Vec<u32>>,
    /// What left its node, by tag; see [`Self::run_tagged`].
    pub of_tags: Vec<Remote>,
    /// Copies that another node's write took away, by home and line; see [`Self::watch_lines`].
    pub lost_copies: Vec<Vec<u32>>,
    /// When the accounts began.
    began: Time,
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
            page: 0,
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
            signals: Vec::new(),
            posted: vec![Vec::new(); usize::from(spec.nodes)],
            pages: vec![Remote::default(); placement.len()],
            tags: Vec::new(),
            of_tags: Vec::new(),
            lost_copies: Vec::new(),
            began: 0,
            ring: Ring::new(&spec),
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
        self.run_words(words)?;
        self.meet(if self.cpus.len() > 1 {
            self.times.barrier
        } else {
            0
        });
        Ok(())
    }

    /// Count copies that are taken away by line from now on.
    pub fn watch_lines(&mut self) {
        self.lost_copies = self.homes.iter().map(|home| vec![0; home.len()]).collect();
    }

    /// Run a list of words for each processor, as [`Self::run_words`], and note what leaves its
    /// node by the tag of its word, below `tag_count`; 0 takes what belongs to no word.
    ///
    /// # Errors
    ///
    /// As of [`Self::run_words`].
    pub fn run_tagged(
        &mut self,
        words: &[&[u64]],
        tags: Vec<Vec<u32>>,
        tag_count: usize,
    ) -> Result<(), String> {
        self.of_tags.resize(tag_count.max(1), Remote::default());
        self.tags = tags;
        self.run_words(words)
    }

    /// Run a list of words for each processor to its end; they do not meet there.
    ///
    /// # Errors
    ///
    /// As of [`Self::run_phase`].
    pub fn run_words(&mut self, words: &[&[u64]]) -> Result<(), String> {
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

    /// All processors wait for the last one, and for some time more.
    pub fn meet(&mut self, more: Time) {
        let end = self.clock() + more;
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
                        cpu.spend(Spent::Compute, instructions.into(), self.times.instruction);
                    }
                    if !self.access(index, address, bytes, is_write) {
                        return Ok(());
                    }
                }
                Action::Compute(count) => {
                    cpu.spend(Spent::Compute, count, self.times.instruction);
                }
                Action::Near(count) => {
                    cpu.spend_in_caches(count * self.times.near);
                    cpu.account.near += count;
                }
                Action::Last(count) => {
                    cpu.spend_in_caches(count * self.times.last);
                    cpu.account.last += count;
                }
                Action::Private(count) => cpu.spend(Spent::Private, count, self.times.private),
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
                Action::Post(signal) => {
                    if self.posted[usize::from(node)].is_empty() {
                        cpu.next += 1;
                        self.post_signal(index, signal);
                    } else {
                        self.wait(index, Waits::Room(Spent::Remote));
                    }
                    return Ok(());
                }
                Action::Await {
                    signal,
                    posts,
                    sync,
                } => {
                    cpu.next += 1;
                    if !self.await_signal(index, signal, posts, sync) {
                        return Ok(());
                    }
                    if self.cpus[index].clock > bound {
                        return Ok(());
                    }
                    continue;
                }
            }
            let cpu = &mut self.cpus[index];
            cpu.next += 1;
            if cpu.clock > bound {
                return Ok(());
            }
        }
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
        // A node alone has its locks in its caches.
        let time = if self.spec.nodes > 1 {
            self.times.lock
        } else {
            0
        };
        let cpu = &mut self.cpus[index];
        cpu.clock += time;
        cpu.account.spend(Spent::Waiting, time);
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

    fn signal(&mut self, signal: u32) -> &mut Signal {
        let at = signal as usize;
        if self.signals.len() <= at {
            self.signals.resize(at + 1, Signal::default());
        }
        &mut self.signals[at]
    }

    fn post_signal(&mut self, index: usize, signal: u32) {
        let now = self.cpus[index].clock;
        let one = self.signal(signal);
        let clock = one.clocks.last().map_or(now, |&last| last.max(now));
        one.clocks.push(clock);
        let posts = one.clocks.len();
        let ready: Vec<_> = one
            .queue
            .extract_if(.., |wait| wait.1 as usize <= posts)
            .collect();
        for (waiter, _, sync) in ready {
            self.resume(waiter, clock, sync);
        }
    }

    /// Await a signal; return whether it was given.
    fn await_signal(&mut self, index: usize, signal: u32, posts: u32, sync: Sync) -> bool {
        let one = self.signal(signal);
        let needed = posts as usize;
        let is_given = one.clocks.len() >= needed;
        let clock = needed
            .checked_sub(1)
            .and_then(|at| one.clocks.get(at).copied());
        if !is_given {
            one.queue.push((index, posts, sync));
        }
        self.wait(index, Waits::Lock);
        if is_given {
            self.resume(index, clock.unwrap_or(0), sync);
        }
        is_given
    }

    fn resume(&mut self, index: usize, now: Time, sync: Sync) {
        let more = match sync {
            Sync::Lock if self.spec.nodes > 1 => self.times.lock,
            Sync::Barrier if self.cpus.len() > 1 => self.times.barrier,
            _ => 0,
        };
        let cpu = &mut self.cpus[index];
        let start = now.max(cpu.clock) + more;
        cpu.account.spend(Spent::Waiting, start - cpu.since);
        cpu.clock = start;
        cpu.waits = Waits::No;
    }

    /// Note time outside of the node, and accesses that end with it, at the tag of the word.
    fn note_tag(&mut self, index: usize, count: u64, time: Time) {
        if self.of_tags.is_empty() {
            return;
        }
        let tags = self.tags.get(index);
        let tag = tags.and_then(|tags| tags.get(self.cpus[index].next));
        let one = &mut self.of_tags[tag.map_or(0, |tag| *tag as usize)];
        one.count += count;
        one.time += time;
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

    /// Forget what was counted so far; memory and caches stay as they are.
    pub fn start_accounts(&mut self) {
        for cpu in &mut self.cpus {
            cpu.account = Account::default();
        }
        self.pages.fill(Remote::default());
        self.ring.start_accounts();
        self.messages = 0;
        self.began = self.clock();
    }

    /// Return the time since the accounts began.
    pub fn elapsed(&self) -> Time {
        self.clock() - self.began
    }

    /// Return the time since the start: at the end of a phase the same for all.
    pub fn clock(&self) -> Time {
        self.cpus.iter().map(|cpu| cpu.clock).max().unwrap_or(0)
    }
}
