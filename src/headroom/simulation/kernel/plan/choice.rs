//! Choice of the next step of a job: random, by condition, round robin, shortest queue, by value.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use rand::RngExt;

use crate::simulation::kernel::plan::compile::UNKNOWN;
use crate::simulation::kernel::plan::expression::Code;
use crate::simulation::kernel::random::alias::{AliasTable, Cell, Point};
use crate::simulation::kernel::random::stream::{self, Stream};

/// Cases from which on it pays to prepare the way to the next one.
const MANY: usize = 256;
/// Cases that are drawn before they are taken, if there are many.
const AHEAD: usize = 16;
/// The last ones of them, of which it is not known yet what they are.
const UNKNOWN_DRAWS: usize = 4;
/// The others.
pub const KNOWN_AHEAD: usize = AHEAD - UNKNOWN_DRAWS - 1;

/// A choice as compiled.
#[derive(Clone, Debug)]
pub struct ChoicePlan {
    /// Positions of the cases.
    pub targets: Vec<u32>,
    /// How one is chosen.
    pub rule: Rule,
    /// Key of the random stream.
    pub key: u64,
}

/// How a case is chosen.
#[derive(Clone, Debug)]
pub enum Rule {
    /// By probability.
    Probability(AliasTable),
    /// The first whose condition is not zero; the last case has none and is for what is left.
    Condition(Vec<Code>),
    /// One after the other.
    RoundRobin,
    /// The one whose station or pool has the fewest jobs for each server or token; among equals
    /// by chance.
    ShortestQueue(Vec<Target>),
    /// The same among a few cases, drawn at random.
    SampledQueue(Vec<Target>, usize),
    /// By the value of an expression: equal values go the same way.
    Hash(Code),
    /// The case whose number is the value of an expression.
    Index(Code),
    /// From a deck of case numbers, shuffled whenever it is exhausted.
    Deck(Vec<u32>),
}

/// The queue that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A station.
    Station(u32),
    /// A pool.
    Pool(u32),
}

/// A choice in a run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Positions of the cases.
    pub targets: Vec<u32>,
    /// How one is chosen.
    pub rule: Rule,
    stream: Stream,
    turn: usize,
    /// The case that comes next, if cases are drawn by probability: it is drawn while nothing
    /// waits for it.
    ahead: u32,
    /// Instead, if there are many.
    far_ahead: Option<Box<FarAhead>>,
}

/// The next cases of a choice among so many that each needs data which no cache holds.
///
/// They are drawn in the order in which they are taken, so this changes no result.
#[derive(Clone, Debug)]
struct FarAhead {
    /// Where the table was hit, by the number of the draw.
    points: [Point; AHEAD],
    /// Positions of the cases, by the number of the draw.
    targets: [u32; AHEAD],
    /// Draws.
    count: usize,
}

impl FarAhead {
    /// Take the next case, and draw one.
    #[inline]
    fn next(&mut self, table: &AliasTable, targets: &[u32], stream: &mut Stream) -> u32 {
        let point = table.throw(stream);
        self.points[self.count % AHEAD] = point;
        self.count += 1;
        // The oldest of those whose data had the time to come.
        let found = self.count.wrapping_sub(UNKNOWN_DRAWS) % AHEAD;
        self.targets[found] = targets[table.index_at(self.points[found]) as usize];
        self.targets[self.count % AHEAD]
    }
}

impl Choice {
    /// Open the choice for a run with `seed`.
    pub fn new(plan: &ChoicePlan, seed: u64) -> Self {
        let mut stream = stream::open(seed, plan.key);
        let mut ahead = UNKNOWN;
        let mut far_ahead = None;
        match &plan.rule {
            Rule::Probability(table) if plan.targets.len() >= MANY => {
                let mut far = FarAhead {
                    points: [Point::default(); AHEAD],
                    targets: [UNKNOWN; AHEAD],
                    count: 0,
                };
                for _ in 1..AHEAD {
                    far.next(table, &plan.targets, &mut stream);
                }
                far_ahead = Some(Box::new(far));
            }
            Rule::Probability(table) => {
                ahead = plan.targets[table.draw(&mut stream) as usize];
            }
            _ => {}
        }
        Self {
            targets: plan.targets.clone(),
            rule: plan.rule.clone(),
            stream,
            turn: 0,
            ahead,
            far_ahead,
        }
    }

    /// Return whether there are so many cases that preparing the way to them is worthwhile.
    #[inline]
    pub const fn is_far_ahead(&self) -> bool {
        self.far_ahead.is_some()
    }

    /// Return the cell of the last draw, which is not read yet, if there are so many cases.
    #[inline]
    pub fn unread(&self) -> Option<&Cell> {
        match (&self.rule, &self.far_ahead) {
            (Rule::Probability(table), Some(far)) => {
                Some(table.cell_at(far.points[(far.count - 1) % AHEAD]))
            }
            _ => None,
        }
    }

