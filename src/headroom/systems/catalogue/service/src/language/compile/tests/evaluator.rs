//! A plain evaluator, independent of the compiler, for trees of `random`.

use std::cmp::Ordering;

use super::random::{COLUMNS, NUMBERS, Tree};
use crate::language::chance::Chance;
use crate::language::compile::MAX_PRODUCT_SCALE;
use crate::language::pattern::Pattern;
use crate::store::sql::Sql;
use crate::value::{Kind, Value};

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A result cannot be stored.
    Unfit,
    /// The language refuses it.
    Refused,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// A number of units, and its digits after the point.
    Exact(i64, u8),
    Real(f64),
    Text(String),
    Truth(bool),
}

/// A value that may be missing.
pub type Found = Result<Option<Known>, Failure>;

/// The values of the columns; some are missing.
#[derive(Debug)]
pub struct Row(Vec<Value>);

/// The digits after the point of its numbers; None: a float.
const SCALES: [Option<u8>; NUMBERS] = [Some(0), Some(0), Some(2), Some(6), None];

impl Row {
    /// Return values, many of them on the edge.
    pub fn random(chance: &mut Chance) -> Self {
        let whole = |chance: &mut Chance| {
            let size = chance.below(62);
            let number = chance.number().cast_signed() >> (size + 1);
            *chance.one_of(&[number, number, number % 100, 0, -7, i64::MIN, i64::MAX])
        };
        let small = |chance: &mut Chance| chance.number().cast_signed() >> (40 + chance.below(23));
        let mut values = vec![
            Value::Integer(whole(chance)),
            Value::Integer(small(chance)),
            Value::Integer(small(chance)),
            Value::Integer(small(chance)),
            Value::Real(*chance.one_of(&[0.0, -2.5, 0.5, 1.5, 123.456, 1e200, -1e-3])),
            Value::Text(chance.text("abAB'\"\\é%_", 4)),
            Value::Text(chance.text("aAb", 4)),
        ];
        for value in &mut values {
            if chance.below(6) == 0 {
                *value = Value::Null;
            }
        }
        Self(values)
    }

    /// Return the values as parameters.
    pub fn bound(&self) -> impl Iterator<Item = Sql> {
        let kinds = COLUMNS.map(|name| match name {
            "f" => Kind::Real,
            "s" | "v" => Kind::Text,
            _ => Kind::Integer,
        });
        self.0.iter().zip(kinds).map(|(value, kind)| {
            let mut bound = Sql::default();
            bound.bind_as(value.clone(), kind);
            bound
        })
    }

    /// Return the value of an expression.
    pub fn value(&self, tree: &Tree) -> Found {
        match tree {
            Tree::Column(at) => Ok(match (&self.0[*at], SCALES.get(*at)) {
                (Value::Integer(number), Some(Some(scale))) => Some(Known::Exact(*number, *scale)),
                (Value::Real(number), _) => Some(Known::Real(*number)),
                (Value::Text(text), _) => Some(Known::Text(text.clone())),
                _ => None,
            }),
            Tree::Whole(number) => Ok(Some(Known::Exact(*number, 0))),
            Tree::Point(number, scale) => Ok(Some(Known::Exact(*number, *scale))),
            Tree::Real(number) => Ok(Some(Known::Real(*number))),
            Tree::Text(text) => Ok(Some(Known::Text(text.clone()))),
            Tree::Negative(of) => self.value(of)?.map(negative).transpose(),
            Tree::Binary('|', left, right) => Ok(match (self.value(left)?, self.value(right)?) {
                (Some(Known::Text(left)), Some(Known::Text(right))) => {
                    Some(Known::Text(left + &right))
                }
                _ => None,
            }),
            Tree::Binary(sign, left, right) => self.binary(*sign, left, right),
            Tree::Call("coalesce", of) => self.coalesce(&of[0], &of[1]),
            Tree::Call(name, of) => self.value(&of[0])?.map(|of| called(name, of)).transpose(),
            _ => Ok(self.truth(tree)?.map(Known::Truth)),
        }
    }

