//! The buffer of a disk: segments of recently read and read-ahead sectors.
//!
//! After a read the disk keeps reading while it has no other request, so that a sequential reader
//! finds its next request in the buffer. Segments are few; the least recently used one is evicted.
//!
//! Invariant: a sector that was written after it was read is in no segment.

/// Sectors in a row that the buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First sector.
    pub start: u64,
    /// Sector after the last.
    pub end: u64,
    last_use: u64,
}

/// The segments.
#[derive(Clone, Debug, Default)]
pub struct TrackCache {
    segments: Vec<Segment>,
    most: usize,
    /// Sectors that a segment holds.
    segment_sectors: u64,
    uses: u64,
}

impl TrackCache {
    /// Make `most` segments of `segment_sectors` each; zero of either means no buffer.
    pub fn new(most: usize, segment_sectors: u64) -> Self {
        Self {
            segments: Vec::with_capacity(most),
            most: if segment_sectors == 0 { 0 } else { most },
            segment_sectors,
            uses: 0,
        }
    }

    /// Return the index of the segment that holds `sector` or ends before it.
    pub fn find(&self, sector: u64) -> Option<usize> {
        // Of a segment that holds it and one that ends there, the former has more.
        let reaches = |segment: &Segment| segment.start <= sector && sector <= segment.end;
        let candidates = self
            .segments
            .iter()
            .enumerate()
            .filter(|(_, one)| reaches(one));
        candidates
            .max_by_key(|(index, one)| (one.end, *index))
            .map(|(index, _)| index)
    }

    /// Return segment `index`.
    pub fn get(&self, index: usize) -> Segment {
        self.segments[index]
    }

    /// Note a use of segment `index`.
    pub fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].last_use = self.uses;
    }

    /// Extend segment `index` up to `end`; data that does not fit is dropped at its start.
    pub fn extend(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.start = segment
            .start
            .max(segment.end.saturating_sub(self.segment_sectors));
    }

    /// Keep the data just read in a new segment; None if there is no buffer.
    pub fn insert(&mut self, start: u64, end: u64) -> Option<usize> {
        if self.most == 0 {
            return None;
        }
        self.uses += 1;
        let start = start.max(end.saturating_sub(self.segment_sectors));
        let segment = Segment {
            start,
            end,
            last_use: self.uses,
        };
        if self.segments.len() < self.most {
            self.segments.push(segment);
            return Some(self.segments.len() - 1);
        }
        let oldest = (0..self.segments.len()).min_by_key(|&index| self.segments[index].last_use)?;
        self.segments[oldest] = segment;
        Some(oldest)
    }

    /// Forget the sectors from `start` to before `end`, and those behind them in a segment.
    pub fn forget(&mut self, start: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                segment.end = segment.start.max(start);
                segment.start = segment.start.min(segment.end);
            }
        }
        // A reader at its end would find an empty segment, which holds nothing.
        for segment in &mut self.segments {
            if segment.start == segment.end {
                segment.last_use = 0;
                (segment.start, segment.end) = (u64::MAX, u64::MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever was read and written, no segment holds a sector written after it was read,
        /// none is too long, and there are not too many.
        #[test]
        fn written_sectors_are_forgotten(
            calls in prop::collection::vec((any::<bool>(), 0_u64..500, 1_u64..60), 1..200),
        ) {
            let mut cache = TrackCache::new(4, 50);
            let mut read_last = vec![false; 600];
            for (is_write, start, count) in calls {
                if is_write {
                    cache.forget(start, start + count);
                } else {
                    cache.insert(start, start + count);
                }
                for sector in start..start + count {
                    read_last[usize::try_from(sector).expect("small")] = !is_write;
                }
                prop_assert!(cache.segments.len() <= 4);
                for segment in cache.segments.iter().filter(|one| one.start < 600) {
                    prop_assert!(segment.end - segment.start <= 50);
                    for sector in segment.start..segment.end {
                        prop_assert!(read_last[usize::try_from(sector).expect("small")]);
                    }
                }
            }
        }
    }
}
