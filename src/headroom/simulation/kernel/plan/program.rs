//! The compiled model: flat tables that the engine walks.
//!
//! All programs are in one instruction array. A job is a position in it and a small stack that
//! holds loop counters, remaining tries, return addresses and the number of jobs still to wait for.
//!
//! Invariant: at every position the shape of the stack and the tokens held are known from the
//! compiled model alone ([`Site`]), because all paths to a position agree on both.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use crate::simulation::kernel::plan::arrivals::ArrivalPlan;
use crate::simulation::kernel::plan::calls::CallPlan;
use crate::simulation::kernel::plan::choice::ChoicePlan;
use crate::simulation::kernel::plan::expression::Code;
use crate::simulation::kernel::plan::instruction::{Act, Instruction};
use crate::simulation::kernel::plan::rows::Rows;
use crate::simulation::kernel::random::distribution::Sampler;
use crate::simulation::kernel::random::stream::{self, Stream};
use crate::simulation::kernel::time::{SimTime, TimeUnit};

/// A source of randomness as compiled: its distribution, and the key of its stream.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// The distribution to draw from.
    pub sampler: Sampler,
    /// Key of the random stream.
    pub key: u64,
}

/// A source of randomness in a run, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Source {
    sampler: Sampler,
    stream: Stream,
}

impl Source {
    /// Open the source for a run with `seed`.
    pub fn new(plan: &SourcePlan, seed: u64) -> Self {
        let mut stream = stream::open(seed, plan.key);
        Self {
            sampler: plan.sampler.clone().ahead(&mut stream),
            stream,
        }
    }

    /// Return whether it replays recorded values and has come to their end.
    pub fn is_exhausted(&self) -> bool {
        self.sampler.is_exhausted()
    }

    /// Draw a value (ticks, or a count).
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        self.sampler.draw(&mut self.stream)
    }
}

/// A fork as compiled.
#[derive(Clone, Debug)]
pub struct ForkPlan {
    /// Positions of the arms.
    pub arms: Vec<u32>,
    /// Arms that must have ended for the parent to continue.
    pub quorum: u32,
    /// Whether the other arms are given up then.
    pub is_cancelling: bool,
}

/// An attempt as compiled.
#[derive(Clone, Debug)]
pub struct AttemptPlan {
    /// Time for each try, or [`NO_AMOUNT`](super::instruction::NO_AMOUNT).
    pub timeout: u32,
    /// Number of tries.
    pub tries: u32,
    /// Position at which the work begins, right after its instruction.
    pub work: u32,
    /// Position at which the job continues after a try that was not the last one.
    pub again: u32,
    /// Position at which the job continues after the last try; None if it fails with it.
    pub failed: Option<u32>,
}

/// Facts about a job at a position, apart from its own stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Program to which the position belongs; None in the frame around a class.
    pub program: Option<u32>,
    /// Index of the step in that program.
    pub step: u32,
    /// Stack slots in use since the program or arm was entered.
    pub slots: u32,
    /// Tokens held since then: pairs of pool and tokens, sorted by pool.
    pub held: Vec<(u32, u32)>,
    /// Whether it lies in an arm of a fork.
    pub is_in_arm: bool,
}

/// The direction of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Up to the last job, then back to the first one (C-LOOK).
    OneWay,
    /// Up to the last job, then down to the first one, and up again (LOOK).
    BothWays,
    /// To the nearest job; of two that are equally near, to the one further up.
    Nearest,
}

/// The order of service, and whether a job may interrupt others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Last come, first served.
    Lifo {
        /// Whether an arrival interrupts a service.
        is_preemptive: bool,
    },
    /// The largest priority first.
    Priority {
        /// Whether a larger priority interrupts a service.
        is_preemptive: bool,
    },
    /// All at the same time, each at an equal share of the servers.
    Sharing,
    /// Any job, all equally likely.
    Random,
    /// By position.
    Position(Sweep),
}

