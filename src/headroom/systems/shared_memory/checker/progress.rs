//! Deadlock and livelock: states from which arrivals alone never end what is in progress.
//!
//! Refused requests are sent again, so the graph of states has circles. With fair arrivals an
//! operation ends if from each state some sequence of arrivals leads to a quiet one.

/// Arrivals between states, by number.
#[derive(Debug, Default)]
pub(super) struct Progress {
    arrivals: Vec<(u32, u32)>,
    quiet: Vec<u32>,
}

impl Progress {
    /// An arrival leads from a state to another.
    pub fn arrival(&mut self, from: u32, to: u32) {
        self.arrivals.push((from, to));
    }

    /// In this state nothing is in progress.
    pub fn quiet(&mut self, state: u32) {
        self.quiet.push(state);
    }

    /// Return the first of `count` states that cannot become quiet.
    pub fn first_stuck(&mut self, count: usize) -> Option<u32> {
        // Arrivals by their target, and where those of each target start.
        self.arrivals.sort_unstable_by_key(|&(_, to)| to);
        let mut starts = vec![0; count + 1];
        for &(_, to) in &self.arrivals {
            starts[to as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut ends = vec![false; count];
        let mut waiting = self.quiet.clone();
        for &state in &waiting {
            ends[state as usize] = true;
        }
        while let Some(state) = waiting.pop() {
            let state = state as usize;
            for &(from, _) in &self.arrivals[starts[state]..starts[state + 1]] {
                if !std::mem::replace(&mut ends[from as usize], true) {
                    waiting.push(from);
                }
            }
        }
        let stuck = ends.iter().position(|&has_end| !has_end)?;
        u32::try_from(stuck).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn a_circle_that_never_becomes_quiet_is_found() {
        let mut progress = Progress::default();
        progress.quiet(0);
        for (from, to) in [(1, 0), (1, 2), (2, 3), (3, 2)] {
            progress.arrival(from, to);
        }
        assert_eq!(progress.first_stuck(4), Some(2));
        progress.arrival(3, 1);
        assert_eq!(progress.first_stuck(4), None);
    }
}