    /// Return the case that is taken `draws` (1 to [`KNOWN_AHEAD`]) after the last one, if there are
    /// so many that preparing the way is worthwhile.
    #[inline]
    pub fn coming(&self, draws: usize) -> Option<u32> {
        let far = self.far_ahead.as_ref()?;
        Some(far.targets[(far.count + draws) % AHEAD])
    }

    /// Draw a case by probability if there are few.
    ///
    /// # Panics
    ///
    /// Panics if the choice follows another rule: a bug.
    #[inline(always)]
    pub fn draw_ahead(&mut self) -> u32 {
        let Rule::Probability(table) = &self.rule else {
            unreachable!("the choice is not by probability");
        };
        let drawn = self.targets[table.draw(&mut self.stream) as usize];
        std::mem::replace(&mut self.ahead, drawn)
    }

    /// Draw a case by probability where [`Self::is_far_ahead`].
    ///
    /// # Panics
    ///
    /// Panics elsewhere: a bug.
    #[inline(never)]
    pub fn draw_far_ahead(&mut self) -> u32 {
        match (&self.rule, &mut self.far_ahead) {
            (Rule::Probability(table), Some(far)) => {
                far.next(table, &self.targets, &mut self.stream)
            }
            _ => unreachable!("the choice is among few cases"),
        }
    }

    /// Return the case whose turn it is.
    pub fn next_turn(&mut self) -> u32 {
        let target = self.targets[self.turn];
        self.turn = (self.turn + 1) % self.targets.len();
        target
    }

    /// Draw the next card of the deck and return its case.
    pub fn next_card(&mut self) -> u32 {
        let Rule::Deck(cards) = &mut self.rule else {
            unreachable!("there are no cards");
        };
        if self.turn == 0 {
            for place in (1..cards.len()).rev() {
                cards.swap(place, self.stream.random_range(0..=place));
            }
        }
        let target = self.targets[cards[self.turn] as usize];
        self.turn = (self.turn + 1) % cards.len();
        target
    }

    /// Return the case whose number is `value`; None if there is no such case.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value was found to be a whole number below the number of cases"
    )]
    pub fn numbered(&self, value: f64) -> Option<u32> {
        let is_a_case = value >= 0.0 && value < self.targets.len() as f64 && value.fract() == 0.0;
        is_a_case.then(|| self.targets[value as usize])
    }

    /// Return the case that belongs to `value`.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the remainder is below the number of cases"
    )]
    pub fn by_hash(&self, value: f64) -> u32 {
        let hash = stream::mix((value + 0.0).to_bits());
        self.targets[(hash % self.targets.len() as u64) as usize]
    }

    /// Return the case with the shortest queue; `load` returns the jobs and the servers of a
    /// target.
    pub fn shortest(&mut self, load: impl Fn(Target) -> (u64, u64)) -> u32 {
        let count = self.targets.len();
        let (queues, places) = match &self.rule {
            Rule::ShortestQueue(queues) => (queues, (0..count).collect()),
            Rule::SampledQueue(queues, sample) => {
                (queues, sampled(&mut self.stream, count, *sample))
            }
            other => unreachable!("{other:?} looks at no queue"),
        };
        let loads: Vec<(u64, u64)> = queues.iter().map(|&target| load(target)).collect();
        let is_shorter = |a: usize, b: usize| {
            let (one, other) = (loads[a], loads[b]);
            u128::from(one.0) * u128::from(other.1) < u128::from(other.0) * u128::from(one.1)
        };
        let mut best = vec![places[0]];
        for &place in &places[1..] {
            if is_shorter(place, best[0]) {
                best.clear();
            }
            if best.is_empty() || !is_shorter(best[0], place) {
                best.push(place);
            }
        }
        let pick = if best.len() == 1 {
            0
        } else {
            self.stream.random_range(0..best.len())
        };
        self.targets[best[pick]]
    }
}

