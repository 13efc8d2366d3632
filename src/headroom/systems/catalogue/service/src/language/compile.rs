//! From a tree to a part of a statement.
//!
//! All databases give the same result, or an error where the result cannot be stored: overflow, a
//! division by zero, the root of a negative number. SQLite has its own functions for it (see
//! `store::functions`), MariaDB conditions that provoke an error, PostgreSQL needs neither.
//!
//! - A `numeric(p,s)` is a whole number with `s` digits after the point. Sums and differences are
//!   exact; so are products with at most [`MAX_PRODUCT_SCALE`] digits after the point, or with a whole
//!   number. Other products, and quotients of numbers with a point, are floats.
//! - The quotient of two whole numbers is whole, rounded towards zero.
//! - The difference of two timestamps is a number of seconds, and seconds move a timestamp.
//! - A text in the expression is read as a number or a timestamp if it meets one.
//!
//! Differences that remain: a sum of floats depends on the order of its entries; a product of
//! floats that is too small is zero in MariaDB and SQLite, and an error in PostgreSQL; where one
//! operand is null and another part fails, MariaDB may find the one or the other; it takes zero minus
//! the least whole number for that number.

mod arithmetic;
mod assign;
mod compare;
mod functions;
mod literal;
mod term;
#[cfg(test)]
mod tests;

use super::expression::{AttributeName, Expression, Function};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::{Kind, Type, Value};
pub use arithmetic::MAX_PRODUCT_SCALE;
use term::{Sort, Term};

/// What a name stands for.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The column, or what else has the value.
    pub sql: Sql,
    /// The type of the attribute.
    pub of: Type,
}

/// Knows attributes.
pub trait Names {
    /// Return what a name stands for.
    ///
    /// # Errors
    ///
    /// There is no such attribute, or it may not be read.
    fn find(&self, name: &AttributeName) -> Answer<Meaning>;
}

/// A value of a statement.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The part of the statement.
    pub sql: Sql,
    /// The type that shows the value.
    pub of: Type,
}

/// Return the value of an expression. Aggregates are allowed; whether the names beside them are
/// grouped, the caller checks (`Expression::bare_names`).
///
/// # Errors
///
/// A name is unknown, types do not fit, or the expression is a condition.
pub fn compile(expression: &Expression, names: &dyn Names) -> Answer<Compiled> {
    let found = Compiler::new(names, Aggregates::Allowed).term(expression)?;
    match found.sort {
        Sort::Truth => Err(illegal("a condition is not a value")),
        Sort::Null => Ok(Compiled {
            sql: literal::parameter(Value::Null, Kind::Text),
            of: Type::Text,
        }),
        _ => Ok(Compiled {
            of: found.type_of(),
            sql: found.sql,
        }),
    }
}

/// Return the condition of an expression about single entries.
///
/// # Errors
///
/// A name is unknown, types do not fit, the expression is a value, or it has an aggregate.
pub fn condition(expression: &Expression, names: &dyn Names) -> Answer<Sql> {
    Compiler::new(names, Aggregates::Refused)
        .truth(expression)
        .map(|found| found.sql)
}

/// Return the condition of an expression about groups of entries: of `HAVING`.
///
/// # Errors
///
/// A name is unknown, types do not fit, or the expression is a value.
pub fn group_condition(expression: &Expression, names: &dyn Names) -> Answer<Sql> {
    Compiler::new(names, Aggregates::Allowed)
        .truth(expression)
        .map(|found| found.sql)
}

/// Return the value of an expression as a column of this type stores it: scaled, rounded, and with
/// an error if it is too large or too long.
///
/// # Errors
///
/// A name is unknown, types do not fit, or the expression has an aggregate.
pub fn assign(expression: &Expression, names: &dyn Names, target: &Type) -> Answer<Sql> {
    let found = Compiler::new(names, Aggregates::Refused).term(expression)?;
    assign::stored(found, target)
}

/// Whether functions over many entries may be used here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregates {
    Allowed,
    Refused,
    /// Inside an aggregate.
    Nested,
}

#[derive(Clone, Copy)]
struct Compiler<'a> {
    names: &'a dyn Names,
    aggregates: Aggregates,
}

impl<'a> Compiler<'a> {
    fn new(names: &'a dyn Names, aggregates: Aggregates) -> Self {
        Self { names, aggregates }
    }

    fn term(self, expression: &Expression) -> Answer<Term> {
        match expression {
            Expression::Literal(literal) => Ok(Term::of_literal(literal)),
            Expression::Attribute(name) => Ok(Term::of_meaning(self.names.find(name)?)),
            Expression::Negative(of) => arithmetic::negative(self.term(of)?),
            Expression::Binary(operator, left, right) => {
                arithmetic::binary(*operator, self.term(left)?, self.term(right)?)
            }
            Expression::Compare(comparison, left, right) => {
                compare::compare(*comparison, &self.term(left)?, &self.term(right)?)
            }
            Expression::IsNull(of) => compare::is_null(&self.term(of)?),
            Expression::In(parts) => compare::is_in(self.terms(parts)?),
            Expression::Between(parts) => compare::is_between(
                &self.term(&parts[0])?,
                &self.term(&parts[1])?,
                &self.term(&parts[2])?,
            ),
            Expression::Like(of, pattern) => compare::like(&self.term(of)?, pattern),
            Expression::Not(of) => {
                let mut found = Sql::new("(NOT ");
                found.append(self.truth(of)?.sql).text(")");
                Term::made(found, Sort::Truth)
            }
            Expression::All(parts) => compare::joined(self.truths(parts)?, " AND "),
            Expression::Any(parts) => compare::joined(self.truths(parts)?, " OR "),
            Expression::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    fn call(self, function: Function, arguments: &[Expression]) -> Answer<Term> {
        if !function.is_aggregate() {
            return functions::call(function, self.terms(arguments)?);
        }
        match self.aggregates {
            Aggregates::Allowed => {}
            Aggregates::Refused => {
                return Err(illegal("a function over many entries cannot be used here"));
            }
            Aggregates::Nested => {
                return Err(illegal("a function over many entries is inside another"));
            }
        }
        let inside = Self::new(self.names, Aggregates::Nested);
        functions::aggregate(function, inside.terms(arguments)?.pop())
    }

    fn terms(self, expressions: &[Expression]) -> Answer<Vec<Term>> {
        expressions
            .iter()
            .map(|expression| self.term(expression))
            .collect()
    }

    fn truth(self, expression: &Expression) -> Answer<Term> {
        let found = self.term(expression)?;
        if found.sort == Sort::Truth {
            return Ok(found);
        }
        let message = format!("expected a condition, found {}", found.sort);
        Err(illegal(&message))
    }

    fn truths(self, expressions: &[Expression]) -> Answer<Vec<Term>> {
        expressions
            .iter()
            .map(|expression| self.truth(expression))
            .collect()
    }
}

fn illegal(message: &str) -> Refusal {
    Refusal::new(Code::IllegalQuery, message)
}
