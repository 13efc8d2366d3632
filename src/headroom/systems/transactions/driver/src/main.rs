//! The program; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    headroom_transactions_driver::command::main(std::env::args().skip(1))
}