/// A station as compiled.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says whether the station has a property, independent of the others"
)]
pub struct StationPlan {
    /// Unique name.
    pub name: String,
    /// Number of servers; `u32::MAX` for as many as there are jobs.
    pub servers: u32,
    /// The order of service.
    pub order: Order,
    /// Largest number of jobs that share the servers.
    pub sharing_limit: u32,
    /// Speed of each server, or none if all have speed 1.
    pub speeds: Vec<f64>,
    /// Jobs that fit in, those in service included; `u32::MAX` for no limit.
    pub places: u32,
    /// Whether a job that finds no place fails instead of waiting outside.
    pub is_rejecting: bool,
    /// Whether jobs keep their server until they have a place further on.
    pub holds_when_blocked: bool,
    /// Smallest and largest number of jobs that a server takes together.
    pub batch: Option<(u32, u32)>,
    /// Whether servers break.
    pub can_break: bool,
    /// Whether a service may need a place at another station first.
    pub is_reserving: bool,
    /// Whether jobs may leave the line before they are served.
    pub is_left: bool,
    /// Whether the number or the speed of its servers changes.
    pub can_change: bool,
    /// Whether its waits are kept by size, which plain visits do not do.
    pub is_watched: bool,
    /// Key of the random stream of its order.
    pub key: u64,
    /// Attribute that holds a job's position, if the line is served by position.
    pub position: usize,
}

impl StationPlan {
    /// Return whether the station is more than servers, a line, and service to the end.
    pub fn is_special(&self) -> bool {
        self.is_otherwise_special() || self.places != u32::MAX || self.holds_when_blocked
    }

    /// Return whether nothing is special about the station, which serves first come, first served,
    /// but its room, or that its jobs keep their server until there is room further on.
    pub fn is_bounded(&self) -> bool {
        self.holds_when_blocked && self.order == Order::Fifo && !self.is_otherwise_special()
    }

    /// Return whether it matters who is in service, and since when.
    pub fn keeps_serving(&self) -> bool {
        let is_preemptive = matches!(
            self.order,
            Order::Lifo {
                is_preemptive: true
            } | Order::Priority {
                is_preemptive: true
            }
        );
        is_preemptive || self.batch.is_some() || self.can_break || self.can_change
    }

    fn is_otherwise_special(&self) -> bool {
        // At a station by position the head follows the job in service, even if no job waits.
        let is_other = matches!(
            self.order,
            Order::Lifo {
                is_preemptive: true
            } | Order::Priority {
                is_preemptive: true
            } | Order::Sharing
                | Order::Position(_)
        );
        is_other
            || !self.speeds.is_empty()
            || self.batch.is_some()
            || self.can_break
            || self.is_reserving
            || self.is_left
            || self.can_change
            || self.is_watched
    }
}

/// A pool as compiled.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// Unique name.
    pub name: String,
    /// Number of tokens.
    pub tokens: u32,
    /// Whether the largest priority is granted first.
    pub is_by_priority: bool,
    /// Whether the number of tokens changes.
    pub can_change: bool,
}

/// A class of jobs as compiled.
#[derive(Clone, Debug)]
pub struct ClassPlan {
    /// Unique name.
    pub name: String,
    /// The start of the first jobs: the thinkers of a closed class, the one source of an open one.
    pub entry: u32,
    /// The position at which a job of a closed class continues after its walk.
    pub home: u32,
    /// Position of the begin of a job.
    pub begin: u32,
    /// Number of jobs of a closed class; None for an open one. A class of a mix has its share of
    /// the jobs by weight.
    pub population: Option<f64>,
    /// Jobs that start at the entry.
    pub starting: u32,
    /// Jobs that are in the system at time zero, at its beginning.
    pub initial: u32,
    /// Jobs that are in the system at time zero: position of a station's use, and how many.
    pub placed: Vec<(u32, u32)>,
    /// Priority of its jobs.
    pub priority: f64,
    /// Response time (ticks) beyond which a job is late.
    pub late_after: u64,
}

