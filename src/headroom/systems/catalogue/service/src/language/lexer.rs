//! Symbols, words, numbers and texts at a place of a query text.
//!
//! The parser asks for what may come next: so `/` is a division after a value and begins a path
//! before one, and no list of tokens is made.

use super::expression::Literal;
use crate::refusal::{Answer, Code, Refusal};

/// Longest query text (bytes).
pub const MAX_BYTES: usize = 64 * 1024;

/// A place in a text.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Return the start of a text.
    pub fn new(text: &'a str) -> Answer<Self> {
        if text.len() > MAX_BYTES {
            let message = format!("a query has at most {MAX_BYTES} bytes");
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        if text.contains('\0') {
            let message = "a query may not hold the character NUL";
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(Self { text, at: 0 })
    }

    /// Return the rest, from here on.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Move behind `length` bytes and return them.
    pub fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.at += length;
        taken
    }

    /// Move behind characters of a kind, and return them.
    pub fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !is_wanted(c)).unwrap_or(rest.len());
        self.take(length)
    }

    /// Move behind white space.
    pub fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// Return whether only white space follows.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// Move behind a symbol if it follows.
    pub fn symbol(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let is_here = self.rest().starts_with(symbol);
        if is_here {
            self.at += symbol.len();
        }
        is_here
    }

    /// Move behind a symbol.
    pub fn expect(&mut self, symbol: &str) -> Answer<()> {
        if self.symbol(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}`")))
    }

    /// Return the word that follows; empty if none does.
    pub fn peek_word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        if !rest.starts_with(is_word_start) {
            return "";
        }
        &rest[..rest.find(|c| !is_in_word(c)).unwrap_or(rest.len())]
    }

    /// Move behind a keyword if it follows, in any case of letters.
    pub fn keyword(&mut self, keyword: &str) -> bool {
        let is_here = self.peek_word().eq_ignore_ascii_case(keyword);
        if is_here {
            self.at += keyword.len();
        }
        is_here
    }

    /// Move behind a keyword.
    pub fn expect_keyword(&mut self, keyword: &str) -> Answer<()> {
        if self.keyword(keyword) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{keyword}`")))
    }

    /// Return the number that follows, with a minus sign that was read before it.
    pub fn number(&mut self, is_negative: bool) -> Answer<Literal> {
        let length = number_length(self.rest().as_bytes());
        let digits = self.take(length);
        if self.rest().starts_with(is_in_word) {
            return Err(self.unexpected("an operator"));
        }
        let sign = if is_negative { "-" } else { "" };
        let text = format!("{sign}{digits}");
        number(&text).ok_or_else(|| {
            let message = format!("the number {text} is too large");
            Refusal::new(Code::IllegalQuery, message)
        })
    }

    /// Return the text in quotes that follows; None if no quote does.
    pub fn quoted(&mut self) -> Answer<Option<String>> {
        self.skip_space();
        let Some(quote @ ('"' | '\'')) = self.rest().chars().next() else {
            return Ok(None);
        };
        let mut found = String::new();
        let mut rest = self.rest()[1..].char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            let is_escape = (c == quote && next == Some(quote))
                || (c == '\\' && quote == '"' && matches!(next, Some('"' | '\\')));
            if c == quote && !is_escape {
                self.at += at + 2;
                return Ok(Some(found));
            }
            found.push(if is_escape { next.unwrap_or(c) } else { c });
            if is_escape {
                rest.next();
            }
        }
        Err(Refusal::new(Code::IllegalQuery, "a quote is not closed"))
    }

    /// Return the refusal of what follows.
    pub fn unexpected(&mut self, expected: &str) -> Refusal {
        self.skip_space();
        let place = self.text[..self.at].chars().count() + 1;
        let found = match self.rest().chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end".to_owned(),
        };
        let message = format!("expected {expected} at character {place}, found {found}");
        Refusal::new(Code::IllegalQuery, message)
    }
}

/// Return whether a word may begin so.
pub fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Return whether a word may have this after its start.
pub fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Return the length of digits, a point and an exponent.
pub(super) fn number_length(bytes: &[u8]) -> usize {
    let digits_from = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut length = digits_from(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits_from(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let digits = digits_from(length + 1 + sign);
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

/// Return the literal of a text that is a number and nothing else.
pub fn number_of(text: &str) -> Option<Literal> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let has_digit = digits.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digit && number_length(digits.as_bytes()) == digits.len();
    is_number
        .then(|| number(text.strip_prefix('+').unwrap_or(text)))
        .flatten()
}

/// Return the literal of a text of digits; None if it is too large.
fn number(text: &str) -> Option<Literal> {
    if text.contains(['e', 'E']) {
        return real(text);
    }
    let Some((whole, fraction)) = text.split_once('.') else {
        return text.parse().ok().map(Literal::Integer);
    };
    let digits = whole.trim_start_matches(['-', '0']).len() + fraction.len();
    if digits > usize::from(crate::value::text::MAX_PRECISION) {
        return real(text);
    }
    Some(Literal::Decimal {
        unscaled: format!("{whole}{fraction}").parse().ok()?,
        scale: u8::try_from(fraction.len()).ok()?,
    })
}

fn real(text: &str) -> Option<Literal> {
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Literal::Real(number))
}
