//! Types and values as text: as `addattr` and `setattr` give them, and as replies show them.

use std::fmt;

use super::{Kind, Type, Value, timestamp};
use crate::refusal::{Answer, Code, Refusal};

/// Digits of a `numeric`: all of them fit into 64 bits.
pub const MAX_PRECISION: u8 = 18;
/// Characters of a `varchar`.
pub const MAX_VARCHAR: u32 = 65_535;

/// Powers of ten: of the scale of a `numeric`.
const POWERS: [i64; MAX_PRECISION as usize + 1] = powers();

const fn powers() -> [i64; MAX_PRECISION as usize + 1] {
    let mut found = [1; MAX_PRECISION as usize + 1];
    let mut at = 1;
    while at < found.len() {
        found[at] = found[at - 1] * 10;
        at += 1;
    }
    found
}

/// Return 10 to the power of `scale`, which is at most [`MAX_PRECISION`].
pub(crate) fn power_of_ten(scale: u8) -> i64 {
    POWERS[usize::from(scale)]
}

impl Type {
    /// Return the type of a text such as `int`, `varchar(32)` or `numeric(10, 2)`.
    ///
    /// The names of PostgreSQL are known too: `bigint`, `double precision`, `character varying(32)`.
    ///
    /// # Errors
    ///
    /// Another type, or numbers out of range.
    pub fn parse(text: &str) -> Answer<Self> {
        let (name, numbers) = name_and_numbers(text).ok_or_else(|| unknown_type(text))?;
        match (name.as_str(), numbers.as_slice()) {
            ("int" | "integer" | "bigint" | "smallint", []) => Ok(Self::Int),
            ("float" | "double" | "double precision" | "real", []) => Ok(Self::Float),
            ("text" | "varchar" | "character varying", []) => Ok(Self::Text),
            ("timestamp" | "timestamp without time zone", []) => Ok(Self::Timestamp),
            ("varchar" | "character varying", [length]) => varchar(*length),
            ("numeric" | "decimal", [precision]) => numeric(*precision, 0),
            ("numeric" | "decimal", [precision, scale]) => numeric(*precision, *scale),
            _ => Err(unknown_type(text)),
        }
    }

    /// Return the stored value of a text. An empty text is `Null`, unless the type is a text. A number
    /// with more digits after the point than a numeric has is rounded.
    ///
    /// # Errors
    ///
    /// The text is not a value of this type.
    pub fn encode(&self, text: &str) -> Answer<Value> {
        if self.kind() == Kind::Text {
            return self.encode_text(text);
        }
        let text = text.trim_ascii();
        if text.is_empty() {
            return Ok(Value::Null);
        }
        let found = match self {
            Self::Int => read_whole(text).map(Value::Integer),
            Self::Float => read_real(text).map(Value::Real),
            Self::Numeric { precision, scale } => {
                read_numeric(text, *precision, *scale).map(Value::Integer)
            }
            Self::Timestamp => return timestamp::parse(text).map(Value::Integer),
            Self::Varchar(_) | Self::Text => None,
        };
        found.ok_or_else(|| {
            let message = format!("`{}` is not a value of type {self}", text.escape_debug());
            Refusal::new(Code::IllegalQuery, message)
        })
    }

    /// Return the text of a stored value. `Null` is empty.
    pub fn decode(&self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Null) => String::new(),
            (Self::Numeric { scale, .. }, Value::Integer(number)) => show_scaled(*number, *scale),
            (Self::Timestamp, Value::Integer(number)) => timestamp::show(*number),
            (_, Value::Integer(number)) => number.to_string(),
            (_, Value::Real(number)) => show_real(*number),
            (_, Value::Text(text)) => text.clone(),
        }
    }

    fn encode_text(&self, text: &str) -> Answer<Value> {
        if text.contains('\0') {
            let message = "a text may not hold the character NUL";
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        if let Self::Varchar(length) = self
            && text.chars().nth(*length as usize).is_some()
        {
            let message = format!("a value of type {self} has at most {length} characters");
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(Value::Text(text.to_owned()))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int => out.write_str("int"),
            Self::Float => out.write_str("float"),
            Self::Varchar(length) => write!(out, "varchar({length})"),
            Self::Text => out.write_str("text"),
            Self::Timestamp => out.write_str("timestamp"),
            Self::Numeric { precision, scale } => write!(out, "numeric({precision},{scale})"),
        }
    }
}

