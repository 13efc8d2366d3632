//! A database server that ends with this process.

use std::future::Future;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Run the server `"$@"`; when this process is gone, stop it and remove its folder.
const GUARD: &str = r#"
signal=$1 folder=$2; shift 2
"$@" >"$folder/log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -$signal $server 2>/dev/null; wait $server
rm -rf "$folder"
"#;

/// How often a server that starts is asked.
const QUESTIONS: u32 = 600;

/// A server and its port.
pub struct Server {
    /// The port on the loopback address.
    pub port: u16,
    /// Its standard input is the pipe that keeps the server running.
    _guard: Child,
}

impl Server {
    /// Start the program of `argv`, which gets the port; the signal stops it without delay.
    pub fn start(signal: &str, folder: &Path, argv: impl FnOnce(u16) -> Vec<String>) -> Self {
        let port = free_port();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "sh", signal])
            .arg(folder)
            .args(argv(port))
            .stdin(Stdio::piped())
            // A user who stops the tests with a signal to their group must not stop the guard.
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        Self {
            port,
            _guard: guard,
        }
    }
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
