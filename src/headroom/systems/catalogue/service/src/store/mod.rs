//! Statements, and the tables that they are about.

pub mod functions;
pub mod sql;
pub mod tables;
