//! Far memory without a cache: each access is a request to the home.
//!
//! Invariant: the home's memory is the only copy.

use super::{
    Agent, Effect, LocalOp, Message, Node, Op, Part, Protocol, Renaming, Step, UNEXPECTED, Value,
    View, rules, send,
};

rules! {
    AskToRead => "a read goes to the home",
    AskToWrite => "a write goes to the home",
    ReadHere => "the home's answer comes",
    Written => "the home confirms a write",
    HomeRead => "the home reads memory",
    HomeWrite => "the home writes memory",
    HomeSends => "the home reads memory for a cache",
    HomeTakes => "the home writes memory for a cache",
}

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncached;

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Body {
    /// To the home: send the data.
    Read,
    /// To the home: write these data.
    Write,
    /// The data.
    Data(Value),
    /// They are written.
    Done,
}

/// The answer that a processor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Waits {
    /// Nothing.
    Nothing,
    /// Data.
    Read,
    /// The confirmation of a write.
    Write,
}

/// Memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Memory(pub Value);

type Out = Vec<Message<Body>>;

impl Protocol for Uncached {
    type Line = Waits;
    type Home = Memory;
    type Body = Body;

    const RULES: &'static [&'static str] = Rule::SENTENCES;
    const LOCAL: &'static [LocalOp] = &[LocalOp::Read, LocalOp::Write];

    fn absent(&self) -> Waits {
        Waits::Nothing
    }

    fn uncached(&self) -> Memory {
        Memory(Value::Newest)
    }

    fn start(&self, me: Node, line: Waits, op: Op, out: &mut Out) -> Step<Waits> {
        let (body, waits, rule) = match op {
            Op::Read => (Body::Read, Waits::Read, Rule::AskToRead),
            Op::Write => (Body::Write, Waits::Write, Rule::AskToWrite),
            Op::Evict => return Step::to(line, UNEXPECTED),
        };
        send(out, Agent::Cache(me), Agent::Home, body);
        Step::to(waits, rule)
    }

    fn receive(&self, _: Node, line: Waits, _: Agent, body: Body, _: &mut Out) -> Step<Waits> {
        match (line, body) {
            // The access took place at the home.
            (Waits::Read, Body::Data(_)) => Step::to(Waits::Nothing, Rule::ReadHere).done(None),
            (Waits::Write, Body::Done) => Step::to(Waits::Nothing, Rule::Written).done(None),
            _ => Step::to(line, UNEXPECTED),
        }
    }

    fn start_local(&self, home: Memory, op: LocalOp, _: &mut Out) -> Step<Memory> {
        match op {
            LocalOp::Read => Step::to(home, Rule::HomeRead).done(Effect::Read(home.0)),
            LocalOp::Write => Step::to(Memory(Value::Newest), Rule::HomeWrite).done(Effect::Write),
            LocalOp::Recall => Step::to(home, UNEXPECTED),
        }
    }

    fn receive_home(&self, home: Memory, from: Node, body: Body, out: &mut Out) -> Step<Memory> {
        let (answer, after, effect, rule) = match body {
            Body::Read => (
                Body::Data(home.0),
                home,
                Effect::Read(home.0),
                Rule::HomeSends,
            ),
            Body::Write => (
                Body::Done,
                Memory(Value::Newest),
                Effect::Write,
                Rule::HomeTakes,
            ),
            Body::Data(_) | Body::Done => return Step::to(home, UNEXPECTED),
        };
        send(out, Agent::Home, Agent::Cache(from), answer);
        Step {
            effect: Some(effect),
            ..Step::to(after, rule)
        }
    }

    fn view(&self, line: &Waits) -> View {
        View {
            is_idle: *line == Waits::Nothing,
            ..View::default()
        }
    }

    fn home_view(&self, home: &Memory) -> View {
        View {
            is_idle: true,
            readable: Some(home.0),
            is_writable: true,
            is_held: false,
        }
    }

    fn check_quiet(&self, _: &Memory, _: &[Waits]) -> Result<(), String> {
        Ok(())
    }

    /// A word, and no line.
    fn has_data(&self, _: &Body) -> bool {
        false
    }

    fn name(&self, line: &Waits) -> String {
        let name = match line {
            Waits::Nothing => "",
            Waits::Read => "reads",
            Waits::Write => "writes",
        };
        name.to_owned()
    }

    fn home_name(&self, _: &Memory) -> String {
        "memory".to_owned()
    }
}

impl Part for Waits {
    fn renamed(&self, _: &Renaming) -> Self {
        *self
    }
}

impl Part for Memory {
    fn renamed(&self, to: &Renaming) -> Self {
        Self(to.value(self.0))
    }
}

impl Part for Body {
    fn renamed(&self, to: &Renaming) -> Self {
        match *self {
            Self::Data(value) => Self::Data(to.value(value)),
            other => other,
        }
    }
}
