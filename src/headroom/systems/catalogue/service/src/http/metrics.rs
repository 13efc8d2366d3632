//! Counts in the text format of Prometheus. No name of a person, an entry or a host is in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, UNIX_EPOCH};

use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use super::login::Asker;
use super::problem::Problem;
use super::{Http, Shares};
use crate::metrics::BOUNDS_US;

const PREFIX: &str = "headroom_catalogue";

/// Show the counts.
pub(super) async fn show(State(http): Shares, request: Request) -> Result<Response, Problem> {
    if !http.settings.are_metrics_open {
        let mut parts = request.into_parts().0;
        let asker = Asker::from_request_parts(&mut parts, &http).await?;
        asker.demand_root()?;
    }
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text(&http)).into_response())
}

fn text(http: &Http) -> String {
    let mut page = Page::default();
    operations(http, &mut page);
    connections(http, &mut page);
    databases(http, &mut page);
    let responses = http.responses().clone();
    page.family("http_responses_total", "counter", "Responses by status.");
    for (status, count) in responses {
        page.sample(
            "http_responses_total",
            &[("status", &status.to_string())],
            count,
        );
    }
    let began = http.began.1.duration_since(UNIX_EPOCH).unwrap_or_default();
    page.alone(
        "start_time_seconds",
        "When the program began.",
        began.as_secs_f64(),
    );
    page.alone(
        "draining",
        "Whether connections end.",
        u8::from(http.is_draining()),
    );
    page.0
}

fn operations(http: &Http, page: &mut Page) {
    let metrics = http.catalogue().metrics();
    page.family(
        "operations_total",
        "counter",
        "Operations by command and code, 0: success.",
    );
    let mut errors: BTreeMap<usize, u64> = BTreeMap::new();
    for (command, operation) in metrics.operations() {
        for (code, count) in operation.codes() {
            let labels = [("command", command), ("code", &code.to_string())];
            page.sample("operations_total", &labels, count);
            if code > 0 {
                *errors.entry(code).or_default() += count;
            }
        }
    }
    page.family("errors_total", "counter", "Refused operations by code.");
    for (code, count) in errors {
        page.sample("errors_total", &[("code", &code.to_string())], count);
    }
    page.family(
        "operation_seconds",
        "histogram",
        "Time of operations by command.",
    );
    for (command, operation) in metrics.operations() {
        let mut count = 0;
        let bounds = BOUNDS_US.map(|bound| Duration::from_micros(bound).as_secs_f64().to_string());
        let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
        for (bound, of_class) in bounds.zip(operation.classes()) {
            count += of_class;
            let labels = [("command", command), ("le", bound)];
            page.sample("operation_seconds_bucket", &labels, count);
        }
        let labels = [("command", command)];
        let sum = operation.sum().as_secs_f64();
        page.sample("operation_seconds_sum", &labels, sum);
        page.sample("operation_seconds_count", &labels, count);
    }
}

fn connections(http: &Http, page: &mut Page) {
    let server = &http.server;
    let (most, free) = (
        server.settings.max_connections,
        server.places.available_permits(),
    );
    page.alone("connections", "Open connections of all kinds.", most - free);
    page.alone("connections_max", "Connections at most.", most);
    let open = http.open.load(Relaxed);
    page.alone("http_connections", "Open connections of HTTP.", open);
    let persons = server.persons.counts();
    let sessions: usize = persons.iter().map(|(_, count)| count).sum();
    page.alone(
        "sessions",
        "Connections and requests that logged in.",
        sessions,
    );
    page.alone("persons", "Persons who are there.", persons.len());
    page.family("handshakes_total", "counter", "TLS handshakes by kind.");
    for (kind, count) in server.handshakes.counts() {
        page.sample("handshakes_total", &[("kind", kind)], count);
    }
}

fn databases(http: &Http, page: &mut Page) {
    let store = http.catalogue().store();
    let pools = store.state();
    let mut each = |name: &str, kind: &str, help: &str, of: &dyn Fn(usize) -> u64| {
        page.family(name, kind, help);
        for number in 0..pools.len() {
            let label = number.to_string();
            page.sample(name, &[("database", &label)], of(number));
        }
    };
    let gauge = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    each("pool_size", "gauge", "Connections at most.", &|at| {
        gauge(pools[at].size)
    });
    each("pool_open", "gauge", "Open connections.", &|at| {
        gauge(pools[at].open)
    });
    each("pool_in_use", "gauge", "Connections in use.", &|at| {
        gauge(pools[at].open.saturating_sub(pools[at].idle))
    });
    each(
        "pool_waiting",
        "gauge",
        "Tasks that wait for a connection.",
        &|at| gauge(pools[at].waiting),
    );
    each(
        "statements_total",
        "counter",
        "Statements that were sent.",
        &|at| pools[at].statements,
    );
    each(
        "leases_total",
        "counter",
        "Times that a connection was taken: once for a transaction.",
        &|at| pools[at].leased,
    );
    page.family(
        "repeated_total",
        "counter",
        "Repetitions after a conflict or a loss.",
    );
    page.sample("repeated_total", &[], store.repeated());
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {PREFIX}_{name} {help}");
        let _ = writeln!(self.0, "# TYPE {PREFIX}_{name} {kind}");
    }

    /// Labels are names of the program: nothing in them needs a backslash.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        let labels = match &labels[..] {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{PREFIX}_{name}{labels} {value}");
    }

    fn alone(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }
}
