//! A copy that attaches, upgrades and purges, and what it does with the requests of others.

use super::super::{Agent, Effect, Node, Op, Step, UNEXPECTED, Value};
use super::{Body, Guard, Leaving, Line, Out, Rule, Sci, Then, Waits, send};

impl Sci {
    pub(super) fn start_op(self, me: Node, line: Line, op: Op, out: &mut Out) -> Step<Line> {
        match op {
            Op::Read if line.is_listed => {
                Step::to(line, Rule::ReadHit).done(Effect::Read(line.value))
            }
            Op::Read => Step::to(attach(me, false, out), Rule::AskToAttach),
            Op::Write => self.start_write(me, line, out),
            Op::Evict if line.is_listed => {
                let line = self.go_on_leaving(me, line, Then::Evict, out);
                Step::to(line, Rule::StartToLeave)
            }
            Op::Evict => Step::to(line, UNEXPECTED),
        }
    }

    fn start_write(self, me: Node, line: Line, out: &mut Out) -> Step<Line> {
        if !line.is_listed {
            return Step::to(attach(me, true, out), Rule::AskToAttach);
        }
        if !line.is_head() {
            let line = self.go_on_leaving(me, line, Then::Write, out);
            return Step::to(line, Rule::StartToLeave);
        }
        if !line.is_dirty {
            send(out, Agent::Cache(me), Agent::Home, Body::Upgrade);
            return Step::to(line.waiting(Waits::Upgrade), Rule::AskToUpgrade);
        }
        self.own_then_write(me, line, out, [Rule::WriteHit, Rule::StartPurge])
    }

    /// Write as the only copy, or purge the others first; `rules` are for these two.
    fn own_then_write(
        self,
        me: Node,
        line: Line,
        out: &mut Out,
        [alone, first]: [Rule; 2],
    ) -> Step<Line> {
        let others = line
            .forward
            .filter(|_| self.without != Some(Guard::PurgeBeforeWrite));
        let Some(forward) = others else {
            return written(line, alone);
        };
        let purge = Body::Purge { is_first: false };
        send(out, Agent::Cache(me), Agent::Cache(forward), purge);
        Step::to(line.waiting(Waits::Purge), first)
    }

    pub(super) fn take_join(
        self,
        me: Node,
        line: Line,
        from: Agent,
        wants_data: bool,
        out: &mut Out,
    ) -> Step<Line> {
        let is_ready = matches!(line.waits, Waits::Nothing | Waits::Leave(_, Leaving::Wait));
        if !(line.is_listed && self.met(Guard::BeforeWhenReady, is_ready)) {
            send(out, Agent::Cache(me), from, Body::Busy);
            return Step::to(line, Rule::RefuseBefore);
        }
        if !line.is_head() {
            return Step::to(line, UNEXPECTED);
        }
        let data = wants_data.then_some(line.value);
        send(out, Agent::Cache(me), from, Body::Joined(data));
        let line = Line {
            backward: from,
            is_dirty: false,
            ..line
        };
        // A head that waited for this one now leaves from the middle.
        if let Waits::Leave(then, Leaving::Wait) = line.waits {
            let line = self.go_on_leaving(me, line, then, out);
            return Step::to(line, Rule::LetBeforeAndLeave);
        }
        Step::to(line, Rule::LetBefore)
    }

    pub(super) fn take_purge(
        self,
        me: Node,
        line: Line,
        from: Agent,
        is_first: bool,
        out: &mut Out,
    ) -> Step<Line> {
        let asks_forward = matches!(
            line.waits,
            Waits::Leave(_, Leaving::Reserve | Leaving::TellForward)
        );
        let is_attaching = matches!(
            line.waits,
            Waits::Attach { .. } | Waits::Join { .. } | Waits::Purge
        );
        let is_ready = !is_attaching && self.met(Guard::PurgeAfterForward, !asks_forward);
        let accepts = line.is_listed
            && self.met(Guard::PurgeWhenReady, is_ready)
            && self.met(Guard::PurgeFromHead, !is_first || line.is_head());
        if !accepts {
            send(out, Agent::Cache(me), from, Body::Busy);
            return Step::to(line, Rule::RefusePurge);
        }
        let answer = Body::Purged {
            forward: line.forward,
            data: line.is_dirty.then_some(line.value),
        };
        send(out, Agent::Cache(me), from, answer);
        match line.waits {
            Waits::Upgrade => Step::to(
                Line::ABSENT.waiting(Waits::Drain(Then::Write)),
                Rule::PurgedWhileAsking,
            ),
            // The newer head comes before anything else can happen to this copy.
            Waits::Leave(_, Leaving::Wait) => Step::to(line, UNEXPECTED),
            Waits::Leave(then, _) => Step::to(
                Line::ABSENT.waiting(Waits::Drain(then)),
                Rule::PurgedWhileAsking,
            ),
            _ => Step::to(Line::ABSENT, Rule::PurgedHere),
        }
    }

    pub(super) fn take_fetch(self, me: Node, line: Line, out: &mut Out) -> Step<Line> {
        let is_ready = matches!(
            line.waits,
            Waits::Nothing | Waits::Leave(_, Leaving::Reserve | Leaving::AskHome)
        );
        if !(line.is_dirty && self.met(Guard::FetchWhenReady, is_ready)) {
            send(out, Agent::Cache(me), Agent::Home, Body::Busy);
            return Step::to(line, Rule::RefuseFetch);
        }
        send(
            out,
            Agent::Cache(me),
            Agent::Home,
            Body::Fetched(line.value),
        );
        let line = Line {
            is_dirty: false,
            ..line
        };
        Step::to(line, Rule::FetchedHere)
    }

