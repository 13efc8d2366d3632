//! The observer: runs a program and reports what its whole process tree opened, ran and listed.
//!
//! Arguments: `keep` or `end`, path of the report, path of the program, argument zero, further
//! arguments. It needs no rights: a seccomp filter lets the kernel stop only the calls that open,
//! run or connect, and ptrace reads their arguments. What a call does is not changed. If the kernel
//! permits either not, the program is not started, and the report says why.
//!
//! Three processes: this one waits for the exit status; its child traces; the program is a child of
//! that, in a session of its own. When the program ends, the report is complete and this process
//! ends as the program did. What the program leaves behind is killed at `end`; at `keep` the tracer
//! stays as long as anything that it traces, because a traced call of a process without tracer
//! would fail.
//!
//! The report has records of three fields that end in NUL: kind, look, path. Kinds: `=` complete,
//! `o` opened for reading, `w` opened for reading and writing, `x` executed, `m` mapped at an
//! execution, `n` connected to a network, `u` uses an `io_uring`, `b` a program of another
//! architecture, `c` a program with other file systems, `l` processes outlive the program, `!`
//! refused. A look is that of the first time, before the call: device, inode, size, times of the
//! last change of content and status (ns), mode; empty for what was absent.
//!
//! Invariant: a record's look is older than anything that its call did.

#![allow(
    unsafe_code,
    reason = "ptrace, seccomp and fork have no safe interface without a dependency"
)]

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[path = "observe/tracing.rs"]
mod tracing;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn main() {
    tracing::main();
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn main() {
    let report = std::env::args_os().nth(2).unwrap_or_default();
    let _ = std::fs::write(report, b"!\0\0only Linux can observe\0");
    std::process::exit(125);
}
