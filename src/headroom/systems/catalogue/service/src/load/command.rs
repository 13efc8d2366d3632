//! The command line of the load generator.
//!
//! `headroom-catalogue-load JOB` reads a job (a file, or `-` for the first line of the standard
//! input), runs it, prints the result as JSON to the standard output and a summary to the standard
//! error. With `--wait` it prints `ready` when its clients are ready and begins with the line `go`;
//! so several processes begin at one moment. A further line, or the end of the input, ends the load
//! early; what was measured until then is reported.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::LoadError;
use super::job::Job;
use super::run::Ready;

const USAGE: &str = "usage: headroom-catalogue-load [--wait] JOB  (a file, or `-`)";

/// Run the command with its `arguments`, without the program's name.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            let is_wrong_use = matches!(error, LoadError::Job(_) | LoadError::File { .. });
            ExitCode::from(if is_wrong_use { 2 } else { 1 })
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), LoadError> {
    let (flags, files): (Vec<String>, Vec<String>) =
        arguments.partition(|word| word.starts_with("--"));
    let [file] = &files[..] else {
        return Err(LoadError::job(USAGE));
    };
    if let Some(flag) = flags.iter().find(|flag| *flag != "--wait") {
        return Err(LoadError::job(format!("unknown option `{flag}`; {USAGE}")));
    }
    let ready = Ready::new(Job::parse(&text_of(file)?)?)?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    if !flags.is_empty() {
        wait_for_go()?;
        stop_with_input(&is_stopped);
    }
    let report = ready.run(&mut || !is_stopped.load(Ordering::Relaxed))?;
    let _ = io::stderr().write_all(report.summary().as_bytes());
    print(&format!("{}\n", report.json()))
}

fn text_of(file: &str) -> Result<String, LoadError> {
    let text = match file {
        "-" => line(),
        path => fs::read_to_string(path),
    };
    text.map_err(|error| LoadError::File {
        path: file.to_owned(),
        reason: error.to_string(),
    })
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

fn wait_for_go() -> Result<(), LoadError> {
    print("ready\n")?;
    let word = line().map_err(LoadError::system("waiting for `go`"))?;
    match word.trim_end() {
        "go" => Ok(()),
        word => Err(LoadError::job(format!("`go` was expected, not `{word}`"))),
    }
}

fn stop_with_input(is_stopped: &Arc<AtomicBool>) {
    let is_stopped = Arc::clone(is_stopped);
    std::thread::spawn(move || {
        let _ = line();
        is_stopped.store(true, Ordering::Relaxed);
    });
}

fn print(text: &str) -> Result<(), LoadError> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(LoadError::system("writing the result"))
}
