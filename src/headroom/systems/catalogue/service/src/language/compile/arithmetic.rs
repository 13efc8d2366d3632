//! Operators that give a value.

use super::illegal;
use super::term::{Sort, Term, Texts, unified, written};
use crate::language::expression::{Literal, Operator};
use crate::refusal::Answer;
use crate::store::sql::Sql;

/// Digits after the point up to which a product of two numbers with a point is exact: there remain
/// about nine digits before it.
pub const MAX_PRODUCT_SCALE: u8 = 9;
/// Digits after the point of seconds: a timestamp counts microseconds.
const TIME_SCALE: u8 = 6;

/// Provokes an error in MariaDB if the part before it is true: the sum is too large for 64 bits.
pub const OVERFLOW: &str = "9223372036854775807 + ";

/// Return `-x`.
pub fn negative(of: Term) -> Answer<Term> {
    match of.sort {
        Sort::Exact(_) => {
            let sort = of.sort;
            let sql = written(
                ["exact_subtract(0, ", "(- ", "(- "],
                [of.sql],
                [""; 3],
                [")"; 3],
            );
            Term::made(sql, sort)
        }
        Sort::Real => {
            let sql = written(["(- "; 3], [of.sql], [""; 3], [")"; 3]);
            Term::made(sql, Sort::Real)
        }
        _ => Err(of.misfit(&"a number")),
    }
}

/// Return the value of an operator.
pub fn binary(operator: Operator, left: Term, right: Term) -> Answer<Term> {
    if operator == Operator::Concatenate {
        return concatenated(vec![left, right]);
    }
    if left.sort == Sort::Time || right.sort == Sort::Time {
        return with_time(operator, left, right);
    }
    let is_text = |term: &Term| term.sort == Sort::Text;
    if is_text(&left) || is_text(&right) {
        return Err(illegal("expected a number, found a text; `||` joins texts"));
    }
    let (left, right) = (number(left)?, number(right)?);
    match (operator, left.sort, right.sort) {
        (Operator::Multiply, Sort::Exact(one), Sort::Exact(other))
            if one + other <= MAX_PRODUCT_SCALE || one == 0 || other == 0 =>
        {
            exact(operator, left, right, Sort::Exact(one + other))
        }
        (Operator::Multiply | Operator::Divide, one, other)
            if (one, other) != (Sort::Exact(0), Sort::Exact(0)) =>
        {
            real(
                operator,
                left.converted(Sort::Real)?,
                right.converted(Sort::Real)?,
            )
        }
        _ => same_sort(operator, left, right),
    }
}

/// Return the texts one after the other; null if one is.
pub fn concatenated(terms: Vec<Term>) -> Answer<Term> {
    let texts = terms.into_iter().map(|term| match term.sort {
        Sort::Text | Sort::Null => Ok(term.converted(Sort::Text)?.sql),
        _ => Err(term.misfit(&Sort::Text)),
    });
    let texts: Vec<Sql> = texts.collect::<Answer<_>>()?;
    let sql = written(
        ["(", "(", "CONCAT("],
        texts,
        [" || ", " || ", ", "],
        [")"; 3],
    );
    Term::made(sql, Sort::Text)
}

/// Return a number with a point or a float as microseconds.
fn microseconds(seconds: Term) -> Answer<Term> {
    match seconds.sort {
        Sort::Exact(scale) if scale > TIME_SCALE => super::assign::rounded(seconds, TIME_SCALE),
        Sort::Exact(_) | Sort::Null => seconds.converted(Sort::Exact(TIME_SCALE)),
        Sort::Real => super::assign::exact_of_real(seconds, TIME_SCALE),
        _ => Err(seconds.misfit(&"a number of seconds")),
    }
}

fn with_time(operator: Operator, left: Term, right: Term) -> Answer<Term> {
    let sort = match (operator, left.sort, right.sort) {
        (Operator::Subtract, _, Sort::Time) | (Operator::Subtract, Sort::Time, Sort::Text) => {
            Sort::Exact(TIME_SCALE)
        }
        (Operator::Add, Sort::Time, Sort::Time) => {
            return Err(illegal("two timestamps cannot be added"));
        }
        (Operator::Add | Operator::Subtract, Sort::Time, _) | (Operator::Add, _, Sort::Time) => {
            Sort::Time
        }
        _ => return Err(illegal("timestamps have `+` and `-` only")),
    };
    let (left, right) = if sort == Sort::Time {
        (moved(left)?, moved(right)?)
    } else {
        let (one, other) = (left.clone().meeting(&right)?, right.meeting(&left)?);
        (one.converted(Sort::Time)?, other.converted(Sort::Time)?)
    };
    exact(operator, left, right, sort)
}

