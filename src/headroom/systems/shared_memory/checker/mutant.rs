//! A protocol with a fault, to see that the checker finds it.

use std::cell::Cell;

use crate::systems::shared_memory::protocol::{
    Agent, LocalOp, Message, Node, Op, Protocol, Step, View,
};

/// A fault of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its messages are not sent.
    Silent,
    /// The state is unchanged.
    Forgetful,
}

/// A protocol one rule of which is wrong.
#[derive(Clone, Debug)]
pub struct Mutant<P> {
    /// The protocol without the fault.
    pub inner: P,
    /// Index of the rule.
    pub rule: u8,
    /// Its fault.
    pub fault: Fault,
    /// Whether the fault has made a difference: some rules send nothing, or change no state.
    pub differs: Cell<bool>,
}

impl<P: Protocol> Mutant<P> {
    fn spoil<S: PartialEq>(
        &self,
        before: S,
        mut step: Step<S>,
        sent: usize,
        out: &mut Vec<Message<P::Body>>,
    ) -> Step<S> {
        if step.rule == self.rule {
            match self.fault {
                Fault::Silent => {
                    self.differs.set(self.differs.get() || out.len() > sent);
                    out.truncate(sent);
                }
                Fault::Forgetful => {
                    self.differs.set(self.differs.get() || step.state != before);
                    step.state = before;
                }
            }
        }
        step
    }
}

impl<P: Protocol> Protocol for Mutant<P> {
    type Line = P::Line;
    type Home = P::Home;
    type Body = P::Body;

    const RULES: &'static [&'static str] = P::RULES;
    const LOCAL: &'static [LocalOp] = P::LOCAL;

    fn absent(&self) -> P::Line {
        self.inner.absent()
    }

    fn uncached(&self) -> P::Home {
        self.inner.uncached()
    }

    fn start(
        &self,
        me: Node,
        line: P::Line,
        op: Op,
        out: &mut Vec<Message<P::Body>>,
    ) -> Step<P::Line> {
        let sent = out.len();
        let step = self.inner.start(me, line, op, out);
        self.spoil(line, step, sent, out)
    }

    fn receive(
        &self,
        me: Node,
        line: P::Line,
        from: Agent,
        body: P::Body,
        out: &mut Vec<Message<P::Body>>,
    ) -> Step<P::Line> {
        let sent = out.len();
        let step = self.inner.receive(me, line, from, body, out);
        self.spoil(line, step, sent, out)
    }

    fn start_local(
        &self,
        home: P::Home,
        op: LocalOp,
        out: &mut Vec<Message<P::Body>>,
    ) -> Step<P::Home> {
        let sent = out.len();
        let step = self.inner.start_local(home, op, out);
        self.spoil(home, step, sent, out)
    }

    fn receive_home(
        &self,
        home: P::Home,
        from: Node,
        body: P::Body,
        out: &mut Vec<Message<P::Body>>,
    ) -> Step<P::Home> {
        let sent = out.len();
        let step = self.inner.receive_home(home, from, body, out);
        self.spoil(home, step, sent, out)
    }

    fn view(&self, line: &P::Line) -> View {
        self.inner.view(line)
    }

    fn home_view(&self, home: &P::Home) -> View {
        self.inner.home_view(home)
    }

    fn check_quiet(&self, home: &P::Home, lines: &[P::Line]) -> Result<(), String> {
        self.inner.check_quiet(home, lines)
    }

    fn has_data(&self, body: &P::Body) -> bool {
        self.inner.has_data(body)
    }

    fn wants_entry(&self, body: &P::Body) -> bool {
        self.inner.wants_entry(body)
    }

    fn refusal(&self) -> Option<P::Body> {
        self.inner.refusal()
    }

    fn name(&self, line: &P::Line) -> String {
        self.inner.name(line)
    }

    fn home_name(&self, home: &P::Home) -> String {
        self.inner.home_name(home)
    }
}
