//! Leaves out of a stream what repeats, because it meets the same lists each time.
//!
//! A line that was used last is a hit in every cache, and changes nothing. A loop uses the same few
//! lines in turn: once a sequence came twice, each further time finds every line where the second
//! time found it, and leaves all lists in the same order. So the weight of the second time grows,
//! and the further ones are left out. The same holds for longer lines, of which the sequence is one
//! of fewer: what is left is the stream for those.
//!
//! Invariant: the kept accesses leave every list as all accesses do, and miss as often by weight.

/// Most accesses of a sequence that is found.
const LONGEST: usize = 8;
/// Parts of a stream that remain as they are, after one in which hardly anything repeats.
const PAUSE: u32 = 15;
/// The line of an access of several lines, and of none.
const NO_LINE: u64 = u64::MAX;

/// An access, and how many it stands for: fewer than 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes, less one.
    pub reach: u32,
    /// How many reads and how many writes.
    pub weight: [u16; 2],
}

impl Access {
    /// Return its weight in one: reads in the lower half, writes in the upper one.
    #[inline]
    pub fn both(&self) -> u64 {
        u64::from(self.weight[0]) | u64::from(self.weight[1]) << 32
    }

    /// Return the lines of its first and of its last byte.
    #[inline]
    pub fn lines(&self, line_bits: u32) -> (u64, u64) {
        let last = self.address + u64::from(self.reach);
        (self.address >> line_bits, last >> line_bits)
    }
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
    /// Parts of the stream that are to remain as they are.
    pause: u32,
}

impl Repeats {
    /// Return one that knows no line.
    pub const fn new(line_bits: u32) -> Self {
        Self {
            line_bits,
            newest: NO_LINE,
            lines: Vec::new(),
            runs: [0; LONGEST],
            pause: 0,
        }
    }

    /// Leave out of a part of a stream what repeats. It has fewer than 2^16 accesses by weight.
    /// After a part in which hardly anything repeats, some remain as they are.
    pub fn leave_out(&mut self, accesses: &mut Vec<Access>) {
        if self.pause > 0 {
            self.pause -= 1;
            if let Some(last) = accesses.last() {
                self.newest = last.lines(self.line_bits).1;
            }
            return;
        }
        let given = accesses.len();
        let kept = self.keep_first_rounds(accesses);
        accesses.truncate(kept);
        if kept > given - given / 8 {
            self.pause = PAUSE;
        }
    }

    /// Move the accesses that remain to the front; return how many they are.
    fn keep_first_rounds(&mut self, accesses: &mut [Access]) -> usize {
        self.lines.clear();
        self.lines.resize(LONGEST, NO_LINE);
        self.runs = [0; LONGEST];
        let (mut kept, mut at) = (0, 0);
        while let Some(&access) = accesses.get(at) {
            at += 1;
            let (line, last) = access.lines(self.line_bits);
            if line == self.newest && line == last {
                continue;
            }
            self.newest = last;
            accesses[kept] = access;
            kept += 1;
            if self.note(if line == last { line } else { NO_LINE }) {
                at = self.skip(accesses, kept, at);
            }
        }
        kept
    }

    /// Note the line of a kept access; return whether a sequence has now come twice.
    #[inline]
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

    /// Add the weights of further rounds from `at` on to the last one among the `kept` accesses;
    /// return where they end.
    fn skip(&self, accesses: &mut [Access], kept: usize, mut at: usize) -> usize {
        let is_found = |&period: &usize| self.runs[LONGEST - period] >= period as u64;
        let Some(period) = (1..=LONGEST).find(is_found) else {
            return at;
        };
        let lines = &self.lines[self.lines.len() - period..];
        while let Some((weights, next)) = self.round(&accesses[at..], lines) {
            for (access, weight) in accesses[kept - period..kept].iter_mut().zip(weights) {
                access.weight[0] += weight[0];
                access.weight[1] += weight[1];
            }
            at += next;
        }
        at
    }

    /// Return the weights of a whole round of `lines` at the beginning, and where it ends.
    fn round(&self, accesses: &[Access], lines: &[u64]) -> Option<([[u16; 2]; LONGEST], usize)> {
        let mut weights = [[0; 2]; LONGEST];
        let mut newest = lines[lines.len() - 1];
        let mut at = 0;
        for (weight, &line) in weights.iter_mut().zip(lines) {
            let found = loop {
                let access = accesses.get(at)?;
                at += 1;
                let (found, last) = access.lines(self.line_bits);
                if found != last {
                    return None;
                }
                if found != newest {
                    *weight = access.weight;
                    break found;
                }
            };
            if found != line {
                return None;
            }
            newest = line;
        }
        Some((weights, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the lines and weights that remain of reads of 64-byte lines, a part of a stream.
    fn left_of(repeats: &mut Repeats, lines: &[u64]) -> Vec<(u64, u16)> {
        let mut accesses: Vec<Access> = lines
            .iter()
            .map(|line| Access {
                address: 64 * line,
                reach: 7,
                weight: [1, 0],
            })
            .collect();
        repeats.leave_out(&mut accesses);
        let left = accesses.iter();
        left.map(|one| (one.address / 64, one.weight[0])).collect()
    }

    #[test]
    fn a_loop_is_left_with_two_rounds_and_what_breaks_it() {
        let mut stream: Vec<u64> = [1, 2, 2, 3].repeat(9);
        stream.extend([1, 2, 5, 5]);
        let left = left_of(&mut Repeats::new(6), &stream);
        assert_eq!(
            left,
            [
                (1, 1),
                (2, 1),
                (3, 1),
                (1, 8),
                (2, 8),
                (3, 8),
                (1, 1),
                (2, 1),
                (5, 1)
            ]
        );
    }

    #[test]
    fn a_loop_of_one_more_line_than_is_looked_for_is_kept() {
        for (length, kept) in [(LONGEST as u64, 2), (LONGEST as u64 + 1, 10)] {
            let stream: Vec<u64> = (0..length).collect::<Vec<_>>().repeat(10);
            let left = left_of(&mut Repeats::new(6), &stream);
            assert_eq!(left.len() as u64, kept * length);
        }
    }

    /// The line used last stays known from part to part.
    #[test]
    fn a_line_is_left_out_at_the_beginning_of_a_part() {
        let mut repeats = Repeats::new(6);
        assert_eq!(left_of(&mut repeats, &[1, 2, 2]).len(), 2);
        assert_eq!(left_of(&mut repeats, &[2, 2]), []);
        assert_eq!(left_of(&mut repeats, &[2, 1]), [(1, 1)]);
    }

    #[test]
    fn a_part_in_which_nothing_repeats_spares_the_next_ones_a_search() {
        let mut repeats = Repeats::new(6);
        let without_loop: Vec<u64> = (0..100).collect();
        assert_eq!(left_of(&mut repeats, &without_loop).len(), 100);
        for _ in 0..PAUSE {
            assert_eq!(left_of(&mut repeats, &[99, 98, 98]).len(), 3);
        }
        assert_eq!(left_of(&mut repeats, &[98, 98, 97, 97]), [(97, 1)]);
    }
}