impl ClassPlan {
    /// Return how many jobs there are at time zero.
    pub fn start_count(&self) -> usize {
        let placed = self.placed.iter().map(|one| one.1 as usize);
        self.starting as usize + self.initial as usize + placed.sum::<usize>()
    }
}

/// An arrival process as compiled.
#[derive(Clone, Debug)]
pub struct ProcessPlan {
    /// When jobs arrive.
    pub arrivals: ArrivalPlan,
    /// Attributes that each arrival sets.
    pub attributes: Vec<u32>,
    /// Key of the random stream.
    pub key: u64,
}

/// Servers that break, as compiled.
#[derive(Clone, Copy, Debug)]
pub struct BreakdownPlan {
    /// The start of the clock.
    pub entry: u32,
    /// Number of clocks.
    pub count: u32,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Completions, all classes together.
    pub completions: u64,
    /// Simulated time.
    pub time: SimTime,
}

/// A compiled model.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All programs, one after the other.
    pub instructions: Vec<Instruction>,
    /// One for each instruction.
    pub sites: Vec<Site>,
    /// Names of the programs.
    pub programs: Vec<String>,
    /// Sources of randomness.
    pub sources: Vec<SourcePlan>,
    /// Expressions.
    pub expressions: Vec<Code>,
    /// Functions of mechanisms that expressions call.
    pub calls: Vec<CallPlan>,
    /// Choices.
    pub choices: Vec<ChoicePlan>,
    /// Forks.
    pub forks: Vec<ForkPlan>,
    /// Attempts.
    pub attempts: Vec<AttemptPlan>,
    /// Arrival processes.
    pub processes: Vec<ProcessPlan>,
    /// Initial values of the attributes; the last one is the position of a job in a line, if a
    /// station serves by position.
    pub attributes: Vec<f64>,
    /// Stations.
    pub stations: Vec<StationPlan>,
    /// Positions of the clocks of stations with shared servers.
    pub clocks: Vec<(u32, u32)>,
    /// Servers that break.
    pub breakdowns: Vec<BreakdownPlan>,
    /// The start of the clocks of schedules and controllers.
    pub controllers: Vec<u32>,
    /// Whether a visit may end without its service, or a server be held or broken.
    pub has_losses: bool,
    /// Whether the result reports jobs that left a line unserved, and capacities over time.
    pub has_extras: bool,
    /// Whether a job may be lost, or late.
    pub has_outcomes: bool,
    /// Rows of the tables of stations.
    pub station_rows: Rows,
    /// Pools.
    pub pools: Vec<PoolPlan>,
    /// Rows of the tables of pools.
    pub pool_rows: Rows,
    /// Classes.
    pub classes: Vec<ClassPlan>,
    /// The return position of a job started by another.
    pub last_return: u32,
    /// Stack slots that a job may need.
    pub stack_slots: usize,
    /// Unit of the model's time.
    pub unit: TimeUnit,
    /// When the run ends.
    pub limits: Limits,
}

impl Plan {
    /// Return the name of the class whose frame contains the instruction at `at`.
    pub fn class_at(&self, at: u32) -> String {
        let before = self.classes.iter().filter(|class| class.entry <= at);
        let own = before.max_by_key(|class| class.entry);
        own.map_or_else(String::new, |class| class.name.clone())
    }

    /// Return the station where the instruction at `at` reads the position of a job that comes to
    /// it, if it does.
    pub fn positioned_at(&self, at: u32) -> Option<u32> {
        let Instruction::Act(Act::Set { attribute, .. }) = self.instructions[at as usize] else {
            return None;
        };
        let station = self.instructions.get(at as usize + 1)?.used_station()?;
        let plan = &self.stations[station as usize];
        let is_by_position = matches!(plan.order, Order::Position(_));
        (is_by_position && plan.position == attribute as usize).then_some(station)
    }
}
