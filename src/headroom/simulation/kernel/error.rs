//! Errors of a model or a run, each with a hint.

use thiserror::Error;

/// A step of a program, or the arrivals of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the program, or of the class.
    pub name: String,
    /// Index of the step.
    pub step: u32,
    /// Whether it is a class, whose arrivals are outside of programs.
    pub is_class: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_class {
            write!(formatter, "the arrivals of class '{}'", self.name)
        } else {
            write!(formatter, "program '{}'", self.name)
        }
    }
}

/// A model that cannot be run, or a run that had to stop.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The bytes are not a model.
    #[error("the model data cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The model contradicts itself; the builder reports most of these with their source line.
    #[error("the model is not valid: {0}")]
    Invalid(String),
    /// Jobs wait for each other and none can continue.
    #[error("deadlock at {at_s} s: {cycle}")]
    Deadlock {
        /// Simulated time (s) at which the cycle closed.
        at_s: f64,
        /// The holders, and the jobs that wait for each.
        cycle: String,
    },
    /// Simulated time left the range of its counter.
    #[error("simulated time passed {limit_s} s, the longest that time unit '{unit}' can count")]
    TimeOverflow {
        /// Name of the model's time unit.
        unit: &'static str,
        /// Longest countable time (s).
        limit_s: f64,
    },
    /// The model loops without simulated time passing.
    #[error("{steps} steps were taken at {at_s} s without simulated time passing")]
    NoProgress {
        /// Steps counted at that instant.
        steps: u64,
        /// Simulated time (s).
        at_s: f64,
    },
    /// More jobs at once than the kernel can number.
    #[error("more than {limit} jobs were in the system at once, at {at_s} s")]
    TooManyJobs {
        /// Largest number of jobs.
        limit: u32,
        /// Simulated time (s).
        at_s: f64,
    },
    /// More events than the kernel can number.
    #[error("the run passed {limit} events")]
    TooManyEvents {
        /// Largest number of events.
        limit: u64,
    },
    /// Events continue without any job being completed.
    #[error("no job was completed in the last {events} events, up to {at_s} s of simulated time")]
    NoCompletion {
        /// Events since the last completion, at least.
        events: u64,
        /// Simulated time (s).
        at_s: f64,
    },
    /// Jobs wait for a batch that will never be full.
    #[error(
        "at {at_s} s nothing happens any more: jobs at station '{station}' wait for a full batch"
    )]
    Starved {
        /// Step at which a job waits.
        place: Place,
        /// Name of the station.
        station: String,
        /// Simulated time (s).
        at_s: f64,
    },
    /// Recorded values have come to their end.
    #[error("at {at_s} s a replay has no values left")]
    Exhausted {
        /// Simulated time (s).
        at_s: f64,
    },
    /// An expression gave a number that cannot be used.
    #[error("in {place}, {step} was computed as {value} at {at_s} s")]
    Amount {
        /// Step that needed the number.
        place: Place,
        /// The purpose of the number.
        step: String,
        /// The number.
        value: f64,
        /// Simulated time (s).
        at_s: f64,
    },
    /// A draw gave a number that ticks cannot count.
    #[error("in {place}, {step} drew a number above 1.8e10 at {at_s} s, more than a draw can give")]
    LargeDraw {
        /// Step that drew.
        place: Place,
        /// The purpose of the number.
        step: String,
        /// Simulated time (s).
        at_s: f64,
    },
    /// A function of a mechanism gave no answer.
    #[error("in {place}, {step} at {at_s} s: {call} failed: {message}")]
    Call {
        /// Step that called it.
        place: Place,
        /// The quantity being computed.
        step: String,
        /// The call with its arguments, and the name of the mechanism.
        call: String,
        /// Why, in the words of the mechanism.
        message: String,
        /// Simulated time (s).
        at_s: f64,
    },
    /// The caller asked the run to stop.
    #[error("the run was interrupted")]
    Interrupted,
}

impl SimulationError {
    /// Return the step of the model that the error is about, if it is about one.
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::Starved { place, .. }
            | Self::Amount { place, .. }
            | Self::LargeDraw { place, .. }
            | Self::Call { place, .. } => Some(place),
            _ => None,
        }
    }

    /// Return a hint for the user, one sentence.
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Unreadable(_) | Self::Invalid(_) => {
                "build models with headroom.simulation.Model, which checks them step by step"
            }
            Self::Deadlock { .. } => {
                "acquire pools in the same order everywhere, or give the pools of the cycle more \
                 tokens, or the stations of the cycle more places"
            }
            Self::TimeOverflow { .. } => {
                "choose a larger time_unit for the model, or stop the run earlier"
            }
            Self::NoProgress { .. } => {
                "give the cycle a service, delay or think time above zero (smaller than 1e-9 of \
                 the time_unit counts as zero)"
            }
            Self::TooManyJobs { .. } => {
                "lower the arrivals, add capacity, or stop the run earlier: the model keeps \
                 collecting jobs"
            }
            Self::NoCompletion { .. } => {
                "let jobs reach the end of their program (if all are lost, give them more room, \
                 patience or tries), or stop the run by time"
            }
            Self::TooManyEvents { .. } => "split the run into several replications",
            Self::Starved { .. } => {
                "let the station take smaller batches, or bring more jobs into the model"
            }
            Self::Exhausted { .. } => {
                "stop the run earlier, record more values, or let the replay repeat them"
            }
            Self::Amount { .. } => {
                "correct the expression so that it gives a finite number, and none below zero for \
                 a time or a count"
            }
            Self::LargeDraw { .. } => {
                "draw in a larger unit; if it is a time, choose a larger time_unit for the model"
            }
            Self::Call { .. } => {
                "correct the arguments of the call, or the parameters of the mechanism"
            }
            Self::Interrupted => "run it again",
        }
    }
}
