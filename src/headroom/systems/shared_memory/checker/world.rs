//! A state of the whole system, and the events that may come next.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Limits;
use crate::systems::shared_memory::protocol::filter::{Admission, admit};
use crate::systems::shared_memory::protocol::{
    Agent, Effect, LocalOp, MOST_CHECKED, Message, Node, Op, Part, Protocol, Renaming, UNEXPECTED,
    Value,
};

/// The next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<B> {
    /// A processor behind a cache, or its cache, wants something.
    Start {
        /// The line.
        line: usize,
        /// The cache.
        node: Node,
        /// The wish.
        op: Op,
    },
    /// The home's processor wants something.
    Local {
        /// The line.
        line: usize,
        /// The wish.
        op: LocalOp,
    },
    /// A message arrives.
    Deliver {
        /// The line.
        line: usize,
        /// The message.
        message: Message<B>,
    },
    /// A request arrives for which there is no entry: it is refused, and copies are taken back.
    Refuse {
        /// The line.
        line: usize,
        /// The request.
        message: Message<B>,
        /// The line whose copies are taken back; None if all are busy.
        victim: Option<usize>,
    },
}

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World<H, L, B> {
    pub homes: Vec<H>,
    /// Copies, line by line.
    pub lines: Vec<L>,
    /// Messages in flight with their lines.
    pub messages: Vec<(usize, Message<B>)>,
}

/// The state of a protocol's system.
pub(super) type WorldOf<P> =
    World<<P as Protocol>::Home, <P as Protocol>::Line, <P as Protocol>::Body>;
/// An event of a protocol's system.
pub(super) type EventOf<P> = Event<<P as Protocol>::Body>;

/// All values become old, and caches keep their names.
const AGEING: Renaming = Renaming {
    nodes: [0, 1, 2, 3, 4, 5],
    ages: true,
};

/// All caches have the same name.
const NAMELESS: Renaming = Renaming {
    nodes: [0; MOST_CHECKED],
    ages: false,
};

/// The system: what does not change.
pub(super) struct Rules<'a, P> {
    pub protocol: &'a P,
    pub limits: &'a Limits,
    renamings: Vec<Renaming>,
}

impl<'a, P: Protocol> Rules<'a, P> {
    pub fn new(protocol: &'a P, limits: &'a Limits) -> Self {
        let renamings = orders(limits.caches)
            .into_iter()
            .map(|nodes| Renaming { nodes, ages: false })
            .collect();
        Self {
            protocol,
            limits,
            renamings,
        }
    }

    /// Return the state without copies.
    pub fn first(&self) -> WorldOf<P> {
        World {
            homes: vec![self.protocol.uncached(); self.limits.lines],
            lines: vec![self.protocol.absent(); self.limits.lines * self.limits.caches],
            messages: Vec::new(),
        }
    }

    /// Return the events that may come next, arrivals last.
    pub fn events(&self, world: &WorldOf<P>) -> Vec<EventOf<P>> {
        let mut events = Vec::new();
        for line in 0..self.limits.lines {
            self.add_starts(world, line, &mut events);
        }
        let mut last = None;
        for &(line, message) in &world.messages {
            if last.replace((line, message)) == Some((line, message)) {
                continue;
            }
            self.add_arrival(world, line, message, &mut events);
        }
        events
    }

    fn add_starts(&self, world: &WorldOf<P>, line: usize, events: &mut Vec<EventOf<P>>) {
        for node in 0..self.limits.caches {
            let view = self
                .protocol
                .view(&world.lines[line * self.limits.caches + node]);
            if !view.is_idle {
                continue;
            }
            #[allow(clippy::cast_possible_truncation, reason = "a few caches")]
            let node = node as Node;
            let mut add = |op| events.push(Event::Start { line, node, op });
            add(Op::Read);
            add(Op::Write);
            if view.is_held {
                add(Op::Evict);
            }
        }
        if self.limits.has_local && self.protocol.home_view(&world.homes[line]).is_idle {
            for &op in P::LOCAL {
                events.push(Event::Local { line, op });
            }
        }
    }

