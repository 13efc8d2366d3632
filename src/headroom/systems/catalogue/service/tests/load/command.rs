//! The program as Headroom starts it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::text;

const PROGRAM: &str = env!("CARGO_BIN_EXE_headroom-catalogue-load");

#[test]
fn several_processes_can_begin_at_one_moment() {
    let endless = text(
        &json!({"kind": "nothing"}),
        &json!({"stop": {"seconds": 3600.0}}),
    );
    let mut child = Command::new(PROGRAM)
        .args(["--wait", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{endless}").unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    writeln!(input, "go").unwrap();
    drop(input);
    line.clear();
    output.read_line(&mut line).unwrap();
    let result: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(result["stop_reason"], "interrupted");
    let finished = child.wait_with_output().unwrap();
    assert!(finished.status.success());
    let said = String::from_utf8(finished.stderr).unwrap();
    assert!(said.contains("of processor time per operation"), "{said}");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let unreachable = json!({"kind": "amga", "address": "127.0.0.1:1", "login": "a"});
    for (job, code, reason) in [
        ("{}".to_owned(), 2, "error: the job is not valid"),
        (
            text(&unreachable, &json!({})),
            1,
            "error: client 1 of 3 could not connect before the load: Connection refused",
        ),
    ] {
        let mut child = Command::new(PROGRAM)
            .arg("-")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{job}").unwrap();
        let finished = child.wait_with_output().unwrap();
        assert_eq!(finished.status.code(), Some(code));
        let said = String::from_utf8(finished.stderr).unwrap();
        assert!(said.starts_with(reason), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
}
