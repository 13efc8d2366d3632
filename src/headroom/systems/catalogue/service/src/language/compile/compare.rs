//! Conditions.

use super::illegal;
use super::literal::floor_of;
use super::term::{Sort, Term, unified, written};
use crate::language::expression::{Comparison, Literal};
use crate::language::pattern::Pattern;
use crate::refusal::Answer;
use crate::store::sql::Sql;

/// Return a comparison.
pub fn compare(comparison: Comparison, left: &Term, right: &Term) -> Answer<Term> {
    for term in [left, right] {
        if term.sort == Sort::Truth {
            return Err(illegal("a condition cannot be compared"));
        }
        if term.sort == Sort::Null {
            return Err(illegal("nothing compares with null; use `is null`"));
        }
    }
    let (left, right) = (left.clone().meeting(right)?, right.clone().meeting(left)?);
    let (left, right, comparison) = if left.literal.is_some() && right.literal.is_none() {
        (right, left, mirrored(comparison))
    } else {
        (left, right, comparison)
    };
    if let (Sort::Exact(scale), None, Some(literal)) = (left.sort, &left.literal, &right.literal)
        && let Some((floor, is_whole)) = floor_of(literal, scale)
    {
        return compare_with_literal(comparison, left, floor, is_whole);
    }
    let both = unified(vec![left, right])?.into_iter().map(|term| term.sql);
    Term::made(
        written(["("; 3], both, [sign(comparison); 3], [")"; 3]),
        Sort::Truth,
    )
}

/// Return whether a value is null.
pub fn is_null(of: &Term) -> Answer<Term> {
    if of.sort == Sort::Truth {
        return Err(illegal("a condition cannot be compared"));
    }
    Term::made(
        written(["("; 3], [of.sql.clone()], [""; 3], [" IS NULL)"; 3]),
        Sort::Truth,
    )
}

/// Return whether the first value is one of the others.
pub fn is_in(mut terms: Vec<Term>) -> Answer<Term> {
    let others = terms.split_off(1);
    let Some(operand) = terms.pop() else {
        return Err(illegal("`in` needs a value"));
    };
    let mut listed = Vec::new();
    let mut compared = Vec::new();
    for other in others {
        if operand.literal.is_some() || other.sort == Sort::Null || other.sort == Sort::Truth {
            compared.push(compare(Comparison::Equal, &operand, &other)?);
            continue;
        }
        let other = other.meeting(&operand)?;
        match other.clone().converted(operand.sort) {
            Ok(fitting) => listed.push(fitting.sql),
            Err(_) => compared.push(compare(Comparison::Equal, &operand, &other)?),
        }
    }
    if !listed.is_empty() {
        let mut sql = Sql::new("(");
        sql.append(operand.sql)
            .text(" IN (")
            .join(listed, ", ")
            .text("))");
        compared.push(Term::made(sql, Sort::Truth)?);
    }
    joined(compared, " OR ")
}

/// Return whether the first value is at least the second and at most the third.
pub fn is_between(operand: &Term, low: &Term, high: &Term) -> Answer<Term> {
    let low = compare(Comparison::AtLeast, operand, low)?;
    let high = compare(Comparison::AtMost, operand, high)?;
    joined(vec![low, high], " AND ")
}

/// Return whether a text matches a pattern.
pub fn like(operand: &Term, pattern: &Pattern) -> Answer<Term> {
    if operand.sort != Sort::Text {
        return Err(operand.misfit(&Sort::Text));
    }
    // An index helps with an attribute only; other parts are better not written three times.
    let sql = if operand.of.is_some() {
        pattern.condition(&operand.sql)
    } else {
        pattern.matching(&operand.sql)
    };
    Term::made(sql, Sort::Truth)
}

/// Return conditions with `and` or `or` between them, as a balanced tree: SQLite limits its height.
pub fn joined(mut terms: Vec<Term>, between: &'static str) -> Answer<Term> {
    if terms.len() < 2 {
        return terms.pop().ok_or_else(|| illegal("a condition is empty"));
    }
    let others = terms.split_off(terms.len() / 2);
    let halves = [joined(terms, between)?.sql, joined(others, between)?.sql];
    Term::made(
        written(["("; 3], halves, [between; 3], [")"; 3]),
        Sort::Truth,
    )
}

fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::AtMost => Comparison::AtLeast,
        Comparison::Greater => Comparison::Less,
        Comparison::AtLeast => Comparison::AtMost,
        same => same,
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::Unequal => " <> ",
        Comparison::Less => " < ",
        Comparison::AtMost => " <= ",
        Comparison::Greater => " > ",
        Comparison::AtLeast => " >= ",
    }
}

/// Compare without converting the value, so that an index helps and nothing overflows: the literal
/// lies at `floor` units of the value's last digit, or between it and the next one.
fn compare_with_literal(
    comparison: Comparison,
    term: Term,
    floor: i128,
    is_whole: bool,
) -> Answer<Term> {
    let number = i64::try_from(floor);
    let (Ok(number), sign) = (number, sign(comparison)) else {
        let is_beyond = if floor > 0 {
            matches!(
                comparison,
                Comparison::Less | Comparison::AtMost | Comparison::Unequal
            )
        } else {
            matches!(
                comparison,
                Comparison::Greater | Comparison::AtLeast | Comparison::Unequal
            )
        };
        return always(&term, is_beyond);
    };
    let sign = match comparison {
        _ if is_whole => sign,
        Comparison::Equal => return always(&term, false),
        Comparison::Unequal => return always(&term, true),
        Comparison::Less | Comparison::AtMost => " <= ",
        Comparison::Greater | Comparison::AtLeast => " > ",
    };
    let number = Term::of_literal(&Literal::Integer(number));
    Term::made(
        written(["("; 3], [term.sql, number.sql], [sign; 3], [")"; 3]),
        Sort::Truth,
    )
}

/// Return a condition that is always true or always false, and unknown for null.
fn always(term: &Term, is_true: bool) -> Answer<Term> {
    let between = [if is_true { " = " } else { " <> " }; 3];
    let twice = [term.sql.clone(), term.sql.clone()];
    Term::made(written(["("; 3], twice, between, [")"; 3]), Sort::Truth)
}
