//! Functions of SQLite that the language needs: arithmetic that fails where PostgreSQL fails.
//!
//! SQLite alone turns an overflow into a float and a division by zero into null.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};

/// How the message of an error about a value begins, here and in SQLite's own functions.
const UNFIT: [&str; 2] = ["value out of range", "integer overflow"];

/// Add the functions to a connection.
///
/// # Errors
///
/// If SQLite refuses one.
pub fn register(connection: &Connection) -> Result<()> {
    exact(connection, "exact_add", |[a, b]| a.checked_add(b))?;
    exact(connection, "exact_subtract", |[a, b]| a.checked_sub(b))?;
    exact(connection, "exact_multiply", |[a, b]| a.checked_mul(b))?;
    exact(connection, "exact_divide", |[a, b]| a.checked_div(b))?;
    exact(connection, "exact_remainder", |[a, b]| {
        (b != 0).then(|| a.wrapping_rem(b))
    })?;
    exact(connection, "exact_floor", |[a, unit]| {
        Some(a.div_euclid(unit))
    })?;
    exact(connection, "exact_ceiling", |[a, unit]| {
        Some(ceiling(a, unit))
    })?;
    exact(connection, "exact_round", |[a, unit]| {
        Some(nearest(a, unit))
    })?;
    exact(connection, "exact_fit", |[a, greatest]| {
        (-greatest..=greatest).contains(&a).then_some(a)
    })?;
    real(connection, "finite", |[a]| a)?;
    real(connection, "real_divide", |[a, b]| {
        if b == 0.0 { f64::NAN } else { a / b }
    })?;
    real(connection, "real_root", |[a]| a.sqrt())?;
    real(connection, "real_floor", |[a]| a.floor())?;
    real(connection, "real_ceiling", |[a]| a.ceil())?;
    real(connection, "real_round", |[a]| a.round_ties_even())?;
    connection.create_scalar_function("exact_of_real", 1, flags(), exact_of_real)?;
    connection.create_scalar_function("text_fit", 2, flags(), text_fit)?;
    connection.create_aggregate_function("exact_sum", 1, flags(), Sum)?;
    connection.create_aggregate_function("exact_mean", 1, flags(), Mean)
}

/// Return whether an error is about a value of a client and no fault of the database.
pub fn is_unfit(error: &Error) -> bool {
    let message = match error {
        Error::SqliteFailure(_, Some(message)) => message,
        Error::SqlInputError { msg, .. } => msg,
        _ => return false,
    };
    UNFIT.iter().any(|start| message.starts_with(start))
}

fn flags() -> FunctionFlags {
    FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS
}

fn unfit() -> Error {
    Error::UserFunctionError(UNFIT[0].into())
}

/// Add a function of whole numbers: null if one is.
fn exact<const COUNT: usize>(
    connection: &Connection,
    name: &str,
    of: fn([i64; COUNT]) -> Option<i64>,
) -> Result<()> {
    let count = i32::try_from(COUNT).unwrap_or(-1);
    connection.create_scalar_function(name, count, flags(), move |context| {
        let mut numbers = [0; COUNT];
        for (at, number) in numbers.iter_mut().enumerate() {
            match context.get::<Option<i64>>(at)? {
                Some(found) => *number = found,
                None => return Ok(None),
            }
        }
        of(numbers).map(Some).ok_or_else(unfit)
    })
}

/// Add a function of floats: null if one is, an error if the result is not finite.
fn real<const COUNT: usize>(
    connection: &Connection,
    name: &str,
    of: fn([f64; COUNT]) -> f64,
) -> Result<()> {
    let count = i32::try_from(COUNT).unwrap_or(-1);
    connection.create_scalar_function(name, count, flags(), move |context| {
        let mut numbers = [0.0; COUNT];
        for (at, number) in numbers.iter_mut().enumerate() {
            match context.get::<Option<f64>>(at)? {
                Some(found) => *number = found,
                None => return Ok(None),
            }
        }
        let found = of(numbers);
        if found.is_finite() {
            Ok(Some(found))
        } else {
            Err(unfit())
        }
    })
}

fn ceiling(a: i64, unit: i64) -> i64 {
    a.div_euclid(unit) + i64::from(a.rem_euclid(unit) != 0)
}

/// Return the nearest multiple, counted in units: away from zero if two are.
fn nearest(a: i64, unit: i64) -> i64 {
    let is_up = (a % unit).unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
    a / unit + if is_up { a.signum() } else { 0 }
}

fn exact_of_real(context: &Context<'_>) -> Result<Option<i64>> {
    let Some(number) = context.get::<Option<f64>>(0)? else {
        return Ok(None);
    };
    let rounded = number.round_ties_even();
    // The upper limit, 2 to the power of 63, is one too many.
    let limit = -(i64::MIN as f64);
    if !(-limit..limit).contains(&rounded) {
        return Err(unfit());
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a whole number within the limits"
    )]
    Ok(Some(rounded as i64))
}

fn text_fit(context: &Context<'_>) -> Result<Option<String>> {
    let length: i64 = context.get(1)?;
    let Some(text) = context.get::<Option<String>>(0)? else {
        return Ok(None);
    };
    let is_fitting = i64::try_from(text.chars().count()).is_ok_and(|count| count <= length);
    if is_fitting {
        Ok(Some(text))
    } else {
        Err(unfit())
    }
}

/// Sum and count of whole numbers that are not null; 128 bits hold the sum of any table.
type Total = (i128, i64);

fn add(context: &Context<'_>, total: &mut Total) -> Result<()> {
    if let Some(number) = context.get::<Option<i64>>(0)? {
        total.0 += i128::from(number);
        total.1 += 1;
    }
    Ok(())
}

struct Sum;

impl Aggregate<Total, Option<i64>> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Total> {
        Ok((0, 0))
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> Result<()> {
        add(context, total)
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> Result<Option<i64>> {
        match total {
            Some((sum, 1..)) => i64::try_from(sum).map(Some).map_err(|_| unfit()),
            _ => Ok(None),
        }
    }
}

struct Mean;

impl Aggregate<Total, Option<f64>> for Mean {
    fn init(&self, _: &mut Context<'_>) -> Result<Total> {
        Ok((0, 0))
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> Result<()> {
        add(context, total)
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> Result<Option<f64>> {
        let total = total.filter(|(_, count)| *count > 0);
        Ok(total.map(|(sum, count)| sum as f64 / count as f64))
    }
}
