//! The launcher: a small process that starts programs, clocks them and cleans up after them.
//!
//! It is a separate program for one reason: Linux includes the memory of the parent process in a
//! program's peak, so a program started from Python would seem to need as much memory as Python.
//! This process forks with about half a megabyte of private memory. Its clock runs from just before
//! the fork until the end of the program is known.
//!
//! It reads requests on its standard input and answers each with one line. A request is a length,
//! then fields that end in NUL: time limit (ms, 0 for none), folder, files for standard input,
//! output and error, number of environment entries, the entries, path of the program, arguments
//! starting with argument zero. When its input closes, it kills all remaining processes of its
//! programs and ends. Without a prior goodbye (a length of zero), it also removes the folder that
//! its argument names. So nothing survives a killed experiment.
//!
//! Invariant: a request is answered only when its program is gone; after a time limit, so are all
//! processes that it started, even those that moved to another process group or session.

#![allow(
    unsafe_code,
    reason = "fork hooks and wait4 have no safe interface without a dependency"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "this program measures: it reads the clock"
)]

use std::ffi::{OsStr, OsString, c_int, c_long};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

const SIGKILL: c_int = 9;
const WNOHANG: c_int = 1;

/// `struct rusage`: two times of two fields each, then 14 counters, all of the type `long`.
type ResourceUsage = [c_long; 18];

const MAX_RSS: usize = 4;
const MAJOR_FAULTS: usize = 9;
const INVOLUNTARY_SWITCHES: usize = 17;

unsafe extern "C" {
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut c_long) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn setsid() -> c_int;
    #[cfg(target_os = "linux")]
    fn prctl(option: c_int, ...) -> c_int;
}

/// Whether the other side ended in order, and tidies up itself.
static SAID_GOODBYE: AtomicBool = AtomicBool::new(false);

/// One program to start.
struct Request {
    time_limit: Option<Duration>,
    folder: OsString,
    stdin: OsString,
    stdout: OsString,
    stderr: OsString,
    environment: Vec<(OsString, OsString)>,
    program: OsString,
    argv: Vec<OsString>,
}

/// An event that the main thread waits for.
enum Event {
    Asked(Request),
    Ended(Ending),
    InputClosed,
}

/// How a program ended, and the resources it used.
struct Ending {
    wall: Duration,
    status: c_int,
    usage: ResourceUsage,
}

fn main() -> io::Result<()> {
    adopt_orphans();
    let (sender, events) = mpsc::channel();
    let requests = sender.clone();
    thread::spawn(move || forward_requests(&requests));
    while let Ok(Event::Asked(request)) = events.recv() {
        let Some(answer) = answer(&request, &sender, &events) else {
            break;
        };
        let mut output = io::stdout().lock();
        output
            .write_all(answer.as_bytes())
            .and_then(|()| output.flush())?;
    }
    kill_children(&[]);
    if !SAID_GOODBYE.load(Ordering::Relaxed) {
        remove_scratch_folder();
    }
    Ok(())
}

fn remove_scratch_folder() {
    if let Some(folder) = std::env::args_os().nth(1) {
        let _ = std::fs::remove_dir_all(folder); // Nobody is left who could be told.
    }
}

/// Let orphaned descendants become children of this process, so that it can find and kill them.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        const PR_SET_CHILD_SUBREAPER: c_int = 36;
        // SAFETY: the option takes one integer and touches no memory of this process.
        unsafe {
            prctl(
                PR_SET_CHILD_SUBREAPER,
                1 as c_long,
                0 as c_long,
                0 as c_long,
                0 as c_long,
            )
        };
    }
}

fn forward_requests(events: &Sender<Event>) {
    while let Some(request) = read_request(&mut io::stdin().lock()) {
        if events.send(Event::Asked(request)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::InputClosed);
}

/// Read one request; `None` at the end of the input or a goodbye.
fn read_request(input: &mut impl Read) -> Option<Request> {
    let mut length = [0; 4];
    input.read_exact(&mut length).ok()?;
    if length == [0; 4] {
        SAID_GOODBYE.store(true, Ordering::Relaxed);
        return None;
    }
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut bytes).ok()?;
    let mut fields = bytes.split(|byte| *byte == 0);
    let mut next = || {
        fields
            .next()
            .map(|field| OsString::from_vec(field.to_vec()))
    };
    let limit_ms: u64 = next()?.to_str()?.parse().ok()?;
    let (folder, stdin, stdout, stderr) = (next()?, next()?, next()?, next()?);
    let count: usize = next()?.to_str()?.parse().ok()?;
    let environment = (0..count).map(|_| next().and_then(|entry| name_and_value(&entry)));
    let environment = environment.collect::<Option<_>>()?;
    let program = next()?;
    let mut argv: Vec<_> = std::iter::from_fn(next).collect();
    argv.pop(); // What follows the last NUL: nothing.
    let time_limit = (limit_ms > 0).then(|| Duration::from_millis(limit_ms));
    Some(Request {
        time_limit,
        folder,
        stdin,
        stdout,
        stderr,
        environment,
        program,
        argv,
    })
}

fn name_and_value(entry: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = entry.as_bytes();
    let split = bytes.iter().position(|byte| *byte == b'=')?;
    let owned = |part: &[u8]| OsString::from_vec(part.to_vec());
    Some((owned(&bytes[..split]), owned(&bytes[split + 1..])))
}

