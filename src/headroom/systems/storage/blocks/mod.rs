//! Loads of single requests, and the engine that carries them out.

#[cfg(unix)]
pub mod engine;
