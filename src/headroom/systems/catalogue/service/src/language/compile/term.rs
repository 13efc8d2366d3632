//! A compiled part of an expression, and its conversions.

use std::fmt;

use super::illegal;
use super::literal::{bound, literal_as};
use crate::language::compile::Meaning;
use crate::language::expression::Literal;
use crate::language::lexer::number_of;
use crate::language::pattern::text_value;
use crate::refusal::{Answer, Refusal};
use crate::store::sql::Sql;
use crate::value::text::{MAX_PRECISION, power_of_ten};
use crate::value::{Kind, Type, Value, timestamp};

/// Pieces of a statement: some parts are written more than once, so the text does not limit them.
/// SQLite allows 32,766 parameters.
const MAX_PIECES: usize = 30_000;

/// Texts of a part in three dialects: `[SQLite, PostgreSQL, MariaDB]`.
pub type Texts = [&'static str; 3];

/// How a value is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The literal `null`.
    Null,
    /// A condition.
    Truth,
    /// A whole number of units of the last digit after the point, of this many.
    Exact(u8),
    /// A double.
    Real,
    /// A text.
    Text,
    /// Microseconds since 1970.
    Time,
}

impl Sort {
    /// Return the sort of values of a type.
    pub fn of_type(of: &Type) -> Self {
        match of {
            Type::Int => Self::Exact(0),
            Type::Numeric { scale, .. } => Self::Exact(*scale),
            Type::Float => Self::Real,
            Type::Varchar(_) | Type::Text => Self::Text,
            Type::Timestamp => Self::Time,
        }
    }

    /// Return whether it is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Exact(_) | Self::Real)
    }

    /// Return the kind of a column that stores it.
    pub fn kind(self) -> Kind {
        match self {
            Self::Exact(_) | Self::Time => Kind::Integer,
            Self::Real => Kind::Real,
            Self::Null | Self::Truth | Self::Text => Kind::Text,
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Null => "null",
            Self::Truth => "a condition",
            Self::Exact(_) | Self::Real => "a number",
            Self::Text => "a text",
            Self::Time => "a timestamp",
        })
    }
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub struct Term {
    /// The part of the statement: it needs no parentheses.
    pub sql: Sql,
    /// How it is computed with.
    pub sort: Sort,
    /// Its text, if it is one of the expression.
    pub literal: Option<Literal>,
    /// The declared type, if it is the value of an attribute.
    pub of: Option<Type>,
}

impl Term {
    /// Return the part of an attribute.
    pub fn of_meaning(meaning: Meaning) -> Self {
        Self {
            sql: meaning.sql,
            sort: Sort::of_type(&meaning.of),
            literal: None,
            of: Some(meaning.of),
        }
    }

    /// Return the part of a literal.
    pub fn of_literal(literal: &Literal) -> Self {
        let (sql, sort) = match literal {
            Literal::Null => (Sql::new("NULL"), Sort::Null),
            Literal::Truth(true) => (Sql::new("TRUE"), Sort::Truth),
            Literal::Truth(false) => (Sql::new("FALSE"), Sort::Truth),
            Literal::Integer(number) => (bound(Value::Integer(*number)), Sort::Exact(0)),
            Literal::Decimal { unscaled, scale } => {
                (bound(Value::Integer(*unscaled)), Sort::Exact(*scale))
            }
            Literal::Real(number) => (bound(Value::Real(*number)), Sort::Real),
            Literal::Text(text) => (text_value(text.clone()), Sort::Text),
        };
        Self {
            sql,
            sort,
            literal: Some(literal.clone()),
            of: None,
        }
    }

    /// Return the part of an instant.
    pub fn of_time(microseconds: i64) -> Self {
        Self {
            sql: bound(Value::Integer(microseconds)),
            sort: Sort::Time,
            literal: None,
            of: None,
        }
    }

    /// Return a part that was put together, unless it is too large.
    pub fn made(sql: Sql, sort: Sort) -> Answer<Self> {
        if sql.size() > MAX_PIECES {
            return Err(illegal("the expression is too large"));
        }
        Ok(Self {
            sql,
            sort,
            literal: None,
            of: None,
        })
    }

    /// Return the type that shows the value.
    pub fn type_of(&self) -> Type {
        match (&self.of, self.sort) {
            (Some(of), _) => of.clone(),
            (None, Sort::Exact(0)) => Type::Int,
            (None, Sort::Exact(scale)) => Type::Numeric {
                precision: MAX_PRECISION,
                scale,
            },
            (None, Sort::Real) => Type::Float,
            (None, Sort::Time) => Type::Timestamp,
            (None, Sort::Text | Sort::Null | Sort::Truth) => Type::Text,
        }
    }

