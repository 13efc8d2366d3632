//! Coherence of a line: functions from a state and a message to a state and messages.
//!
//! A line has a home and at most one copy in each cache. Both are state machines; the home's own
//! processor uses the line through the home and keeps no copy. The simulator and the checker call
//! the same functions. Requests may be refused: their sender then repeats them.
//!
//! Invariant: an agent has at most one request of its own in progress for a line, so that an answer
//! needs no name of the request.

pub mod directory;
pub mod filter;
pub mod sci;
pub mod uncached;

use std::fmt::Debug;
use std::hash::Hash;

/// Number of a cache, from 0.
pub type Node = u8;
/// Content of a line: the newest, or older than that. No other difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// The value that was written last.
    Newest,
    /// A value that was overwritten; only the checker makes values old.
    Old,
}

/// Sender or receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// The home of the line.
    Home,
    /// A cache.
    Cache(Node),
}

/// An access by a processor behind a cache, or the cache's wish for the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Read the line.
    Read,
    /// Write the line.
    Write,
    /// Give up the copy.
    Evict,
}

/// An access by the home's own processor, or the home's wish for the whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LocalOp {
    /// Read the line.
    Read,
    /// Write the line.
    Write,
    /// Take back all copies.
    Recall,
}

/// A message about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message<B> {
    /// Sender.
    pub from: Agent,
    /// Receiver.
    pub to: Agent,
    /// Content.
    pub body: B,
}

/// Put a message out.
fn send<B>(out: &mut Vec<Message<B>>, from: Agent, to: Agent, body: B) {
    out.push(Message { from, to, body });
}

/// Return the name of a state, marked with a word while a request is in progress.
fn marked(state: &str, is_idle: bool, mark: &str) -> String {
    if is_idle {
        state.to_owned()
    } else {
        format!("{state} {mark}")
    }
}

/// Where an access takes place in the order of all accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A processor reads this value.
    Read(Value),
    /// A processor writes the newest value.
    Write,
}

/// Result of an operation or a message.
#[derive(Clone, Copy, Debug)]
pub struct Step<S> {
    /// State afterwards.
    pub state: S,
    /// The access that takes place.
    pub effect: Option<Effect>,
    /// Whether the operation of this agent ends.
    pub is_done: bool,
    /// Index of the rule that was used, in the protocol's list.
    pub rule: u8,
}

/// Rule of a message that must not come in this state.
pub const UNEXPECTED: u8 = u8::MAX;

impl<S> Step<S> {
    /// A step that only changes the state.
    pub fn to(state: S, rule: impl Into<u8>) -> Self {
        Self {
            state,
            effect: None,
            is_done: false,
            rule: rule.into(),
        }
    }

    /// This step with an access, though the operation continues.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// This step, which also ends the operation, with an access.
    #[must_use]
    pub fn done(mut self, effect: impl Into<Option<Effect>>) -> Self {
        self.effect = effect.into();
        self.is_done = true;
        self
    }
}

/// Accesses that a copy allows at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// No operation is in progress.
    pub is_idle: bool,
    /// The value that may be read without a message.
    pub readable: Option<Value>,
    /// Whether it may be written without a message.
    pub is_writable: bool,
    /// Whether there is a copy that could be given up.
    pub is_held: bool,
}

/// A renaming of caches under which a protocol behaves the same.
#[derive(Clone, Copy, Debug)]
pub struct Renaming {
    /// New number of each cache.
    pub nodes: [Node; MOST_CHECKED],
    /// Whether each value becomes old.
    pub ages: bool,
}

/// Caches that the checker can handle.
pub const MOST_CHECKED: usize = 6;

impl Renaming {
    /// Return the new number of a cache.
    pub fn node(&self, node: Node) -> Node {
        self.nodes[usize::from(node)]
    }

    /// Return the new name of an agent.
    pub fn agent(&self, agent: Agent) -> Agent {
        match agent {
            Agent::Home => Agent::Home,
            Agent::Cache(node) => Agent::Cache(self.node(node)),
        }
    }

