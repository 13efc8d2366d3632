//! The home with its directory.

use super::super::{Agent, Effect, LocalOp, Node, Step, UNEXPECTED, Value};
use super::{Body, Client, Directory, Guard, Home, Out, Rule, Serves, Set, send};

impl Directory {
    pub(super) fn start_at_home(self, home: Home, op: LocalOp, out: &mut Out) -> Step<Home> {
        match op {
            LocalOp::Read => match home.owner {
                None => Step::to(home, Rule::HomeRead).done(Effect::Read(home.value)),
                Some(owner) => fetch(home, owner, Client::LocalRead, out, Rule::HomeFetch),
            },
            LocalOp::Write => {
                let rules = [Rule::HomeWrite, Rule::HomeInvalidate];
                self.invalidate(home, Client::Local { writes: true }, out, rules)
            }
            LocalOp::Recall => {
                let rules = [Rule::HomeRecalled, Rule::HomeRecall];
                self.invalidate(home, Client::Local { writes: false }, out, rules)
            }
        }
    }

    pub(super) fn take_at_home(
        self,
        home: Home,
        from: Node,
        body: Body,
        out: &mut Out,
    ) -> Step<Home> {
        match body {
            Body::Invalidated(data) => return self.take_invalidated(home, from, data, out),
            Body::Downgraded { data, keeps_copy } => {
                return self.take_downgraded(home, data, keeps_copy, out);
            }
            Body::Confirm => {
                let serves = Serves::Nothing;
                return Step::to(Home { serves, ..home }, Rule::HomeConfirmed);
            }
            _ => {}
        }
        if !self.met(Guard::HomeIsFree, home.serves == Serves::Nothing) {
            send(out, Agent::Home, Agent::Cache(from), Body::Busy);
            return Step::to(home, Rule::HomeRefuse);
        }
        match body {
            Body::Read => self.take_read(home, from, out),
            Body::Own { has_copy } => {
                let rules = [
                    if home.sharers == bit(from) && has_copy {
                        Rule::HomeUpgraded
                    } else {
                        Rule::HomeOwnedFirst
                    },
                    Rule::HomeOwnedInvalidate,
                ];
                self.invalidate(home, Client::Writer(from, has_copy), out, rules)
            }
            Body::Put(value) => {
                if !self.met(Guard::PutByOwner, home.owner == Some(from)) {
                    send(out, Agent::Home, Agent::Cache(from), Body::Busy);
                    return Step::to(home, Rule::HomeForgetPut);
                }
                send(out, Agent::Home, Agent::Cache(from), Body::PutDone);
                let owner = None;
                Step::to(
                    Home {
                        owner,
                        value,
                        ..home
                    },
                    Rule::HomePut,
                )
            }
            _ => Step::to(home, UNEXPECTED),
        }
    }

    fn take_read(self, home: Home, from: Node, out: &mut Out) -> Step<Home> {
        let client = Client::Reader(from);
        // A cache that dropped its exclusive copy is no owner to ask.
        match home.owner.filter(|&owner| owner != from) {
            Some(owner) if self.keeps(Guard::FetchOwner) => {
                fetch(home, owner, client, out, Rule::HomeDowngrade)
            }
            _ => {
                let is_first = home.sharers & !bit(from) == 0;
                let rule = if is_first {
                    Rule::HomeSharedFirst
                } else {
                    Rule::HomeShared
                };
                self.serve(home, client, out, rule)
            }
        }
    }

    /// Have all copies invalidated but the client's; `rules` are for none and for some.
    fn invalidate(
        self,
        home: Home,
        client: Client,
        out: &mut Out,
        [none, some]: [Rule; 2],
    ) -> Step<Home> {
        let mut left: Set = 0;
        if self.keeps(Guard::InvalidateSharers) {
            left |= home.sharers;
        }
        if self.keeps(Guard::InvalidateOwner) {
            left |= home.owner.map_or(0, bit);
        }
        if let Client::Writer(node, _) = client {
            left &= !bit(node);
        }
        if left == 0 {
            return self.serve(home, client, out, none);
        }
        let mut rest = left;
        while rest != 0 {
            #[allow(clippy::cast_possible_truncation, reason = "below 64")]
            let sharer = rest.trailing_zeros() as Node;
            send(out, Agent::Home, Agent::Cache(sharer), Body::Invalidate);
            rest &= rest - 1;
        }
        let serves = Serves::Invalidate(client, left);
        Step::to(Home { serves, ..home }, some)
    }

