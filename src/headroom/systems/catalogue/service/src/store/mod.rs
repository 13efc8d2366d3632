//! Statements, and the tables that they are about.

pub mod sql;
pub mod tables;
