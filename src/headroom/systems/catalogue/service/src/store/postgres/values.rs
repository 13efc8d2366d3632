//! Values on the wire, in binary form.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::super::error::StoreError;
use crate::value::{Kind, Value};

/// A value of a parameter.
#[derive(Debug)]
pub struct Parameter<'a>(pub &'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(of, out),
            Value::Real(number) => number.to_sql(of, out),
            Value::Text(text) => text.to_sql(of, out),
        }
    }

    /// Each parameter is declared with the type of its kind.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Return the type of a parameter.
pub fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Integer => Type::INT8,
        Kind::Real => Type::FLOAT8,
        Kind::Text => Type::TEXT,
    }
}

/// Return parameters with their types.
pub fn typed(values: &[(Value, Kind)]) -> Vec<(Parameter<'_>, Type)> {
    let values = values.iter();
    values
        .map(|(value, kind)| (Parameter(value), type_of(*kind)))
        .collect()
}

/// Return the values of a row.
pub fn decode(row: &Row) -> Result<Vec<Value>, StoreError> {
    (0..row.len()).map(|column| value(row, column)).collect()
}

fn value(row: &Row, column: usize) -> Result<Value, StoreError> {
    let of = row.columns()[column].type_();
    Ok(match *of {
        Type::INT8 => get(row, column)?.map_or(Value::Null, Value::Integer),
        Type::INT4 => get::<i32>(row, column)?.map_or(Value::Null, |it| Value::Integer(it.into())),
        Type::INT2 => get::<i16>(row, column)?.map_or(Value::Null, |it| Value::Integer(it.into())),
        Type::BOOL => get::<bool>(row, column)?.map_or(Value::Null, |it| Value::Integer(it.into())),
        Type::FLOAT8 => get(row, column)?.map_or(Ok(Value::Null), finite)?,
        Type::FLOAT4 => get::<f32>(row, column)?.map_or(Ok(Value::Null), |it| finite(it.into()))?,
        _ if <String as FromSql>::accepts(of) => get(row, column)?.map_or(Value::Null, Value::Text),
        _ => return Err(StoreError::Fault(format!("a column has the type `{of}`"))),
    })
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<Option<T>, StoreError> {
    row.try_get(column)
        .map_err(|error| StoreError::Fault(error.to_string()))
}

fn finite(number: f64) -> Result<Value, StoreError> {
    if number.is_finite() {
        Ok(Value::Real(number))
    } else {
        Err(StoreError::Unfit("a number is out of range".to_owned()))
    }
}
