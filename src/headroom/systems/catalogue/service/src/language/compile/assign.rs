//! Values as columns store them.

use super::arithmetic::OVERFLOW;
use super::illegal;
use super::term::{Sort, Term, written};
use crate::language::expression::Literal;
use crate::refusal::Answer;
use crate::store::sql::Sql;
use crate::value::Type;
use crate::value::text::{MAX_PRECISION, power_of_ten};

/// Negative powers of ten, exact in PostgreSQL and MariaDB.
const UNITS: [&str; MAX_PRECISION as usize + 1] = [
    "1",
    "0.1",
    "0.01",
    "0.001",
    "0.0001",
    "0.00001",
    "0.000001",
    "0.0000001",
    "0.00000001",
    "0.000000001",
    "0.0000000001",
    "0.00000000001",
    "0.000000000001",
    "0.0000000000001",
    "0.00000000000001",
    "0.000000000000001",
    "0.0000000000000001",
    "0.00000000000000001",
    "0.000000000000000001",
];

/// How digits are dropped: the names of functions in three dialects.
pub const NEAREST: [&str; 3] = ["exact_round(", "CAST(round(CAST(", "CAST(ROUND(CAST("];
/// Down.
pub const FLOOR: [&str; 3] = ["exact_floor(", "CAST(floor(CAST(", "CAST(FLOOR(CAST("];
/// Up.
pub const CEILING: [&str; 3] = ["exact_ceiling(", "CAST(ceil(CAST(", "CAST(CEILING(CAST("];

/// Return a value as a column of this type stores it.
pub fn stored(term: Term, target: &Type) -> Answer<Sql> {
    let sort = Sort::of_type(target);
    if term.of.as_ref() == Some(target) {
        return Ok(term.sql);
    }
    match &term.literal {
        Some(Literal::Null) => return term.converted(sort).map(|found| found.sql),
        Some(Literal::Text(text)) => return literal(text, target),
        _ => {}
    }
    let found = match (term.sort, sort) {
        (Sort::Exact(from), Sort::Exact(to)) if from > to => fitted(rounded(term, to)?, target),
        (Sort::Real, Sort::Exact(scale)) => fitted(exact_of_real(term, scale)?, target),
        (Sort::Exact(_), Sort::Exact(_)) => fitted(term.converted(sort)?, target),
        (Sort::Exact(_), Sort::Real) => term.converted(sort),
        (Sort::Text, Sort::Text) => fitted(term, target),
        (one, other) if one == other => Ok(term),
        _ => Err(illegal(&format!(
            "{} is not a value of type {target}",
            term.sort
        ))),
    };
    found.map(|found| found.sql)
}

/// Return an exact number with fewer digits after the point: the nearest, away from zero if two are.
pub fn rounded(term: Term, scale: u8) -> Answer<Term> {
    dropped(NEAREST, term, scale)
}

