//! The model as data: written as JSON by the Python builder and read by the compiler.
//!
//! The parts refer to each other by name, not by index, so that people and other programs can read
//! the data. Blocks (loop, branch, fork, network, attempt and their parts) open with their step and
//! close with `end`, so nesting of any depth needs no recursion.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::simulation::kernel::plan::arrivals::{Carried, Process};
use crate::simulation::kernel::plan::expression::Term;
use crate::simulation::kernel::random::distribution::Distribution;
use crate::simulation::kernel::time::TimeUnit;

/// Version of the data format that this kernel reads.
pub const FORMAT: u32 = 2;

/// A whole model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Name, for messages.
    pub name: String,
    /// Unit of every duration in the model.
    pub time_unit: TimeUnit,
    /// Numbers that each job carries.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// Servers with a queue.
    pub stations: Vec<Station>,
    /// Servers that break.
    #[serde(default)]
    pub breakdowns: Vec<Breakdown>,
    /// Native objects with their own state.
    #[serde(default)]
    pub mechanisms: Vec<Mechanism>,
    /// Counted tokens.
    pub pools: Vec<Pool>,
    /// Step lists that jobs walk through.
    pub programs: Vec<Program>,
    /// The origin of jobs.
    pub classes: Vec<Class>,
    /// Populations whose jobs belong to one class after another.
    #[serde(default)]
    pub mixes: Vec<Mix>,
    /// Capacities and speeds that change at known times.
    #[serde(default)]
    pub schedules: Vec<Schedule>,
    /// Programs that look at the state now and then and change capacities and speeds.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// Response time (time units) of classes beyond which a completed job is late.
    #[serde(default)]
    pub late_after: BTreeMap<String, f64>,
    /// When the run ends; the caller may override it.
    pub stop: Stop,
}

/// A number that each job carries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// Unique name.
    pub name: String,
    /// Value at the start of a job.
    pub initial: f64,
}

/// A native object whose functions expressions may call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// Unique name.
    pub name: String,
    /// Name of its kind, by which it is made.
    pub kind: String,
    /// Its parameters; the kind determines their form.
    #[serde(default)]
    pub parameters: serde_json::Value,
    /// Stream key.
    pub stream: u64,
}

/// A station: servers with one line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Unique name.
    pub name: String,
    /// Number of servers, at least 1.
    pub servers: u32,
    /// The order of service.
    #[serde(default)]
    pub discipline: Discipline,
    /// Largest number of jobs that share the servers.
    pub limit: Option<u32>,
    /// Speed of each server; the service time is the drawn time divided by it.
    pub speeds: Option<Vec<f64>>,
    /// Waiting places in addition to the servers; absent for no limit.
    pub buffer: Option<u32>,
    /// The fate of a job that finds no place.
    #[serde(default)]
    pub when_full: WhenFull,
    /// How many jobs a server takes together.
    pub batch: Option<Batch>,
    /// Position of a job, if the line is served by position.
    pub position: Option<Expression>,
    /// Name under which it is reported together with others like it; absent for its own.
    pub group: Option<String>,
}

/// The order of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Last come, first served.
    Lcfs,
    /// The same, and an arrival interrupts the service.
    LcfsPreempt,
    /// The largest priority first.
    Priority,
    /// The same, and a larger priority interrupts the service.
    PriorityPreempt,
    /// Processor sharing.
    Ps,
    /// A server for every job.
    Infinite,
    /// In random order.
    Random,
    /// By position: up, and back to the first (C-LOOK).
    Elevator,
    /// By position: up and down (LOOK).
    ElevatorTwoWay,
    /// By position: the nearest to the last one served first.
    Nearest,
}

/// The fate of a job that finds no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits outside and keeps the server behind it.
    #[default]
    Block,
    /// It fails.
    Reject,
}

/// How many jobs a server takes together.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Fewest.
    pub least: u32,
    /// Most.
    pub most: u32,
}

/// Servers that break.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// Name of the station.
    pub station: String,
    /// The unit that breaks.
    pub unit: BreakdownUnit,
    /// Time (time units) from a repair to the next failure.
    pub time_to_failure: Distribution,
    /// Time (time units) of a repair.
    pub repair: Distribution,
    /// Stream key.
    pub stream: u64,
}

/// The unit that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakdownUnit {
    /// All servers at once.
    All,
    /// Each server separately.
    Each,
}

/// A quantity that can change during a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Changeable {
    /// The number of servers of a station, by its name.
    Servers(String),
    /// The speed of all servers of a station, by its name.
    Speed(String),
    /// The number of tokens of a pool, by its name.
    Tokens(String),
}

/// A number that changes at known times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The quantity that changes.
    pub of: Changeable,
    /// When (time units) it changes, ascending, all below the period.
    pub times: Vec<f64>,
    /// The new values.
    pub values: Vec<f64>,
    /// Time (time units) after which all is repeated; absent for never.
    pub period: Option<f64>,
}

/// A program that is walked again and again, by an actor that does not count as a job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Unique name.
    pub name: String,
    /// Name of the program.
    pub program: String,
    /// Time (time units) before each walk, from the end of the one before.
    pub every: Distribution,
    /// Stream key.
    pub stream: u64,
}

