//! The operations as a model mechanism: `storage.postmark`.
//!
//! A job of a model calls `next()`, which returns 1 if there is another operation and 0 at the end,
//! and reads the operation through the other functions before time passes. With the seed of a
//! measured run it executes the same operations.

use rand::Rng;

use super::operations::{Kind, Operation, Operations, Phase};
use super::parameters::Parameters;
use crate::simulation::kernel::plan::mechanism::{Function, Made, Mechanism, Unit};
use crate::simulation::kernel::random::stream::Stream;

const fn number(name: &'static str) -> Function {
    Function {
        name,
        arguments: &[],
        unit: Unit::Number,
    }
}

/// Names in the order of [`PostmarkMechanism::attribute`], after `next`.
const FUNCTIONS: &[Function] = &[
    number("next"),
    number("kind"),
    number("phase"),
    number("bytes"),
    number("offset"),
    number("file"),
    number("slot"),
    number("subdirectory"),
    number("ends_transaction"),
    number("transaction"),
];

/// The operations of one thread, walked by the jobs of a model.
pub struct PostmarkMechanism {
    operations: Operations,
    current: Option<Operation>,
}

/// Make the mechanism of the parameters of a workload.
///
/// In addition to those of the workload, `seed` (drawn from `stream` if it is missing), `thread`
/// and `threads` select the thread of the operations.
///
/// # Errors
///
/// The error says which parameter is wrong.
pub fn make(parameters: &serde_json::Value, mut stream: Stream) -> Made {
    let mut table = parameters.clone();
    let seed = taken(&mut table, "seed")?.unwrap_or_else(|| stream.next_u64());
    let thread = taken(&mut table, "thread")?.unwrap_or(0);
    let threads = taken(&mut table, "threads")?.unwrap_or(1);
    if thread >= threads {
        return Err(format!(
            "thread is {thread}, and must be below threads, {threads}"
        ));
    }
    let part = Parameters::from_json(&table).and_then(|whole| whole.part(thread, threads));
    let part = part.map_err(|error| error.to_string())?;
    Ok(Box::new(PostmarkMechanism {
        operations: Operations::new(part, seed, thread),
        current: None,
    }))
}

/// Take a whole number out of the table of parameters.
fn taken(table: &mut serde_json::Value, name: &str) -> Result<Option<u64>, String> {
    let found = table.as_object_mut().and_then(|keys| keys.remove(name));
    found
        .map(|value| {
            value.as_u64().ok_or_else(|| {
                format!("{name} is {value}, but must be a whole number of 0 or more")
            })
        })
        .transpose()
}

impl PostmarkMechanism {
    fn attribute(&self, function: usize) -> Result<u64, String> {
        let one = self
            .current
            .ok_or("there is no current operation: call next() first, and stop if it returns 0")?;
        Ok(match function {
            1 => kind_number(one.kind),
            2 => phase_number(one.phase),
            3 => one.bytes,
            4 => one.offset,
            5 => one.file,
            6 => one.slot,
            7 => u64::from(one.subdirectory),
            8 => u64::from(one.ends_transaction),
            _ => self.operations.transaction_count(),
        })
    }
}

impl Mechanism for PostmarkMechanism {
    fn functions(&self) -> &'static [Function] {
        FUNCTIONS
    }

    fn call(&mut self, function: usize, _now_s: f64, _arguments: &[f64]) -> Result<f64, String> {
        if function == 0 {
            self.current = self.operations.next();
            return Ok(if self.current.is_some() { 1.0 } else { 0.0 });
        }
        self.attribute(function).map(|value| value as f64)
    }
}

/// Numbers by which models and arrays know the kinds: create 0, read 1, append 2, delete 3, none 4.
pub const fn kind_number(kind: Kind) -> u64 {
    kind as u64
}

/// Numbers by which models and arrays know the phases: creation 0, transactions 1, deletion 2.
pub const fn phase_number(phase: Phase) -> u64 {
    phase as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::simulation::kernel::random::stream::open;

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "numbers of a test are small"
    )]
    fn walk(mechanism: &mut dyn Mechanism) -> Vec<[u64; 4]> {
        let mut found = Vec::new();
        while mechanism.call(0, 0.0, &[]).expect("an answer") > 0.0 {
            let mut read = |index| mechanism.call(index, 0.0, &[]).expect("an answer") as u64;
            found.push([read(1), read(3), read(5), read(2)]);
        }
        found
    }

    #[test]
    fn a_model_walks_the_operations_of_the_measured_run() {
        let asked = json!({"kind": "postmark", "files": 40, "transactions": 60});
        let parameters = Parameters::from_json(&asked).expect("sound parameters");
        let part = parameters.part(1, 2).expect("enough files");
        let expected: Vec<[u64; 4]> = Operations::new(part, 11, 1)
            .map(|one| [one.kind as u64, one.bytes, one.file, one.phase as u64])
            .collect();
        let mut asked = asked;
        for (key, value) in [("seed", 11), ("thread", 1), ("threads", 2)] {
            asked[key] = json!(value);
        }
        let mut mechanism = make(&asked, open(0, 0)).expect("sound parameters");
        assert_eq!(walk(mechanism.as_mut()), expected);
        assert!(mechanism.call(1, 0.0, &[]).is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let made = |asked| make(&asked, open(0, 0)).err().unwrap_or_default();
        assert!(made(json!({"files": 0})).contains("files is 0"));
        assert!(made(json!({"thread": 2, "threads": 2})).contains("below threads"));
        assert!(made(json!({"seed": -1})).contains("seed is -1"));
    }
}
