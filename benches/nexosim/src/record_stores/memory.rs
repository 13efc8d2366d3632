//! How much of the memory of this process is in huge pages.

use std::fs::read_to_string;

/// Return the anonymous memory of this process and what of it is in huge pages (B), as JSON.
pub fn of_this_process() -> String {
    let text = read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    format!(
        "{{\"anonymous_bytes\": {}, \"huge_bytes\": {}}}",
        of("Anonymous:"),
        of("AnonHugePages:")
    )
}