/// A pool of tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Unique name.
    pub name: String,
    /// Number of tokens, at least 1.
    pub tokens: u32,
    /// The order of grants.
    #[serde(default)]
    pub order: PoolOrder,
    /// Name under which it is reported together with others like it; absent for its own.
    pub group: Option<String>,
}

/// The order in which tokens are granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolOrder {
    /// First come, first served.
    #[default]
    Fcfs,
    /// The largest priority first.
    Priority,
}

/// A named list of steps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Unique name.
    pub name: String,
    /// Steps, blocks flattened.
    pub steps: Vec<Step>,
}

/// A duration, a count or a value: drawn, or computed.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// Computed.
    Computed(Expression),
    /// Drawn.
    Drawn(Distribution),
}

/// An expression in postfix notation.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// The only kind.
    Expression {
        /// Terms, operands before their operator.
        code: Vec<Term>,
    },
}

/// How a case is chosen.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Choice {
    /// By probability.
    #[default]
    Probability,
    /// The first case whose condition holds.
    Condition,
    /// One after the other.
    RoundRobin,
    /// The shortest queue.
    ShortestQueue,
    /// The shortest of a few queues drawn at random.
    SampledQueue {
        /// Number of queues.
        sample: u32,
    },
    /// By the value of an expression.
    Hash {
        /// The expression.
        by: Vec<Term>,
    },
    /// The case whose number, counted from 0, is the value of an expression.
    Index {
        /// The expression.
        by: Vec<Term>,
    },
}

/// The criteria of one case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Probability; those of a choice sum to 1.
    pub probability: Option<f64>,
    /// Condition; absent for the remaining case.
    pub condition: Option<Vec<Term>>,
    /// The queue that counts.
    pub of: Option<QueueOf>,
}

/// The queue that counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueOf {
    /// Name of a station.
    Station(String),
    /// Name of a pool.
    Pool(String),
}

/// The possible next nodes of a job in a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of a node; absent for out of the network.
    pub node: Option<String>,
    /// Probability; those of a choice sum to 1.
    pub probability: Option<f64>,
    /// Condition; absent for the remaining case.
    pub condition: Option<Vec<Term>>,
    /// The queue that counts.
    pub of: Option<QueueOf>,
}

/// The fate of the arms that a quorum does not wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// They continue, and no job waits for them.
    #[default]
    Continue,
    /// They are given up.
    Cancel,
}

/// One step of a program; `stream` is the key of the step's random stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Queue for a server of the station and occupy it for a service time.
    Use {
        /// Name of the station.
        station: String,
        /// Service time (time units).
        service: Amount,
        /// Stream key.
        stream: u64,
        /// Whether the service needs a place at the next station before it begins.
        #[serde(default)]
        reserve: bool,
        /// Maximum time (time units) that the job waits; absent for no limit.
        patience: Option<Amount>,
        /// Stream key of the patience.
        #[serde(default)]
        patience_stream: u64,
    },
    /// Let time pass without occupying anything.
    Delay {
        /// Duration (time units).
        time: Amount,
        /// Stream key.
        stream: u64,
    },
    /// Wait for tokens of a pool and hold them.
    Acquire {
        /// Name of the pool.
        pool: String,
        /// Tokens, at least 1.
        tokens: u32,
        /// Maximum time (time units) that the job waits; absent for no limit.
        patience: Option<Amount>,
        /// Stream key of the patience.
        #[serde(default)]
        patience_stream: u64,
    },
    /// Give tokens back.
    Release {
        /// Name of the pool.
        pool: String,
        /// Tokens, at least 1.
        tokens: u32,
    },
    /// Give an attribute a value.
    Set {
        /// Name of the attribute.
        attribute: String,
        /// Value.
        value: Amount,
        /// Stream key.
        stream: u64,
    },
    /// Give the job a priority.
    Prioritize {
        /// Priority; the largest comes first.
        value: Amount,
        /// Stream key.
        stream: u64,
    },
    /// Change the capacity of a station or pool, or the speed of a station.
    Change {
        /// The quantity that changes.
        of: Changeable,
        /// The new value.
        value: Amount,
        /// Stream key.
        stream: u64,
    },
    /// Walk another program as a subroutine.
    Call {
        /// Name of the program.
        program: String,
    },
    /// Let the caller continue; the rest is work after the reply.
    Reply,
    /// Start a job that walks another program, and do not wait for it.
    Start {
        /// Name of the program.
        program: String,
    },
    /// Repeat the steps up to the matching end.
    Loop {
        /// Number of rounds, drawn on entry.
        count: Amount,
        /// Stream key.
        stream: u64,
    },
    /// Take one of the cases up to the matching end.
    Branch {
        /// How the case is chosen.
        #[serde(default)]
        choice: Choice,
        /// Stream key.
        stream: u64,
    },
    /// One case of the innermost branch.
    Case {
        /// Probability; those of a branch sum to 1.
        probability: Option<f64>,
        /// Condition; absent for the remaining case.
        condition: Option<Vec<Term>>,
        /// The queue that counts.
        of: Option<QueueOf>,
    },
    /// Walk from node to node up to the matching end; the first node is the first.
    Network,
    /// One node of the innermost network.
    Node {
        /// Unique name within the network.
        name: String,
        /// How the next node is chosen.
        #[serde(default)]
        choice: Choice,
        /// The next node.
        to: Vec<Route>,
        /// Stream key.
        stream: u64,
    },
    /// Run all arms at the same time and wait for them.
    Fork {
        /// Arms to wait for; absent for all.
        quorum: Option<u32>,
        /// The fate of the others.
        #[serde(default)]
        rest: Rest,
    },
    /// One arm of the innermost fork.
    Arm,
    /// Try some work within a time.
    Attempt {
        /// Time (time units) for each try; absent for no limit.
        timeout: Option<Amount>,
        /// Number of tries, at least 1.
        tries: u32,
        /// Time (time units) between two tries; absent for none.
        pause: Option<Amount>,
        /// Stream key of the time-out.
        stream: u64,
        /// Stream key of the pause.
        pause_stream: u64,
        /// Whether the job fails with the last try, if nothing else is said to follow.
        #[serde(default)]
        loses: bool,
    },
    /// The work of the innermost attempt.
    Work,
    /// Work after the last try of the innermost attempt has failed.
    Failed,
    /// Close the innermost block.
    End,
}

