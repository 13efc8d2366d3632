//! Threads on processors, and what they wait for, as signals.
//!
//! A thread that is made waits for its maker, a join for the end of the other thread, who acquires
//! a lock for its release before, who leaves a barrier for all who have come to it, who passes a
//! semaphore for the post that its token comes from, and who sees an atomic object for its last change.
//!
//! Invariant: in the order of the trace each signal is given before it is awaited, so a list of
//! words for each processor always ends, and locks change hands in the order of the trace.

#![allow(
    clippy::disallowed_types,
    reason = "atomic objects are looked up, and never listed: their order has no effect"
)]

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::memory::stack_distance::LineHasher;
use crate::systems::shared_memory::hook::Event;
use crate::systems::shared_memory::machine::word::{MOST_POSTS, SIGNALS_END, Sync};

/// Processors of threads: threads are numbered as they come, and dealt out in turn.
#[derive(Debug)]
pub struct Threads {
    processors: usize,
    seen: BTreeMap<u32, usize>,
    last: (u32, usize),
}

impl Threads {
    /// Return no threads yet.
    pub fn new(processors: usize) -> Self {
        Self {
            processors,
            seen: BTreeMap::new(),
            last: (u32::MAX, 0),
        }
    }

    /// Return the processor of a thread.
    #[inline]
    pub fn processor(&mut self, thread: u32) -> usize {
        if self.last.0 != thread {
            let new = self.seen.len() % self.processors;
            self.last = (thread, *self.seen.entry(thread).or_insert(new));
        }
        self.last.1
    }

    /// Return the number of threads.
    pub fn len(&self) -> usize {
        self.seen.len()
    }
}

/// What a thread does about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Nothing.
    None,
    /// Gives it.
    Post(u32),
    /// Waits until it was given some times.
    Await(u32, u32, Sync),
}

/// What a signal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Start(u32),
    End(u32),
    Lock(u64),
    Barrier(u64),
    Semaphore(u64),
    /// What a thread changes: of each thread one signal, so that a post is a change by this thread.
    Changes(u32),
}

type Changes = HashMap<u64, (u32, u32), BuildHasherDefault<LineHasher>>;

/// A semaphore: its value before the first event, and how often it has let a thread through.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    first: u32,
    passed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Signal {
    number: u32,
    posts: u32,
}

/// Threads at a barrier.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Threads that have come since the last time one left.
    came: u32,
    /// Posts that those who came wait for, and are inside still.
    inside: BTreeMap<u32, u32>,
    waiting: Vec<u32>,
}

/// Signals of a trace.
#[derive(Debug, Default)]
pub struct Signals {
    of: BTreeMap<Thing, Signal>,
    rounds: BTreeMap<u64, Round>,
    tokens: BTreeMap<u64, Tokens>,
    /// The last change of each atomic object: the thread, and its number among those of the thread.
    changes: Changes,
    /// Waits for what another thread did to an atomic object.
    pub atomic_waits: u64,
    /// Threads that have begun and not ended.
    running: u32,
    /// Whether the last event was the first to leave a barrier to which all running threads came.
    pub have_all_met: bool,
}

