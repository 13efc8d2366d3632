//! What clients did and what they were told, and a checker that compares it with what is there.
//!
//! Each entry belongs to one client, so that its history is a sequence. An acknowledged change must be there, a refused
//! one must not, and one whose outcome is unknown may be there or not, but never half.

use std::collections::BTreeMap;
use std::io;

use super::client::Client;

/// Words by which a server says that it does not know an outcome.
const UNKNOWN: &str = "may or may not have been made";

/// The state of an entry, as its client knows it: its value, and the one that it may have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    /// Acknowledged; none: it is not there.
    value: Option<u64>,
    /// Asked for.
    next: Option<u64>,
    /// Whether the outcome of that is unknown.
    is_open: bool,
}

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was acknowledged.
    Done,
    /// It was refused, with this code of AMGA.
    Refused(u8),
    /// The server does not know whether it was made.
    Unknown,
}

/// The entries of one client.
#[derive(Clone, Default)]
pub struct History {
    person: usize,
    step: u64,
    entries: BTreeMap<String, Known>,
}

/// Return whether an entry is always changed together with its twin, in a transaction.
fn has_twin(name: &str) -> bool {
    name.ends_with(['0', '1', '2'])
}

impl History {
    /// Return the empty history of a client with its own number.
    pub fn new(person: usize) -> Self {
        Self {
            person,
            ..Self::default()
        }
    }

    /// Add, change or remove the next entry, alone or with its twin; return its name and how that ended.
    ///
    /// # Errors
    ///
    /// If the connection breaks: nothing is known then.
    pub fn change(&mut self, client: &mut Client) -> io::Result<(String, Ended)> {
        let step = self.step;
        self.step += 1;
        let name = format!("c{}_{}", self.person, step % 7);
        let known = self.entries.entry(name.clone()).or_default();
        let (command, next) = match (known.value, step % 3) {
            (None, _) => (format!("addentry /d/{name} n {step}"), Some(step)),
            (Some(_), 0) => (format!("rm /d/{name}"), None),
            (Some(_), _) => (format!("setattr /d/{name} n {step}"), Some(step)),
        };
        known.next = next;
        known.is_open = true;
        let twin = command.replace(&name, &format!("{name}_twin"));
        let commands = if has_twin(&name) {
            vec!["transaction".to_owned(), command, twin, "commit".to_owned()]
        } else {
            vec![command]
        };
        let ended = follow(client, &commands)?;
        known.is_open = ended == Ended::Unknown;
        if ended == Ended::Done {
            known.value = next;
        }
        Ok((name, ended))
    }

    /// Compare all entries with what is there, and take over what was found.
    pub fn check(&mut self, there: &BTreeMap<String, u64>) {
        let names: Vec<_> = self.entries.keys().cloned().collect();
        for name in names {
            let twin = there.get(&format!("{name}_twin")).copied();
            self.check_one(&name, there.get(&name).copied(), twin);
        }
    }

    /// Compare one entry, and its twin if it has one.
    pub fn check_one(&mut self, name: &str, found: Option<u64>, twin: Option<u64>) {
        let known = self.entries.get_mut(name).unwrap();
        let is_fine = found == known.value || (known.is_open && found == known.next);
        assert!(is_fine, "{name}: {known:?}, found {found:?}");
        if has_twin(name) {
            assert_eq!(found, twin, "{name}: half a transaction");
        }
        known.value = found;
        known.is_open = false;
    }
}

/// Run commands until one is refused; then leave the transaction, which has failed.
fn follow(client: &mut Client, commands: &[String]) -> io::Result<Ended> {
    for (index, command) in commands.iter().enumerate() {
        let reply = client.run(command)?;
        if reply == "0\n" {
            continue;
        }
        if index > 0 && command != "commit" {
            client.run("abort")?;
        }
        if reply.contains(UNKNOWN) {
            return Ok(Ended::Unknown);
        }
        let code = reply
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok());
        return Ok(Ended::Refused(
            code.unwrap_or_else(|| panic!("{command}: {reply}")),
        ));
    }
    Ok(Ended::Done)
}

/// Return all entries, or nothing if the server refuses.
pub fn entries(client: &mut Client) -> Option<BTreeMap<String, u64>> {
    let reply = client.run("getattr /d/* n").unwrap();
    let mut lines = reply.lines();
    lines.next().filter(|line| line.starts_with("0 "))?;
    let mut found = BTreeMap::new();
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        found.insert(name.to_owned(), value.parse().unwrap());
    }
    Some(found)
}

#[test]
#[should_panic(expected = "found Some(4)")]
fn a_lost_change_is_found() {
    let mut history = History::new(0);
    let known = Known {
        value: Some(5),
        next: Some(5),
        is_open: false,
    };
    history.entries.insert("c0_6".to_owned(), known);
    history.check_one("c0_6", Some(5), None);
    history.check_one("c0_6", Some(4), None);
}

#[test]
#[should_panic(expected = "half a transaction")]
fn half_a_transaction_is_found() {
    let mut history = History::new(0);
    let known = Known {
        value: None,
        next: Some(5),
        is_open: true,
    };
    history.entries.insert("c0_1".to_owned(), known);
    history.check_one("c0_1", Some(5), None);
}
