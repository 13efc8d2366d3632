//! A proxy that stands for a long line; see `headroom_catalogue::load::delay`.

use std::process::ExitCode;

fn main() -> ExitCode {
    headroom_catalogue::load::delay::main(std::env::args().skip(1))
}
