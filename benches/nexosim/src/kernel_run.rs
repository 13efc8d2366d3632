//! Headroom's kernel without Python, for tools that count instructions.
//!
//! Arguments: the file of a model as data, and the number of completions. Prints the number of
//! station visits.

use std::env;
use std::fs;

use headroom::simulation::kernel::plan::mechanism::none;
use headroom::simulation::kernel::{RunOptions, Stop, simulate};

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let model = fs::read(&arguments[1]).expect("a file that can be read");
    let completions = arguments[2].parse().expect("a number of completions");
    let options = RunOptions {
        seed: 1,
        stop: Stop {
            completions: Some(completions),
            time: None,
        },
        ..RunOptions::default()
    };
    let outcome = simulate(&model, options, none, &mut || true).expect("a model that runs");
    println!("{}", outcome.visit_count);
}
