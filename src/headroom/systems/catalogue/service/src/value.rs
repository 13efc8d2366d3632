//! Values: as a database stores them, and as a user's type shows them.
//!
//! A store has three kinds of columns. Every type of the catalogue is stored in one of them, so
//! that all back ends order, compare and return the same: a `numeric(p,s)` is the whole number of
//! its last digits, a `timestamp` the microseconds since 1970.

pub mod text;
pub mod timestamp;

use serde::{Deserialize, Serialize};

/// A value in a database.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: shown as an empty line.
    Null,
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Real(f64),
    /// Text without the character NUL; a reply escapes the bytes that would end a line.
    Text(String),
}

/// A kind of column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// 64 bits, signed.
    Integer,
    /// A double.
    Real,
    /// UTF-8, ordered by its bytes.
    Text,
}

/// A type of an attribute, as `addattr` names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// `int`: 64 bits, signed.
    Int,
    /// `float`: a double.
    Float,
    /// `varchar(n)`: at most n characters.
    Varchar(u32),
    /// `text`.
    Text,
    /// `timestamp`: without time zone, in microseconds.
    Timestamp,
    /// `numeric(p,s)`: at most p digits, s of them after the point; p is 18 at most.
    Numeric {
        /// All digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
}

impl Type {
    /// Return the kind of column that stores it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Int | Self::Timestamp | Self::Numeric { .. } => Kind::Integer,
            Self::Float => Kind::Real,
            Self::Varchar(_) | Self::Text => Kind::Text,
        }
    }
}
