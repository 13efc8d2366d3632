//! Systems that can be studied: the native parts of each layer.

pub mod command;
pub mod storage;
