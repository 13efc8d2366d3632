//! Models as data: each is refused with a message, or runs to its end within a bounded time.

#![no_main]

use headroom::simulation::kernel::plan::mechanism::none;
use headroom::simulation::kernel::{RunOptions, Stop, simulate};
use libfuzzer_sys::fuzz_target;

/// Times that a run is asked whether it shall go on.
const PATIENCE: u32 = 4;

fuzz_target!(|model: &[u8]| {
    let options = RunOptions {
        seed: 1,
        stop: Stop {
            completions: Some(100),
            time: Some(1e6),
        },
        ..RunOptions::default()
    };
    let mut asked = 0;
    let mut is_wanted = || {
        asked += 1;
        asked < PATIENCE
    };
    if let Err(error) = simulate(model, options, none, &mut is_wanted) {
        assert!(!error.to_string().is_empty(), "refused without a reason");
    }
});