    fn binary(&self, sign: char, left: &Tree, right: &Tree) -> Found {
        let scales = (scale(left), scale(right));
        let (left, right) = (self.value(left), self.value(right));
        let result = match (sign, scales) {
            ('%', (None, _) | (_, None)) => return Err(Failure::Refused),
            ('*', (Some(a), Some(b))) if a.min(b) == 0 || a + b <= MAX_PRODUCT_SCALE => None,
            ('/', (Some(0), Some(0))) => None,
            ('+' | '-' | '%', (Some(a), Some(b))) => Some(Some(a.max(b))),
            _ => Some(None),
        };
        let convert = |value: Option<Known>| match result {
            Some(scale) => value.map(|value| converted(&value, scale)).transpose(),
            None => Ok(value),
        };
        // A conversion fails even if the other operand is missing.
        match (convert(left?)?, convert(right?)?) {
            (Some(left), Some(right)) => computed(sign, &left, &right).map(Some),
            _ => Ok(None),
        }
    }

    fn coalesce(&self, first: &Tree, second: &Tree) -> Found {
        let scale = scale(&Tree::Call("coalesce", vec![first.clone(), second.clone()]));
        let found = match self.value(first)? {
            Some(found) => Some(found),
            None => self.value(second)?,
        };
        found.map(|found| converted(&found, scale)).transpose()
    }

    fn truth(&self, tree: &Tree) -> Result<Option<bool>, Failure> {
        match tree {
            Tree::Compare(sign, left, right) => self.compared(sign, left, right),
            Tree::Between(parts) => {
                let low = self.compared(">=", &parts[0], &parts[1])?;
                Ok(and(low, self.compared("<=", &parts[0], &parts[2])?))
            }
            Tree::In(of, others) => {
                let equal = others.iter().map(|other| self.compared("=", of, other));
                let equal: Vec<_> = equal.collect::<Result<_, _>>()?;
                let mut found = Some(false);
                for other in equal {
                    found = or(found, other);
                }
                Ok(found)
            }
            Tree::IsNull(of) => Ok(Some(self.value(of)?.is_none())),
            Tree::Like(of, pattern) => {
                let pattern = Pattern::parse_like(pattern).map_err(|_| Failure::Refused)?;
                Ok(match self.value(of)? {
                    Some(Known::Text(text)) => Some(pattern.matches(&text)),
                    _ => None,
                })
            }
            Tree::Not(of) => Ok(self.truth(of)?.map(|is_true| !is_true)),
            Tree::All(parts) => parts
                .iter()
                .try_fold(Some(true), |one, part| Ok(and(one, self.truth(part)?))),
            Tree::Any(parts) => parts
                .iter()
                .try_fold(Some(false), |one, part| Ok(or(one, self.truth(part)?))),
            _ => Err(Failure::Refused),
        }
    }

    fn compared(&self, sign: &str, left: &Tree, right: &Tree) -> Result<Option<bool>, Failure> {
        let (Some(left), Some(right)) = (self.value(left)?, self.value(right)?) else {
            return Ok(None);
        };
        let order = match (&left, &right) {
            (Known::Exact(a, x), Known::Exact(b, y)) => {
                let scale = *x.max(y);
                units(*a, *x, scale).cmp(&units(*b, *y, scale))
            }
            (Known::Text(left), Known::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
            _ => real(&left)
                .partial_cmp(&real(&right))
                .ok_or(Failure::Unfit)?,
        };
        Ok(Some(match sign {
            "=" => order == Ordering::Equal,
            "<>" => order != Ordering::Equal,
            "<" => order == Ordering::Less,
            "<=" => order != Ordering::Greater,
            ">" => order == Ordering::Greater,
            _ => order != Ordering::Less,
        }))
    }
}

/// Return the digits after the point of a number, known before its value is; None: a float.
pub fn scale(tree: &Tree) -> Option<u8> {
    match tree {
        Tree::Column(at) => SCALES[*at],
        Tree::Point(_, scale) => Some(*scale),
        Tree::Whole(_) | Tree::Call("length", _) => Some(0),
        Tree::Negative(of) => scale(of),
        Tree::Call("sqrt", _) => None,
        Tree::Call("abs", of) => scale(&of[0]),
        Tree::Call("coalesce", of) => Some(scale(&of[0])?.max(scale(&of[1])?)),
        Tree::Call(_, of) => scale(&of[0]).map(|_| 0),
        Tree::Binary(sign, left, right) => {
            let (left, right) = (scale(left)?, scale(right)?);
            match sign {
                '*' if left.min(right) == 0 || left + right <= MAX_PRODUCT_SCALE => {
                    Some(left + right)
                }
                '/' if left + right == 0 => Some(0),
                '*' | '/' => None,
                _ => Some(left.max(right)),
            }
        }
        _ => None,
    }
}

fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    and(one.map(|one| !one), other.map(|other| !other)).map(|is_true| !is_true)
}

