//! Values of the text of an expression, bound as parameters.

use super::term::{Sort, Term, Texts};
use crate::language::expression::Literal;
use crate::store::sql::Sql;
use crate::value::text::{MAX_PRECISION, power_of_ten};
use crate::value::{Kind, Type, Value};

/// Return a literal as this sort; None if it does not fit exactly.
pub fn literal_as(literal: &Literal, sort: Sort) -> Option<Term> {
    let sql = match (literal, sort) {
        (Literal::Null, sort) => absent(sort)?,
        (Literal::Integer(number), Sort::Real) => bound(Value::Real(*number as f64)),
        (Literal::Decimal { unscaled, scale }, Sort::Real) => {
            let of = Type::Numeric {
                precision: MAX_PRECISION,
                scale: *scale,
            };
            let text = of.decode(&Value::Integer(*unscaled));
            bound(Value::Real(text.parse().ok()?))
        }
        (_, Sort::Exact(scale)) => {
            let (floor, is_whole) = floor_of(literal, scale)?;
            let number = i64::try_from(floor).ok().filter(|_| is_whole)?;
            bound(Value::Integer(number))
        }
        _ => return None,
    };
    Term::made(sql, sort).ok()
}

/// Return how many units of the last of `scale` digits a literal has, rounded down, and whether
/// that is exact; None if it is no exact number.
pub fn floor_of(literal: &Literal, scale: u8) -> Option<(i128, bool)> {
    let (unscaled, from) = match literal {
        Literal::Integer(number) => (*number, 0),
        Literal::Decimal { unscaled, scale } => (*unscaled, *scale),
        _ => return None,
    };
    let unscaled = i128::from(unscaled);
    if from <= scale {
        return Some((unscaled * i128::from(power_of_ten(scale - from)), true));
    }
    let divisor = i128::from(power_of_ten(from - scale));
    Some((
        unscaled.div_euclid(divisor),
        unscaled.rem_euclid(divisor) == 0,
    ))
}

fn absent(sort: Sort) -> Option<Sql> {
    let is_value = !matches!(sort, Sort::Null | Sort::Truth);
    is_value.then(|| parameter(Value::Null, sort.kind()))
}

/// Return a bound number.
pub fn bound(value: Value) -> Sql {
    let kind = if matches!(value, Value::Real(_)) {
        Kind::Real
    } else {
        Kind::Integer
    };
    parameter(value, kind)
}

/// Return a parameter of a known type: PostgreSQL would guess it from what is around, and MariaDB
/// computes with decimals where it does not know it.
pub fn parameter(value: Value, kind: Kind) -> Sql {
    let after: Texts = match kind {
        Kind::Integer => ["", " AS bigint)", " AS SIGNED)"],
        Kind::Real => ["", " AS double precision)", " AS DOUBLE)"],
        Kind::Text => ["", " AS text)", " AS CHAR)"],
    };
    let mut found = Sql::default();
    found
        .by_dialect(["", "CAST(", "CAST("])
        .bind_as(value, kind)
        .by_dialect(after);
    found
}
