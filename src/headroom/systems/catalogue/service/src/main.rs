//! The program `headroom-catalogue`.

fn main() {}