    fn take_invalidated(
        self,
        home: Home,
        from: Node,
        data: Option<Value>,
        out: &mut Out,
    ) -> Step<Home> {
        let Serves::Invalidate(client, left) = home.serves else {
            return Step::to(home, UNEXPECTED);
        };
        let left = left & !bit(from);
        let home = Home {
            sharers: home.sharers & !bit(from),
            owner: home.owner.filter(|&owner| owner != from),
            value: data.unwrap_or(home.value),
            serves: Serves::Invalidate(client, left),
        };
        if left != 0 && self.keeps(Guard::AllConfirm) {
            return Step::to(home, Rule::HomeOneLess);
        }
        self.serve(home, client, out, Rule::HomeInvalidated)
    }

    fn take_downgraded(
        self,
        home: Home,
        data: Option<Value>,
        keeps_copy: bool,
        out: &mut Out,
    ) -> Step<Home> {
        let (Serves::Fetch(client), Some(owner)) = (home.serves, home.owner) else {
            return Step::to(home, UNEXPECTED);
        };
        let sharers = if keeps_copy { bit(owner) } else { 0 };
        let home = Home {
            sharers,
            owner: None,
            value: data.unwrap_or(home.value),
            ..home
        };
        self.serve(home, client, out, Rule::HomeDowngraded)
    }

    /// No other copy is in the way of the client: give it the line.
    fn serve(self, home: Home, client: Client, out: &mut Out, rule: Rule) -> Step<Home> {
        match client {
            Client::Reader(node) => {
                let others = home.sharers & !bit(node);
                let is_exclusive = self.met(Guard::ExclusiveWhenAlone, others == 0);
                let data = Body::Data {
                    value: home.value,
                    is_exclusive,
                };
                send(out, Agent::Home, Agent::Cache(node), data);
                let entered = if self.keeps(Guard::RememberReader) {
                    bit(node)
                } else {
                    0
                };
                let (sharers, owner) = if is_exclusive {
                    (0, Some(node))
                } else {
                    (home.sharers | entered, None)
                };
                Step::to(
                    self.confirmed_by(
                        node,
                        Home {
                            sharers,
                            owner,
                            ..home
                        },
                    ),
                    rule,
                )
            }
            Client::Writer(node, has_copy) => {
                let is_sharer = self.met(Guard::DataToLostCopy, home.sharers & bit(node) != 0);
                let data = (!(has_copy && is_sharer)).then_some(home.value);
                send(out, Agent::Home, Agent::Cache(node), Body::Grant(data));
                let home = Home {
                    sharers: 0,
                    owner: Some(node),
                    ..home
                };
                Step::to(self.confirmed_by(node, home), rule)
            }
            Client::LocalRead => {
                let serves = Serves::Nothing;
                Step::to(Home { serves, ..home }, rule).done(Effect::Read(home.value))
            }
            Client::Local { writes } => {
                let home = Home {
                    sharers: 0,
                    owner: None,
                    value: if writes { Value::Newest } else { home.value },
                    serves: Serves::Nothing,
                };
                Step::to(home, rule).done(writes.then_some(Effect::Write))
            }
        }
    }

    fn confirmed_by(self, node: Node, home: Home) -> Home {
        let serves = if self.keeps(Guard::Confirmed) {
            Serves::Confirm(node)
        } else {
            Serves::Nothing
        };
        Home { serves, ..home }
    }
}

fn fetch(home: Home, owner: Node, client: Client, out: &mut Out, rule: Rule) -> Step<Home> {
    send(out, Agent::Home, Agent::Cache(owner), Body::Downgrade);
    let serves = Serves::Fetch(client);
    Step::to(Home { serves, ..home }, rule)
}

fn bit(node: Node) -> Set {
    1 << node
}