/// Return a timestamp as it is, and seconds as microseconds.
fn moved(term: Term) -> Answer<Term> {
    if term.sort == Sort::Time {
        return Ok(term);
    }
    microseconds(term)
}

fn number(term: Term) -> Answer<Term> {
    match term.sort {
        Sort::Exact(_) | Sort::Real | Sort::Null => Ok(term),
        _ => Err(term.misfit(&"a number")),
    }
}

fn same_sort(operator: Operator, left: Term, right: Term) -> Answer<Term> {
    let mut both = unified(vec![left, right])?.into_iter();
    let (Some(left), Some(right)) = (both.next(), both.next()) else {
        return Err(illegal("an operator has two operands"));
    };
    match left.sort {
        Sort::Exact(_) => {
            let sort = left.sort;
            exact(operator, left, right, sort)
        }
        Sort::Real => real(operator, left, right),
        _ => Err(left.misfit(&"a number")),
    }
}

fn exact(operator: Operator, left: Term, right: Term, sort: Sort) -> Answer<Term> {
    let (before, between): (Texts, Texts) = match operator {
        Operator::Add => (["exact_add(", "(", "("], [", ", " + ", " + "]),
        Operator::Subtract => (["exact_subtract(", "(", "("], [", ", " - ", " - "]),
        Operator::Multiply => (["exact_multiply(", "(", "("], [", ", " * ", " * "]),
        Operator::Divide => {
            return divided(
                ["exact_divide(", "(", "("],
                [", ", " / ", " DIV "],
                left,
                right,
                sort,
            );
        }
        Operator::Remainder => {
            let before = ["exact_remainder(", "(", "("];
            return divided(before, [", ", " % ", " % "], left, right, sort);
        }
        Operator::Concatenate => return Err(left.misfit(&Sort::Text)),
    };
    Term::made(
        written(before, [left.sql, right.sql], between, [")"; 3]),
        sort,
    )
}

fn real(operator: Operator, left: Term, right: Term) -> Answer<Term> {
    let between: Texts = match operator {
        Operator::Add => [" + "; 3],
        Operator::Subtract => [" - "; 3],
        Operator::Multiply => [" * "; 3],
        Operator::Divide => {
            let before = ["real_divide(", "(", "("];
            return divided(before, [", ", " / ", " / "], left, right, Sort::Real);
        }
        Operator::Remainder => {
            return Err(illegal("`%` needs numbers without exponent, not floats"));
        }
        Operator::Concatenate => return Err(left.misfit(&Sort::Text)),
    };
    let sql = written(
        ["finite(", "(", "("],
        [left.sql, right.sql],
        between,
        [")"; 3],
    );
    Term::made(sql, Sort::Real)
}

/// Return a quotient or a remainder. MariaDB would give null for a division by zero.
fn divided(before: Texts, between: Texts, left: Term, right: Term, sort: Sort) -> Answer<Term> {
    if matches!(&right.literal, Some(Literal::Null)) || right.is_literal_but_zero() {
        return Term::made(
            written(before, [left.sql, right.sql], between, [")"; 3]),
            sort,
        );
    }
    let mut of_mysql = Sql::new("(CASE WHEN ");
    of_mysql.append(right.sql.clone()).text(" = 0 THEN ");
    if sort == Sort::Real {
        of_mysql
            .text("POW(")
            .append(right.sql.clone())
            .text(", -1)");
    } else {
        of_mysql
            .text(OVERFLOW)
            .text("(")
            .append(right.sql.clone())
            .text(" = 0)");
    }
    of_mysql.text(" ELSE ");
    let mut sql = Sql::default();
    sql.either([Sql::new(before[0]), Sql::new(before[1]), of_mysql])
        .append(left.sql)
        .by_dialect(between)
        .append(right.sql)
        .by_dialect([")", ")", " END)"]);
    Term::made(sql, sort)
}
