//! The texts of an operation: those that a client sends one after the other, each when the one
//! before has been answered.

use std::fmt::Write as _;
use std::num::NonZeroU64;

use headroom::simulation::kernel::random::stream::mix;

use super::job::Form;
use super::target::{AmgaTarget, PostgresTarget};

/// The attribute that holds the GUID.
const ATTRIBUTE: &str = "guid";

/// A text with places for the entry's name and GUID.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name,
    Guid,
}

impl Template {
    fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        loop {
            let places = [("{name}", Piece::Name), ("{guid}", Piece::Guid)];
            let found = places
                .into_iter()
                .filter_map(|(word, piece)| rest.find(word).map(|at| (at, word, piece)));
            let Some((at, word, piece)) = found.min_by_key(|(at, ..)| *at) else {
                break;
            };
            pieces.push(Piece::Text(rest[..at].to_owned()));
            pieces.push(piece);
            rest = &rest[at + word.len()..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Self(pieces)
    }

    fn fill(&self, entry: &Entry, into: &mut String) {
        for piece in &self.0 {
            into.push_str(match piece {
                Piece::Text(text) => text,
                Piece::Name => &entry.name,
                Piece::Guid => &entry.guid,
            });
        }
    }
}

/// The name and the GUID of an entry; the GUID follows from the name's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// 32 hexadecimal digits.
    pub guid: String,
}

impl Entry {
    /// Become the entry `number` of those whose names begin with `prefix`; with `per_directory`
    /// the name begins with that of the entry's directory.
    pub fn set(&mut self, prefix: &str, number: u64, per_directory: Option<NonZeroU64>) {
        self.name.clear();
        self.guid.clear();
        if let Some(per_directory) = per_directory {
            let _ = write!(self.name, "{:x}/", number / per_directory);
        }
        let _ = write!(self.name, "{prefix}{number:x}");
        let _ = write!(self.guid, "{:016x}{:016x}", mix(number), mix(!number));
    }
}

/// The texts of one kind of operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    texts: Vec<Template>,
    /// Sent if a text was refused inside a transaction.
    undo: Option<&'static str>,
}

impl Script {
    fn new(form: Form, [begin, end, undo]: [&'static str; 3], work: &[String]) -> Self {
        let mut texts: Vec<Template> = work.iter().map(|text| Template::parse(text)).collect();
        if form == Form::Single {
            return Self { texts, undo: None };
        }
        texts.insert(0, Template::parse(begin));
        texts.push(Template::parse(end));
        Self {
            texts,
            undo: Some(undo),
        }
    }

    /// Return the number of texts.
    pub fn text_count(&self) -> usize {
        self.texts.len()
    }

    /// Append the text `index` for `entry` to `into`.
    pub fn fill(&self, index: usize, entry: &Entry, into: &mut String) {
        self.texts[index].fill(entry, into);
    }

    /// Return the text that ends a transaction after the text `index` was refused.
    pub fn undo_after(&self, index: usize) -> Option<&'static str> {
        self.undo.filter(|_| index > 0)
    }
}

/// The scripts of both kinds of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripts {
    /// Of an insertion.
    pub insert: Script,
    /// Of a query.
    pub query: Script,
}

impl Scripts {
    /// Return the commands of a catalogue.
    pub fn of_amga(target: &AmgaTarget, form: Form) -> Self {
        let directory = target.directory.trim_end_matches('/');
        let insert = format!("addentry {directory}/{{name}} {ATTRIBUTE} {{guid}}");
        let query = format!("getattr {directory}/{{name}} {ATTRIBUTE}");
        let words = ["transaction", "commit", "abort"];
        Self {
            insert: Script::new(form, words, &[insert]),
            query: Script::new(form, words, &[query]),
        }
    }

    /// Return the statements of a database.
    pub fn of_postgres(target: &PostgresTarget, form: Form) -> Self {
        let words = ["BEGIN", "COMMIT", "ROLLBACK"];
        Self {
            insert: Script::new(form, words, &target.insert),
            query: Script::new(form, words, &target.query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &Script, entry: &Entry) -> Vec<String> {
        let filled = |index| {
            let mut text = String::new();
            script.fill(index, entry, &mut text);
            text
        };
        (0..script.text_count()).map(filled).collect()
    }

    fn amga() -> AmgaTarget {
        let text = r#"{"address": "127.0.0.1:1", "login": "a", "directory": "/d/"}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_insertion_is_a_transaction_in_the_papers_form() {
        let entry = Entry {
            name: "n1".to_owned(),
            guid: "77".to_owned(),
        };
        let scripts = Scripts::of_amga(&amga(), Form::Transaction);
        assert_eq!(
            texts(&scripts.insert, &entry),
            ["transaction", "addentry /d/n1 guid 77", "commit"]
        );
        assert_eq!(scripts.insert.undo_after(1), Some("abort"));
        assert_eq!(scripts.insert.undo_after(0), None);
        let scripts = Scripts::of_amga(&amga(), Form::Single);
        assert_eq!(texts(&scripts.query, &entry), ["getattr /d/n1 guid"]);
        assert_eq!(scripts.query.undo_after(0), None);
    }

    #[test]
    fn a_place_may_come_more_than_once_and_in_any_order() {
        let entry = Entry {
            name: "n".to_owned(),
            guid: "g".to_owned(),
        };
        let script = Script::new(
            Form::Single,
            ["", "", ""],
            &["{guid}-{name}{name} {other}".to_owned()],
        );
        assert_eq!(texts(&script, &entry), ["g-nn {other}"]);
    }

    #[test]
    fn an_entry_is_known_by_its_number() {
        let mut entries = [Entry::default(), Entry::default(), Entry::default()];
        entries[0].set("k-", 10, None);
        entries[1].set("k-", 11, None);
        entries[2].set("k-", 10, None);
        assert_eq!(entries[0], entries[2]);
        assert_eq!(entries[0].name, "k-a");
        assert_eq!(entries[0].guid.len(), 32);
        assert_ne!(entries[0].guid, entries[1].guid);
        entries[1].set("k-", 1000, NonZeroU64::new(50));
        assert_eq!(entries[1].name, "14/k-3e8");
    }
}
