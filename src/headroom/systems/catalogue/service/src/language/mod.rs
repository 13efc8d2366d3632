//! The language of clients: words of a line, patterns, expressions and native SQL.
//!
//! A text becomes a tree, and the tree parts of a statement for all databases: the texts of these
//! parts are constants of the program, all else is bound. Nothing here reads a database; names of
//! attributes get their meaning from the caller, who has checked the rights.

#[cfg(test)]
pub(crate) mod chance;
pub mod compile;
pub mod expression;
mod lexer;
pub mod native;
pub mod parser;
pub mod pattern;
pub mod shape;
#[cfg(test)]
mod sqlite;
pub mod words;
