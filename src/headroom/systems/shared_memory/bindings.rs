//! Functions for Python; `native.pyi` has their types.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::checker::{Limits, chart, check};
use super::protocol::directory::{self, Directory};
use super::protocol::sci::{self, Sci};
use super::protocol::uncached::Uncached;
use super::protocol::{MOST_CHECKED, Protocol};

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CHECKER_CODE", env!("HEADROOM_CHECKER"))?;
    module.add("PROGRAMS_CODE", env!("HEADROOM_PROGRAMS"))?;
    module.add("MOST_CACHES", MOST_CHECKED)?;
    module.add_function(wrap_pyfunction!(conditions, module)?)?;
    module.add_function(wrap_pyfunction!(check_protocol, module)?)
}

/// A search in numbers, and the picture of a violation.
struct Outcome {
    states: usize,
    steps: u64,
    depth: usize,
    is_complete: bool,
    unused: Vec<&'static str>,
    violation: Option<(String, usize, String)>,
}

fn searched<P: Protocol>(protocol: &P, limits: &Limits) -> Outcome {
    let found = check(protocol, limits);
    let rules = P::RULES.iter().zip(&found.used);
    let violation = found.violation.as_ref().map(|violation| {
        let drawn = chart::draw(protocol, limits, violation);
        (violation.sentence.clone(), violation.path.len(), drawn)
    });
    Outcome {
        states: found.state_count,
        steps: found.step_count,
        depth: found.depth,
        is_complete: found.is_complete,
        unused: rules
            .filter(|(_, count)| **count == 0)
            .map(|(rule, _)| *rule)
            .collect(),
        violation,
    }
}

/// Return the name of each condition of a protocol and its sentence.
fn named_conditions(protocol: &str) -> PyResult<Vec<(String, &'static str)>> {
    fn named<G: std::fmt::Debug>(all: &[(G, &'static str)]) -> Vec<(String, &'static str)> {
        let names = all
            .iter()
            .map(|(guard, text)| (snake(&format!("{guard:?}")), *text));
        names.collect()
    }
    match protocol {
        "sci" => Ok(named(sci::Guard::ALL)),
        "directory" => Ok(named(directory::Guard::ALL)),
        "uncached" => Ok(Vec::new()),
        other => Err(PyValueError::new_err(format!(
            "no protocol is called {other:?}"
        ))),
    }
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn guard<G: Copy + std::fmt::Debug>(
    all: &[(G, &'static str)],
    without: Option<&str>,
) -> PyResult<Option<G>> {
    let Some(name) = without else {
        return Ok(None);
    };
    let found = all
        .iter()
        .find(|(guard, _)| snake(&format!("{guard:?}")) == name);
    let missing = || PyValueError::new_err(format!("no condition is called {name:?}"));
    found.map(|(guard, _)| Some(*guard)).ok_or_else(missing)
}

/// Return the conditions of a protocol: name and sentence.
#[pyfunction]
fn conditions(protocol: &str) -> PyResult<Vec<(String, &'static str)>> {
    named_conditions(protocol)
}

/// Search all states of a protocol.
#[pyfunction]
#[pyo3(signature = (protocol, *, caches, lines, entries, has_local, most_states, without))]
#[allow(clippy::too_many_arguments, reason = "named in Python")]
fn check_protocol<'py>(
    py: Python<'py>,
    protocol: &str,
    caches: usize,
    lines: usize,
    entries: Option<usize>,
    has_local: bool,
    most_states: usize,
    without: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    if !(1..=MOST_CHECKED).contains(&caches) || lines == 0 {
        return Err(PyValueError::new_err(format!(
            "{caches} caches and {lines} lines cannot be searched: 1 to {MOST_CHECKED} caches, 1 line or more"
        )));
    }
    let limits = Limits {
        caches,
        lines,
        entries,
        has_local,
        most_states,
    };
    let outcome = match protocol {
        "sci" => {
            let without = guard(sci::Guard::ALL, without)?;
            py.detach(|| searched(&Sci { without }, &limits))
        }
        "directory" => {
            let without = guard(directory::Guard::ALL, without)?;
            py.detach(|| searched(&Directory { without }, &limits))
        }
        _ => {
            named_conditions(protocol)?;
            guard::<()>(&[], without)?;
            py.detach(|| searched(&Uncached, &limits))
        }
    };
    let dict = PyDict::new(py);
    dict.set_item("states", outcome.states)?;
    dict.set_item("steps", outcome.steps)?;
    dict.set_item("depth", outcome.depth)?;
    dict.set_item("is_complete", outcome.is_complete)?;
    dict.set_item("unused", outcome.unused)?;
    dict.set_item("violation", outcome.violation)?;
    Ok(dict)
}
