//! The three processes, and the loop of the tracer.

use std::ffi::{CString, OsString, c_char, c_int, c_long};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

#[path = "kernel.rs"]
mod kernel;
#[path = "seen.rs"]
mod seen;

use kernel::{Stopped, call, ptrace};
use seen::Seen;

const SIGKILL: c_int = 9;
const CLOSE_ON_EXECUTION: c_int = 0o2_000_000;
/// Exit code of a refusal, or of a program that cannot be started.
const REFUSED: c_int = 125;

pub fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let keeps = arguments.next().is_some_and(|word| word == "keep");
    let report = arguments.next().unwrap_or_default();
    let program: Vec<CString> = arguments
        .map(|text| CString::new(text.as_bytes()).expect("arguments hold no zero byte"))
        .collect();
    let (ended, told) = pipe();
    // SAFETY: this process has one thread.
    if unsafe { kernel::fork() } == 0 {
        // SAFETY: the descriptor is this process's own.
        unsafe { kernel::close(ended) };
        trace(&report, &program, told, keeps);
    }
    // SAFETY: the descriptor is this process's own.
    unsafe { kernel::close(told) };
    std::process::exit(receive(ended).unwrap_or(REFUSED));
}

/// Start the program and record; tell its exit code when it has ended.
fn trace(report: &OsString, program: &[CString], told: c_int, keeps: bool) -> ! {
    let mut seen = Seen::default();
    match start(program, &mut seen) {
        Ok(pid) => follow(pid, &mut seen, |seen, code| {
            seen.write(report);
            tell(told, code);
            keeps
        }),
        Err(error) => {
            Seen::write_refusal(report, &error.to_string());
            tell(told, REFUSED);
        }
    }
    std::process::exit(0);
}

/// Start the program under this tracer; fails before it runs.
fn start(program: &[CString], seen: &mut Seen) -> io::Result<c_int> {
    let (go, let_go) = pipe();
    let (failed, fail) = pipe();
    let mut argv: Vec<*const c_char> = program.iter().skip(1).map(|text| text.as_ptr()).collect();
    argv.push(ptr::null());
    // SAFETY: this process has one thread; the child only uses what it inherits.
    let pid = unsafe { kernel::fork() };
    if pid == 0 {
        // SAFETY: setsid, close and execv take this process's own session, descriptors and texts.
        unsafe {
            kernel::setsid();
            kernel::close(let_go);
            kernel::close(failed);
        }
        let error = match receive(go).map(|_| kernel::install_filter()) {
            Some(Ok(())) => {
                // SAFETY: path and `argv` are texts that end in NUL, and the list ends in null.
                unsafe { kernel::execv(program[0].as_ptr(), argv.as_ptr()) };
                io::Error::last_os_error()
            }
            Some(Err(error)) => error,
            None => io::Error::last_os_error(),
        };
        tell(fail, error.raw_os_error().unwrap_or(1));
        // SAFETY: ends this process.
        unsafe { kernel::_exit(REFUSED) };
    }
    // SAFETY: the descriptors are this process's own; the request attaches to the own child.
    let is_seized = unsafe {
        kernel::close(go);
        kernel::close(fail);
        ptrace(kernel::SEIZE, pid, ptr::null_mut::<u8>(), kernel::OPTIONS) == 0
    };
    if pid < 0 || !is_seized {
        let error = io::Error::last_os_error();
        // SAFETY: the child has not been waited for.
        unsafe { kernel::kill(pid.max(1), if pid > 0 { SIGKILL } else { 0 }) };
        return Err(error);
    }
    tell(let_go, 0);
    // SAFETY: the descriptor is this process's own.
    unsafe { kernel::close(let_go) };
    started(pid, failed, seen)
}

/// Wait until the program runs, or report why it does not: the pipe closes at its execution.
fn started(pid: c_int, failed: c_int, seen: &mut Seen) -> io::Result<c_int> {
    loop {
        let (stopped, status) = wait()?;
        if stopped == pid && status >> 16 == kernel::EVENT_EXECUTED {
            return Ok(pid);
        }
        if stopped == pid && status & 0xff != 0x7f {
            let errno = receive(failed).unwrap_or(1);
            return Err(io::Error::from_raw_os_error(errno));
        }
        resume(stopped, status, seen);
    }
}