impl Signals {
    /// Return what an event of a thread does.
    ///
    /// # Errors
    ///
    /// There are more signals, or posts of one, than a simulation can have.
    pub fn deed(&mut self, thread: u32, event: Event) -> Result<Deed, String> {
        self.have_all_met = false;
        match event {
            Event::Started { child } => self.post(Thing::Start(child)),
            Event::Begun => {
                self.running += 1;
                Ok(self.wait(Thing::Start(thread), Sync::Thread))
            }
            Event::Ended => {
                self.running = self.running.saturating_sub(1);
                self.post(Thing::End(thread))
            }
            Event::Joined { child: Some(child) } => Ok(self.wait(Thing::End(child), Sync::Thread)),
            Event::Released { lock } => self.post(Thing::Lock(lock)),
            Event::Acquired { lock } => {
                self.signal(Thing::Lock(lock))?;
                Ok(self.wait(Thing::Lock(lock), Sync::Lock))
            }
            Event::Entered { barrier } => {
                let round = self.rounds.entry(barrier).or_default();
                round.came += 1;
                round.waiting.push(thread);
                self.post(Thing::Barrier(barrier))
            }
            Event::Left { barrier } => Ok(self.leave(thread, barrier)),
            Event::Posted { semaphore, value } => {
                self.tokens.entry(semaphore).or_insert(Tokens {
                    first: value,
                    passed: 0,
                });
                self.post(Thing::Semaphore(semaphore))
            }
            Event::Passed { semaphore, value } => self.pass(semaphore, value),
            Event::Changed { object } => {
                let deed = self.post(Thing::Changes(thread))?;
                let posts = self.signal(Thing::Changes(thread))?.posts;
                self.changes.insert(object, (thread, posts));
                Ok(deed)
            }
            Event::Saw { object } => self.see(thread, object),
            _ => Ok(Deed::None),
        }
    }

    /// A thread leaves a barrier; the first one to leave shows who was to come.
    fn leave(&mut self, thread: u32, barrier: u64) -> Deed {
        let thing = Thing::Barrier(barrier);
        let (Some(round), Some(signal)) = (self.rounds.get_mut(&barrier), self.of.get(&thing))
        else {
            return Deed::None;
        };
        if round.waiting.contains(&thread) {
            self.have_all_met = round.came >= self.running;
            for one in round.waiting.drain(..) {
                round.inside.insert(one, signal.posts);
            }
            round.came = 0;
        }
        match round.inside.remove(&thread) {
            Some(posts) => Deed::Await(signal.number, posts, Sync::Barrier),
            // It came before the region began.
            None => Deed::None,
        }
    }

    /// A thread passes by one of the tokens that were there first, or by the oldest post that is left.
    fn pass(&mut self, semaphore: u64, value: u32) -> Result<Deed, String> {
        let tokens = self.tokens.entry(semaphore).or_insert(Tokens {
            first: value.saturating_add(1),
            passed: 0,
        });
        tokens.passed += 1;
        let posts = tokens.passed.saturating_sub(tokens.first);
        let signal = self.signal(Thing::Semaphore(semaphore))?;
        Ok(Deed::Await(
            signal.number,
            posts.min(signal.posts),
            Sync::Lock,
        ))
    }

    fn see(&mut self, thread: u32, object: u64) -> Result<Deed, String> {
        match self.changes.get(&object).copied() {
            Some((other, posts)) if other != thread => {
                self.atomic_waits += 1;
                let signal = self.signal(Thing::Changes(other))?;
                Ok(Deed::Await(signal.number, posts, Sync::Thread))
            }
            _ => Ok(Deed::None),
        }
    }

    fn signal(&mut self, thing: Thing) -> Result<&mut Signal, String> {
        let new = u32::try_from(self.of.len()).unwrap_or(u32::MAX);
        let signal = self.of.entry(thing).or_insert(Signal {
            number: new,
            posts: 0,
        });
        if signal.number >= SIGNALS_END || signal.posts >= MOST_POSTS {
            return Err(format!(
                "the program synchronises too often: at most {SIGNALS_END} threads, locks and \
                 barriers, and {MOST_POSTS} uses of each"
            ));
        }
        Ok(signal)
    }

    fn post(&mut self, thing: Thing) -> Result<Deed, String> {
        let signal = self.signal(thing)?;
        signal.posts += 1;
        Ok(Deed::Post(signal.number))
    }

