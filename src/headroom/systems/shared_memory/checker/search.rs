//! Breadth-first search over all states.

#![allow(
    clippy::disallowed_types,
    reason = "states are looked up by their hash, and never listed in its order"
)]

use std::collections::{HashMap, VecDeque};

use super::progress::Progress;
use super::world::{Event, EventOf, Rules, WorldOf};
use super::{Found, Limits, Violation};
use crate::systems::shared_memory::protocol::Protocol;

/// Visit all states of a protocol, or stop at the first that breaks a sentence.
///
/// Time and memory grow with the states: about 40 bytes for each, and a few microseconds for each
/// event, times the orders of the caches.
pub fn check<P: Protocol>(protocol: &P, limits: &Limits) -> Found<P::Body> {
    let rules = Rules::new(protocol, limits);
    let mut search = Search::new(&rules);
    let broken = search.run();
    let violation = broken.map(|broken| search.explain(broken));
    Found {
        state_count: search.prints.len(),
        step_count: search.step_count,
        depth: search.depths.iter().copied().max().unwrap_or(0) as usize,
        used: search.used,
        is_complete: violation.is_none() && search.prints.len() < limits.most_states,
        violation,
    }
}

/// The sentence that is broken, in a state or by an event that leaves it.
struct Broken<B> {
    sentence: String,
    state: u32,
    event: Option<Event<B>>,
}

struct Search<'a, P: Protocol> {
    rules: &'a Rules<'a, P>,
    scratch: WorldOf<P>,
    /// Hash of each state, to its number.
    numbers: HashMap<u64, u32>,
    /// Hash of each state, by its number.
    prints: Vec<u64>,
    parents: Vec<u32>,
    depths: Vec<u32>,
    used: Vec<u64>,
    step_count: u64,
    progress: Progress,
}

impl<'a, P: Protocol> Search<'a, P> {
    fn new(rules: &'a Rules<'a, P>) -> Self {
        Self {
            rules,
            scratch: rules.first(),
            numbers: HashMap::new(),
            prints: Vec::new(),
            parents: Vec::new(),
            depths: Vec::new(),
            used: vec![0; P::RULES.len()],
            step_count: 0,
            progress: Progress::default(),
        }
    }

    fn run(&mut self) -> Option<Broken<P::Body>> {
        let first = self.rules.first();
        let mut waiting = VecDeque::new();
        let (number, _) = self.number(&first, 0, 0);
        self.note_quiet(&first, number);
        waiting.push_back((number, first));
        while let Some((number, world)) = waiting.pop_front() {
            if self.prints.len() >= self.rules.limits.most_states {
                return None;
            }
            for event in self.rules.events(&world) {
                self.step_count += 1;
                let next = match self.rules.after(&world, &event, &mut self.used) {
                    Ok(next) => next,
                    Err(sentence) => {
                        return Some(Broken {
                            sentence,
                            state: number,
                            event: Some(event),
                        });
                    }
                };
                let depth = self.depths[number as usize] + 1;
                let (next_number, is_new) = self.number(&next, number, depth);
                if !matches!(event, Event::Start { .. } | Event::Local { .. }) {
                    self.progress.arrival(number, next_number);
                }
                if !is_new {
                    continue;
                }
                if let Err(sentence) = self.rules.check(&next) {
                    return Some(Broken {
                        sentence,
                        state: next_number,
                        event: None,
                    });
                }
                self.note_quiet(&next, next_number);
                waiting.push_back((next_number, next));
            }
        }
        let stuck = self.progress.first_stuck(self.prints.len())?;
        Some(Broken {
            sentence: "from here no arrivals end what is in progress".into(),
            state: stuck,
            event: None,
        })
    }

    /// Return the number of a state, and whether it is new.
    fn number(&mut self, world: &WorldOf<P>, parent: u32, depth: u32) -> (u32, bool) {
        let print = self.rules.fingerprint(world, &mut self.scratch);
        #[allow(clippy::cast_possible_truncation, reason = "fewer than 2^32 states")]
        let next = self.prints.len() as u32;
        let number = *self.numbers.entry(print).or_insert(next);
        if number == next {
            self.prints.push(print);
            self.parents.push(parent);
            self.depths.push(depth);
        }
        (number, number == next)
    }

    fn note_quiet(&mut self, world: &WorldOf<P>, number: u32) {
        if self.rules.is_quiet(world) {
            self.progress.quiet(number);
        }
    }

    /// Find the events that lead to a state: only their hashes were kept.
    fn explain(&mut self, broken: Broken<P::Body>) -> Violation<P::Body> {
        let mut numbers = vec![broken.state];
        while let Some(&number) = numbers.last().filter(|&&number| number != 0) {
            numbers.push(self.parents[number as usize]);
        }
        let mut world = self.rules.first();
        let mut path = Vec::new();
        for &number in numbers.iter().rev().skip(1) {
            let Some((event, next)) = self.step_to(&world, self.prints[number as usize]) else {
                break;
            };
            path.push(event);
            world = next;
        }
        // The event was seen in a state with other names.
        if broken.event.is_some() {
            let events = self.rules.events(&world);
            let breaks = |event: &EventOf<P>| {
                let result = self.rules.after(&world, event, &mut self.used.clone());
                result.err().as_ref() == Some(&broken.sentence)
            };
            path.extend(events.into_iter().find(breaks));
        }
        Violation {
            sentence: broken.sentence,
            path,
        }
    }

    fn step_to(&mut self, world: &WorldOf<P>, print: u64) -> Option<(EventOf<P>, WorldOf<P>)> {
        let mut used = self.used.clone();
        for event in self.rules.events(world) {
            let Ok(next) = self.rules.after(world, &event, &mut used) else {
                continue;
            };
            if self.rules.fingerprint(&next, &mut self.scratch) == print {
                return Some((event, next));
            }
        }
        None
    }
}
