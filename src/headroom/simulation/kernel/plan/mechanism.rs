//! Mechanisms: model components whose state does not fit into a station.
//!
//! The head of a disk, the map of a flash device, the contents of a cache, a recorded stream of
//! requests: each is a native object with functions that expressions of a model may call. The
//! kernel knows only the trait. The caller that runs a model supplies a [`Registry`] that creates
//! mechanisms by the name of their kind.
//!
//! Invariant: the result of a function depends only on the parameters, the stream of random numbers
//! and the previous calls; so a run remains a function of (model, seed).

use crate::simulation::kernel::random::stream::Stream;

/// The unit of a mechanism function's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration or a moment (s); the kernel turns it into time units of the model.
    Seconds,
    /// A plain number.
    Number,
}

/// A function of a mechanism, as models call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name.
    pub name: &'static str,
    /// Names of its arguments, all plain numbers.
    pub arguments: &'static [&'static str],
    /// The unit of its result.
    pub unit: Unit,
}

/// A part of a model with its own state.
pub trait Mechanism: Send {
    /// Return the functions; a function is known by its index here.
    fn functions(&self) -> &'static [Function];

    /// Call `function` at the simulated time `now_s` (s); as many `arguments` as it has names.
    ///
    /// # Errors
    ///
    /// The error says why the call cannot be answered, for example an address beyond the device.
    fn call(&mut self, function: usize, now_s: f64, arguments: &[f64]) -> Result<f64, String>;
}

/// The parameters of a mechanism, as the model states them.
pub type Parameters = serde_json::Value;

/// Makes the mechanism of a kind from its parameters; None if the kind is unknown.
///
/// It is called when a model is built, to see which functions there are, and again for each run:
/// slow work is left to the first call.
pub type Registry = fn(kind: &str, parameters: &Parameters, stream: Stream) -> Option<Made>;

/// The registry without any kind.
pub fn none(_kind: &str, _parameters: &Parameters, _stream: Stream) -> Option<Made> {
    None
}

/// A mechanism, or as text the error in its parameters.
pub type Made = Result<Box<dyn Mechanism>, String>;