    fn add_arrival(
        &self,
        world: &WorldOf<P>,
        line: usize,
        message: Message<P::Body>,
        events: &mut Vec<EventOf<P>>,
    ) {
        let admission = match (message.to, self.limits.entries) {
            (Agent::Home, Some(entries)) => {
                admit(self.protocol, entries, &world.homes, line, &message.body)
            }
            _ => Admission::Admitted,
        };
        match admission {
            Admission::Admitted => events.push(Event::Deliver { line, message }),
            Admission::Full(victims) if victims.is_empty() => events.push(Event::Refuse {
                line,
                message,
                victim: None,
            }),
            Admission::Full(victims) => {
                events.extend(victims.into_iter().map(|victim| Event::Refuse {
                    line,
                    message,
                    victim: Some(victim),
                }));
            }
        }
    }

    /// Return the state after an event.
    ///
    /// # Errors
    ///
    /// The sentence that the event breaks.
    pub fn after(
        &self,
        world: &WorldOf<P>,
        event: &EventOf<P>,
        used: &mut [u64],
    ) -> Result<WorldOf<P>, String> {
        let (next, effect) = self.step(world.clone(), event, used)?;
        match effect {
            Some((_, Effect::Read(Value::Old))) => Err("a read returns an old value".into()),
            Some((line, Effect::Write)) => {
                // All values so far are old: the same event once more, after they have aged.
                let mut older = world.clone();
                self.age(&mut older, line);
                let event = aged(*event, line);
                Ok(self.step(older, &event, used)?.0)
            }
            _ => Ok(next),
        }
    }

