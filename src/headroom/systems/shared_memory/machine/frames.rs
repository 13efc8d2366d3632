//! Frames of a network cache: lines with their protocol states, least recently used out.
//!
//! Invariant: a line is in at most one frame of its own set.

use crate::systems::shared_memory::protocol::Protocol;

/// A frame without a line.
const EMPTY: u64 = u64::MAX;

/// Frames of one node.
#[derive(Debug)]
pub struct Frames<P: Protocol> {
    ways: usize,
    sets: u64,
    lines: Vec<u64>,
    states: Vec<P::Line>,
    /// Moment of the last use of each frame.
    used: Vec<u64>,
    moment: u64,
}

/// A free frame, or who has to leave first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The frame is free.
    Free(usize),
    /// The line of this frame has to go.
    Evict(usize),
    /// All lines of the set are busy.
    Busy,
}

impl<P: Protocol> Frames<P> {
    /// Return empty frames.
    #[allow(clippy::cast_possible_truncation, reason = "caches fit in memory")]
    pub fn new(protocol: &P, sets: u64, ways: u32) -> Self {
        let count = (sets * u64::from(ways)) as usize;
        Self {
            ways: ways as usize,
            sets,
            lines: vec![EMPTY; count],
            states: vec![protocol.absent(); count],
            used: vec![0; count],
            moment: 0,
        }
    }

    /// Return the frame of a line; `index` decides its set.
    #[inline]
    pub fn find(&self, line: u64, index: u64) -> Option<usize> {
        let first = self.first(index);
        let ways = &self.lines[first..first + self.ways];
        ways.iter()
            .position(|&one| one == line)
            .map(|way| first + way)
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "below the number of frames"
    )]
    fn first(&self, index: u64) -> usize {
        (index % self.sets) as usize * self.ways
    }

    /// Return the state of a frame, and note its use.
    #[inline]
    pub fn touch(&mut self, frame: usize) -> P::Line {
        self.moment += 1;
        self.used[frame] = self.moment;
        self.states[frame]
    }

    /// Return the state of a frame.
    pub fn state(&self, frame: usize) -> P::Line {
        self.states[frame]
    }

    /// Set the state of a frame.
    pub fn set(&mut self, frame: usize, state: P::Line) {
        self.states[frame] = state;
    }

    /// Return the line of a frame.
    pub fn line(&self, frame: usize) -> u64 {
        self.lines[frame]
    }

    /// Return where a line of this index could go.
    pub fn room(&self, protocol: &P, index: u64) -> Room {
        let first = self.first(index);
        let frames = first..first + self.ways;
        if let Some(free) = frames.clone().find(|&frame| self.lines[frame] == EMPTY) {
            return Room::Free(free);
        }
        let idle = frames.filter(|&frame| protocol.view(&self.states[frame]).is_idle);
        match idle.min_by_key(|&frame| self.used[frame]) {
            None => Room::Busy,
            Some(frame) if protocol.view(&self.states[frame]).is_held => Room::Evict(frame),
            Some(frame) => Room::Free(frame),
        }
    }

    /// Give a free frame to a line.
    pub fn claim(&mut self, protocol: &P, frame: usize, line: u64) {
        self.moment += 1;
        self.lines[frame] = line;
        self.states[frame] = protocol.absent();
        self.used[frame] = self.moment;
    }
}
