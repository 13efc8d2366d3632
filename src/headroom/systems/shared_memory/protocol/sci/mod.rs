//! Scalable Coherent Interface, IEEE 1596-1992, typical set: sharers form a doubly linked list.
//!
//! The home knows the head of the list; each copy knows its neighbours. Readers and writers attach
//! at the head; a writer then purges the rest, one neighbour after another. A node in the middle
//! rolls out by telling both neighbours. Of two neighbours that leave at once, the one nearer the
//! tail goes first; a head first makes sure that its neighbour stays. Left out are the options that the standard calls full: pairwise sharing,
//! washing and queued locks.
//!
//! The home's own processor keeps no copy, as in the paper: its reads take dirty data back from the
//! head, and its writes purge the list.
//!
//! Invariant: each copy in the list has one neighbour that names it, or the home does.

mod cache;
mod home;
mod leaving;

use super::{
    Agent, LocalOp, Message, Node, Op, Part, Protocol, Renaming, Step, Value, View, guards, marked,
    rules, send,
};

rules! {
    ReadHit => "a copy is read",
    WriteHit => "the only dirty copy is written",
    AskToAttach => "an absent line asks the home to attach",
    AskToUpgrade => "the head of a fresh list asks the home for ownership",
    StartPurge => "the head of a dirty list purges its neighbour",
    StartToLeave => "a copy starts to leave the list",
    AttachedAlone => "the home answers, and no other cache has the line",
    AttachedBefore => "the home answers with the old head",
    Joined => "the old head lets a reader before it",
    JoinedToWrite => "the old head lets a writer before it",
    UpgradedAlone => "the home gives ownership to the only copy",
    Upgraded => "the home gives ownership to the head of a list",
    UpgradeTooLate => "the home refuses ownership, as another cache attached first",
    PurgedOne => "a purged neighbour names the next one",
    PurgedAll => "the last neighbour is purged",
    AskAgain => "a refused request is sent again",
    LetBefore => "the head lets a new head before it",
    LetBeforeAndLeave => "a head that waits to leave lets a new head before it, and goes on leaving",
    RefuseBefore => "a busy copy refuses a new head",
    LetForward => "a neighbour that leaves names the next one",
    RefuseForward => "a copy refuses a new forward neighbour",
    LetBackward => "a neighbour that leaves names the one before",
    RefuseBackward => "a copy refuses a new backward neighbour",
    ReservedHere => "the head that leaves keeps its neighbour from leaving",
    RefuseReserve => "a busy copy refuses to become the next head",
    MadeHead => "the head that left makes its neighbour the head",
    PurgedHere => "a copy is purged",
    PurgedWhileAsking => "a copy is purged while it waits for an answer",
    RefusePurge => "a busy copy refuses to be purged",
    FetchedHere => "the head gives its data back to the home",
    RefuseFetch => "a busy head refuses to give its data back",
    NextReserved => "the neighbour is ready to become head",
    LeftHome => "the home learned of the new head",
    LeftAlone => "the home learned that the list is empty",
    LeaveTooLate => "the home refuses the new head, as another cache attached first",
    LeftForward => "the forward neighbour learned of the one before",
    Left => "the last neighbour learned that the copy leaves",
    Drained => "the answer that a purged copy waited for comes",
    HomeRead => "the home's processor reads valid memory",
    HomeWrite => "the home's processor writes memory without copies",
    HomeFetch => "the home's processor reads a dirty line",
    HomePurge => "the home's processor writes a line with copies",
    HomeRecall => "the home has all its copies back without a message",
    HomeRefuse => "the busy home refuses",
    HomeAttachFirst => "the first cache attaches",
    HomeAttachFresh => "a reader attaches to a fresh list",
    HomeAttachOwned => "a writer attaches to a fresh list",
    HomeAttachGone => "a cache attaches to a dirty list",
    HomeUpgrade => "the home gives ownership to its head",
    HomeNotHead => "the home refuses a cache that is no longer its head",
    HomeNewHead => "the head leaves and names the next one",
    HomeEmpty => "the last copy leaves",
    HomeFetched => "dirty data come back",
    HomePurgeNext => "a purged copy names the next one",
    HomePurged => "the last copy is purged",
    HomeAskAgain => "a refused request of the home is sent again",
}