/// Let everything run to its end; `ended` says, when the program has ended, whether the rest may.
fn follow(program: c_int, seen: &mut Seen, ended: impl Fn(&mut Seen, c_int) -> bool) {
    seen.executed(program);
    resume(program, 0x57f | (kernel::EVENT_EXECUTED << 16), seen);
    while let Ok((pid, status)) = wait() {
        if status & 0xff == 0x7f {
            resume(pid, status, seen);
        } else if pid == program {
            seen.is_complete = true;
            seen.note_left(pid);
            let signal = status & 0x7f;
            let code = if signal == 0 {
                (status >> 8) & 0xff
            } else {
                128 + signal
            };
            if !ended(seen, code) {
                return;
            }
        }
    }
}

fn wait() -> io::Result<(c_int, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for the call.
        let pid = unsafe { kernel::waitpid(-1, &raw mut status, kernel::WAIT_ALL) };
        if pid > 0 {
            return Ok((pid, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Record what a stopped process is about to do, and let it go on.
fn resume(pid: c_int, status: c_int, seen: &mut Seen) {
    const JOB_STOPS: [c_int; 4] = [19, 20, 21, 22];
    let (event, signal) = (status >> 16, (status >> 8) & 0xff);
    let (request, passed) = match event {
        0 => (kernel::CONTINUE, signal),
        kernel::EVENT_STOP if JOB_STOPS.contains(&signal) => (kernel::LISTEN, 0),
        _ => (kernel::CONTINUE, 0),
    };
    if !seen.is_complete && event == kernel::EVENT_FILTERED {
        if let Some(stopped) = stopped_at(pid) {
            record(pid, &stopped, seen);
        }
    } else if !seen.is_complete && event == kernel::EVENT_EXECUTED {
        seen.executed(pid);
    }
    // SAFETY: the request concerns a process that this one traces; if it is gone, nothing happens.
    unsafe { ptrace(request, pid, ptr::null_mut::<u8>(), c_long::from(passed)) };
}

fn stopped_at(pid: c_int) -> Option<Stopped> {
    let mut stopped = Stopped::default();
    let size = size_of::<Stopped>();
    // SAFETY: the kernel writes at most `size` bytes.
    let written = unsafe { ptrace(kernel::GET_SYSCALL_INFO, pid, size, &raw mut stopped) };
    (written > 0).then_some(stopped)
}

fn record(pid: c_int, stopped: &Stopped, seen: &mut Seen) {
    let [first, second, third, ..] = stopped.arguments;
    // Folders are numbers of 32 bits; what stands above them is undefined.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the kernel ignores the rest"
    )]
    let folder = first as c_int;
    match stopped.kind {
        call::OPEN => seen.opened(pid, kernel::FROM_FOLDER, first, second),
        call::OPEN_AT => seen.opened(pid, folder, second, third),
        call::OPEN_AT_2 => seen.opened_how(pid, folder, second, third),
        call::EXECUTE => seen.executes(pid, kernel::FROM_FOLDER, first),
        call::EXECUTE_AT => seen.executes(pid, folder, second),
        call::CONNECT => seen.connects(pid, second),
        call::IO_URING => seen.note(b'u'),
        _ => (),
    }
}

fn pipe() -> (c_int, c_int) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for both.
    let made = unsafe { kernel::pipe2(ends.as_mut_ptr(), CLOSE_ON_EXECUTION) };
    assert!(made == 0, "pipe2: {}", io::Error::last_os_error());
    (ends[0], ends[1])
}

fn tell(file: c_int, number: c_int) {
    let bytes = number.to_le_bytes();
    // SAFETY: the bytes are valid for the call.
    unsafe { kernel::write(file, bytes.as_ptr().cast(), bytes.len()) };
}

fn receive(file: c_int) -> Option<c_int> {
    let mut bytes = [0; 4];
    // SAFETY: `bytes` has room for what is read.
    let read = unsafe { kernel::read(file, bytes.as_mut_ptr().cast(), bytes.len()) };
    (read == 4).then(|| c_int::from_le_bytes(bytes))
}
