//! Functions of values, and over many entries.

use std::time::{SystemTime, UNIX_EPOCH};

use super::arithmetic;
use super::assign::{CEILING, FLOOR, NEAREST, dropped};
use super::illegal;
use super::term::{Sort, Term, Texts, unified, written};
use crate::language::expression::{Function, Literal, Operator};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::Value;
use crate::value::text::power_of_ten;

/// Changes ASCII letters only: the collation of bytes in PostgreSQL, and in MariaDB a character set
/// of one byte in which no other character has a case.
const LOWER: (Texts, Texts) = (
    ["lower(", "lower(", "(CONVERT(CAST(LOWER(CONVERT(CAST("],
    [")", " COLLATE \"C\")", BACK_FROM_BYTES],
);
const UPPER: (Texts, Texts) = (
    ["upper(", "upper(", "(CONVERT(CAST(UPPER(CONVERT(CAST("],
    [")", " COLLATE \"C\")", BACK_FROM_BYTES],
);
const BACK_FROM_BYTES: &str =
    " AS BINARY) USING tis620)) AS BINARY) USING utf8mb4) COLLATE utf8mb4_nopad_bin)";

/// Return the value of a function of one entry.
pub fn call(function: Function, mut terms: Vec<Term>) -> Answer<Term> {
    match function {
        Function::Now => return now(),
        Function::Coalesce => return coalesce(terms),
        Function::Concat => return arithmetic::concatenated(terms),
        Function::NullIf => return null_if(terms),
        _ => {}
    }
    let rest = terms.split_off(1.min(terms.len()));
    let operand = terms
        .pop()
        .ok_or_else(|| illegal("a function needs a value"))?;
    match function {
        Function::Substr => part_of_text(operand, &rest),
        Function::Lower => of_text(operand, LOWER, Sort::Text),
        Function::Upper => of_text(operand, UPPER, Sort::Text),
        Function::Length => of_text(
            operand,
            (
                ["length(", "CAST(char_length(", "CHAR_LENGTH("],
                [")", ") AS bigint)", ")"],
            ),
            Sort::Exact(0),
        ),
        Function::Abs => absolute(operand),
        Function::Sqrt => root(operand),
        Function::Floor => whole(operand, FLOOR, ["real_floor(", "floor(", "FLOOR("]),
        Function::Ceil => whole(operand, CEILING, ["real_ceiling(", "ceil(", "CEILING("]),
        _ => round(operand, rest.first()),
    }
}

/// Return the value of a function over many entries; without operand, it counts them.
pub fn aggregate(function: Function, operand: Option<Term>) -> Answer<Term> {
    let Some(operand) = operand else {
        return Term::made(Sql::new("COUNT(*)"), Sort::Exact(0));
    };
    if matches!(operand.sort, Sort::Truth | Sort::Null) {
        return Err(operand.misfit(&"a value"));
    }
    match function {
        Function::Count => wrapped(operand, (["COUNT("; 3], [")"; 3]), Sort::Exact(0)),
        Function::Min => extreme(operand, ["MIN("; 3]),
        Function::Max => extreme(operand, ["MAX("; 3]),
        Function::Sum => sum(operand),
        _ => mean(operand),
    }
}

fn wrapped(operand: Term, (before, after): (Texts, Texts), sort: Sort) -> Answer<Term> {
    Term::made(written(before, [operand.sql], [""; 3], after), sort)
}

fn of_text(operand: Term, texts: (Texts, Texts), sort: Sort) -> Answer<Term> {
    match operand.sort {
        Sort::Text | Sort::Null => wrapped(operand.converted(Sort::Text)?, texts, sort),
        _ => Err(operand.misfit(&Sort::Text)),
    }
}

fn now() -> Answer<Term> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let microseconds = since
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok());
    microseconds
        .map(Term::of_time)
        .ok_or_else(|| Refusal::new(Code::Unavailable, "the clock of the server is wrong"))
}

fn coalesce(terms: Vec<Term>) -> Answer<Term> {
    let mut terms = unified(terms)?;
    let Some(sort) = terms
        .first()
        .map(|term| term.sort)
        .filter(|sort| is_value(*sort))
    else {
        return Err(illegal("`coalesce` needs a value"));
    };
    if terms.len() == 1 {
        return Ok(terms.remove(0));
    }
    let parts = terms.into_iter().map(|term| term.sql);
    Term::made(written(["COALESCE("; 3], parts, [", "; 3], [")"; 3]), sort)
}

fn null_if(terms: Vec<Term>) -> Answer<Term> {
    let terms = unified(terms)?;
    let Some(sort) = terms
        .first()
        .map(|term| term.sort)
        .filter(|sort| is_value(*sort))
    else {
        return Err(illegal("`nullif` needs values"));
    };
    let parts = terms.into_iter().map(|term| term.sql);
    Term::made(written(["NULLIF("; 3], parts, [", "; 3], [")"; 3]), sort)
}

fn is_value(sort: Sort) -> bool {
    !matches!(sort, Sort::Null | Sort::Truth)
}

