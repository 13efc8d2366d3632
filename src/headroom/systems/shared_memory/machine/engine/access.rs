//! Accesses of a processor: what its node answers at once, and what starts the protocol.

use super::PAGE_BITS;
use super::{Engine, LocalOp, Op, Page, Place, Protocol, Room, Spent, Time, Waits};

impl<P: Protocol> Engine<'_, P> {
    /// Access all lines of some bytes; return whether the processor continues at once.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "pages fit in memory")]
    pub(super) fn access(
        &mut self,
        index: usize,
        address: u64,
        bytes: u32,
        is_write: bool,
    ) -> bool {
        let page = self.placement.of(address);
        let cpu = &mut self.cpus[index];
        if page.is_private {
            cpu.spend(Spent::Private, 1, self.times.private);
            cpu.is_computed = false;
            return true;
        }
        let first = address >> self.line_bits;
        let last = (address + u64::from(bytes) - 1) >> self.line_bits;
        cpu.page = (address >> PAGE_BITS) as usize;
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

    /// Return the bits of a line's number within its page.
    #[inline]
    pub(super) fn within(&self) -> u32 {
        PAGE_BITS.saturating_sub(self.line_bits)
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "fewer than 2^32 lines of a home"
    )]
    pub(super) fn place(&self, page: Page, line: u64) -> Place {
        let within = self.within();
        let number = u64::from(page.number) << within | line & ((1 << within) - 1);
        Place {
            home: page.home,
            number: number as u32,
        }
    }

    /// Access a line; return whether the processor continues at once.
    #[inline]
    pub(super) fn access_line(&mut self, index: usize, place: Place, is_write: bool) -> bool {
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
            return self.start(index, place, frame, is_write);
        }
        self.wait(index, Waits::Line(place, Spent::Remote));
        false
    }

    /// Spend the time of an access that ends in the node.
    #[inline]
    pub(super) fn pass(&mut self, index: usize, kind: Spent, time: Time) {
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
    pub(super) fn keys(&self, place: Place) -> (u64, u64) {
        let number = u64::from(place.number);
        let line = u64::from(place.home) * self.region_lines + number;
        (line, if self.index_has_home { line } else { number })
    }

    pub(super) fn access_local(&mut self, index: usize, place: Place, is_write: bool) -> bool {
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
        // Copies elsewhere are what the processor waits for, or its posted write.
        let Some((now, is_posted)) = self.begin(index, place, is_write) else {
            return false;
        };
        let step = self.protocol.start_local(home, op, &mut self.out);
        self.homes[usize::from(place.home)][place.number as usize] = step.state;
        self.send_all(now, place.home, place);
        if step.is_done {
            self.finish_all(place.home, place, now);
        }
        is_posted
    }

    /// Access a line without a cache.
    pub(super) fn access_home(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        let node = self.cpus[index].node;
        let op = if is_write { Op::Write } else { Op::Read };
        let Some((now, is_posted)) = self.begin(index, place, is_write) else {
            return false;
        };
        let step = self
            .protocol
            .start(node, self.protocol.absent(), op, &mut self.out);
        if !is_posted {
            self.cpus[index].uncached = step.state;
        }
        self.send_all(now, node, place);
        is_posted
    }

    /// Take an access to the controller: return when it is there and whether the processor
    /// continues without it; None if the processor has to wait for an earlier write first.
    fn begin(&mut self, index: usize, place: Place, is_write: bool) -> Option<(Time, bool)> {
        let node = usize::from(self.cpus[index].node);
        if !is_write || self.spec.posted_writes == 0 {
            let now = self.request(index);
            self.wait(index, Waits::Access(place, Spent::Remote));
            return Some((now, false));
        }
        if self.has_no_room(index, is_write) {
            return None;
        }
        self.posted[node].push(place);
        let cpu = &mut self.cpus[index];
        let end = self.ring.nodes[node]
            .io_bus
            .serve(cpu.clock, self.times.posted_write);
        let time = end - cpu.clock;
        cpu.account.to_others += u64::from(place.home != cpu.node);
        cpu.account.spend(Spent::Remote, time);
        cpu.clock = end;
        self.note_remote(index, time);
        Some((end, true))
    }

    /// Count an access that leaves its node at its page.
    fn note_remote(&mut self, index: usize, time: Time) {
        if let Some(page) = self.pages.get_mut(self.cpus[index].page) {
            page.count += 1;
            page.time += time;
        }
        self.note_tag(index, 1, time);
    }

    /// Let a processor wait if its node has as many posted writes as it can have.
    fn has_no_room(&mut self, index: usize, is_write: bool) -> bool {
        let node = usize::from(self.cpus[index].node);
        let most = self.spec.posted_writes as usize;
        let is_full = is_write && most > 0 && self.posted[node].len() >= most;
        if is_full {
            self.wait(index, Waits::Room(Spent::Remote));
        }
        is_full
    }

    pub(super) fn miss(&mut self, index: usize, place: Place, is_write: bool) -> bool {
        let node = usize::from(self.cpus[index].node);
        let (line, set) = self.keys(place);
        match self.frames[node].room(self.protocol, set) {
            Room::Free(frame) => {
                if self.has_no_room(index, is_write) {
                    return false;
                }
                self.frames[node].claim(self.protocol, frame, line);
                return self.start(index, place, frame, is_write);
            }
            Room::Evict(frame) => return self.evict(index, place, frame, is_write),
            // Another processor's line of this set ends sooner or later; its end wakes all.
            Room::Busy => self.wait(index, Waits::Line(place, Spent::Remote)),
        }
        false
    }

    /// Give up the line of a frame; the access is tried again when that is done.
    pub(super) fn evict(
        &mut self,
        index: usize,
        place: Place,
        frame: usize,
        is_write: bool,
    ) -> bool {
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
    pub(super) fn place_of(&self, line: u64) -> Place {
        let region = self.region_lines.max(1);
        Place {
            home: (line / region) as u8,
            number: (line % region) as u32,
        }
    }

    /// Start the protocol for a line; return whether the processor continues without it.
    pub(super) fn start(
        &mut self,
        index: usize,
        place: Place,
        frame: usize,
        is_write: bool,
    ) -> bool {
        let node = self.cpus[index].node;
        let op = if is_write { Op::Write } else { Op::Read };
        let Some((now, is_posted)) = self.begin(index, place, is_write) else {
            return false;
        };
        let state = self.frames[usize::from(node)].state(frame);
        let step = self.protocol.start(node, state, op, &mut self.out);
        self.frames[usize::from(node)].set(frame, step.state);
        self.send_all(now, node, place);
        if step.is_done {
            self.finish_all(node, place, now);
        }
        is_posted
    }

    /// Take an access to the controller; return when it is there.
    pub(super) fn request(&mut self, index: usize) -> Time {
        let cpu = &mut self.cpus[index];
        cpu.since = cpu.clock;
        let bus = &mut self.ring.nodes[usize::from(cpu.node)].io_bus;
        bus.serve(cpu.clock, self.times.request)
    }

    pub(super) fn wait(&mut self, index: usize, waits: Waits) {
        let cpu = &mut self.cpus[index];
        if matches!(waits, Waits::Line(..) | Waits::Room(_) | Waits::Lock) {
            cpu.since = cpu.clock;
        }
        cpu.waits = waits;
    }

    /// The access of a processor is done at the controller.
    pub(super) fn finish(&mut self, index: usize, now: Time) {
        let cpu = &mut self.cpus[index];
        let Waits::Access(place, kind) = cpu.waits else {
            return;
        };
        cpu.account.to_others += u64::from(place.home != cpu.node);
        let bus = &mut self.ring.nodes[usize::from(cpu.node)].io_bus;
        let end = bus.serve(now, self.times.reply);
        let time = end - cpu.since;
        cpu.account.spend(kind, time);
        cpu.clock = end;
        cpu.waits = Waits::No;
        // The line is done: the next one of this access, or the next word.
        cpu.lines_done += 1;
        self.note_remote(index, time);
    }
}
