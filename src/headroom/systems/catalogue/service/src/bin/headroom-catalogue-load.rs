//! One process of a load; see `headroom_catalogue::load`.

use std::process::ExitCode;

fn main() -> ExitCode {
    headroom_catalogue::load::command::main(std::env::args().skip(1))
}
