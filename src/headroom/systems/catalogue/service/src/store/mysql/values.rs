//! Values on the wire, in binary form.

use mysql_async::consts::ColumnType;
use mysql_async::{Column, Params, Row, Value as Stored};

use super::super::error::StoreError;
use crate::value::{Kind, Value};

/// Return the values of parameters.
pub fn parameters(values: &[(Value, Kind)]) -> Params {
    if values.is_empty() {
        return Params::Empty;
    }
    let stored = |value: &Value| match value {
        Value::Null => Stored::NULL,
        Value::Integer(number) => Stored::Int(*number),
        Value::Real(number) => Stored::Double(*number),
        Value::Text(text) => Stored::Bytes(text.as_bytes().to_vec()),
    };
    Params::Positional(values.iter().map(|(value, _)| stored(value)).collect())
}

/// Return the values of a row.
pub fn decode(row: &Row) -> Result<Vec<Value>, StoreError> {
    let columns = row.columns_ref().iter().enumerate();
    columns
        .map(|(number, column)| value(row.as_ref(number), column))
        .collect()
}

fn value(stored: Option<&Stored>, column: &Column) -> Result<Value, StoreError> {
    match stored {
        None | Some(Stored::NULL) => Ok(Value::Null),
        Some(Stored::Int(number)) => Ok(Value::Integer(*number)),
        Some(Stored::UInt(number)) => i64::try_from(*number)
            .map(Value::Integer)
            .map_err(|_| out_of_range()),
        Some(Stored::Float(number)) => finite((*number).into()),
        Some(Stored::Double(number)) => finite(*number),
        Some(Stored::Bytes(bytes)) => {
            let text = std::str::from_utf8(bytes);
            let text = text.map_err(|_| StoreError::Unfit("a text is not UTF-8".to_owned()))?;
            of_text(text, column)
        }
        Some(_) => {
            let of = column.column_type();
            Err(StoreError::Fault(format!("a column has the type {of:?}")))
        }
    }
}

/// Return the value of a text, or of a decimal number: MariaDB adds whole numbers to one.
fn of_text(text: &str, column: &Column) -> Result<Value, StoreError> {
    match (column.column_type(), column.decimals()) {
        (ColumnType::MYSQL_TYPE_NEWDECIMAL, 0) => {
            text.parse().map(Value::Integer).map_err(|_| out_of_range())
        }
        (ColumnType::MYSQL_TYPE_NEWDECIMAL, _) => {
            text.parse().map_err(|_| out_of_range()).and_then(finite)
        }
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn finite(number: f64) -> Result<Value, StoreError> {
    if number.is_finite() {
        Ok(Value::Real(number))
    } else {
        Err(out_of_range())
    }
}

fn out_of_range() -> StoreError {
    StoreError::Unfit("a number is out of range".to_owned())
}
