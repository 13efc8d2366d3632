//! Leaves out of a stream what repeats, because it meets the same lists each time.
//!
//! A line that was used last is a hit in every cache, and changes nothing. A loop uses the same few
//! lines in turn: once a sequence came twice, each further time finds every line where the second
//! time found it, and leaves all lists in the same order. So the weight of the second time grows,
//! and the further ones are left out. The same holds for longer lines, of which the sequence is one
//! of fewer: what is left is the stream for those.
//!
//! Invariant: the kept accesses leave every list as all accesses do, and miss as often by weight.

#![allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with the caller"
)]

/// Most accesses of a sequence that is found.
const LONGEST: usize = 8;
/// The line of an access of several lines, and of none.
const NO_LINE: u64 = u64::MAX;

/// An access, and how many it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Address of its first byte.
    pub first: u64,
    /// Address of its last byte.
    pub last: u64,
    /// How many reads and how many writes.
    pub weight: [u64; 2],
}

impl Access {
    /// Return its line, [`NO_LINE`] if there are several.
    #[inline(always)]
    fn line(&self, line_bits: u32) -> u64 {
        let line = self.first >> line_bits;
        if self.last >> line_bits == line {
            line
        } else {
            NO_LINE
        }
    }
}

/// Add a weight to another one.
#[inline(always)]
pub fn add(sum: &mut [u64; 2], weight: [u64; 2]) {
    sum[0] += weight[0];
    sum[1] += weight[1];
}

/// Finds repetitions of lines of 2^`line_bits` bytes.
#[derive(Debug)]
pub struct Repeats {
    line_bits: u32,
    /// The line used last.
    newest: u64,
    /// Lines of the kept accesses, after as many that are none as a sequence has at most.
    lines: Vec<u64>,
    /// How many kept accesses in a row equal the one 8, 7 ... 1 before.
    runs: [u64; LONGEST],
}

impl Repeats {
    /// Return one that knows no line.
    pub const fn new(line_bits: u32) -> Self {
        Self {
            line_bits,
            newest: NO_LINE,
            lines: Vec::new(),
            runs: [0; LONGEST],
        }
    }

    /// Put the accesses that remain of `given`, a part of a stream, into `kept`.
    #[inline(always)]
    pub fn leave_out(&mut self, given: &[Access], kept: &mut Vec<Access>) {
        kept.clear();
        self.lines.clear();
        self.lines.resize(LONGEST, NO_LINE);
        self.runs = [0; LONGEST];
        let mut at = 0;
        while let Some(&access) = given.get(at) {
            at += 1;
            let line = access.line(self.line_bits);
            if line == self.newest && line != NO_LINE {
                continue;
            }
            self.newest = access.last >> self.line_bits;
            let is_loop = self.note(line);
            kept.push(access);
            if is_loop {
                at = self.skip(given, at, kept);
            }
        }
    }

    /// Note the line of a kept access; return whether a sequence has now come twice.
    #[inline(always)]
    fn note(&mut self, line: u64) -> bool {
        let Some(before) = self.lines.last_chunk::<LONGEST>() else {
            return false;
        };
        let mut is_loop = false;
        for (index, (run, &other)) in self.runs.iter_mut().zip(before).enumerate() {
            *run = if other == line { *run + 1 } else { 0 };
            is_loop |= *run >= (LONGEST - index) as u64;
        }
        self.lines.push(line);
        if line == NO_LINE {
            self.runs = [0; LONGEST];
            return false;
        }
        is_loop
    }

    /// Add the weights of further repetitions from `at` on to the last one that was kept; return
    /// where they end.
    fn skip(&self, given: &[Access], mut at: usize, kept: &mut [Access]) -> usize {
        let is_found = |&period: &usize| self.runs[LONGEST - period] >= period as u64;
        let Some(period) = (1..=LONGEST).find(is_found) else {
            return at;
        };
        let lines = &self.lines[self.lines.len() - period..];
        let start = kept.len() - period;
        while let Some((weights, next)) = self.repetition(given, at, lines) {
            for (access, weight) in kept[start..].iter_mut().zip(weights) {
                add(&mut access.weight, weight);
            }
            at = next;
        }
        at
    }

    /// Return the weights of a whole repetition of `lines` from `at` on, and where it ends.
    fn repetition(
        &self,
        given: &[Access],
        mut at: usize,
        lines: &[u64],
    ) -> Option<([[u64; 2]; LONGEST], usize)> {
        let mut weights = [[0; 2]; LONGEST];
        let mut newest = lines[lines.len() - 1];
        for (weight, &line) in weights.iter_mut().zip(lines) {
            let mut access = given.get(at)?;
            while access.line(self.line_bits) == newest {
                at += 1;
                access = given.get(at)?;
            }
            if access.line(self.line_bits) != line {
                return None;
            }
            *weight = access.weight;
            newest = line;
            at += 1;
        }
        Some((weights, at))
    }
}
