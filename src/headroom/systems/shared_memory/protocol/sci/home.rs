//! The home: memory's state and the head of the list.

use super::super::{Agent, Effect, LocalOp, Node, Step, UNEXPECTED, Value};
use super::{Body, Directory, Guard, Home, HomeWaits, Out, Rule, Sci, send};

pub(super) fn start(home: Home, op: LocalOp, out: &mut Out) -> Step<Home> {
    if op == LocalOp::Read {
        return start_read(home, out);
    }
    let writes = op == LocalOp::Write;
    let Some(head) = home.head() else {
        let rule = if writes {
            Rule::HomeWrite
        } else {
            Rule::HomeRecall
        };
        return purged(home, writes, rule);
    };
    purge(head, true, out);
    let waits = HomeWaits::Purge { writes };
    Step::to(Home { waits, ..home }, Rule::HomePurge)
}

fn start_read(home: Home, out: &mut Out) -> Step<Home> {
    let Directory::Gone(head) = home.directory else {
        return Step::to(home, Rule::HomeRead).done(Effect::Read(home.value));
    };
    send(out, Agent::Home, Agent::Cache(head), Body::Fetch);
    let waits = HomeWaits::Fetch;
    Step::to(Home { waits, ..home }, Rule::HomeFetch)
}

impl Sci {
    pub(super) fn take_at_home(
        self,
        home: Home,
        from: Node,
        body: Body,
        out: &mut Out,
    ) -> Step<Home> {
        let is_answer = matches!(body, Body::Fetched(_) | Body::Purged { .. } | Body::Busy);
        if is_answer {
            return take_answer(home, from, body, out);
        }
        let reply = |out: &mut Out, body| send(out, Agent::Home, Agent::Cache(from), body);
        // Even a busy home says this: the head that it waits for may wait for this cache.
        let is_head = home.head() == Some(from);
        let guard = match body {
            Body::Upgrade => Some(Guard::UpgradeByHead),
            Body::Leave { .. } => Some(Guard::LeaveByHead),
            _ => None,
        };
        if guard.is_some_and(|guard| !self.met(guard, is_head)) {
            reply(out, Body::NotHead);
            return Step::to(home, Rule::HomeNotHead);
        }
        if !self.met(Guard::HomeIsFree, home.waits == HomeWaits::Nothing) {
            reply(out, Body::Busy);
            return Step::to(home, Rule::HomeRefuse);
        }
        match body {
            Body::Attach { for_write } => take_attach(home, from, for_write, out),
            Body::Upgrade => {
                reply(out, Body::Done);
                let directory = Directory::Gone(from);
                Step::to(Home { directory, ..home }, Rule::HomeUpgrade)
            }
            Body::Leave { next, data } => {
                reply(out, Body::Done);
                take_leave(home, next, data)
            }
            _ => Step::to(home, UNEXPECTED),
        }
    }
}

fn take_attach(home: Home, from: Node, for_write: bool, out: &mut Out) -> Step<Home> {
    let (rule, is_valid) = match (home.directory, for_write) {
        (Directory::Home, _) => (Rule::HomeAttachFirst, true),
        (Directory::Fresh(_), false) => (Rule::HomeAttachFresh, true),
        (Directory::Fresh(_), true) => (Rule::HomeAttachOwned, true),
        (Directory::Gone(_), _) => (Rule::HomeAttachGone, false),
    };
    let answer = Body::Attached {
        old: home.head(),
        data: is_valid.then_some(home.value),
    };
    send(out, Agent::Home, Agent::Cache(from), answer);
    let directory = if for_write || !is_valid {
        Directory::Gone(from)
    } else {
        Directory::Fresh(from)
    };
    Step::to(Home { directory, ..home }, rule)
}

fn take_leave(home: Home, next: Option<Node>, data: Option<Value>) -> Step<Home> {
    let (directory, rule) = match next {
        None => (Directory::Home, Rule::HomeEmpty),
        // A dirty head has brought its data: memory is valid now.
        Some(head) => (Directory::Fresh(head), Rule::HomeNewHead),
    };
    let value = data.unwrap_or(home.value);
    Step::to(
        Home {
            directory,
            value,
            ..home
        },
        rule,
    )
}

fn take_answer(home: Home, from: Node, body: Body, out: &mut Out) -> Step<Home> {
    match (home.waits, body) {
        (HomeWaits::Fetch, Body::Fetched(value)) => {
            let directory = home.head().map_or(Directory::Home, Directory::Fresh);
            let home = Home {
                directory,
                value,
                waits: HomeWaits::Nothing,
            };
            Step::to(home, Rule::HomeFetched).done(Effect::Read(value))
        }
        (HomeWaits::Fetch, Body::Busy) => {
            send(out, Agent::Home, Agent::Cache(from), Body::Fetch);
            Step::to(home, Rule::HomeAskAgain)
        }
        (HomeWaits::Purge { .. }, Body::Busy) => {
            purge(from, home.head() == Some(from), out);
            Step::to(home, Rule::HomeAskAgain)
        }
        (HomeWaits::Purge { writes }, Body::Purged { forward, data }) => {
            let home = Home {
                value: data.unwrap_or(home.value),
                ..home
            };
            match forward {
                Some(next) => {
                    purge(next, false, out);
                    Step::to(home, Rule::HomePurgeNext)
                }
                None => purged(home, writes, Rule::HomePurged),
            }
        }
        _ => Step::to(home, UNEXPECTED),
    }
}

fn purge(to: Node, is_first: bool, out: &mut Out) {
    send(out, Agent::Home, Agent::Cache(to), Body::Purge { is_first });
}

/// The list is empty: write, or keep what came back.
fn purged(home: Home, writes: bool, rule: Rule) -> Step<Home> {
    let home = Home {
        directory: Directory::Home,
        value: if writes { Value::Newest } else { home.value },
        waits: HomeWaits::Nothing,
    };
    Step::to(home, rule).done(writes.then_some(Effect::Write))
}