    /// Return the new value.
    pub fn value(&self, value: Value) -> Value {
        if self.ages { Value::Old } else { value }
    }
}

/// Parts of a state, which the checker compares, counts and prints.
pub trait Part: Copy + Debug + Eq + Hash + Ord {
    /// Return the same with other names.
    #[must_use]
    fn renamed(&self, renaming: &Renaming) -> Self;
}

/// A protocol for a line with one home.
pub trait Protocol {
    /// State of a copy, with what it waits for.
    type Line: Part;
    /// State of the home, with what it waits for.
    type Home: Part;
    /// Content of a message.
    type Body: Part;

    /// One sentence for each rule.
    const RULES: &'static [&'static str];
    /// Operations of the home's processor that exist.
    const LOCAL: &'static [LocalOp];

    /// Return the state of a cache without the line.
    fn absent(&self) -> Self::Line;
    /// Return the state of a home without copies.
    fn uncached(&self) -> Self::Home;

    /// Start an operation of an idle cache.
    fn start(
        &self,
        me: Node,
        line: Self::Line,
        op: Op,
        out: &mut Vec<Message<Self::Body>>,
    ) -> Step<Self::Line>;
    /// Take a message at a cache.
    fn receive(
        &self,
        me: Node,
        line: Self::Line,
        from: Agent,
        body: Self::Body,
        out: &mut Vec<Message<Self::Body>>,
    ) -> Step<Self::Line>;
    /// Start an operation of an idle home.
    fn start_local(
        &self,
        home: Self::Home,
        op: LocalOp,
        out: &mut Vec<Message<Self::Body>>,
    ) -> Step<Self::Home>;
    /// Take a message at the home.
    fn receive_home(
        &self,
        home: Self::Home,
        from: Node,
        body: Self::Body,
        out: &mut Vec<Message<Self::Body>>,
    ) -> Step<Self::Home>;

    /// Return the accesses that a copy allows.
    fn view(&self, line: &Self::Line) -> View;
    /// Return the accesses that the home allows its processor.
    fn home_view(&self, home: &Self::Home) -> View;
    /// Check a line of which nothing is in progress.
    ///
    /// # Errors
    ///
    /// What does not fit together.
    fn check_quiet(&self, home: &Self::Home, lines: &[Self::Line]) -> Result<(), String>;

    /// Return whether a message carries the line.
    fn has_data(&self, body: &Self::Body) -> bool;
    /// Return whether a request makes the home remember the line.
    fn wants_entry(&self, _body: &Self::Body) -> bool {
        false
    }
    /// Return the refusal of a request by a home that has no room; None if there is no such limit.
    fn refusal(&self) -> Option<Self::Body> {
        None
    }

    /// Return the name of a copy's state, as the literature has it.
    fn name(&self, line: &Self::Line) -> String;
    /// Return the name of the home's state.
    fn home_name(&self, home: &Self::Home) -> String;
}

/// Declares the rules of a protocol: an enumeration with a sentence for each.
macro_rules! rules {
    ($($rule:ident => $sentence:literal),* $(,)?) => {
        /// Rules, each of which the checker must see used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $sentence] $rule),*
        }

        impl Rule {
            /// The sentences.
            pub const SENTENCES: &'static [&'static str] = &[$($sentence),*];
        }

        impl From<Rule> for u8 {
            fn from(rule: Rule) -> Self {
                rule as Self
            }
        }
    };
}
pub(crate) use rules;

/// Declares conditions of a protocol that the checker can leave out, one at a time.
macro_rules! guards {
    ($($guard:ident => $sentence:literal),* $(,)?) => {
        /// Conditions without which the protocol fails.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Guard {
            $(#[doc = $sentence] $guard),*
        }

        impl Guard {
            /// All, each with its sentence.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$guard, $sentence)),*];
        }
    };
}
pub(crate) use guards;
