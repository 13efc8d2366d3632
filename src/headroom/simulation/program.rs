//! The compiled model: flat tables that the engine walks.
//!
//! All programs lie in one instruction array. A job is a position in it and a small stack that
//! holds loop counters, return addresses and the number of arms still to join.
//!
//! Invariant: at every position the shape of the stack and the tokens held are known from the
//! compiled model alone ([`Site`]), because all paths to a position agree on both.

use super::alias::AliasTable;
use super::distribution::Sampler;
use super::stream::{self, Stream};
use super::time::{SimTime, TimeUnit};

/// One step of a compiled program; numbers are indices into the tables of the [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Queue for the station and be served.
    Use {
        /// Station.
        station: u32,
        /// Source of the service time.
        source: u32,
    },
    /// Let time pass.
    Delay {
        /// Source of the duration.
        source: u32,
    },
    /// Wait for tokens.
    Acquire {
        /// Pool.
        pool: u32,
        /// Tokens.
        tokens: u32,
    },
    /// Give tokens back.
    Release {
        /// Pool.
        pool: u32,
        /// Tokens.
        tokens: u32,
    },
    /// Go on at one of the targets of the table.
    Branch {
        /// Branch table.
        table: u32,
    },
    /// Go on at the position.
    Jump {
        /// Position.
        to: u32,
    },
    /// Draw the number of rounds and push it, or jump if it is zero.
    LoopEnter {
        /// Source of the number of rounds.
        source: u32,
        /// Position after the loop.
        exit: u32,
    },
    /// Count a round; go back to the body while rounds are left.
    LoopNext {
        /// Position of the body.
        body: u32,
    },
    /// Start a job in each arm.
    Fork {
        /// First of the arms in the arm table.
        first: u32,
        /// Number of arms.
        count: u32,
    },
    /// Wait until every arm has ended.
    Join,
    /// End the arm and wake the parent with the last one.
    ArmEnd,
    /// Push the return address and go on at the entry of a program.
    Call {
        /// Position of the entry.
        entry: u32,
    },
    /// Pop the return address and go on there.
    Return,
    /// A job of the class enters the system.
    Begin {
        /// Class.
        class: u32,
    },
    /// A job of the class has done its work.
    Complete {
        /// Class.
        class: u32,
    },
    /// Let a new job of the class start, one position further on.
    Spawn {
        /// Class.
        class: u32,
        /// Position where the job starts.
        entry: u32,
    },
    /// The job leaves.
    Exit,
}

/// A source of randomness as compiled: what it draws, and the key of its stream.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// What is drawn.
    pub sampler: Sampler,
    /// Key of the random stream.
    pub key: u64,
}

/// A source of randomness in a run.
#[derive(Clone, Debug)]
pub struct Source {
    sampler: Sampler,
    stream: Stream,
}

impl Source {
    /// Open the source for a run with `seed`.
    pub fn new(plan: &SourcePlan, seed: u64) -> Self {
        Self {
            sampler: plan.sampler.clone(),
            stream: stream::open(seed, plan.key),
        }
    }

    /// Draw a value (ticks, or a count).
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.sampler.draw(&mut self.stream)
    }
}

/// A branch as compiled: where each case starts, and how likely it is.
#[derive(Clone, Debug)]
pub struct BranchPlan {
    /// Positions of the cases.
    pub targets: Vec<u32>,
    /// Choice among them.
    pub table: AliasTable,
    /// Key of the random stream.
    pub key: u64,
}

/// A branch in a run.
#[derive(Clone, Debug)]
pub struct Branch {
    targets: Vec<u32>,
    table: AliasTable,
    stream: Stream,
}

impl Branch {
    /// Open the branch for a run with `seed`.
    pub fn new(plan: &BranchPlan, seed: u64) -> Self {
        Self {
            targets: plan.targets.clone(),
            table: plan.table.clone(),
            stream: stream::open(seed, plan.key),
        }
    }

    /// Draw the position of a case.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        self.targets[self.table.draw(&mut self.stream) as usize]
    }
}

/// What is known of a job that stands at a position, besides its own stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Program to which the position belongs; None in the frame around a class.
    pub program: Option<u32>,
    /// Stack slots in use since the program or arm was entered.
    pub slots: u32,
    /// Tokens held since then: pairs of pool and tokens, sorted by pool.
    pub held: Vec<(u32, u32)>,
}

/// A name with a capacity: servers of a station, tokens of a pool.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Unique name.
    pub name: String,
    /// Servers or tokens.
    pub capacity: u32,
}

/// A class of jobs as compiled.
#[derive(Clone, Debug)]
pub struct ClassPlan {
    /// Unique name.
    pub name: String,
    /// Where the first jobs start: the thinkers of a closed class, the one source of an open one.
    pub entry: u32,
    /// Number of jobs of a closed class; None for an open one.
    pub population: Option<u32>,
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
    /// Branches.
    pub branches: Vec<BranchPlan>,
    /// Entries of the arms of all forks.
    pub arms: Vec<u32>,
    /// Stations.
    pub stations: Vec<Resource>,
    /// Pools.
    pub pools: Vec<Resource>,
    /// Classes.
    pub classes: Vec<ClassPlan>,
    /// Stack slots that a job may need.
    pub stack_slots: usize,
    /// Unit of the model's time.
    pub unit: TimeUnit,
    /// When the run ends.
    pub limits: Limits,
}
