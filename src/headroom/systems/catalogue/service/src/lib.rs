//! The parts of a metadata catalogue that speaks AMGA's streaming protocol.
//!
//! From outside to inside: `http` is a second face beside the first; `server` accepts connections and knows who is there (`security`);
//! `wire` reads lines and writes replies; `catalogue` has what commands mean; `language` turns words,
//! patterns and expressions into parts of statements; `store` has the databases: SQLite, PostgreSQL
//! and MariaDB. Each part uses only the parts that are named after it, and all use `refusal` and
//! `value`. `load` measures: it has clients of its own.

pub mod catalogue;
pub mod http;
pub mod language;
#[cfg(all(feature = "load", target_os = "linux"))]
pub mod load;
pub mod metrics;
pub mod refusal;
pub mod security;
pub mod server;
pub mod store;
#[cfg(test)]
mod testing;
pub mod value;
pub mod wire;