    #[allow(
        clippy::type_complexity,
        reason = "the state, and the access with its line"
    )]
    fn step(
        &self,
        mut next: WorldOf<P>,
        event: &EventOf<P>,
        used: &mut [u64],
    ) -> Result<(WorldOf<P>, Option<(usize, Effect)>), String> {
        let mut out = Vec::new();
        let (line, effect, rule) = match *event {
            Event::Start { line, node, op } => {
                let place = line * self.limits.caches + usize::from(node);
                let step = self.protocol.start(node, next.lines[place], op, &mut out);
                next.lines[place] = step.state;
                (line, step.effect, step.rule)
            }
            Event::Local { line, op } => {
                let step = self.protocol.start_local(next.homes[line], op, &mut out);
                next.homes[line] = step.state;
                (line, step.effect, step.rule)
            }
            Event::Deliver { line, message } => {
                remove(&mut next.messages, line, message);
                let (effect, rule) = self.deliver(&mut next, line, message, &mut out);
                (line, effect, rule)
            }
            Event::Refuse {
                line,
                message,
                victim,
            } => {
                remove(&mut next.messages, line, message);
                let refused = Message {
                    from: Agent::Home,
                    to: message.from,
                    body: self.protocol.refusal().ok_or("the home has no refusal")?,
                };
                next.messages.push((line, refused));
                let Some(victim) = victim else {
                    next.messages.sort_unstable();
                    return Ok((next, None));
                };
                let home = next.homes[victim];
                let step = self.protocol.start_local(home, LocalOp::Recall, &mut out);
                next.homes[victim] = step.state;
                (victim, step.effect, step.rule)
            }
        };
        if rule == UNEXPECTED {
            return Err("a message or an operation comes that its receiver does not expect".into());
        }
        used[usize::from(rule)] += 1;
        next.messages
            .extend(out.into_iter().map(|message| (line, message)));
        next.messages.sort_unstable();
        Ok((next, effect.map(|effect| (line, effect))))
    }

    fn deliver(
        &self,
        next: &mut WorldOf<P>,
        line: usize,
        message: Message<P::Body>,
        out: &mut Vec<Message<P::Body>>,
    ) -> (Option<Effect>, u8) {
        match (message.to, message.from) {
            (Agent::Cache(node), from) => {
                let place = line * self.limits.caches + usize::from(node);
                let before = next.lines[place];
                let step = self.protocol.receive(node, before, from, message.body, out);
                next.lines[place] = step.state;
                (step.effect, step.rule)
            }
            (Agent::Home, Agent::Cache(from)) => {
                let before = next.homes[line];
                let step = self.protocol.receive_home(before, from, message.body, out);
                next.homes[line] = step.state;
                (step.effect, step.rule)
            }
            (Agent::Home, Agent::Home) => (None, UNEXPECTED),
        }
    }

    /// Make all values of a line old.
    fn age(&self, world: &mut WorldOf<P>, line: usize) {
        let copies = line * self.limits.caches..(line + 1) * self.limits.caches;
        world.homes[line] = world.homes[line].renamed(&AGEING);
        for copy in &mut world.lines[copies] {
            *copy = copy.renamed(&AGEING);
        }
        for (of, message) in &mut world.messages {
            if *of == line {
                message.body = message.body.renamed(&AGEING);
            }
        }
        world.messages.sort_unstable();
    }

    /// Return a number that is the same for states that differ only by the names of the caches.
    ///
    /// It is the least hash over those orders of the caches in which their own states rise, which
    /// are few unless all caches are in the same state.
    pub fn fingerprint(&self, world: &WorldOf<P>, scratch: &mut WorldOf<P>) -> u64 {
        let mut keys = [0; MOST_CHECKED];
        for (node, key) in keys.iter_mut().enumerate().take(self.limits.caches) {
            let of_node = world.lines.iter().skip(node).step_by(self.limits.caches);
            *key = hash_of(
                &of_node
                    .map(|line| line.renamed(&NAMELESS))
                    .collect::<Vec<_>>(),
            );
        }
        let rises = |renaming: &&Renaming| {
            let mut ordered = [0; MOST_CHECKED];
            for node in 0..self.limits.caches {
                ordered[usize::from(renaming.nodes[node])] = keys[node];
            }
            ordered[..self.limits.caches].is_sorted()
        };
        let hashes = self.renamings.iter().filter(rises).map(|renaming| {
            self.rename(world, *renaming, scratch);
            hash_of(&(&scratch.homes, &scratch.lines, &scratch.messages))
        });
        hashes.min().unwrap_or(0)
    }

    fn rename(&self, world: &WorldOf<P>, renaming: Renaming, scratch: &mut WorldOf<P>) {
        for (home, new) in world.homes.iter().zip(&mut scratch.homes) {
            *new = home.renamed(&renaming);
        }
        for (place, line) in world.lines.iter().enumerate() {
            let (line_index, node) = (place / self.limits.caches, place % self.limits.caches);
            let new = usize::from(renaming.nodes[node]);
            scratch.lines[line_index * self.limits.caches + new] = line.renamed(&renaming);
        }
        scratch.messages.clear();
        let renamed = world.messages.iter().map(|&(line, message)| {
            let message = Message {
                from: renaming.agent(message.from),
                to: renaming.agent(message.to),
                body: message.body.renamed(&renaming),
            };
            (line, message)
        });
        scratch.messages.extend(renamed);
        scratch.messages.sort_unstable();
    }
}

fn remove<B: Copy + PartialEq>(
    messages: &mut Vec<(usize, Message<B>)>,
    line: usize,
    message: Message<B>,
) {
    let place = messages.iter().position(|one| *one == (line, message));
    if let Some(place) = place {
        messages.remove(place);
    }
}

/// Return an event as it is after the values of a line have aged.
fn aged<B: Part>(event: Event<B>, aged: usize) -> Event<B> {
    match event {
        Event::Deliver { line, message } if line == aged => {
            let body = message.body.renamed(&AGEING);
            let message = Message { body, ..message };
            Event::Deliver { line, message }
        }
        other => other,
    }
}

fn hash_of(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// Return all orders of the first `count` numbers.
fn orders(count: usize) -> Vec<[Node; MOST_CHECKED]> {
    let mut all = vec![[0; MOST_CHECKED]];
    for next in 0..count {
        #[allow(clippy::cast_possible_truncation, reason = "a few caches")]
        let node = next as Node;
        all = all
            .iter()
            .flat_map(|order| {
                (0..=next).map(move |place| {
                    let mut longer = *order;
                    longer.copy_within(place..next, place + 1);
                    longer[place] = node;
                    longer
                })
            })
            .collect();
    }
    all
}
