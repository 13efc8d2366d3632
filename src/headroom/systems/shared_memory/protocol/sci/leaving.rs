//! Roll-out: how a copy leaves the list from each place in it.
//!
//! The head reserves its neighbour, tells the home, then tells the neighbour that it is the head. If
//! the home knows a newer head, the old one waits for it and leaves from the middle. A copy in the
//! middle tells its forward neighbour, then the backward one.
//!
//! Invariant: a request to a forward neighbour never comes after its sender was purged, so a
//! neighbour may trust it.

use super::super::{Agent, Node, Step, UNEXPECTED};
use super::cache::gone;
use super::{Body, Guard, Leaving, Line, Out, Rule, Sci, Then, Waits, send};

impl Sci {
    /// Send the first request of leaving from this place.
    pub(super) fn go_on_leaving(self, me: Node, line: Line, then: Then, out: &mut Out) -> Line {
        let (to, body, at) = match (line.backward, line.forward) {
            (Agent::Home, None) => return self.ask_home(me, line, then, out),
            (Agent::Home, Some(forward)) => {
                (Agent::Cache(forward), Body::Reserve, Leaving::Reserve)
            }
            (Agent::Cache(backward), Some(forward)) => (
                Agent::Cache(forward),
                Body::SetBackward(backward),
                Leaving::TellForward,
            ),
            (backward, None) => (backward, Body::SetForward(None), Leaving::TellBackward),
        };
        send(out, Agent::Cache(me), to, body);
        line.waiting(Waits::Leave(then, at))
    }

    fn ask_home(self, me: Node, line: Line, then: Then, out: &mut Out) -> Line {
        let brings = line.is_dirty && self.without != Some(Guard::DirtyData);
        let body = Body::Leave {
            next: line.forward,
            data: brings.then_some(line.value),
        };
        send(out, Agent::Cache(me), Agent::Home, body);
        line.waiting(Waits::Leave(then, Leaving::AskHome))
    }

    pub(super) fn take_left(
        self,
        me: Node,
        line: Line,
        then: Then,
        at: Leaving,
        body: Body,
        out: &mut Out,
    ) -> Step<Line> {
        match (at, body) {
            (Leaving::Reserve, Body::Done) => {
                Step::to(self.ask_home(me, line, then, out), Rule::NextReserved)
            }
            (Leaving::AskHome, Body::Busy) => {
                Step::to(self.ask_home(me, line, then, out), Rule::AskAgain)
            }
            (Leaving::AskHome, Body::Done) => match line.forward {
                None => gone(me, then, out, Rule::LeftAlone),
                Some(forward) => {
                    send(
                        out,
                        Agent::Cache(me),
                        Agent::Cache(forward),
                        Body::BecomeHead,
                    );
                    let waits = Waits::Leave(then, Leaving::TellHead);
                    Step::to(line.waiting(waits), Rule::LeftHome)
                }
            },
            (Leaving::AskHome, Body::NotHead) => {
                let waits = Waits::Leave(then, Leaving::Wait);
                Step::to(line.waiting(waits), Rule::LeaveTooLate)
            }
            (Leaving::Reserve | Leaving::TellForward, Body::Busy) => {
                Step::to(self.go_on_leaving(me, line, then, out), Rule::AskAgain)
            }
            (Leaving::TellForward, Body::Done) => {
                Step::to(tell_backward(me, line, then, out), Rule::LeftForward)
            }
            (Leaving::TellBackward, Body::Busy) => {
                Step::to(tell_backward(me, line, then, out), Rule::AskAgain)
            }
            (Leaving::TellHead | Leaving::TellBackward, Body::Done) => {
                gone(me, then, out, Rule::Left)
            }
            _ => Step::to(line, UNEXPECTED),
        }
    }

    pub(super) fn take_forward(
        self,
        me: Node,
        line: Line,
        from: Agent,
        forward: Option<Node>,
        out: &mut Out,
    ) -> Step<Line> {
        let is_ready = matches!(
            line.waits,
            Waits::Nothing
                | Waits::Reserved
                | Waits::Leave(_, Leaving::Reserve | Leaving::Wait | Leaving::TellForward)
        );
        let is_neighbour = line.forward.map(Agent::Cache) == Some(from);
        let accepts = line.is_listed
            && self.met(Guard::ForwardByNeighbour, is_neighbour)
            && self.met(Guard::ForwardWhenReady, is_ready);
        if !accepts {
            send(out, Agent::Cache(me), from, Body::Busy);
            return Step::to(line, Rule::RefuseForward);
        }
        send(out, Agent::Cache(me), from, Body::Done);
        Step::to(Line { forward, ..line }, Rule::LetForward)
    }

    pub(super) fn take_backward(
        self,
        me: Node,
        line: Line,
        from: Agent,
        backward: Node,
        out: &mut Out,
    ) -> Step<Line> {
        let is_ready = matches!(line.waits, Waits::Nothing | Waits::Reserved);
        let accepts = line.is_listed
            && self.met(Guard::BackwardByNeighbour, line.backward == from)
            && self.met(Guard::TailFirst, is_ready);
        if !accepts {
            send(out, Agent::Cache(me), from, Body::Busy);
            return Step::to(line, Rule::RefuseBackward);
        }
        send(out, Agent::Cache(me), from, Body::Done);
        let line = Line {
            backward: Agent::Cache(backward),
            ..line
        };
        Step::to(freed(line), Rule::LetBackward)
    }

    pub(super) fn take_reserve(
        self,
        me: Node,
        line: Line,
        from: Agent,
        out: &mut Out,
    ) -> Step<Line> {
        if line.is_listed && line.backward != from {
            return Step::to(line, UNEXPECTED);
        }
        let is_ready = line.waits == Waits::Nothing;
        if !(line.is_listed && self.met(Guard::ReserveNeighbour, is_ready)) {
            send(out, Agent::Cache(me), from, Body::Busy);
            return Step::to(line, Rule::RefuseReserve);
        }
        send(out, Agent::Cache(me), from, Body::Done);
        Step::to(line.waiting(Waits::Reserved), Rule::ReservedHere)
    }
}

/// The head has left and told the home: this copy is the head.
pub(super) fn take_head(me: Node, line: Line, from: Agent, out: &mut Out) -> Step<Line> {
    if line.waits != Waits::Reserved {
        return Step::to(line, UNEXPECTED);
    }
    send(out, Agent::Cache(me), from, Body::Done);
    let line = Line {
        backward: Agent::Home,
        ..line
    };
    Step::to(freed(line), Rule::MadeHead)
}

/// The copy knows its new neighbour, and may leave again.
fn freed(line: Line) -> Line {
    match line.waits {
        Waits::Reserved => line.waiting(Waits::Nothing),
        _ => line,
    }
}

fn tell_backward(me: Node, line: Line, then: Then, out: &mut Out) -> Line {
    let body = Body::SetForward(line.forward);
    send(out, Agent::Cache(me), line.backward, body);
    line.waiting(Waits::Leave(then, Leaving::TellBackward))
}