    /// Wait for what was posted so far; for nothing if there was none of it.
    fn wait(&self, thing: Thing, sync: Sync) -> Deed {
        let signal = self.of.get(&thing);
        signal.map_or(Deed::None, |signal| {
            Deed::Await(signal.number, signal.posts, sync)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Deed, Signals, Threads};
    use crate::systems::shared_memory::hook::Event;
    use crate::systems::shared_memory::machine::word::Sync;

    fn deeds(events: &[(u32, Event)]) -> Vec<Deed> {
        let mut signals = Signals::default();
        let all = events
            .iter()
            .map(|&(thread, event)| signals.deed(thread, event).expect("few"));
        all.collect()
    }

    #[test]
    fn threads_take_processors_in_turn() {
        let mut threads = Threads::new(2);
        let found = [7, 3, 9, 7].map(|thread| threads.processor(thread));
        assert_eq!(found, [0, 1, 0, 0]);
        assert_eq!(threads.len(), 3);
    }

    #[test]
    fn a_lock_that_was_taken_before_the_region_is_given_back_without_harm() {
        let (lock, sync) = (64, Sync::Lock);
        let found = deeds(&[
            (0, Event::Released { lock }),
            (1, Event::Acquired { lock }),
            (1, Event::Released { lock }),
            (0, Event::Acquired { lock }),
            (0, Event::Acquired { lock: 128 }),
        ]);
        let expected = [
            Deed::Post(0),
            Deed::Await(0, 1, sync),
            Deed::Post(0),
            Deed::Await(0, 2, sync),
            Deed::Await(1, 0, sync),
        ];
        assert_eq!(found, expected);
    }

    /// The slow thread leaves the first time after the fast one has come again.
    #[test]
    fn a_barrier_is_left_for_those_who_came_in_the_same_round() {
        let barrier = 8;
        let (come, go) = (Event::Entered { barrier }, Event::Left { barrier });
        let wait = |posts| Deed::Await(0, posts, Sync::Barrier);
        let found = deeds(&[
            (0, come),
            (1, come),
            (0, go),
            (0, come),
            (1, go),
            (1, come),
            (1, go),
            (0, go),
        ]);
        let expected = [
            Deed::Post(0),
            Deed::Post(0),
            wait(2),
            Deed::Post(0),
            wait(2),
            Deed::Post(0),
            wait(4),
            wait(4),
        ];
        assert_eq!(found, expected);
        assert_eq!(deeds(&[(0, go)]), [Deed::None], "it came before the region");
    }

    /// Who sees an object waits for its last change, and not for what that thread changed since.
    #[test]
    fn a_wait_belongs_to_one_object() {
        let (change, see) = (
            |object| Event::Changed { object },
            |object| Event::Saw { object },
        );
        let found = deeds(&[
            (0, change(8)),
            (0, change(16)),
            (1, see(8)),
            (1, see(24)),
            (0, see(16)),
        ]);
        let wait = Deed::Await(0, 1, Sync::Thread);
        let none = Deed::None;
        assert_eq!(found, [Deed::Post(0), Deed::Post(0), wait, none, none]);
    }

    /// Two tokens are there first, so the third pass needs the first post.
    #[test]
    fn a_semaphore_lets_through_by_the_post_that_a_token_is_from() {
        let semaphore = 8;
        let pass = |value| Event::Passed { semaphore, value };
        let found = deeds(&[
            (0, pass(1)),
            (
                1,
                Event::Posted {
                    semaphore,
                    value: 1,
                },
            ),
            (0, pass(1)),
            (0, pass(0)),
        ]);
        let wait = |posts| Deed::Await(0, posts, Sync::Lock);
        assert_eq!(found, [wait(0), Deed::Post(0), wait(0), wait(1)]);
    }

    #[test]
    fn a_child_waits_for_its_maker_and_a_join_for_the_child() {
        let found = deeds(&[
            (0, Event::Begun),
            (0, Event::Started { child: 5 }),
            (5, Event::Begun),
            (5, Event::Ended),
            (0, Event::Joined { child: Some(5) }),
            (0, Event::Joined { child: None }),
        ]);
        let expected = [
            Deed::None,
            Deed::Post(0),
            Deed::Await(0, 1, Sync::Thread),
            Deed::Post(1),
            Deed::Await(1, 1, Sync::Thread),
            Deed::None,
        ];
        assert_eq!(found, expected);
    }
}