/// Draw `sample` different numbers below `count`.
fn sampled(stream: &mut Stream, count: usize, sample: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    let taken = sample.min(count);
    for place in 0..taken {
        all.swap(place, stream.random_range(place..count));
    }
    all.truncate(taken);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(rule: Rule) -> Choice {
        let plan = ChoicePlan {
            targets: vec![10, 11, 12],
            rule,
            key: 3,
        };
        Choice::new(&plan, 1)
    }

    fn stations() -> Vec<Target> {
        (0..3).map(Target::Station).collect()
    }

    #[test]
    fn cases_come_as_they_are_drawn_and_are_known_before_if_there_are_many() {
        for count in [2, MANY - 1, MANY, 3 * MANY] {
            let weights: Vec<f64> = (0..count).map(|case| 1.0 + (case % 7) as f64).collect();
            let table = AliasTable::new(&weights);
            let targets: Vec<u32> = (100..).take(count).collect();
            let mut stream = stream::open(1, 3);
            let drawn: Vec<u32> = std::iter::repeat_with(|| table.draw(&mut stream))
                .map(|case| targets[case as usize])
                .take(1000)
                .collect();
            let mut one = Choice::new(
                &ChoicePlan {
                    targets,
                    rule: Rule::Probability(table),
                    key: 3,
                },
                1,
            );
            assert_eq!(one.is_far_ahead(), count >= MANY);
            for (place, &expected) in drawn.iter().enumerate() {
                let next = if one.is_far_ahead() {
                    one.draw_far_ahead()
                } else {
                    one.draw_ahead()
                };
                assert_eq!(next, expected);
                for ahead in 1..=KNOWN_AHEAD {
                    let coming = drawn.get(place + ahead).copied();
                    let known = coming.filter(|_| count >= MANY);
                    assert!(coming.is_none() || one.coming(ahead) == known);
                }
            }
        }
    }

    #[test]
    fn the_shortest_queue_counts_the_servers() {
        let mut one = choice(Rule::ShortestQueue(stations()));
        let loads = [(4, 2), (3, 1), (8, 8)];
        let load = |target| match target {
            Target::Station(index) => loads[index as usize],
            Target::Pool(_) => (0, 1),
        };
        assert_eq!(one.shortest(load), 12);
    }

    #[test]
    fn equal_queues_are_chosen_equally_often() {
        let mut one = choice(Rule::ShortestQueue(stations()));
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[one.shortest(|_| (1, 1)) as usize - 10] += 1;
        }
        assert!(
            counts.iter().all(|count| (900..1100).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn two_choices_never_take_the_longest_of_three() {
        let mut one = choice(Rule::SampledQueue(stations(), 2));
        let load = |target| match target {
            Target::Station(index) => (u64::from(index), 1),
            Target::Pool(_) => (0, 1),
        };
        assert!((0..1000).all(|_| one.shortest(load) != 12));
    }

    #[test]
    fn turns_go_round_and_a_hash_stays() {
        let mut one = choice(Rule::RoundRobin);
        assert_eq!([0; 4].map(|_| one.next_turn()), [10, 11, 12, 10]);
        assert!(
            (0..100).all(|value| one.by_hash(f64::from(value)) == one.by_hash(f64::from(value)))
        );
        assert_eq!(one.by_hash(0.0), one.by_hash(-0.0));
    }

    fn deck(key: u64, seed: u64, cards: &[u32]) -> Choice {
        let plan = ChoicePlan {
            targets: vec![10, 11, 12],
            rule: Rule::Deck(cards.to_vec()),
            key,
        };
        Choice::new(&plan, seed)
    }

    fn pass(deck: &mut Choice, cards: usize) -> Vec<u32> {
        (0..cards).map(|_| deck.next_card()).collect()
    }

    #[test]
    fn a_deck_gives_every_card_once_a_pass_and_in_another_order_each_time() {
        let mut one = deck(3, 1, &[0, 0, 0, 0, 1, 1, 2]);
        let passes: Vec<Vec<u32>> = (0..50).map(|_| pass(&mut one, 7)).collect();
        for cards in &passes {
            let mut sorted = cards.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [10, 10, 10, 10, 11, 11, 12]);
        }
        let different: std::collections::BTreeSet<_> = passes.iter().collect();
        assert!(different.len() > 25, "{} orders", different.len());
    }

    #[test]
    fn a_deck_is_shuffled_by_its_seed_and_its_key() {
        let cards: Vec<u32> = (0..3).cycle().take(60).collect();
        let first = pass(&mut deck(3, 1, &cards), 60);
        assert_eq!(first, pass(&mut deck(3, 1, &cards), 60));
        assert_ne!(first, pass(&mut deck(3, 2, &cards), 60));
        assert_ne!(first, pass(&mut deck(4, 1, &cards), 60));
    }

    #[test]
    fn every_card_is_equally_often_the_first_of_a_deck() {
        let mut one = deck(3, 1, &[0, 1, 2]);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[pass(&mut one, 3)[0] as usize - 10] += 1;
        }
        assert!(
            counts.iter().all(|count| (900..1100).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn only_whole_numbers_below_the_number_of_cases_are_cases() {
        let one = choice(Rule::Index(Code::default()));
        let found = [0.0, -0.0, 1.0, 2.0].map(|value| one.numbered(value));
        assert_eq!(found, [Some(10), Some(10), Some(11), Some(12)]);
        for value in [3.0, -1.0, 0.5, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(one.numbered(value), None, "{value}");
        }
    }
}
