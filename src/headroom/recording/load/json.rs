//! The result of a run as JSON, for a load driver in a separate program.
//!
//! The names are those of the dictionaries that the bindings return, so `recording/merging.py` joins
//! results of several programs. Columns of tables and counts of histograms are flat: rows first.
//!
//! JSON knows neither infinity nor a missing number: both are null, and the place says which.

use serde_json::{Map, Value, json};

use super::operation::Operation;
use super::outcome::{ClassTotal, Outcome, Quantity, Tables};
use crate::recording::clock::Usage;
use crate::recording::spans::SpansTable;
use crate::simulation::kernel::run::result::{SeriesTable, Table};

/// Return all of `outcome` except its failures, whose operations only their system understands.
pub fn outcome<O: Operation>(outcome: &Outcome<O>) -> Map<String, Value> {
    let classes = outcome.classes.iter();
    let mut all = Map::new();
    let mut set = |name: &str, value: Value| all.insert(name.to_owned(), value);
    set("stop_reason", json!(outcome.stop_reason.name()));
    set("load_s", json!(outcome.load_s));
    set("end_s", json!(outcome.end_s));
    set("problem", json!(outcome.problem));
    set("outstanding_count", json!(outcome.outstanding_count));
    set("waiting_count", json!(outcome.waiting_count));
    set("snapshots", tables(&outcome.snapshots));
    set("samples", json!(outcome.samples.as_ref().map(tables)));
    set("series", by_class(&outcome.series, series));
    set(
        "histograms",
        json!({
            "response_s": by_class(&outcome.response, spans),
            "service_s": by_class(&outcome.service, spans),
            "submit_error_s": by_class(&outcome.submit_error, spans),
        }),
    );
    set(
        "classes",
        classes.map(|one| (one.name.clone(), total(one))).collect(),
    );
    all
}

/// Return the resources that the program itself used.
pub fn usage(usage: &Usage) -> Map<String, Value> {
    let counters = json!({
        "cpu_s": usage.user_s + usage.system_s,
        "cpu_user_s": usage.user_s,
        "cpu_system_s": usage.system_s,
        "minor_fault_count": usage.minor_fault_count,
        "major_fault_count": usage.major_fault_count,
        "voluntary_switch_count": usage.voluntary_switch_count,
        "involuntary_switch_count": usage.involuntary_switch_count,
    });
    match counters {
        Value::Object(counters) => counters,
        _ => Map::new(),
    }
}

fn by_class<T>(quantities: &[Quantity<T>], value: impl Fn(&T) -> Value) -> Value {
    let named = quantities.iter();
    named
        .map(|one| (one.class.clone(), value(&one.values)))
        .collect()
}

fn tables(tables: &Tables) -> Value {
    json!({
        "times_s": tables.times_s,
        "classes": table(&tables.classes),
        "stations": table(&tables.stations),
    })
}

fn table(table: &Table) -> Value {
    let columns = |all: &[(&'static str, Vec<f64>)]| -> Value {
        let named = all.iter();
        named
            .map(|(name, values)| ((*name).to_owned(), json!(values)))
            .collect()
    };
    json!({
        "names": table.names,
        "capacity": table.capacity,
        "columns": columns(&table.columns),
        "maxima": columns(&table.maxima),
    })
}

fn series(series: &SeriesTable) -> Value {
    json!({
        "values": series.values,
        "batch_size": series.batch_size,
        "end_times_s": series.end_times_s,
    })
}

fn spans(spans: &SpansTable) -> Value {
    let [sums, square_sums, minima, maxima] = &spans.totals;
    json!({
        "bin_low": spans.histogram.bin_low,
        "bin_high": spans.histogram.bin_high,
        "counts": spans.histogram.counts,
        "segment_end_times_s": spans.histogram.segment_end_times_s,
        "totals": {
            "sums": sums,
            "square_sums": square_sums,
            "minima": minima,
            "maxima": maxima,
        },
    })
}

fn total(class: &ClassTotal) -> Value {
    json!({
        "arrival_count": class.arrival_count,
        "begin_count": class.begin_count,
        "completion_count": class.completion_count,
        "failure_count": class.failure_count,
        "defect_count": class.defect_count,
        "late_count": class.late_count,
        "bytes": class.bytes,
        "response_s_min": class.response_s.0,
        "response_s_max": class.response_s.1,
        "service_s_min": class.service_s.0,
        "service_s_max": class.service_s.1,
        "submit_error_s_min": class.submit_error_s.0,
        "submit_error_s_max": class.submit_error_s.1,
        "submit_error_s_sum": class.submit_error_s_sum,
    })
}
