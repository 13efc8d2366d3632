//! A metadata catalogue that speaks AMGA's streaming protocol.
//!
//! From outside to inside: `server` accepts connections and knows who is there (`security`);
//! `wire` reads lines and writes replies; `commands` finds out what a line asks for, with the
//! parsers of `language`; `catalogue` knows directories, entries and permissions, and words its
//! questions in SQL; `store` runs them on SQLite, PostgreSQL or MariaDB. Each part uses only the
//! parts that are named after it, and all use `refusal` and `value`.

pub mod catalogue;
pub mod commands;
pub mod language;
pub mod refusal;
pub mod security;
pub mod server;
pub mod store;
pub mod value;
pub mod wire;