/// Run the program of `request` to its end or its time limit; `None` if the input closed.
fn answer(request: &Request, sender: &Sender<Event>, events: &Receiver<Event>) -> Option<String> {
    let mut command = match command(request) {
        Ok(command) => command,
        Err(error) => return Some(failure_line(&error)),
    };
    let spared = children();
    let started = Instant::now();
    let pid = match command.spawn() {
        Ok(child) => c_int::try_from(child.id()).expect("process numbers are positive integers"),
        Err(error) => return Some(failure_line(&error)),
    };
    let endings = sender.clone();
    thread::spawn(move || {
        let _ = endings.send(Event::Ended(wait_for(pid, started)));
    });
    let first = match request.time_limit {
        Some(limit) => events.recv_timeout(limit.saturating_sub(started.elapsed())),
        None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    if let Ok(Event::Ended(ending)) = first {
        return Some(ending_line(&ending));
    }
    kill_group(pid);
    let is_closed = first.is_ok() | was_closed_before_the_end(events);
    kill_children(&spared);
    (!is_closed).then(|| format!("limit {}\n", started.elapsed().as_nanos()))
}

/// Wait for the report on the killed program; return whether the input closed meanwhile.
fn was_closed_before_the_end(events: &Receiver<Event>) -> bool {
    let is_the_end = |event: &Event| matches!(event, Event::Ended(_));
    events.iter().take_while(|event| !is_the_end(event)).count() > 0
}

fn command(request: &Request) -> io::Result<Command> {
    let mut command = Command::new(&request.program);
    let argv0 = request.argv.first().unwrap_or(&request.program);
    command
        .arg0(argv0)
        .args(request.argv.iter().skip(1))
        .current_dir(&request.folder);
    command.env_clear().envs(
        request
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    command.stdin(Stdio::from(File::open(&request.stdin)?));
    command.stdout(Stdio::from(File::create(&request.stdout)?));
    command.stderr(Stdio::from(File::create(&request.stderr)?));
    // SAFETY: setsid is async-signal-safe. The hook also makes the standard library fork instead
    // of sharing this process's memory with the new one, which Linux would count to its peak.
    unsafe {
        command.pre_exec(|| {
            setsid();
            Ok(())
        });
    }
    Ok(command)
}

fn wait_for(pid: c_int, started: Instant) -> Ending {
    let mut status = 0;
    let mut usage: ResourceUsage = [0; 18];
    loop {
        // SAFETY: both pointers are valid for the call, and `usage` has the size of the struct.
        let waited = unsafe { wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == pid {
            return Ending {
                wall: started.elapsed(),
                status,
                usage,
            };
        }
        let error = io::Error::last_os_error();
        assert!(
            error.kind() == io::ErrorKind::Interrupted,
            "wait4({pid}): {error}"
        );
    }
}

fn ending_line(ending: &Ending) -> String {
    let usage = &ending.usage;
    // The second field of a time is 32 bits wide on some systems; it is below a million.
    let micros = |at: usize| usage[at] * 1_000_000 + (usage[at + 1] & 0xf_ffff);
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    let signal = ending.status & 0x7f;
    let code = (ending.status >> 8) & 0xff;
    format!(
        "ended {} {} {} {} {} {} {code} {signal}\n",
        ending.wall.as_nanos(),
        micros(0),
        micros(2),
        usage[MAX_RSS] * unit,
        usage[MAJOR_FAULTS],
        usage[INVOLUNTARY_SWITCHES],
    )
}

fn failure_line(error: &io::Error) -> String {
    format!(
        "failed {} {}\n",
        error.raw_os_error().unwrap_or(0),
        error.to_string().replace('\n', " ")
    )
}

fn kill_group(pid: c_int) {
    // SAFETY: sends a signal; the group is that of a child which has not been waited for, or is
    // empty. The child leads a session of its own from before its program starts.
    unsafe { kill(-pid, SIGKILL) };
}

/// Kill every child but the `spared`, then the orphans that this leaves, until there are none.
fn kill_children(spared: &[c_int]) {
    loop {
        let doomed: Vec<_> = children()
            .into_iter()
            .filter(|pid| !spared.contains(pid))
            .collect();
        if doomed.is_empty() {
            return;
        }
        for pid in doomed {
            // SAFETY: sends a signal to, and then waits for, a child of this process, whose
            // number cannot pass to another process before it is waited for.
            unsafe {
                kill(pid, SIGKILL);
                wait4(pid, std::ptr::null_mut(), 0, std::ptr::null_mut());
            }
        }
    }
}

/// Living children of this process, adopted orphans among them; the dead are reaped.
///
/// Called only while no program is being waited for.
fn children() -> Vec<c_int> {
    // SAFETY: wait4 accepts null pointers; no other thread waits for children now.
    while unsafe { wait4(-1, std::ptr::null_mut(), WNOHANG, std::ptr::null_mut()) } > 0 {}
    let own = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &c_int| parent_of(*pid).is_some_and(|parent| parent == own))
        .collect()
}

/// Process number of the parent, the second field after the name in brackets.
fn parent_of(pid: c_int) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1).map(str::to_owned)
}