/// Return the name in lower case, and the numbers in parentheses.
fn name_and_numbers(text: &str) -> Option<(String, Vec<u32>)> {
    let text = text.trim_ascii().to_ascii_lowercase();
    let (name, numbers) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (text.as_str(), None),
    };
    let numbers = numbers.map_or(Some(Vec::new()), |numbers| {
        numbers.split(',').map(read_size).collect()
    })?;
    let words: Vec<&str> = name.split_ascii_whitespace().collect();
    Some((words.join(" "), numbers))
}

fn read_size(text: &str) -> Option<u32> {
    let text = text.trim_ascii();
    let is_fine = text.bytes().all(|byte| byte.is_ascii_digit());
    is_fine.then(|| text.parse().ok()).flatten()
}

fn varchar(length: u32) -> Answer<Type> {
    if (1..=MAX_VARCHAR).contains(&length) {
        return Ok(Type::Varchar(length));
    }
    let message = format!("a varchar has 1 to {MAX_VARCHAR} characters, not {length}");
    Err(Refusal::new(Code::IllegalCommand, message))
}

fn numeric(precision: u32, scale: u32) -> Answer<Type> {
    let sizes = (u8::try_from(precision), u8::try_from(scale));
    if let (Ok(precision @ 1..=MAX_PRECISION), Ok(scale)) = sizes
        && scale <= precision
    {
        return Ok(Type::Numeric { precision, scale });
    }
    let message = format!(
        "a numeric has 1 to {MAX_PRECISION} digits and as many of them after the point at most, \
         not ({precision},{scale})"
    );
    Err(Refusal::new(Code::IllegalCommand, message))
}

fn unknown_type(text: &str) -> Refusal {
    let message = format!(
        "`{}` is not a type; use int, float, varchar(n), text, timestamp or numeric(p,s)",
        text.escape_debug()
    );
    Refusal::new(Code::IllegalCommand, message)
}