/// Return an exact number with fewer digits after the point.
pub fn dropped(how: [&'static str; 3], term: Term, scale: u8) -> Answer<Term> {
    let Sort::Exact(from) = term.sort else {
        return Err(term.misfit(&"a number without exponent"));
    };
    let digits = from.saturating_sub(scale);
    if digits == 0 {
        return Ok(term);
    }
    let unit = UNITS[usize::from(digits)];
    let mut sql = Sql::default();
    sql.by_dialect(how).append(term.sql).by_dialect([
        ", ",
        " AS numeric) * ",
        " AS DECIMAL(20,0)) * ",
    ]);
    let mut factor = Sql::default();
    factor.number(power_of_ten(digits)).text(")");
    sql.either([factor, Sql::new(unit), Sql::new(unit)]);
    sql.by_dialect(["", ") AS bigint)", ") AS SIGNED)"]);
    Term::made(sql, Sort::Exact(scale))
}

/// Return a float as an exact number: the nearest, an even one if two are.
pub fn exact_of_real(term: Term, scale: u8) -> Answer<Term> {
    let scaled = if scale == 0 {
        term.sql
    } else {
        let before = ["finite(", "(", "("];
        let mut sql = written(before, [term.sql], [""; 3], [" * ", " * CAST(", " * "]);
        sql.number(power_of_ten(scale))
            .by_dialect([")", " AS double precision))", ")"]);
        sql
    };
    let mut of_mysql = Sql::new("(CASE WHEN ");
    of_mysql
        .append(scaled.clone())
        .text(" NOT BETWEEN -9223372036854775808e0 AND 9223372036854774784e0 THEN ")
        .text(OVERFLOW)
        .text("(")
        .append(scaled.clone())
        .text(" IS NOT NULL) ELSE CAST(ROUND(")
        .append(scaled.clone())
        .text(") AS SIGNED) END)");
    let of_sqlite = written(["exact_of_real("; 3], [scaled.clone()], [""; 3], [")"; 3]);
    let of_postgres = written(["CAST("; 3], [scaled], [""; 3], [" AS bigint)"; 3]);
    let mut sql = Sql::default();
    sql.either([of_sqlite, of_postgres, of_mysql]);
    Term::made(sql, Sort::Exact(scale))
}

fn literal(text: &str, target: &Type) -> Answer<Sql> {
    let value = target.encode(text)?;
    let mut found = Sql::default();
    found.bind_as(value, target.kind());
    Ok(found)
}

/// Return a value of the sort of a type, with an error if it has more digits or characters.
fn fitted(term: Term, target: &Type) -> Answer<Term> {
    match target {
        Type::Numeric { precision, .. } => fitted_number(term, *precision),
        Type::Varchar(length) => fitted_text(term, *length),
        _ => Ok(term),
    }
}

fn fitted_number(term: Term, precision: u8) -> Answer<Term> {
    let greatest = power_of_ten(precision) - 1;
    let (sql, sort) = (term.sql, term.sort);
    let mut of_sqlite = Sql::new("exact_fit(");
    of_sqlite
        .append(sql.clone())
        .text(", ")
        .number(greatest)
        .text(")");
    let mut of_postgres = Sql::new("CAST(CAST(");
    of_postgres
        .append(sql.clone())
        .text(" AS numeric(")
        .number(i64::from(precision))
        .text(",0)) AS bigint)");
    let mut of_mysql = Sql::new("(CASE WHEN ");
    of_mysql
        .append(sql.clone())
        .text(" NOT BETWEEN ")
        .number(-greatest)
        .text(" AND ")
        .number(greatest)
        .text(" THEN ")
        .text(OVERFLOW)
        .text("(")
        .append(sql.clone())
        .text(" IS NOT NULL) ELSE ")
        .append(sql)
        .text(" END)");
    let mut found = Sql::default();
    found.either([of_sqlite, of_postgres, of_mysql]);
    Term::made(found, sort)
}

fn fitted_text(term: Term, length: u32) -> Answer<Term> {
    if let Some(Type::Varchar(known)) = term.of
        && known <= length
    {
        return Ok(term);
    }
    let (sql, length) = (term.sql, i64::from(length));
    let mut of_sqlite = Sql::new("text_fit(");
    of_sqlite
        .append(sql.clone())
        .text(", ")
        .number(length)
        .text(")");
    let mut too_long = Sql::new("(CASE WHEN CHAR_LENGTH(");
    too_long.append(sql.clone()).text(") > ").number(length);
    let mut of_postgres = too_long.clone();
    // The divisor is zero, and not a constant that PostgreSQL would compute while it plans.
    of_postgres
        .text(" THEN CAST(1 / (CHAR_LENGTH(")
        .append(sql.clone())
        .text(") * 0) AS text) ELSE ")
        .append(sql.clone())
        .text(" END)");
    let mut of_mysql = too_long;
    of_mysql
        .text(" THEN CONCAT(")
        .text(OVERFLOW)
        .text("(CHAR_LENGTH(")
        .append(sql.clone())
        .text(") > ")
        .number(length)
        .text(")) ELSE ")
        .append(sql)
        .text(" END)");
    let mut found = Sql::default();
    found.either([of_sqlite, of_postgres, of_mysql]);
    Term::made(found, Sort::Text)
}
