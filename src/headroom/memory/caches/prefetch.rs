//! Which lines a prefetcher fetches after an access.

use serde::Deserialize;

/// Streams that a stride prefetcher follows: one for each region of memory.
const STREAMS: usize = 16;
/// Bytes (B) of a region, as a power of two: hardware does not know what follows a page.
const REGION_BITS: u32 = 12;

/// A kind of prefetcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// None.
    #[default]
    None,
    /// After a miss, the line behind it.
    NextLine,
    /// After two equal distances within a page, the line that is as far away again.
    Stride,
}

/// A prefetcher.
#[derive(Clone, Debug)]
pub struct Prefetcher {
    kind: Kind,
    lines_per_region: u64,
    streams: [Stream; STREAMS],
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    region: u64,
    last: u64,
    distance: i64,
}

impl Prefetcher {
    /// Return a prefetcher of lines of `line_bytes` (a power of two).
    pub fn new(kind: Kind, line_bytes: u64) -> Self {
        let unused = Stream {
            region: u64::MAX,
            last: 0,
            distance: 0,
        };
        Self {
            kind,
            lines_per_region: ((1 << REGION_BITS) / line_bytes).max(1),
            streams: [unused; STREAMS],
        }
    }

    /// Note an access of `line`; return the line to fetch.
    #[inline]
    pub fn after(&mut self, line: u64, is_miss: bool) -> Option<u64> {
        match self.kind {
            Kind::None => None,
            Kind::NextLine => is_miss.then_some(line + 1),
            Kind::Stride => self.follow(line),
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the remainder is below the number of streams"
    )]
    fn follow(&mut self, line: u64) -> Option<u64> {
        let region = line / self.lines_per_region;
        let stream = &mut self.streams[(region % STREAMS as u64) as usize];
        if stream.region != region {
            *stream = Stream {
                region,
                last: line,
                distance: 0,
            };
            return None;
        }
        let distance = line.wrapping_sub(stream.last).cast_signed();
        if distance == 0 {
            return None;
        }
        let is_steady = distance == stream.distance;
        stream.last = line;
        stream.distance = distance;
        let next = line.checked_add_signed(distance)?;
        (is_steady && next / self.lines_per_region == region).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(kind: Kind, lines: &[u64]) -> Vec<Option<u64>> {
        let mut prefetcher = Prefetcher::new(kind, 64);
        lines
            .iter()
            .map(|&line| prefetcher.after(line, true))
            .collect()
    }

    #[test]
    fn the_next_line_follows_a_miss() {
        assert_eq!(fetched(Kind::NextLine, &[5]), [Some(6)]);
        assert_eq!(Prefetcher::new(Kind::NextLine, 64).after(5, false), None);
    }

    #[test]
    fn a_stride_is_seen_twice_and_stays_in_its_page() {
        assert_eq!(
            fetched(Kind::Stride, &[0, 3, 6, 9]),
            [None, None, Some(9), Some(12)]
        );
        assert_eq!(
            fetched(Kind::Stride, &[40, 30, 20, 10]),
            [None, None, Some(10), Some(0)]
        );
        assert_eq!(
            fetched(Kind::Stride, &[61, 62, 63, 64]),
            [None, None, None, None]
        );
        assert_eq!(fetched(Kind::Stride, &[1, 2, 4, 7]), [None; 4]);
    }
}