/// The databases disagree about places before the text, so the place must be in the expression.
fn part_of_text(operand: Term, rest: &[Term]) -> Answer<Term> {
    let operand = match operand.sort {
        Sort::Text => operand,
        _ => return Err(operand.misfit(&Sort::Text)),
    };
    let mut sql = written(
        ["substr(", "substr(", "SUBSTRING("],
        [operand.sql],
        [""; 3],
        [""; 3],
    );
    for (term, least) in rest.iter().zip([1, 0]) {
        let number = match term.literal {
            Some(Literal::Integer(number)) if i32::try_from(number).is_ok() => number,
            _ => {
                return Err(illegal(
                    "the places of `substr` are whole numbers in digits",
                ));
            }
        };
        if number < least {
            return Err(illegal(
                "`substr` starts at character 1 and takes at least 0",
            ));
        }
        sql.by_dialect([", ", ", CAST(", ", CAST("])
            .bind(Value::Integer(number))
            .by_dialect(["", " AS integer)", " AS SIGNED)"]);
    }
    sql.text(")");
    Term::made(sql, Sort::Text)
}

fn numeric(operand: Term) -> Answer<Term> {
    match operand.sort {
        Sort::Exact(_) | Sort::Real => Ok(operand),
        Sort::Null => operand.converted(Sort::Exact(0)),
        _ => Err(operand.misfit(&"a number")),
    }
}

fn absolute(operand: Term) -> Answer<Term> {
    let operand = numeric(operand)?;
    let sort = operand.sort;
    wrapped(operand, (["abs("; 3], [")"; 3]), sort)
}

/// MariaDB would give null for the root of a negative number; a power of it is an error.
fn root(operand: Term) -> Answer<Term> {
    let operand = numeric(operand)?.converted(Sort::Real)?.sql;
    let mut of_mysql = Sql::new("(CASE WHEN ");
    of_mysql
        .append(operand.clone())
        .text(" < 0 THEN POW(")
        .append(operand.clone())
        .text(", 0.5) ELSE SQRT(");
    let mut sql = Sql::default();
    sql.either([Sql::new("real_root("), Sql::new("sqrt("), of_mysql])
        .append(operand)
        .by_dialect([")", ")", ") END)"]);
    Term::made(sql, Sort::Real)
}

fn whole(operand: Term, exact: Texts, real: Texts) -> Answer<Term> {
    let operand = numeric(operand)?;
    if operand.sort == Sort::Real {
        return wrapped(operand, (real, [")"; 3]), Sort::Real);
    }
    dropped(exact, operand, 0)
}

fn round(operand: Term, digits: Option<&Term>) -> Answer<Term> {
    let operand = numeric(operand)?;
    let Some(digits) = digits else {
        return whole(operand, NEAREST, ["real_round(", "round(", "ROUND("]);
    };
    if operand.sort == Sort::Real {
        return Err(illegal(
            "a float is rounded to whole numbers only; assign it to a numeric",
        ));
    }
    match digits.literal {
        Some(Literal::Integer(scale)) if scale >= 0 => {
            dropped(NEAREST, operand, u8::try_from(scale).unwrap_or(u8::MAX))
        }
        _ => Err(illegal(
            "the digits of `round` are a whole number in digits",
        )),
    }
}

fn extreme(operand: Term, before: Texts) -> Answer<Term> {
    let (sort, of) = (operand.sort, operand.of.clone());
    let found = wrapped(operand, (before, [")"; 3]), sort)?;
    Ok(Term { of, ..found })
}

fn sum(operand: Term) -> Answer<Term> {
    let sort = operand.sort;
    match sort {
        // MariaDB sums whole numbers as decimals; a quotient of them must fit into 64 bits.
        Sort::Exact(_) => wrapped(
            operand,
            (
                ["exact_sum(", "CAST(SUM(", "(SUM("],
                [")", ") AS bigint)", ") DIV 1)"],
            ),
            sort,
        ),
        Sort::Real => wrapped(
            operand,
            (["finite(SUM(", "SUM(", "(SUM("], ["))", ")", ") * 1)"]),
            sort,
        ),
        _ => Err(operand.misfit(&"a number")),
    }
}

fn mean(operand: Term) -> Answer<Term> {
    match operand.sort {
        Sort::Exact(scale) => exact_mean(&operand, scale),
        Sort::Real => wrapped(
            operand,
            (["finite(AVG(", "AVG(", "(AVG("], ["))", ")", ") * 1)"]),
            Sort::Real,
        ),
        _ => Err(operand.misfit(&"a number")),
    }
}

/// The exact sum as a float, divided by the count: the digits of `AVG` differ between databases.
fn exact_mean(operand: &Term, scale: u8) -> Answer<Term> {
    let twice = [operand.sql.clone(), operand.sql.clone()];
    let divided =
        |before, between, after| written([before; 3], twice.clone(), [between; 3], [after; 3]);
    let of_sqlite = written(["exact_mean("; 3], [operand.sql.clone()], [""; 3], [")"; 3]);
    let of_postgres = divided(
        "(CAST(SUM(",
        ") AS double precision) / CAST(COUNT(",
        ") AS double precision))",
    );
    let of_mysql = divided("(CAST(SUM(", ") AS DOUBLE) / COUNT(", "))");
    let mut sql = Sql::default();
    sql.either([of_sqlite, of_postgres, of_mysql]);
    let found = Term::made(sql, Sort::Real)?;
    if scale == 0 {
        return Ok(found);
    }
    arithmetic::binary(
        Operator::Divide,
        found,
        Term::of_literal(&Literal::Integer(power_of_ten(scale))),
    )
}
