//! A copy under a directory.

use super::super::{Agent, Effect, Node, Op, Step, UNEXPECTED, Value};
use super::{Body, Copy, Directory, Guard, Line, Out, Rule, Waits, send};

pub(super) fn start(me: Node, line: Line, op: Op, out: &mut Out) -> Step<Line> {
    match (op, line.copy) {
        (Op::Read, Copy::Invalid) => ask(me, line, Waits::Read, out, Rule::AskToRead),
        (Op::Read, _) => Step::to(line, Rule::ReadHit).done(Effect::Read(line.value)),
        (Op::Write, Copy::Exclusive | Copy::Modified) => {
            let line = Line {
                copy: Copy::Modified,
                value: Value::Newest,
                ..line
            };
            Step::to(line, Rule::WriteHit).done(Effect::Write)
        }
        (Op::Write, Copy::Shared) => ask(me, line, Waits::Own, out, Rule::AskToUpgrade),
        (Op::Write, Copy::Invalid) => ask(me, line, Waits::Own, out, Rule::AskToOwn),
        (Op::Evict, Copy::Modified) => ask(me, line, Waits::Put, out, Rule::PutBack),
        (Op::Evict, Copy::Shared | Copy::Exclusive) => {
            Step::to(Line::ABSENT, Rule::Drop).done(None)
        }
        (Op::Evict, Copy::Invalid) => Step::to(line, UNEXPECTED),
    }
}

/// Send the request that `waits` stands for.
fn ask(me: Node, line: Line, waits: Waits, out: &mut Out, rule: Rule) -> Step<Line> {
    let body = match waits {
        Waits::Read => Body::Read,
        Waits::Own => Body::Own {
            has_copy: line.copy == Copy::Shared,
        },
        Waits::Put => Body::Put(line.value),
        Waits::Nothing => return Step::to(line, UNEXPECTED),
    };
    send(out, Agent::Cache(me), Agent::Home, body);
    Step::to(Line { waits, ..line }, rule)
}

impl Directory {
    pub(super) fn take(self, me: Node, line: Line, body: Body, out: &mut Out) -> Step<Line> {
        match (body, line.waits) {
            (Body::Invalidate, _) => self.take_invalidate(me, line, out),
            (Body::Downgrade, _) => self.take_downgrade(me, line, out),
            (
                Body::Data {
                    value,
                    is_exclusive,
                },
                Waits::Read,
            ) => {
                let (copy, rule) = if is_exclusive {
                    (Copy::Exclusive, Rule::ReadExclusive)
                } else {
                    (Copy::Shared, Rule::ReadShared)
                };
                let waits = Waits::Nothing;
                send(out, Agent::Cache(me), Agent::Home, Body::Confirm);
                Step::to(Line { copy, value, waits }, rule).done(Effect::Read(value))
            }
            (Body::Grant(data), Waits::Own) => {
                let rule = if data.is_some() {
                    Rule::OwnedWithData
                } else {
                    Rule::Owned
                };
                // Without data and without a copy there is nothing to change a part of.
                if data.is_none() && line.copy == Copy::Invalid {
                    return Step::to(line, UNEXPECTED);
                }
                send(out, Agent::Cache(me), Agent::Home, Body::Confirm);
                let line = Line {
                    copy: Copy::Modified,
                    value: Value::Newest,
                    waits: Waits::Nothing,
                };
                Step::to(line, rule).done(Effect::Write)
            }
            (Body::PutDone, Waits::Put) => Step::to(Line::ABSENT, Rule::PutDone).done(None),
            (Body::Busy, Waits::Put) if line.copy == Copy::Modified => {
                ask(me, line, Waits::Put, out, Rule::PutAgain)
            }
            (Body::Busy, Waits::Put) => Step::to(Line::ABSENT, Rule::PutForgotten).done(None),
            (Body::Busy, waits) => ask(me, line, waits, out, Rule::AskAgain),
            _ => Step::to(line, UNEXPECTED),
        }
    }

    fn take_invalidate(self, me: Node, line: Line, out: &mut Out) -> Step<Line> {
        let is_dirty = line.copy == Copy::Modified;
        let data = (is_dirty && self.keeps(Guard::DirtyData)).then_some(line.value);
        send(out, Agent::Cache(me), Agent::Home, Body::Invalidated(data));
        let rule = match (line.copy, line.waits) {
            (Copy::Invalid, _) => Rule::InvalidatedAbsent,
            (_, Waits::Put) => Rule::InvalidatedPut,
            (Copy::Modified, _) => Rule::InvalidatedModified,
            _ => Rule::InvalidatedHere,
        };
        if !self.keeps(Guard::DropWhenInvalidated) {
            return Step::to(line, rule);
        }
        let waits = line.waits;
        Step::to(
            Line {
                waits,
                ..Line::ABSENT
            },
            rule,
        )
    }

    fn take_downgrade(self, me: Node, line: Line, out: &mut Out) -> Step<Line> {
        let is_put = line.waits == Waits::Put;
        let keeps_copy = line.copy != Copy::Invalid && !is_put;
        let data = (line.copy == Copy::Modified).then_some(line.value);
        let body = Body::Downgraded { data, keeps_copy };
        send(out, Agent::Cache(me), Agent::Home, body);
        if !keeps_copy {
            let rule = if is_put {
                Rule::DowngradedPut
            } else {
                Rule::DowngradedAbsent
            };
            let waits = line.waits;
            return Step::to(
                Line {
                    waits,
                    ..Line::ABSENT
                },
                rule,
            );
        }
        let copy = if self.keeps(Guard::KeepShared) {
            Copy::Shared
        } else {
            line.copy
        };
        Step::to(Line { copy, ..line }, Rule::DowngradedHere)
    }
}
