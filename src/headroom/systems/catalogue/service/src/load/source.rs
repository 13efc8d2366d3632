//! The operations of a job, for the shared load driver.
//!
//! Each client of a closed load is a separate stream, so that it keeps its connection while others
//! think; an open load is one stream for all connections.

use headroom::recording::load::due::Due;
use headroom::recording::load::operation::{self, Classes, Stream};
use headroom::simulation::kernel::random::distribution::Sampler;
use headroom::simulation::kernel::random::stream::{self, Stream as Generator};
use rand::Rng as _;

use super::error::LoadError;
use super::job::{Arrivals, Entries, Job};

/// Ticks of a sampler in a second.
const NS_PER_S: f64 = 1e9;
/// Operations of a client before their numbers meet those of the next one: 2^40.
const CLIENT_SHIFT: u32 = 40;
/// Purposes of random numbers; each client has its own streams of them.
const CHOICES: u64 = 0;
const PAUSES: u64 = 1;
const PURPOSES: u64 = 2;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Insert a new entry.
    Insert,
    /// Insert an entry that queries know.
    Fill,
    /// Ask for the GUID of a known entry.
    Query,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its kind.
    pub kind: Kind,
    /// Number of its entry.
    pub number: u64,
    /// The client that carries it out; None: the connection of its place.
    pub client: Option<u32>,
    /// When it is due (ns) since the start; None: when its client is free.
    pub due_ns: Option<u64>,
}

impl operation::Operation for Operation {
    const BLANK: Self = Self {
        kind: Kind::Query,
        number: 0,
        client: None,
        due_ns: None,
    };

    fn kind(&self) -> usize {
        match self.kind {
            Kind::Insert | Kind::Fill => 0,
            Kind::Query => 1,
        }
    }

    fn bytes(&self) -> u32 {
        0
    }

    fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }
}

/// A stream's own state.
struct Client {
    choices: Generator,
    pauses: Generator,
    due: Due,
    begun_count: u64,
}

/// The operations of a job.
pub struct Operations {
    streams: Vec<Stream>,
    clients: Vec<Client>,
    entries: Entries,
    think: Option<Sampler>,
    is_closed: bool,
    is_fill: bool,
}

impl Operations {
    /// Return the operations of `job`.
    ///
    /// # Errors
    ///
    /// If a number of a distribution is outside its range.
    pub fn new(job: &Job) -> Result<Self, LoadError> {
        let (stream_count, depth) = match job.load {
            Arrivals::Closed { clients, .. } => (clients, 1),
            Arrivals::Open { .. } => (1, u32::MAX),
            Arrivals::Fill { connections } => (1, connections),
        };
        let think = match &job.load {
            Arrivals::Closed { think, .. } => think.as_ref(),
            _ => None,
        };
        let sampler = think.map(|law| law.compile(NS_PER_S)).transpose();
        let clients = (0..stream_count).map(|index| client(job, index));
        Ok(Self {
            streams: (0..stream_count).map(|index| named(index, depth)).collect(),
            clients: clients.collect::<Result<_, _>>()?,
            entries: job.entries.clone(),
            think: sampler.map_err(|error| LoadError::job(error.to_string()))?,
            is_closed: matches!(job.load, Arrivals::Closed { .. }),
            is_fill: matches!(job.load, Arrivals::Fill { .. }),
        })
    }

    /// Return the classes of the results.
    pub fn classes(&self) -> Classes {
        let names = vec!["insert".to_owned(), "query".to_owned()];
        let kind_count = names.len();
        Classes::new(names, [0, 1].repeat(self.streams.len()), kind_count)
    }

    fn next(&mut self, index: usize) -> Option<Operation> {
        let client = &mut self.clients[index];
        let number = client.begun_count;
        if self.is_fill && number == self.entries.known {
            return None;
        }
        client.begun_count += 1;
        let (kind, number) = if self.is_fill {
            (Kind::Fill, number)
        } else if share(&mut client.choices) < self.entries.insert_share {
            let first = u64::from(self.entries.first_client) + index as u64;
            (Kind::Insert, (first << CLIENT_SHIFT) + number)
        } else {
            (Kind::Query, below(&mut client.choices, self.entries.known))
        };
        Some(Operation {
            kind,
            number,
            client: self.is_closed.then(|| u32::try_from(index).unwrap_or(0)),
            due_ns: client.due.tick(),
        })
    }
}

fn named(index: u32, depth: u32) -> Stream {
    let name = format!("client {}", u64::from(index) + 1);
    Stream { name, depth }
}