guards! {
    HomeIsFree => "the home refuses requests while it fetches or purges",
    UpgradeByHead => "only the head may upgrade",
    LeaveByHead => "only the head may name a new head",
    BeforeWhenReady => "a copy that attaches or purges lets no other before it",
    ForwardByNeighbour => "only the forward neighbour may name a new one",
    ForwardWhenReady => "a copy that has named its neighbour takes no new forward neighbour",
    BackwardByNeighbour => "only the backward neighbour may name a new one",
    TailFirst => "a copy that leaves takes no new backward neighbour",
    ReserveNeighbour => "only a neighbour that does not leave becomes the next head",
    PurgeFromHead => "the home's purge starts at a copy that knows that it is the head",
    PurgeAfterForward => "a copy is not purged while it talks to its forward neighbour",
    PurgeWhenReady => "a copy that attaches or purges is not purged",
    FetchWhenReady => "a copy that attaches or purges gives no data back",
    UnreadWhenLeaving => "a copy is not read after it has started to leave",
    DirtyData => "a dirty head that leaves brings its data home",
    JoinData => "a new head takes its data from the old one if memory is not valid",
    PurgeBeforeWrite => "a writer purges the list first",
    PurgeToTheTail => "a purge goes on to the tail",
}

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sci {
    /// A condition that is left out, to see that the checker finds it.
    pub without: Option<Guard>,
}

impl Sci {
    /// Return whether a condition is met, or left out.
    fn met(self, guard: Guard, is_so: bool) -> bool {
        is_so || self.without == Some(guard)
    }
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Body {
    /// To the home: I want to be the head.
    Attach {
        /// Whether memory is to be no longer valid.
        for_write: bool,
    },
    /// To the home: I am the head of a fresh list and want to write.
    Upgrade,
    /// To the home: I leave as head.
    Leave {
        /// The new head.
        next: Option<Node>,
        /// Data that memory does not have.
        data: Option<Value>,
    },
    /// From the home to the head: give your data back and keep the copy.
    Fetch,
    /// Give up the copy.
    Purge {
        /// Whether the home sends it, to the head.
        is_first: bool,
    },
    /// To the old head: I come before you.
    Join {
        /// Whether memory had no valid data.
        wants_data: bool,
    },
    /// I leave: this is your new forward neighbour.
    SetForward(Option<Node>),
    /// I leave: this is your new backward neighbour.
    SetBackward(Node),
    /// I leave as head: stay, as you are the next one.
    Reserve,
    /// I left: you are the head.
    BecomeHead,
    /// The home's answer to `Attach`.
    Attached {
        /// The head so far.
        old: Option<Node>,
        /// Data, if memory is valid.
        data: Option<Value>,
    },
    /// Answer to `Join`.
    Joined(Option<Value>),
    /// Answer to `Purge`.
    Purged {
        /// The next copy.
        forward: Option<Node>,
        /// Data that memory does not have.
        data: Option<Value>,
    },
    /// Answer to `Fetch`.
    Fetched(Value),
    /// It is done.
    Done,
    /// Not now: ask again.
    Busy,
    /// The home's refusal: another cache is the head.
    NotHead,
}

/// Reason for leaving the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Then {
    /// The frame is needed.
    Evict,
    /// The line is to be written, as head.
    Write,
}

/// Who is to answer a copy that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leaving {
    /// The forward neighbour: it is to stay, as it becomes head.
    Reserve,
    /// The home: is there a new head?
    AskHome,
    /// None: a new head is on its way and will come.
    Wait,
    /// The forward neighbour, which becomes head.
    TellHead,
    /// The forward neighbour.
    TellForward,
    /// The backward neighbour.
    TellBackward,
}

