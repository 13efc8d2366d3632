//! A database server that ends with this process.

use std::future::Future;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Run the server `"$@"`; when this process is gone, stop it and remove its folder. A line on the input
/// says that the folder is still needed.
const GUARD: &str = r#"
signal=$1 folder=$2; shift 2
"$@" >>"$folder/log" 2>&1 </dev/null &
server=$!
echo $server >"$folder/server"
said=$(cat)
kill -$signal $server 2>/dev/null; wait $server
[ "$said" ] || rm -rf "$folder"
"#;

/// How often a server that starts is asked.
const QUESTIONS: u32 = 600;

/// A server and its port.
pub struct Server {
    /// The port on the loopback address.
    pub port: u16,
    folder: PathBuf,
    guarded: Command,
    /// Its standard input is the pipe that keeps the server running.
    guard: Child,
}

impl Server {
    /// Start the program of `argv`, which gets the port; the signal stops it without delay.
    pub fn start(signal: &str, folder: &Path, argv: impl FnOnce(u16) -> Vec<String>) -> Self {
        let port = free_port();
        let mut guarded = Command::new("sh");
        guarded
            .args(["-c", GUARD, "sh", signal])
            .arg(folder)
            .args(argv(port))
            .stdin(Stdio::piped())
            // A user who stops the tests with a signal to their group must not stop the guard.
            .process_group(0);
        Self {
            port,
            folder: folder.to_owned(),
            guard: guarded.spawn().expect("there is a shell"),
            guarded,
        }
    }

    /// Start it again after [`Server::kill`], with the same data at the same port.
    pub fn start_again(&mut self) {
        self.guard = self.guarded.spawn().expect("there is a shell");
    }

    /// End the server and all its processes as `kill -9` does; its folder stays.
    pub fn kill(&mut self) {
        let first = std::fs::read_to_string(self.folder.join("server"));
        let first = first.expect("a server has started").trim().to_owned();
        // A first process that is stopped neither notices the end of others nor starts some.
        send("-STOP", std::slice::from_ref(&first));
        let mut all = children(&first);
        all.push(first);
        send("-KILL", &all);
        let mut input = self.guard.stdin.take().expect("the guard has an input");
        input.write_all(b"keep\n").expect("the guard reads");
        drop(input);
        self.guard.wait().expect("the guard ends");
    }
}

fn send(signal: &str, processes: &[String]) {
    let sent = Command::new("kill").arg(signal).args(processes).status();
    assert!(sent.expect("there is `kill`").success(), "{processes:?}");
}

fn children(process: &str) -> Vec<String> {
    let found = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let found = found.expect("Linux lists the children of a process");
    found.split_whitespace().map(str::to_owned).collect()
}

/// Return a folder that the guard of a server removes.
pub fn folder(name: &str) -> PathBuf {
    let builder = tempfile::Builder::new()
        .prefix(&format!("catalogue-{name}-"))
        .tempdir();
    builder.expect("a temporary folder can be made").keep()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address can be bound");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}

/// Run a program that prepares a server.
///
/// # Panics
///
/// With its output, if it fails.
pub fn prepare(argv: &[String]) {
    let done = Command::new(&argv[0]).args(&argv[1..]).output();
    let done = done.unwrap_or_else(|error| panic!("`{}` does not start: {error}", argv[0]));
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "`{}` failed: {errors}",
        argv.join(" ")
    );
}

/// Wait for a future on a separate thread: the caller may be part of another runtime.
pub fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime starts").block_on(work)
        });
        thread.join().expect("the work does not panic")
    })
}

/// Ask a server that starts until it answers.
///
/// # Panics
///
/// If it never does.
pub async fn answered<T, E: std::fmt::Display, F: Future<Output = Result<T, E>>>(
    ask: impl Fn() -> F,
) -> T {
    let mut last = String::new();
    for _ in 0..QUESTIONS {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server does not answer: {last}");
}