/// Jobs that are at a station at time zero.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// Name of the station.
    pub station: String,
    /// Number of jobs.
    pub jobs: u32,
}

/// The positions of a closed class's jobs at time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Thinking.
    #[default]
    Thinking,
    /// At the begin of the program.
    Ready,
}

/// A class of jobs.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Class {
    /// A fixed population that thinks, walks the program and thinks again.
    Closed {
        /// Unique name.
        name: String,
        /// Name of the program.
        program: String,
        /// Number of jobs, at least 1.
        population: u32,
        /// Think time (time units) before each walk; absent for none.
        think: Option<Distribution>,
        /// Stream key of the think time.
        stream: u64,
        /// The largest comes first.
        #[serde(default)]
        priority: f64,
        /// The positions of the jobs at time zero.
        #[serde(default)]
        start: Start,
        /// Jobs that are elsewhere at time zero.
        #[serde(default)]
        placed: Vec<Placed>,
    },
    /// Jobs that arrive, walk the program once and leave.
    Open {
        /// Unique name.
        name: String,
        /// Name of the program.
        program: String,
        /// Time (time units) between arrivals.
        interarrival: Option<Distribution>,
        /// Arrivals that do not form a renewal process.
        arrivals: Option<Process>,
        /// Stream key of the arrivals.
        stream: u64,
        /// The largest comes first.
        #[serde(default)]
        priority: f64,
        /// Jobs that arrive together.
        batch: Option<Distribution>,
        /// Stream key of the number of jobs that arrive together.
        #[serde(default)]
        batch_stream: u64,
        /// Jobs in the system at time zero.
        #[serde(default)]
        initial: u32,
    },
}

impl Class {
    /// Return the unique name.
    pub fn name(&self) -> &str {
        match self {
            Self::Closed { name, .. } | Self::Open { name, .. } => name,
        }
    }

    /// Return the name of the program that jobs of the class walk.
    pub fn program(&self) -> &str {
        match self {
            Self::Closed { program, .. } | Self::Open { program, .. } => program,
        }
    }
}

/// A fixed population that thinks, draws the class of its next walk, walks, and thinks again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Name, for messages.
    pub name: String,
    /// Number of jobs, at least 1.
    pub population: u32,
    /// Think time (time units) before each walk; absent for none.
    pub think: Option<Distribution>,
    /// Stream key of the think time.
    pub stream: u64,
    /// The positions of the jobs at time zero.
    #[serde(default)]
    pub start: Start,
    /// How the class is drawn.
    #[serde(default)]
    pub draw: Draw,
    /// Stream key of the draws.
    pub draw_stream: u64,
    /// Attributes that a job computes, in this order, before its class is drawn.
    #[serde(default)]
    pub sets: Vec<Carried>,
    /// Number of the class, from 0, of the next walk: only if the class is computed.
    pub index: Option<Expression>,
    /// Its classes.
    pub classes: Vec<MixedClass>,
}

/// How the class of the next walk is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Independently, by weight.
    #[default]
    Independent,
    /// From a shuffled deck with as many cards of a class as its weight says, reshuffled when
    /// exhausted.
    Deck,
    /// As the job computes it.
    Computed,
}

/// One class of a mix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixedClass {
    /// Unique name among all classes.
    pub name: String,
    /// Name of the program.
    pub program: String,
    /// How often it is drawn, compared with the others; at least 1.
    pub weight: u32,
    /// The largest comes first.
    #[serde(default)]
    pub priority: f64,
}

/// When a run ends: at the first of these.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many jobs have completed, all classes together.
    pub completions: Option<u64>,
    /// At this simulated time (time units).
    pub time: Option<f64>,
}