fn client(job: &Job, index: u32) -> Result<Client, LoadError> {
    let number = u64::from(job.entries.first_client) + u64::from(index);
    let generator = |purpose| stream::open(job.seed, number * PURPOSES + purpose);
    let due = match &job.load {
        Arrivals::Open {
            rate_per_s, law, ..
        } => Due::open(*rate_per_s, law, generator(PAUSES), (0, 1)).map_err(LoadError::job)?,
        _ => Due::Closed,
    };
    Ok(Client {
        choices: generator(CHOICES),
        pauses: generator(PAUSES),
        due,
        begun_count: 0,
    })
}

/// Return a number in [0, 1).
fn share(generator: &mut Generator) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Return a number from 0 to below `limit`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the product of two 64-bit numbers has its upper half below `limit`"
)]
fn below(generator: &mut Generator, limit: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(limit)) >> 64) as u64
}

impl operation::Source for Operations {
    type Operation = Operation;

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn fill(&mut self, stream: usize, count: usize, operations: &mut Vec<Operation>) {
        for _ in 0..count {
            let Some(operation) = self.next(stream) else {
                return;
            };
            operations.push(operation);
            if operation.due_ns.is_some() {
                return;
            }
        }
    }

    fn thinks(&self, _stream: usize) -> bool {
        self.think.is_some()
    }

    fn think_ns(&mut self, stream: usize) -> u64 {
        let pauses = &mut self.clients[stream].pauses;
        self.think.as_mut().map_or(0, |think| think.draw(pauses))
    }
}

#[cfg(test)]
mod tests {
    use headroom::recording::load::operation::Source as _;

    use super::*;

    fn operations(load: &str, entries: &str) -> Operations {
        let text = format!(
            r#"{{"seed": 5, "target": {{"kind": "nothing"}}, "load": {load}, "entries": {entries},
                "stop": {{"operations": 9}}}}"#
        );
        Operations::new(&Job::parse(&text).unwrap()).unwrap()
    }

    fn some(of: &mut Operations, stream: usize, count: usize) -> Vec<Operation> {
        let mut found = Vec::new();
        while found.len() < count {
            of.fill(stream, 1, &mut found);
        }
        found
    }

    #[test]
    fn clients_of_all_processes_insert_different_entries() {
        let of = |first: u32| {
            let entries = format!(r#"{{"insert_share": 1, "first_client": {first}}}"#);
            operations(r#"{"kind": "closed", "clients": 2}"#, &entries)
        };
        let mut numbers = Vec::new();
        for mut one in [of(0), of(2)] {
            for stream in 0..2 {
                numbers.extend(some(&mut one, stream, 50).iter().map(|one| one.number));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200);
    }

    #[test]
    fn queries_name_known_entries_and_the_share_of_insertions_is_kept() {
        let entries = r#"{"insert_share": 0.25, "known": 7}"#;
        let mut of = operations(r#"{"kind": "closed", "clients": 1}"#, entries);
        let found = some(&mut of, 0, 10_000);
        let queries: Vec<u64> = found
            .iter()
            .filter(|one| one.kind == Kind::Query)
            .map(|one| one.number)
            .collect();
        // Four standard deviations of a binomial number.
        assert!((queries.len() as f64 - 7500.0).abs() < 4.0 * 43.3);
        assert!((0..7).all(|number| queries.contains(&number)));
        assert!(queries.iter().all(|number| *number < 7));
    }

    #[test]
    fn a_fill_names_each_known_entry_once() {
        let load = r#"{"kind": "fill", "connections": 4}"#;
        let mut of = operations(load, r#"{"known": 3}"#);
        let mut found = Vec::new();
        of.fill(0, 10, &mut found);
        let numbers: Vec<u64> = found.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(found.iter().all(|one| one.kind == Kind::Fill));
    }

    #[test]
    fn an_open_load_has_due_times_of_its_rate() {
        let load = r#"{"kind": "open", "rate_per_s": 1000, "connections": 4}"#;
        let mut of = operations(load, "{}");
        let found = some(&mut of, 0, 10_000);
        let last_s = found.last().and_then(|one| one.due_ns).unwrap() as f64 / NS_PER_S;
        // Four standard deviations of a sum of 10,000 exponential gaps.
        assert!((last_s - 10.0).abs() < 4.0 * 0.1, "{last_s}");
        assert!(found.is_sorted_by_key(|one| one.due_ns));
    }

    #[test]
    fn a_client_thinks_as_long_as_the_law_says() {
        let load = r#"{"kind": "closed", "clients": 1,
            "think": {"kind": "constant", "value": 0.5}}"#;
        let mut of = operations(load, "{}");
        assert!(of.thinks(0));
        assert_eq!(of.think_ns(0), 500_000_000);
    }
}