fn units(number: i64, from: u8, to: u8) -> i128 {
    i128::from(number) * 10_i128.pow(u32::from(to - from))
}

fn real(value: &Known) -> f64 {
    match value {
        Known::Exact(number, scale) => *number as f64 / 10_f64.powi(i32::from(*scale)),
        Known::Real(number) => *number,
        _ => f64::NAN,
    }
}

fn whole(number: i128, scale: u8) -> Result<Known, Failure> {
    i64::try_from(number)
        .map(|number| Known::Exact(number, scale))
        .map_err(|_| Failure::Unfit)
}

fn finite(number: f64) -> Result<Known, Failure> {
    if number.is_finite() {
        Ok(Known::Real(number))
    } else {
        Err(Failure::Unfit)
    }
}

fn converted(value: &Known, scale: Option<u8>) -> Result<Known, Failure> {
    match (value, scale) {
        (Known::Exact(number, from), Some(to)) => whole(units(*number, *from, to), to),
        _ => Ok(Known::Real(real(value))),
    }
}

fn negative(value: Known) -> Result<Known, Failure> {
    match value {
        Known::Exact(number, scale) => whole(-i128::from(number), scale),
        value => Ok(Known::Real(-real(&value))),
    }
}

fn computed(sign: char, left: &Known, right: &Known) -> Result<Known, Failure> {
    if let (Known::Exact(a, x), Known::Exact(b, y)) = (left, right) {
        let scale = if sign == '*' { x + y } else { *x.max(y) };
        let (a, b) = (i128::from(*a), i128::from(*b));
        return match sign {
            '+' => whole(a + b, scale),
            '-' => whole(a - b, scale),
            '*' => whole(a * b, scale),
            _ if b == 0 => Err(Failure::Unfit),
            '/' => whole(a / b, scale),
            _ => whole(a % b, scale),
        };
    }
    let (a, b) = (real(left), real(right));
    match sign {
        '+' => finite(a + b),
        '-' => finite(a - b),
        '*' => finite(a * b),
        _ if b == 0.0 => Err(Failure::Unfit),
        _ => finite(a / b),
    }
}

fn called(name: &str, of: Known) -> Result<Known, Failure> {
    match (name, of) {
        ("length", Known::Text(text)) => whole(text.chars().count() as i128, 0),
        ("lower", Known::Text(text)) => Ok(Known::Text(text.to_ascii_lowercase())),
        (_, Known::Text(text)) => Ok(Known::Text(text.to_ascii_uppercase())),
        ("abs", Known::Exact(number, scale)) => whole(i128::from(number).abs(), scale),
        ("sqrt", value) if real(&value) < 0.0 => Err(Failure::Unfit),
        ("sqrt", value) => Ok(Known::Real(real(&value).sqrt())),
        (name, Known::Exact(number, scale)) => {
            let unit = 10_i128.pow(u32::from(scale));
            let number = i128::from(number);
            whole(
                match name {
                    "floor" => number.div_euclid(unit),
                    "ceil" => -(-number).div_euclid(unit),
                    _ => (number.abs() * 2 + unit) / (unit * 2) * number.signum(),
                },
                0,
            )
        }
        (name, value) => Ok(Known::Real(match name {
            "abs" => real(&value).abs(),
            "floor" => real(&value).floor(),
            "ceil" => real(&value).ceil(),
            _ => real(&value).round_ties_even(),
        })),
    }
}
