//! What is loaded and what is asked: the one source of inputs of the measured column, and of the
//! constants of the modelled one.

mod chance;
mod columns;
mod population;
mod scale;
#[cfg(test)]
mod tests;
pub mod tpcb;
mod transaction;

pub use chance::{Chance, Constants, last_name};
pub use population::{Part, Population, Sink, Table, Type, Value, Workload};
pub use scale::*;
pub use transaction::{Input, Line, Terminal, Who};
