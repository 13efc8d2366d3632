//! The instructions of a compiled program, and which part of the engine takes which.
//!
//! [`Instruction`] is what the compiler writes, and what messages and checks read. A [`Step`] is
//! what a run has at the same position; [`fuse`](super::fuse) makes it, and so decides who takes
//! it:
//!
//! | step | when a job comes to it | at an event of a job there |
//! | --- | --- | --- |
//! | [`Step::Wait`] | `begin_wait` in `run::walk` | `end_wait` in `run::engine` |
//! | [`Step::Act`] | `act` in `run::walk` | never: who acts does not wait |
//! | of which [`Act::Change`] | `change` in `run::changes` | never |
//! | any other, a plain one | `walk` in `run::plain` | `end_wait` in `run::plain` |
//!
//! The first three take all of their own type and nothing else, so a new instruction compiles only
//! where somebody takes it. A plain walk leaves one visit to others: of a bounded station that
//! refuses the job, or that the job has not left yet.

#![allow(
    missing_docs,
    reason = "a field is an index in the table of its name, unless its variant says what it is"
)]

/// Marks an amount that is an expression; the rest of the number is its index.
pub const COMPUTED: u32 = 1 << 31;
/// No amount.
pub const NO_AMOUNT: u32 = u32::MAX;

/// One step of a compiled program; numbers are indices into the tables of the
/// [`Plan`](super::program::Plan).
///
/// An `amount` is the index of a source of randomness or, with the bit [`COMPUTED`], that of an
/// expression. An `entry` is the first position of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Continue at the position.
    Jump { to: u32 },
    /// Push the return address and continue at the entry of a program.
    Call { entry: u32 },
    /// Pop the return address and continue there.
    Return,
    /// Let time pass outside the system: think, or wait for the next arrival.
    Think { source: u32 },
    /// Wait for an event, or for what comes without one.
    Wait(Wait),
    /// Do something at once.
    Act(Act),
}

/// Where a job waits, or a guard or a clock does: what an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Queue for the station and be served for a time.
    Use { station: u32, amount: u32 },
    /// The same, but the service begins only when a place at the station `next` is kept.
    UseReserving {
        station: u32,
        amount: u32,
        next: u32,
    },
    /// Let time pass.
    Delay { amount: u32 },
    /// Wait for tokens; an event is the end of the job's patience.
    Acquire { pool: u32, tokens: u32 },
    /// Begin an attempt; an event is the time-out of its guard.
    Attempt { attempt: u32 },
    /// Wait for the next arrival of the process.
    Arrive { process: u32 },
    /// Wait for the next arrival, unless an expression (or [`NO_AMOUNT`]) says that there is none.
    Await { goes_on: u32, wait: u32 },
    /// The clock of a station with shared servers: an event ends a service there.
    Clock { station: u32 },
}

/// What a job does at once; most continue behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Give tokens back.
    Release { pool: u32, tokens: u32 },
    /// How long a job waits at most at the instruction before; jobs that walk on skip it.
    Patience { amount: u32 },
    /// Give the job's attribute a value.
    Set { attribute: u32, amount: u32 },
    /// Give the job a priority.
    Prioritize { amount: u32 },
    /// Continue at one of the targets of the choice.
    Choose { choice: u32 },
    /// A node of a network begins: count the step, so that circles without time are found.
    Node,
    /// Draw the number of rounds and push it, or go to the position after the loop if it is zero.
    LoopEnter { amount: u32, exit: u32 },
    /// Count a round; go back to the position of the body while rounds are left.
    LoopNext { body: u32 },
    /// Start a job in each arm.
    Fork { fork: u32 },
    /// Start a job at the entry of a program whose reply is needed.
    CallAndWait { entry: u32 },
    /// After one of the two, which go on here: sleep until the required number of jobs have ended.
    Join,
    /// End the arm, or the call, and wake the parent if it waits for no more.
    ArmEnd,
    /// Let the caller continue.
    Reply,
    /// Start a job at the entry of a program that no job waits for.
    Start { entry: u32 },
    /// Begin the next try of an attempt.
    TryAgain { attempt: u32 },
    /// The work of the attempt is done.
    AttemptEnd,
    /// The job belongs to the class from now on.
    Become { class: u32 },
    /// A job of the class enters the system.
    Begin { class: u32 },
    /// A job of the class has done its work.
    Complete { class: u32 },
    /// Let new jobs of the class start, as many as an amount, or one for [`NO_AMOUNT`].
    Spawn { class: u32, amount: u32 },
    /// Change a capacity or a speed.
    Change(Change),
    /// The job leaves.
    Exit,
}

