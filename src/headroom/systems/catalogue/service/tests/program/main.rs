//! The program as its users run it: settings, signals, restarts, kills.

#![allow(clippy::unwrap_used, reason = "a failure ends a test")]

mod client;
#[cfg(feature = "testing")]
mod database;
#[cfg(feature = "testing")]
mod history;
#[cfg(feature = "testing")]
mod killed;
mod processes;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use client::Client;

/// A running server.
struct Server {
    process: Child,
    address: String,
}

/// Return the program with the user's settings out of its way.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headroom-catalogue"));
    command.args(arguments).env("RUST_LOG", "error");
    command
}

/// Write settings for databases in a folder; sessions of persons need no encryption there.
fn configure(folder: &Path, urls: &[String]) -> PathBuf {
    let path = folder.join("catalogue.toml");
    let urls: Vec<_> = urls.iter().map(|url| format!("{url:?}")).collect();
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\n[database]\nurls = [{}]\n\
         [catalogue]\nguest = 'root'\nallows_plain_passwords = true\n",
        urls.join(", ")
    );
    std::fs::write(&path, text).unwrap();
    path
}

impl Server {
    /// Start the program and wait until it listens.
    fn start(config: &Path) -> Self {
        let mut process = program(&["serve", "--config", config.to_str().unwrap()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ");
        let address = address
            .unwrap_or_else(|| panic!("said `{line}`"))
            .to_owned();
        Self { process, address }
    }

    /// Return a client that has logged in as the guest.
    fn client(&self) -> Client {
        Client::connect(&self.address, "").unwrap()
    }

    /// Make the directory `/d` with the attribute `n`.
    #[cfg(feature = "testing")]
    fn make_directory(&self) {
        let mut client = self.client();
        for line in ["createdir /d", "addattr /d n int"] {
            assert_eq!(client.run(line).unwrap(), "0\n");
        }
    }

    /// End it as `kill -9` does.
    #[cfg(feature = "testing")]
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// End it as a service manager does; return whether it says that all is well.
    fn stop(&mut self) -> bool {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sqlite(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("catalogue.db").display())
}

#[test]
fn entries_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &[sqlite(folder.path())]);
    let mut server = Server::start(&config);
    let mut client = server.client();
    for line in ["createdir /d", "addattr /d n int", "addentry /d/a n 1"] {
        assert_eq!(client.run(line).unwrap(), "0\n", "{line}");
    }
    drop(client);
    assert!(server.stop());
    let server = Server::start(&config);
    assert_eq!(
        server.client().run("getattr /d/a n").unwrap(),
        "0 2\na\n1\n"
    );
}

#[test]
fn an_open_transaction_may_end_before_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &[sqlite(folder.path())]);
    let mut server = Server::start(&config);
    let mut client = server.client();
    for line in ["createdir /d", "transaction", "addentry /d/a"] {
        assert_eq!(client.run(line).unwrap(), "0\n", "{line}");
    }
    let id = server.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    while Client::connect(&server.address, "").is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(client.run("commit").unwrap(), "0\n");
    assert!(server.process.wait().unwrap().success());
    let server = Server::start(&config);
    assert_eq!(server.client().run("find /d").unwrap(), "0 1\na\n");
}

/// Return the resident memory of a server (MiB), where the system tells it.
fn resident_mib(server: &Server) -> Option<usize> {
    let status = format!("/proc/{}/status", server.process.id());
    let status = std::fs::read_to_string(status).ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Some(kib?.trim_end_matches("kB").trim().parse::<usize>().unwrap() / 1024)
}

/// The C library kept the memory of hashes for each thread that had computed one, hundreds of MiB.
#[test]
fn a_password_is_set_and_needed_and_leaves_no_memory_behind() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &[sqlite(folder.path())]);
    let mut setting = program(&["set-password", "--config", config.to_str().unwrap(), "root"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    setting
        .stdin
        .take()
        .unwrap()
        .write_all(b"secret\n")
        .unwrap();
    assert!(setting.wait().unwrap().success());
    let server = Server::start(&config);
    assert_eq!(server.client().run("whoami").unwrap(), "0 1\nroot\n");
    let before = resident_mib(&server);
    let log_in = |(password, code)| {
        let login = format!("0 root\n5 {password}\n");
        let mut client = Client::connect(&server.address, &login).unwrap();
        assert!(client.run("whoami").unwrap().starts_with(code));
    };
    let ten = || {
        [("secret", "0 "), ("guess", "5 ")]
            .repeat(5)
            .into_iter()
            .for_each(log_in);
    };
    std::thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(ten))));
    if let (Some(before), Some(after)) = (before, resident_mib(&server)) {
        assert!(after < before + 60, "{before} MiB, then {after} MiB");
    }
}

#[test]
fn a_second_server_hears_that_its_address_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &[sqlite(folder.path())]);
    let server = Server::start(&config);
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("127.0.0.1:0", &server.address)).unwrap();
    let output = program(&["serve", "--config", config.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        said.contains(&format!("cannot listen on {}", server.address)),
        "{said}"
    );
    assert!(said.contains("`server.listen`"), "{said}");
}

#[test]
fn wrong_settings_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("catalogue.toml");
    for (text, words) in [
        (
            "[server]\nmax_conections = 5\n",
            "unknown field `max_conections`",
        ),
        (
            "[server]\nsessions = 'maybe'\n",
            "use `no`, `allow` or `force`",
        ),
        ("[database]\nurls = ['oracle://x']\n", "`database.urls`: "),
        (
            "[tls]\ncertificate = 'none.pem'\nkey = 'none.pem'\n",
            "none.pem",
        ),
    ] {
        std::fs::write(&config, text).unwrap();
        let output = program(&["serve", "--config", config.to_str().unwrap()])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(said.contains(words), "{text}: {said}");
    }
    let shown = program(&["show-config"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("max_connections_per_person"), "{shown}");
}