/// Return how many units of the last of `scale` digits a decimal text has, rounded towards zero, and
/// the digits behind it.
fn read_scaled(text: &str, scale: u8) -> Option<(i64, &str)> {
    let (digits, is_negative) = match text.as_bytes().first()? {
        b'-' => (&text[1..], true),
        b'+' => (&text[1..], false),
        _ => (text, false),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = digits.bytes().any(|byte| byte.is_ascii_digit())
        && whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    let scale = usize::from(scale);
    let (fraction, rest) = fraction.split_at(scale.min(fraction.len()));
    let zeros = std::iter::repeat_n(b'0', scale - fraction.len());
    let mut number: i64 = 0;
    // Negative numbers reach further than positive ones, so count downwards.
    for digit in whole.bytes().chain(fraction.bytes()).chain(zeros) {
        number = number
            .checked_mul(10)?
            .checked_sub(i64::from(digit - b'0'))?;
    }
    let number = if is_negative {
        number
    } else {
        number.checked_neg()?
    };
    Some((number, rest))
}

fn read_whole(text: &str) -> Option<i64> {
    let (number, rest) = read_scaled(text, 0)?;
    rest.bytes().all(|digit| digit == b'0').then_some(number)
}

/// Return the nearest number of this many digits: away from zero if two are, as PostgreSQL does.
fn read_numeric(text: &str, precision: u8, scale: u8) -> Option<i64> {
    let (number, rest) = read_scaled(text, scale)?;
    let is_up = rest.starts_with(['5', '6', '7', '8', '9']);
    let away = if text.starts_with('-') { -1 } else { 1 };
    let number = if is_up {
        number.checked_add(away)?
    } else {
        number
    };
    (number.unsigned_abs() < power_of_ten(precision).unsigned_abs()).then_some(number)
}

fn read_real(text: &str) -> Option<f64> {
    // The parser of Rust knows `inf` and `nan` too.
    let is_number = text.bytes().all(|byte| b"0123456789+-.eE".contains(&byte));
    let number: f64 = is_number.then(|| text.parse().ok()).flatten()?;
    number.is_finite().then_some(number)
}

fn show_scaled(number: i64, scale: u8) -> String {
    if scale == 0 {
        return number.to_string();
    }
    let sign = if number < 0 { "-" } else { "" };
    let power = power_of_ten(scale).unsigned_abs();
    let (whole, rest) = (number.unsigned_abs() / power, number.unsigned_abs() % power);
    format!("{sign}{whole}.{rest:0width$}", width = usize::from(scale))
}

/// Return the shortest text that is read as the same number.
fn show_real(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 {
        // A zero may be negative; no database of the three shows the sign alike.
        "0".to_owned()
    } else if (1e-5..1e16).contains(&size) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMERIC: Type = Type::Numeric {
        precision: 5,
        scale: 2,
    };

    #[test]
    fn types_are_read_and_shown() {
        for (text, shown) in [
            ("int", "int"),
            (" BIGINT ", "int"),
            ("float", "float"),
            ("double  precision", "float"),
            ("varchar(32)", "varchar(32)"),
            ("character varying ( 32 )", "varchar(32)"),
            ("text", "text"),
            ("timestamp", "timestamp"),
            ("numeric(10, 2)", "numeric(10,2)"),
            ("decimal(18)", "numeric(18,0)"),
        ] {
            let found = Type::parse(text).unwrap();
            assert_eq!(found.to_string(), shown);
            assert_eq!(Type::parse(shown).unwrap(), found);
        }
    }

    #[test]
    fn other_types_are_refused() {
        for text in [
            "",
            "blob",
            "int(4)",
            "varchar(0)",
            "varchar(65536)",
            "varchar(-1)",
            "varchar()",
            "varchar(+1)",
            "varchar(1,2)",
            "varchar(1",
            "varchar 1)",
            "numeric",
            "numeric(0,0)",
            "numeric(19,2)",
            "numeric(5,6)",
            "numeric(5,2,1)",
            "numeric(99999999999,2)",
        ] {
            assert!(Type::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_stored_and_shown() {
        for (of, text, value, shown) in [
            (Type::Int, " -42 ", Value::Integer(-42), "-42"),
            (Type::Int, "+7.00", Value::Integer(7), "7"),
            (
                Type::Int,
                "-9223372036854775808",
                Value::Integer(i64::MIN),
                "-9223372036854775808",
            ),
            (Type::Int, "", Value::Null, ""),
            (Type::Float, "2.50", Value::Real(2.5), "2.5"),
            (Type::Float, "-0", Value::Real(-0.0), "0"),
            (Type::Float, "1E300", Value::Real(1e300), "1e300"),
            (Type::Float, "3", Value::Real(3.0), "3"),
            (NUMERIC, "1.5", Value::Integer(150), "1.50"),
            (NUMERIC, "-.05", Value::Integer(-5), "-0.05"),
            (NUMERIC, "999.99", Value::Integer(99_999), "999.99"),
            (NUMERIC, "1.", Value::Integer(100), "1.00"),
            (NUMERIC, "1.2349", Value::Integer(123), "1.23"),
            (NUMERIC, "-1.235", Value::Integer(-124), "-1.24"),
            (NUMERIC, "0.0049", Value::Integer(0), "0.00"),
            (
                Type::Timestamp,
                "1970-01-01",
                Value::Integer(0),
                "1970-01-01 00:00:00",
            ),
            (Type::Text, "", Value::Text(String::new()), ""),
            (Type::Varchar(2), "é€", Value::Text("é€".into()), "é€"),
        ] {
            assert_eq!(of.encode(text).unwrap(), value, "{of} {text}");
            assert_eq!(of.decode(&value), shown, "{of} {text}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        for (of, text) in [
            (Type::Int, "9223372036854775808"),
            (Type::Int, "1.5"),
            (Type::Int, "1e3"),
            (Type::Int, "--1"),
            (Type::Int, "."),
            (Type::Int, "-"),
            (Type::Int, "٣"),
            (Type::Float, "nan"),
            (Type::Float, "inf"),
            (Type::Float, "1e999"),
            (Type::Float, "1 2"),
            (NUMERIC, "1000"),
            (NUMERIC, "999.995"),
            (NUMERIC, "1.23x"),
            (NUMERIC, "1.2.3"),
            (Type::Timestamp, "yesterday"),
            (Type::Varchar(2), "abc"),
            (Type::Text, "a\0b"),
        ] {
            assert!(of.encode(text).is_err(), "{of} {text}");
        }
    }

    #[test]
    fn every_stored_value_is_read_back_from_its_text() {
        let mut state: u64 = 7;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = state.rotate_left(17).cast_signed() >> (state >> 58);
            let real = f64::from_bits(state.rotate_left(31));
            round_trip(&Type::Int, &Value::Integer(number));
            round_trip(&Type::Timestamp, &Value::Integer(number >> 10));
            let scaled = number % power_of_ten(18);
            for scale in [0, 1, 6, 18] {
                let of = Type::Numeric {
                    precision: 18,
                    scale,
                };
                round_trip(&of, &Value::Integer(scaled));
            }
            if real.is_finite() && real != 0.0 {
                round_trip(&Type::Float, &Value::Real(real));
            }
        }
    }

    fn round_trip(of: &Type, value: &Value) {
        let text = of.decode(value);
        assert_eq!(&of.encode(&text).unwrap(), value, "{of} {text}");
    }
}