/// The request of a copy that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Waits {
    /// None.
    Nothing,
    /// `Attach`.
    Attach {
        /// Whether the line is to be written.
        for_write: bool,
    },
    /// `Join`.
    Join {
        /// Whether the line is to be written.
        for_write: bool,
        /// The old head.
        old: Node,
        /// Whether memory sent valid data.
        has_data: bool,
    },
    /// `Upgrade`.
    Upgrade,
    /// `Purge`.
    Purge,
    /// The requests by which a copy leaves.
    Leave(Then, Leaving),
    /// The head, which leaves: this copy is to be the next one.
    Reserved,
    /// The answer to a request of before the copy was purged.
    Drain(Then),
}

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// Whether it is in the list.
    pub is_listed: bool,
    /// Neighbour towards the head; the head's is the home.
    pub backward: Agent,
    /// Neighbour towards the tail.
    pub forward: Option<Node>,
    /// Whether it is the head of a list without valid memory.
    pub is_dirty: bool,
    /// Content.
    pub value: Value,
    /// Request in progress.
    pub waits: Waits,
}

/// The list as the home sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Directory {
    /// No copies.
    Home,
    /// Copies, and valid memory.
    Fresh(Node),
    /// Copies, the head of which may be changed.
    Gone(Node),
}

/// The request of the home that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HomeWaits {
    /// None.
    Nothing,
    /// `Fetch`.
    Fetch,
    /// `Purge`.
    Purge {
        /// Whether the home's processor writes the line.
        writes: bool,
    },
}

/// The home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Home {
    /// The list.
    pub directory: Directory,
    /// Content of memory.
    pub value: Value,
    /// Request in progress.
    pub waits: HomeWaits,
}

impl Line {
    const ABSENT: Self = Self {
        is_listed: false,
        backward: Agent::Home,
        forward: None,
        is_dirty: false,
        value: Value::Old,
        waits: Waits::Nothing,
    };

    fn is_head(&self) -> bool {
        self.is_listed && self.backward == Agent::Home
    }

    fn waiting(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }
}

impl Home {
    fn head(self) -> Option<Node> {
        match self.directory {
            Directory::Home => None,
            Directory::Fresh(head) | Directory::Gone(head) => Some(head),
        }
    }
}

type Out = Vec<Message<Body>>;

impl Protocol for Sci {
    type Line = Line;
    type Home = Home;
    type Body = Body;

