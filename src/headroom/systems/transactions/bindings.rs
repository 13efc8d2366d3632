//! Functions for Python; `native.pyi` has their types.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::inputs::{
    BY_NAME, CUSTOMERS, Chance, Constants, DISTRICTS, ITEMS, Input, Kind, LINES, NAMED_IN_ORDER,
    NAMES, REMOTE_LINES, REMOTE_PAYMENTS, ROLLBACKS, Terminal, Who,
};
use crate::simulation::kernel::random::stream::open;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let kinds = PyDict::new(module.py());
    for kind in Kind::ALL {
        kinds.set_item(
            kind.name(),
            (kind.cards(), kind.keying_s(), kind.thinking_s()),
        )?;
    }
    module.add("KINDS", kinds)?;
    module.add("LINES", LINES)?;
    for (name, share) in [
        ("BY_NAME_SHARE", BY_NAME),
        ("REMOTE_LINE_SHARE", REMOTE_LINES),
        ("REMOTE_PAYMENT_SHARE", REMOTE_PAYMENTS),
        ("ROLLBACK_SHARE", ROLLBACKS),
    ] {
        module.add(name, share)?;
    }
    for (name, count) in [
        ("CUSTOMERS", CUSTOMERS),
        ("DISTRICTS", DISTRICTS),
        ("ITEMS", ITEMS),
        ("NAMED_IN_ORDER", NAMED_IN_ORDER),
        ("NAMES", NAMES),
    ] {
        module.add(name, count)?;
    }
    module.add_function(wrap_pyfunction!(count_inputs, module)?)
}

/// Draw the inputs of one terminal, and count what they hold.
#[pyfunction]
#[pyo3(signature = (*, seed, warehouses, transactions))]
fn count_inputs(
    seed: u64,
    warehouses: u32,
    transactions: usize,
) -> PyResult<BTreeMap<&'static str, usize>> {
    if warehouses == 0 {
        return Err(PyValueError::new_err("there is no warehouse"));
    }
    let constants = Constants::draw(&mut open(seed, 0));
    let mut terminal = Terminal::new(Chance::new(seed, 1, constants), warehouses, 1, 1);
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut add = |name: &'static str, count: usize| *counts.entry(name).or_insert(0) += count;
    for _ in 0..transactions {
        let kind = terminal.next_kind();
        add(kind.name(), 1);
        let input = terminal.input(kind);
        add("rolled back", usize::from(input.rolls_back()));
        match input {
            Input::NewOrder {
                warehouse, lines, ..
            } => {
                let remote = lines
                    .iter()
                    .filter(|line| line.supplier != warehouse)
                    .count();
                add("lines", lines.len());
                add("remote lines", remote);
                add("orders with remote lines", usize::from(remote > 0));
            }
            Input::Payment {
                warehouse, of, who, ..
            } => {
                add("remote payments", usize::from(of.0 != warehouse));
                add("by name", usize::from(matches!(who, Who::Name(_))));
            }
            Input::OrderStatus { who, .. } => {
                add("by name", usize::from(matches!(who, Who::Name(_))));
            }
            Input::Delivery { .. } | Input::StockLevel { .. } => (),
        }
    }
    Ok(counts)
}
