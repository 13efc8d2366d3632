//! Words of a command line.
//!
//! White space separates words. Single quotes group; between them `\'` is a quote, `\\` a backslash
//! and `\ooo` the byte with this octal number. A backslash before anything else, or outside quotes,
//! stands for itself: patterns and query texts have their own use for it.

use std::fmt::Write as _;

use crate::refusal::{Answer, Code, Refusal};

/// Return the words of a line.
///
/// ```
/// use headroom_catalogue::language::words::words;
///
/// assert_eq!(words(r"find /jobs 'owner=\'ann\''")?, ["find", "/jobs", "owner='ann'"]);
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
///
/// # Errors
///
/// A quote is not closed, or octal bytes are not UTF-8 or hold NUL.
pub fn words(line: &str) -> Answer<Vec<String>> {
    let mut rest = line.as_bytes();
    let mut found = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Ok(found);
        }
        let mut word = Vec::new();
        rest = take_word(rest, &mut word)?;
        found.push(text(word)?);
    }
}

/// Return a text as one word of a line: the inverse of [`words`].
pub fn quoted(word: &str) -> String {
    let is_special = |c: char| c == '\'' || c.is_ascii_control() || c.is_ascii_whitespace();
    if !word.is_empty() && !word.contains(is_special) {
        return word.to_owned();
    }
    let mut found = String::with_capacity(word.len() + 2);
    found.push('\'');
    for c in word.chars() {
        match c {
            '\'' | '\\' => found.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(found, "\\{:03o}", u32::from(c));
            }
            c => found.push(c),
        }
    }
    found.push('\'');
    found
}

/// Append the word at the start of `rest` and return what follows.
fn take_word<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Answer<&'a [u8]> {
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'\'' => take_quoted(after, word)?,
            byte if byte.is_ascii_whitespace() => break,
            byte => {
                word.push(*byte);
                after
            }
        };
    }
    Ok(rest)
}

/// Append a part whose opening quote was read, and return what follows its closing quote.
fn take_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Answer<&'a [u8]> {
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b'\'' => return Ok(after),
            b'\\' => {
                let (byte, length) = escape(after);
                word.push(byte);
                rest = &after[length..];
            }
            byte => {
                word.push(*byte);
                rest = after;
            }
        }
    }
    Err(Refusal::new(
        Code::IllegalCommand,
        "a single quote is not closed",
    ))
}

/// Return the byte that a backslash and what follows it stand for, and the length of the latter.
fn escape(after: &[u8]) -> (u8, usize) {
    match *after {
        [byte @ (b'\'' | b'\\'), ..] => (byte, 1),
        [
            high @ b'0'..=b'3',
            middle @ b'0'..=b'7',
            low @ b'0'..=b'7',
            ..,
        ] => ((high - b'0') * 64 + (middle - b'0') * 8 + (low - b'0'), 3),
        _ => (b'\\', 0),
    }
}

fn text(word: Vec<u8>) -> Answer<String> {
    match String::from_utf8(word) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err(Refusal::new(
            Code::IllegalCommand,
            "a word may not hold the byte \\000",
        )),
        Err(_) => Err(Refusal::new(
            Code::IllegalCommand,
            "the bytes of a word are not UTF-8",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::chance::Chance;

    #[test]
    fn white_space_separates_and_quotes_group() {
        for (line, found) in [
            ("", vec![]),
            ("  pwd \t", vec!["pwd"]),
            (
                "selectattr  /d:FILE  'a > 1'",
                vec!["selectattr", "/d:FILE", "a > 1"],
            ),
            ("put ''", vec!["put", ""]),
            ("a'b c'd", vec!["ab cd"]),
            (r"x '\'\\\141\303\251'", vec!["x", r"'\aé"]),
            (r"x '\*\9\14' \*", vec!["x", r"\*\9\14", r"\*"]),
            (r#"find . 'n="CERN"'"#, vec!["find", ".", r#"n="CERN""#]),
        ] {
            assert_eq!(words(line).unwrap(), found, "{line}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for line in ["'", "a 'b", r"'\'", r"'\377'", r"'\000'", r"'\303' '\251'"] {
            assert!(words(line).is_err(), "{line}");
        }
    }

    #[test]
    fn any_text_can_be_quoted() {
        let mut chance = Chance::new(1);
        for _ in 0..5_000 {
            let texts: Vec<String> = (0..3).map(|_| chance.text(r"ab\'017é€ 	\", 8)).collect();
            let line = texts
                .iter()
                .map(|text| quoted(text))
                .collect::<Vec<_>>()
                .join(" ");
            assert_eq!(words(&line).unwrap(), texts, "{line}");
        }
        let control: String = (1..=0x7f_u8).map(char::from).collect();
        assert_eq!(words(&quoted(&control)).unwrap(), [control]);
    }
}