    pub(super) fn take_answer(
        self,
        me: Node,
        line: Line,
        from: Agent,
        body: Body,
        out: &mut Out,
    ) -> Step<Line> {
        match line.waits {
            Waits::Attach { for_write } => self.take_attached(me, for_write, body, out),
            Waits::Join { .. } => self.take_joined(me, line, body, out),
            Waits::Upgrade => self.take_upgraded(me, line, body, out),
            Waits::Purge => self.take_purged(me, line, from, body, out),
            Waits::Leave(then, at) => self.take_left(me, line, then, at, body, out),
            Waits::Drain(then) => gone(me, then, out, Rule::Drained),
            Waits::Nothing | Waits::Reserved => Step::to(line, UNEXPECTED),
        }
    }

    fn take_attached(self, me: Node, for_write: bool, body: Body, out: &mut Out) -> Step<Line> {
        match body {
            Body::Busy => Step::to(attach(me, for_write, out), Rule::AskAgain),
            Body::Attached { old: None, data } => {
                let line = Line {
                    is_listed: true,
                    is_dirty: for_write,
                    value: data.unwrap_or(Value::Old),
                    ..Line::ABSENT
                };
                if for_write {
                    written(line, Rule::AttachedAlone)
                } else {
                    Step::to(line, Rule::AttachedAlone).done(Effect::Read(line.value))
                }
            }
            Body::Attached {
                old: Some(old),
                data,
            } => {
                let line = Line {
                    value: data.unwrap_or(Value::Old),
                    ..Line::ABSENT
                };
                let waits = Waits::Join {
                    for_write,
                    old,
                    has_data: self.met(Guard::JoinData, data.is_some()),
                };
                let step = Step::to(join(me, line.waiting(waits), out), Rule::AttachedBefore);
                // The processor has its data before the list is complete: whoever writes the line
                // has to come through this node first.
                match data.filter(|_| !for_write) {
                    Some(value) => step.with(Effect::Read(value)),
                    None => step,
                }
            }
            _ => Step::to(Line::ABSENT, UNEXPECTED),
        }
    }

    fn take_joined(self, me: Node, line: Line, body: Body, out: &mut Out) -> Step<Line> {
        let Waits::Join {
            for_write,
            old,
            has_data,
        } = line.waits
        else {
            return Step::to(line, UNEXPECTED);
        };
        let data = match body {
            Body::Busy => return Step::to(join(me, line, out), Rule::AskAgain),
            Body::Joined(data) => data,
            _ => return Step::to(line, UNEXPECTED),
        };
        let line = Line {
            is_listed: true,
            forward: Some(old),
            // Memory without valid data has handed the ownership on.
            is_dirty: for_write || !has_data,
            value: data.unwrap_or(line.value),
            waits: Waits::Nothing,
            ..line
        };
        if for_write {
            self.own_then_write(me, line, out, [Rule::JoinedToWrite; 2])
        } else {
            let read = data.map(Effect::Read);
            Step::to(line, Rule::Joined).done(read)
        }
    }

    fn take_upgraded(self, me: Node, line: Line, body: Body, out: &mut Out) -> Step<Line> {
        match body {
            Body::Busy => {
                send(out, Agent::Cache(me), Agent::Home, Body::Upgrade);
                Step::to(line, Rule::AskAgain)
            }
            Body::NotHead => {
                let waits = Waits::Leave(Then::Write, Leaving::Wait);
                Step::to(line.waiting(waits), Rule::UpgradeTooLate)
            }
            Body::Done => {
                let line = Line {
                    is_dirty: true,
                    ..line
                };
                let rules = [Rule::UpgradedAlone, Rule::Upgraded];
                self.own_then_write(me, line, out, rules)
            }
            _ => Step::to(line, UNEXPECTED),
        }
    }

    fn take_purged(
        self,
        me: Node,
        line: Line,
        from: Agent,
        body: Body,
        out: &mut Out,
    ) -> Step<Line> {
        let (next, rule) = match body {
            Body::Busy => (from, Rule::AskAgain),
            Body::Purged {
                forward: Some(forward),
                ..
            } if self.without != Some(Guard::PurgeToTheTail) => {
                (Agent::Cache(forward), Rule::PurgedOne)
            }
            Body::Purged { .. } => {
                return written(
                    Line {
                        forward: None,
                        ..line
                    },
                    Rule::PurgedAll,
                );
            }
            _ => return Step::to(line, UNEXPECTED),
        };
        send(out, Agent::Cache(me), next, Body::Purge { is_first: false });
        Step::to(line, rule)
    }
}

/// The copy is out of the list: go on with the reason for leaving.
pub(super) fn gone(me: Node, then: Then, out: &mut Out, rule: Rule) -> Step<Line> {
    match then {
        Then::Evict => Step::to(Line::ABSENT, rule).done(None),
        Then::Write => Step::to(attach(me, true, out), rule),
    }
}

fn attach(me: Node, for_write: bool, out: &mut Out) -> Line {
    send(
        out,
        Agent::Cache(me),
        Agent::Home,
        Body::Attach { for_write },
    );
    Line::ABSENT.waiting(Waits::Attach { for_write })
}

fn join(me: Node, line: Line, out: &mut Out) -> Line {
    if let Waits::Join { old, has_data, .. } = line.waits {
        let body = Body::Join {
            wants_data: !has_data,
        };
        send(out, Agent::Cache(me), Agent::Cache(old), body);
    }
    line
}

fn written(line: Line, rule: Rule) -> Step<Line> {
    let line = Line {
        value: Value::Newest,
        waits: Waits::Nothing,
        ..line
    };
    Step::to(line, rule).done(Effect::Write)
}
