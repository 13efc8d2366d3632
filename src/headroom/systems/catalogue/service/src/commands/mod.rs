//! What a line asks for.