    /// Return whether the text of the expression has another number than zero here.
    pub fn is_literal_but_zero(&self) -> bool {
        match self.literal {
            Some(
                Literal::Integer(number)
                | Literal::Decimal {
                    unscaled: number, ..
                },
            ) => number != 0,
            Some(Literal::Real(number)) => number != 0.0,
            _ => false,
        }
    }

    /// Return the value converted.
    pub fn converted(self, sort: Sort) -> Answer<Self> {
        if self.sort == sort {
            return Ok(self);
        }
        if let Some(literal) = &self.literal
            && let Some(found) = literal_as(literal, sort)
        {
            return Ok(found);
        }
        match (self.sort, sort) {
            (Sort::Exact(from), Sort::Exact(to)) if from < to => self.scaled_up(to),
            (Sort::Exact(scale), Sort::Real) => self.real(scale),
            _ => Err(self.misfit(&sort)),
        }
    }

    /// Return a text of the expression as the number or the timestamp that `other` wants to meet.
    pub fn meeting(self, other: &Self) -> Answer<Self> {
        let Some(Literal::Text(text)) = &self.literal else {
            return Ok(self);
        };
        match other.sort {
            Sort::Time => timestamp::parse(text).map(Self::of_time),
            Sort::Exact(_) | Sort::Real => number_of(text)
                .map(|number| Self::of_literal(&number))
                .ok_or_else(|| illegal(&format!("`{}` is not a number", text.escape_debug()))),
            _ => Ok(self),
        }
    }

    /// Return the refusal of this value where another sort is needed.
    pub fn misfit(&self, wanted: &dyn fmt::Display) -> Refusal {
        illegal(&format!("expected {wanted}, found {}", self.sort))
    }

    fn scaled_up(self, to: u8) -> Answer<Self> {
        let Sort::Exact(from) = self.sort else {
            return Err(self.misfit(&Sort::Exact(to)));
        };
        let mut sql = Sql::default();
        sql.by_dialect(["exact_multiply(", "(", "("])
            .append(self.sql)
            .by_dialect([", ", " * ", " * "])
            .number(power_of_ten(to - from))
            .text(")");
        Self::made(sql, Sort::Exact(to))
    }

    fn real(self, scale: u8) -> Answer<Self> {
        let mut sql = Sql::new(if scale > 0 { "(CAST(" } else { "CAST(" });
        sql.append(self.sql)
            .by_dialect([" AS REAL)", " AS double precision)", " AS DOUBLE)"]);
        if scale > 0 {
            sql.by_dialect([" / ", " / CAST(", " / "])
                .number(power_of_ten(scale))
                .by_dialect([")", " AS double precision))", ")"]);
        }
        Self::made(sql, Sort::Real)
    }
}

/// Return parts with texts before, between and behind them.
pub fn written(
    before: Texts,
    parts: impl IntoIterator<Item = Sql>,
    between: Texts,
    after: Texts,
) -> Sql {
    let mut found = Sql::default();
    found.by_dialect(before);
    for (number, part) in parts.into_iter().enumerate() {
        if number > 0 {
            found.by_dialect(between);
        }
        found.append(part);
    }
    found.by_dialect(after);
    found
}

/// Return parts converted to one sort that holds all of them.
pub fn unified(mut terms: Vec<Term>) -> Answer<Vec<Term>> {
    let is_anchor =
        |term: &&Term| term.sort != Sort::Null && !matches!(term.literal, Some(Literal::Text(_)));
    if let Some(anchor) = terms.iter().find(is_anchor).cloned() {
        terms = terms
            .into_iter()
            .map(|term| term.meeting(&anchor))
            .collect::<Answer<_>>()?;
    }
    let sort = terms.iter().try_fold(Sort::Null, wider)?;
    if sort == Sort::Null {
        return Ok(terms);
    }
    terms.into_iter().map(|term| term.converted(sort)).collect()
}

/// Return the sort that holds values of another sort and this value.
fn wider(sort: Sort, term: &Term) -> Answer<Sort> {
    match (sort, term.sort) {
        (one, Sort::Null) => Ok(one),
        (Sort::Null, other) => Ok(other),
        (Sort::Exact(one), Sort::Exact(other)) => Ok(Sort::Exact(one.max(other))),
        (one, other) if one.is_number() && other.is_number() => Ok(Sort::Real),
        (one, other) if one == other => Ok(one),
        _ => Err(term.misfit(&sort)),
    }
}
