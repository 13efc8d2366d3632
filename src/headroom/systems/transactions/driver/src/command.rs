//! The command line.
//!
//! `headroom-transactions JOB` reads a job (a file, or `-` for the first line of the standard
//! input; see `job.rs`), carries it out and prints the result as JSON. With `--wait`, a run prints
//! `ready` when its sessions are open and begins with the line `go`; a further line, or the end of
//! the input, ends it early.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::acid;
use crate::check::{check, missing_orders, rows};
use crate::error::DriverError;
use crate::job::{Job, Run};
use crate::load::Ready;
use crate::populate::{Wanted, copy, drop_database, load};

const USAGE: &str = "usage: headroom-transactions [--wait] JOB  (a file, or `-`)";

/// Run the command with its `arguments`, without the program's name.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            let is_wrong_use = matches!(error, DriverError::Job(_) | DriverError::File { .. });
            ExitCode::from(if is_wrong_use { 2 } else { 1 })
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), DriverError> {
    let (flags, files): (Vec<String>, Vec<String>) =
        arguments.partition(|word| word.starts_with("--"));
    let [file] = &files[..] else {
        return Err(DriverError::Job(USAGE.to_owned()));
    };
    if let Some(flag) = flags.iter().find(|flag| *flag != "--wait") {
        return Err(DriverError::Job(format!(
            "unknown option `{flag}`; {USAGE}"
        )));
    }
    let result = match Job::parse(&text_of(file)?)? {
        Job::Load {
            target,
            database,
            workload,
            scale,
            seed,
            connections,
        } => {
            let wanted = Wanted {
                name: &database,
                workload: workload.into(),
                scale,
                seed,
                connections,
            };
            let loaded = load(&target.place()?, &wanted)?;
            json!({"kept": loaded.kept, "loaded": loaded.loaded, "time_s": loaded.time_s})
        }
        Job::Copy { target, from, to } => json!({"time_s": copy(&target.place()?, &from, &to)?}),
        Job::Drop { target, database } => {
            json!({"was_there": drop_database(&target.place()?, &database)?})
        }
        Job::Check {
            target,
            database,
            journal,
        } => {
            let place = target.place()?;
            let (mark, findings) = check(&place, &database)?;
            let missing = match journal {
                Some(journal) => missing_orders(&place, &database, &journal)?,
                None => Vec::new(),
            };
            let findings: Vec<Value> = findings
                .iter()
                .map(|one| {
                    json!({"number": one.number, "condition": one.condition, "broken": one.broken})
                })
                .collect();
            json!({"scale": mark.scale, "conditions": findings, "missing_orders": missing})
        }
        Job::Acid {
            target,
            database,
            isolation,
        } => {
            let verdicts: Vec<Value> = acid::test(&target.place()?, &database, isolation)?
                .iter()
                .map(|one| json!({"test": one.test, "passed": one.passed, "seen": one.seen}))
                .collect();
            json!({"tests": verdicts})
        }
        Job::Rows { target, database } => {
            let rows: Vec<Value> = rows(&target.place()?, &database)?
                .into_iter()
                .map(|one| {
                    json!({
                        "table": one.table, "inserted": one.inserted,
                        "updated": one.updated, "deleted": one.deleted,
                    })
                })
                .collect();
            json!({"rows": rows})
        }
        Job::Run(run) => put_on(run, !flags.is_empty())?,
    };
    print(&format!("{result}\n"))
}

fn put_on(run: Run, waits: bool) -> Result<Value, DriverError> {
    let ready = Ready::new(run)?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    if waits {
        wait_for_go()?;
        stop_with_input(&is_stopped);
    }
    let report = ready.run(&mut || !is_stopped.load(Ordering::Relaxed))?;
    let _ = io::stderr().write_all(report.summary().as_bytes());
    Ok(report.json())
}

fn text_of(file: &str) -> Result<String, DriverError> {
    let text = match file {
        "-" => line(),
        path => fs::read_to_string(path),
    };
    text.map_err(|error| DriverError::file(file, error))
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

fn wait_for_go() -> Result<(), DriverError> {
    print("ready\n")?;
    let word = line().map_err(|error| DriverError::file("standard input", error))?;
    match word.trim_end() {
        "go" => Ok(()),
        word => Err(DriverError::Job(format!("`go` was expected, not `{word}`"))),
    }
}

fn stop_with_input(is_stopped: &Arc<AtomicBool>) {
    let is_stopped = Arc::clone(is_stopped);
    std::thread::spawn(move || {
        let _ = line();
        is_stopped.store(true, Ordering::Relaxed);
    });
}

fn print(text: &str) -> Result<(), DriverError> {
    let mut output = io::stdout().lock();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    written.map_err(|error| DriverError::file("standard output", error))
}
