//! The kernel's interface: functions of the C library, numbers of calls, and the filter.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::io;

pub const SEIZE: c_int = 0x4206;
pub const LISTEN: c_int = 0x4208;
pub const CONTINUE: c_int = 7;
pub const GET_SYSCALL_INFO: c_int = 0x420e;
/// Follow forks, vforks, clones and executions; stop at filtered calls; die with the tracer.
pub const OPTIONS: c_ulong = 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x0010_0000;
pub const EVENT_EXECUTED: c_int = 4;
pub const EVENT_FILTERED: c_int = 7;
pub const EVENT_STOP: c_int = 128;
/// `waitpid` waits for threads of any kind.
pub const WAIT_ALL: c_int = 0x4000_0000;
pub const FROM_FOLDER: c_int = -100;

const NO_NEW_PRIVILEGES: c_int = 38;
const SET_SECCOMP: c_int = 22;
const FILTER: c_ulong = 2;
const ALLOW: u32 = 0x7fff_0000;
const TRACE: u32 = 0x7ff0_0000;

unsafe extern "C" {
    pub fn fork() -> c_int;
    pub fn setsid() -> c_int;
    pub fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    pub fn read(file: c_int, to: *mut c_void, size: usize) -> isize;
    pub fn write(file: c_int, from: *const c_void, size: usize) -> isize;
    pub fn close(file: c_int) -> c_int;
    pub fn _exit(code: c_int) -> !;
    pub fn kill(pid: c_int, signal: c_int) -> c_int;
    pub fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn execv(path: *const c_char, argv: *const *const c_char) -> c_int;
    pub fn ptrace(request: c_int, ...) -> c_long;
    pub fn process_vm_readv(
        pid: c_int,
        local: *const Span,
        local_count: c_ulong,
        remote: *const Span,
        remote_count: c_ulong,
        flags: c_ulong,
    ) -> isize;
    fn prctl(option: c_int, ...) -> c_int;
}

/// A range of memory of a process (`struct iovec`).
#[repr(C)]
pub struct Span {
    pub start: usize,
    pub size: usize,
}

/// A call at which the filter stopped a process; `struct ptrace_syscall_info`.
#[repr(C)]
#[derive(Default)]
pub struct Stopped {
    pub op: u8,
    pub padding: [u8; 3],
    pub architecture: u32,
    pub places: [u64; 2],
    pub number: u64,
    pub arguments: [u64; 6],
    /// Which `Call` it is.
    pub kind: u32,
    pub reserved: u32,
}

/// Calls that the filter stops, by the number that it returns for them.
pub mod call {
    pub const OPEN: u32 = 1;
    pub const OPEN_AT: u32 = 2;
    pub const OPEN_AT_2: u32 = 3;
    pub const EXECUTE: u32 = 4;
    pub const EXECUTE_AT: u32 = 5;
    pub const CONNECT: u32 = 6;
    pub const IO_URING: u32 = 7;
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "x86_64")]
const CALLS: &[(u32, u32)] = &[
    (2, call::OPEN),
    (257, call::OPEN_AT),
    (437, call::OPEN_AT_2),
    (59, call::EXECUTE),
    (322, call::EXECUTE_AT),
    (42, call::CONNECT),
    (425, call::IO_URING),
];
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "aarch64")]
const CALLS: &[(u32, u32)] = &[
    (56, call::OPEN_AT),
    (437, call::OPEN_AT_2),
    (221, call::EXECUTE),
    (281, call::EXECUTE_AT),
    (203, call::CONNECT),
    (425, call::IO_URING),
];

/// One instruction of a filter (`struct sock_filter`).
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

/// Return the filter: stop at `CALLS` of this architecture, allow all others.
fn filter() -> Vec<Instruction> {
    let instruction = |code, if_true, if_false, value| Instruction {
        code,
        if_true,
        if_false,
        value,
    };
    let load = |offset| instruction(0x20, 0, 0, offset);
    let give = |value| instruction(0x06, 0, 0, value);
    let skip_unless = |value| instruction(0x15, 0, 1, value);
    let mut code = vec![
        load(4),
        instruction(0x15, 1, 0, ARCHITECTURE),
        give(ALLOW),
        load(0),
    ];
    for (number, kind) in CALLS {
        code.extend([skip_unless(*number), give(TRACE | kind)]);
    }
    code.push(give(ALLOW));
    code
}

/// Install the filter in this process.
///
/// Without the right to do it, a process must first renounce new privileges for good.
pub fn install_filter() -> io::Result<()> {
    let code = filter();
    let program = Program {
        length: u16::try_from(code.len()).expect("a filter is short"),
        instructions: code.as_ptr(),
    };
    // SAFETY: `program` and `code` live until the call returns; the kernel copies them.
    let install = || unsafe { prctl(SET_SECCOMP, FILTER, &raw const program) };
    if install() == 0 {
        return Ok(());
    }
    // SAFETY: the option takes integers and touches no memory.
    unsafe {
        prctl(
            NO_NEW_PRIVILEGES,
            1 as c_ulong,
            0 as c_ulong,
            0 as c_ulong,
            0 as c_ulong,
        )
    };
    if install() == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
