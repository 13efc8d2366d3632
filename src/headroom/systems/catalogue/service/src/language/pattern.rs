//! Patterns: `*` and `?` of names, `%` and `_` of the function `like`.
//!
//! A condition never relies on how a database compares letters: SQLite gets `GLOB`, because its
//! `LIKE` takes `a` and `A` for the same.

use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::Value;

/// Characters of a pattern.
const MAX_CHARACTERS: usize = 4096;
/// Parts of a pattern that stand for any text.
const MAX_GAPS: usize = 64;

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// This character.
    Character(char),
    /// Any character.
    One,
    /// Any text; never two of them in a row.
    Any,
}

/// A pattern of a whole text.
///
/// ```
/// use headroom_catalogue::language::pattern::Pattern;
///
/// let pattern = Pattern::parse("run?_*.root")?;
/// assert!(pattern.matches("run7_muon.root"));
/// assert!(!pattern.matches("run_muon.root"));
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

impl Pattern {
    /// Return the pattern of a text with `*` and `?`; a backslash makes the next character literal.
    ///
    /// # Errors
    ///
    /// It ends with a backslash, or is too long.
    pub fn parse(text: &str) -> Answer<Self> {
        Self::read(text, '*', '?')
    }

    /// Return the pattern of a text with `%` and `_`; a backslash makes the next character literal.
    ///
    /// # Errors
    ///
    /// It ends with a backslash, or is too long.
    pub fn parse_like(text: &str) -> Answer<Self> {
        Self::read(text, '%', '_')
    }

    /// Return the pattern that this text alone matches.
    pub fn exact(text: &str) -> Self {
        Self {
            parts: text.chars().map(Part::Character).collect(),
        }
    }

    /// Return the only text that matches; None if others do.
    pub fn literal(&self) -> Option<String> {
        let prefix = self.prefix();
        (prefix.chars().count() == self.parts.len()).then_some(prefix)
    }

    /// Return whether all of a text matches.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut part, mut at) = (0, 0);
        // Only the last gap needs to grow: an earlier one that matched stays as short as it can be.
        let mut gap = None;
        loop {
            let is_matching = match (self.parts.get(part), text.get(at)) {
                (Some(Part::Any), _) => {
                    part += 1;
                    gap = Some((part, at));
                    continue;
                }
                (None, None) => return true,
                (Some(Part::One), Some(_)) => true,
                (Some(Part::Character(wanted)), Some(found)) => wanted == found,
                _ => false,
            };
            if is_matching {
                (part, at) = (part + 1, at + 1);
                continue;
            }
            let Some((after_gap, start)) = gap.filter(|(_, start)| *start < text.len()) else {
                return false;
            };
            gap = Some((after_gap, start + 1));
            (part, at) = (after_gap, start + 1);
        }
    }

    /// Return the condition that a text matches. The range of its first characters comes before the
    /// pattern, so that an index helps; `operand` appears up to three times.
    pub fn condition(&self, operand: &Sql) -> Sql {
        let prefix = self.prefix();
        if prefix.is_empty() || self.literal().is_some() {
            return self.matching(operand);
        }
        let mut found = Sql::new("(");
        found
            .append(operand.clone())
            .text(" >= ")
            .append(text_value(prefix.clone()));
        if let Some(end) = after_prefix(&prefix) {
            found
                .text(" AND ")
                .append(operand.clone())
                .text(" < ")
                .append(text_value(end));
        }
        found.text(" AND ").append(self.matching(operand)).text(")");
        found
    }

    /// Return the condition that a text matches, with `operand` once.
    pub fn matching(&self, operand: &Sql) -> Sql {
        let mut found = Sql::new("(");
        found.append(operand.clone());
        if let Some(literal) = self.literal() {
            found.text(" = ").append(text_value(literal)).text(")");
            return found;
        }
        let like = Value::Text(self.text(Form::Like));
        let mut of_sqlite = Sql::new(" GLOB ");
        of_sqlite.bind(Value::Text(self.text(Form::Glob)));
        let mut of_postgres = Sql::new(" LIKE CAST(");
        of_postgres.bind(like.clone()).text(" AS text) ESCAPE '|'");
        let mut of_mysql = Sql::new(" LIKE ");
        of_mysql
            .bind(like)
            .text(" COLLATE utf8mb4_nopad_bin ESCAPE '|'");
        found.either([of_sqlite, of_postgres, of_mysql]).text(")");
        found
    }

    fn read(text: &str, any: char, one: char) -> Answer<Self> {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let part = match c {
                '\\' => Part::Character(rest.next().ok_or_else(lone_backslash)?),
                c if c == any => Part::Any,
                c if c == one => Part::One,
                c => Part::Character(c),
            };
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        let gaps = parts.iter().filter(|part| **part == Part::Any).count();
        if parts.len() > MAX_CHARACTERS || gaps > MAX_GAPS {
            let message = format!(
                "a pattern has at most {MAX_CHARACTERS} characters and {MAX_GAPS} times `{any}`"
            );
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(Self { parts })
    }

    /// Return the characters before the first part that stands for others.
    fn prefix(&self) -> String {
        let characters = self.parts.iter().map_while(|part| match part {
            Part::Character(c) => Some(*c),
            _ => None,
        });
        characters.collect()
    }

    fn text(&self, form: Form) -> String {
        let mut text = String::with_capacity(self.parts.len() + 8);
        for part in &self.parts {
            match (part, form) {
                (Part::Any, Form::Like) => text.push('%'),
                (Part::One, Form::Like) => text.push('_'),
                (Part::Any, Form::Glob) => text.push('*'),
                (Part::One, Form::Glob) => text.push('?'),
                (Part::Character(c @ ('%' | '_' | '|')), Form::Like) => text.extend(['|', *c]),
                (Part::Character(c @ ('*' | '?' | '[')), Form::Glob) => {
                    text.extend(['[', *c, ']']);
                }
                (Part::Character(c), _) => text.push(*c),
            }
        }
        text
    }
}

/// How a database writes a pattern.
#[derive(Clone, Copy)]
enum Form {
    /// Of PostgreSQL and MariaDB, with `|` before a literal.
    Like,
    /// Of SQLite, with brackets around a literal.
    Glob,
}

/// Return a bound text that is compared by its bytes, even with another bound text.
pub(super) fn text_value(text: String) -> Sql {
    let mut found = Sql::default();
    found
        .by_dialect(["", "(CAST(", "("])
        .bind(Value::Text(text))
        .by_dialect([
            "",
            " AS text) COLLATE \"C\")",
            " COLLATE utf8mb4_nopad_bin)",
        ]);
    found
}

/// Return the first text after all that begin with `prefix`; None if there is none.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // `Step` leaves out the numbers that are no characters.
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

fn lone_backslash() -> Refusal {
    let message = "a pattern ends with `\\`; write `\\\\` for a backslash";
    Refusal::new(Code::IllegalQuery, message)
}

#[cfg(test)]
mod tests;