    const RULES: &'static [&'static str] = Rule::SENTENCES;
    const LOCAL: &'static [LocalOp] = &[LocalOp::Read, LocalOp::Write, LocalOp::Recall];

    fn absent(&self) -> Line {
        Line::ABSENT
    }

    fn uncached(&self) -> Home {
        Home {
            directory: Directory::Home,
            value: Value::Newest,
            waits: HomeWaits::Nothing,
        }
    }

    fn start(&self, me: Node, line: Line, op: Op, out: &mut Out) -> Step<Line> {
        self.start_op(me, line, op, out)
    }

    fn receive(&self, me: Node, line: Line, from: Agent, body: Body, out: &mut Out) -> Step<Line> {
        match body {
            Body::Join { wants_data } => self.take_join(me, line, from, wants_data, out),
            Body::SetForward(forward) => self.take_forward(me, line, from, forward, out),
            Body::SetBackward(node) => self.take_backward(me, line, from, node, out),
            Body::Reserve => self.take_reserve(me, line, from, out),
            Body::BecomeHead => leaving::take_head(me, line, from, out),
            Body::Purge { is_first } => self.take_purge(me, line, from, is_first, out),
            Body::Fetch => self.take_fetch(me, line, out),
            answer => self.take_answer(me, line, from, answer, out),
        }
    }

    fn start_local(&self, home: Home, op: LocalOp, out: &mut Out) -> Step<Home> {
        home::start(home, op, out)
    }

    fn receive_home(&self, home: Home, from: Node, body: Body, out: &mut Out) -> Step<Home> {
        self.take_at_home(home, from, body, out)
    }

    fn view(&self, line: &Line) -> View {
        let is_idle = line.waits == Waits::Nothing;
        let is_left = matches!(line.waits, Waits::Leave(..));
        let is_ready = is_idle || is_left && self.without == Some(Guard::UnreadWhenLeaving);
        View {
            is_idle,
            readable: (line.is_listed && is_ready).then_some(line.value),
            is_writable: is_idle && line.is_dirty && line.forward.is_none(),
            is_held: line.is_listed,
        }
    }

    fn home_view(&self, home: &Home) -> View {
        let is_idle = home.waits == HomeWaits::Nothing;
        let is_valid = is_idle && !matches!(home.directory, Directory::Gone(_));
        View {
            is_idle,
            readable: is_valid.then_some(home.value),
            is_writable: is_idle && home.directory == Directory::Home,
            is_held: home.directory != Directory::Home,
        }
    }

    fn check_quiet(&self, home: &Home, lines: &[Line]) -> Result<(), String> {
        let listed = lines.iter().filter(|line| line.is_listed).count();
        let (mut backward, mut next, mut seen) = (Agent::Home, home.head(), 0);
        while let Some(node) = next {
            let line = &lines[usize::from(node)];
            if !line.is_listed || line.backward != backward || seen > listed {
                return Err(format!("the list is broken at cache {node}"));
            }
            let is_owner = seen == 0 && matches!(home.directory, Directory::Gone(_));
            if line.is_dirty != is_owner {
                return Err(format!(
                    "cache {node} and the home disagree on who owns the line"
                ));
            }
            (backward, next, seen) = (Agent::Cache(node), line.forward, seen + 1);
        }
        if seen == listed {
            Ok(())
        } else {
            Err(format!("{listed} copies, of which the list has {seen}"))
        }
    }

    fn has_data(&self, body: &Body) -> bool {
        match body {
            Body::Attached { data, .. }
            | Body::Joined(data)
            | Body::Purged { data, .. }
            | Body::Leave { data, .. } => data.is_some(),
            Body::Fetched(_) => true,
            _ => false,
        }
    }

    fn name(&self, line: &Line) -> String {
        let state = if !line.is_listed {
            "INVALID"
        } else if line.is_head() {
            match (line.forward, line.is_dirty) {
                (None, true) => "ONLY_DIRTY",
                (None, false) => "ONLY_FRESH",
                (Some(_), true) => "HEAD_DIRTY",
                (Some(_), false) => "HEAD_FRESH",
            }
        } else if line.forward.is_some() {
            "MID_VALID"
        } else {
            "TAIL_VALID"
        };
        marked(state, line.waits == Waits::Nothing, "pending")
    }

    fn home_name(&self, home: &Home) -> String {
        let state = match home.directory {
            Directory::Home => "HOME".to_owned(),
            Directory::Fresh(head) => format!("FRESH {head}"),
            Directory::Gone(head) => format!("GONE {head}"),
        };
        marked(&state, home.waits == HomeWaits::Nothing, "busy")
    }
}

impl Part for Line {
    fn renamed(&self, to: &Renaming) -> Self {
        let waits = match self.waits {
            Waits::Join {
                for_write,
                old,
                has_data,
            } => Waits::Join {
                for_write,
                old: to.node(old),
                has_data,
            },
            other => other,
        };
        Self {
            backward: to.agent(self.backward),
            forward: self.forward.map(|node| to.node(node)),
            value: to.value(self.value),
            waits,
            ..*self
        }
    }
}

impl Part for Home {
    fn renamed(&self, to: &Renaming) -> Self {
        let directory = match self.directory {
            Directory::Home => Directory::Home,
            Directory::Fresh(head) => Directory::Fresh(to.node(head)),
            Directory::Gone(head) => Directory::Gone(to.node(head)),
        };
        Self {
            directory,
            value: to.value(self.value),
            ..*self
        }
    }
}

impl Part for Body {
    fn renamed(&self, to: &Renaming) -> Self {
        let node = |node: Option<Node>| node.map(|node| to.node(node));
        let value = |value: Option<Value>| value.map(|value| to.value(value));
        match *self {
            Self::Leave { next, data } => Self::Leave {
                next: node(next),
                data: value(data),
            },
            Self::SetForward(forward) => Self::SetForward(node(forward)),
            Self::SetBackward(backward) => Self::SetBackward(to.node(backward)),
            Self::Attached { old, data } => Self::Attached {
                old: node(old),
                data: value(data),
            },
            Self::Joined(data) => Self::Joined(value(data)),
            Self::Purged { forward, data } => Self::Purged {
                forward: node(forward),
                data: value(data),
            },
            Self::Fetched(data) => Self::Fetched(to.value(data)),
            other => other,
        }
    }
}
