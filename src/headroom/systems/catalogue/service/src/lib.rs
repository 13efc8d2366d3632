//! The parts of a metadata catalogue that speaks AMGA's streaming protocol.
//!
//! From outside to inside: `server` accepts connections and knows who is there (`security`);
//! `wire` reads lines and writes replies; `catalogue` has paths and rights; `store` has the
//! statements that SQLite, PostgreSQL and MariaDB understand. Each part uses only the parts that
//! are named after it, and all use `refusal` and `value`. `load` measures: it has clients of its own.

pub mod catalogue;
#[cfg(all(feature = "load", target_os = "linux"))]
pub mod load;
pub mod refusal;
pub mod security;
pub mod server;
pub mod store;
pub mod value;
pub mod wire;