/// A change of what a station or a pool can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Give the station another number of servers.
    Servers { station: u32, amount: u32 },
    /// Give all servers of the station another factor of speed.
    Speed { station: u32, amount: u32 },
    /// Give the pool another number of tokens.
    Tokens { pool: u32, amount: u32 },
    /// As many servers of the station fail.
    Break { station: u32, servers: u32 },
    /// As many servers of the station work again.
    Repair { station: u32, servers: u32 },
}

/// What a run has at a position; who takes it is said at the top of this file.
///
/// A `source` is the index of a source of randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// [`Wait::Use`] of a plain station that serves first come, first served, with a drawn time;
    /// whether no other instruction uses the station.
    UseFifo {
        station: u32,
        source: u32,
        is_only: bool,
    },
    /// [`Wait::Use`] of a plain station that serves in another order, with a drawn time.
    UseOrdered { station: u32, source: u32 },
    /// [`Wait::Use`] of a station of which only the room is limited, or whose jobs keep their
    /// server until there is room further on; it serves first come, first served, a drawn time.
    UseBounded { station: u32, source: u32 },
    /// [`Act::Choose`] by probability.
    Draw { choice: u32 },
    /// [`Instruction::Jump`].
    Jump { to: u32 },
    /// [`Instruction::Call`].
    Call { entry: u32 },
    /// [`Instruction::Return`].
    Return,
    /// [`Instruction::Think`].
    Think { source: u32 },
    /// A job of a closed class has done its work and at once begins the next: [`Act::Complete`],
    /// a jump, [`Act::Begin`] and a call.
    Again { class: u32, entry: u32 },
    /// A job of a closed class has done its work and thinks at another position:
    /// [`Act::Complete`], a jump and [`Instruction::Think`].
    Rest { class: u32, think: u32, source: u32 },
    /// A job of an open class has done its work and leaves: [`Act::Complete`] and [`Act::Exit`].
    Finish { class: u32 },
    /// A job enters the system and its program: [`Act::Begin`] and a call.
    BeginCall { class: u32, entry: u32 },
    /// Wait for the next arrival, of a job that enters the system and its program, and again for the
    /// one after it: [`Instruction::Think`], [`Act::Spawn`] and a jump of the source, [`Act::Begin`]
    /// and a call of the job.
    AwaitNext { class: u32, entry: u32, source: u32 },
    /// Not a plain one.
    Wait(Wait),
    /// Not a plain one.
    Act(Act),
}

// Four fit in a line of the cache: a large model's are fetched one by one.
const _: () = assert!(size_of::<Step>() == 16 && size_of::<Instruction>() == 16);

impl Instruction {
    /// Return the station that it uses.
    pub const fn used_station(self) -> Option<u32> {
        match self {
            Self::Wait(Wait::Use { station, .. } | Wait::UseReserving { station, .. }) => {
                Some(station)
            }
            _ => None,
        }
    }
}

impl From<Wait> for Instruction {
    fn from(wait: Wait) -> Self {
        Self::Wait(wait)
    }
}

impl From<Act> for Instruction {
    fn from(act: Act) -> Self {
        Self::Act(act)
    }
}

impl From<Change> for Instruction {
    fn from(change: Change) -> Self {
        Self::Act(Act::Change(change))
    }
}
