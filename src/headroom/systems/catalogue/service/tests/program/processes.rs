//! A process for each client that is served at a time.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::client::Client;
use super::{Server, configure, sqlite};

const PATIENCE: Duration = Duration::from_secs(60);

/// Write settings for at most `processes`.
fn configured(folder: &Path, processes: usize) -> PathBuf {
    let config = configure(folder, &[sqlite(folder)]);
    let text = std::fs::read_to_string(&config).unwrap();
    let table = format!("[server]\nprocesses = {processes}\nprocesses_at_start = 1\n");
    std::fs::write(&config, text.replace("[server]\n", &table)).unwrap();
    config
}

fn workers(server: &Server) -> Vec<u32> {
    let id = server.process.id();
    let children = format!("/proc/{id}/task/{id}/children");
    let text = std::fs::read_to_string(children).unwrap();
    text.split_whitespace()
        .map(|one| one.parse().unwrap())
        .collect()
}

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let status = kill.args([signal, &process.to_string()]).status();
    assert!(status.unwrap().success());
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn does(client: &mut Client, lines: &[&str]) {
    for line in lines {
        assert_eq!(client.run(line).unwrap(), "0\n", "{line}");
    }
}

#[test]
fn clients_at_once_have_processes_of_their_own_which_later_ones_use_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&configured(folder.path(), 3));
    assert_eq!(workers(&server).len(), 1);
    let mut first = server.client();
    does(&mut first, &["createdir /d", "transaction"]);
    assert_eq!(workers(&server).len(), 1);
    let mut second = server.client();
    assert_eq!(second.run("pwd").unwrap(), "0 1\n/\n");
    let both = workers(&server);
    assert_eq!(both.len(), 2);
    drop((first, second));
    for _ in 0..20 {
        assert_eq!(server.client().run("pwd").unwrap(), "0 1\n/\n");
    }
    assert!(workers(&server).len() <= 3);
    assert!(both.iter().all(|one| workers(&server).contains(one)));
}

#[test]
fn a_client_beyond_the_limit_waits_until_another_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&configured(folder.path(), 1));
    let mut first = server.client();
    assert_eq!(first.run("pwd").unwrap(), "0 1\n/\n");
    let address = server.address.clone();
    let waiting = std::thread::spawn(move || {
        let mut client = Client::connect(&address, "").unwrap();
        client.run("pwd").unwrap()
    });
    std::thread::sleep(Duration::from_millis(200));
    assert!(!waiting.is_finished());
    assert_eq!(workers(&server).len(), 1);
    drop(first);
    assert_eq!(waiting.join().unwrap(), "0 1\n/\n");
}

#[test]
fn a_process_starts_beside_an_open_transaction_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&configured(folder.path(), 2));
    let mut writer = server.client();
    does(
        &mut writer,
        &["createdir /d", "transaction", "addentry /d/a"],
    );
    assert_eq!(server.client().run("pwd").unwrap(), "0 1\n/\n");
    assert_eq!(workers(&server).len(), 2);
    does(&mut writer, &["commit"]);
}

#[test]
fn an_open_transaction_may_end_before_the_processes_stop() {
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), 2);
    let mut server = Server::start(&config);
    let mut client = server.client();
    does(
        &mut client,
        &["createdir /d", "transaction", "addentry /d/a"],
    );
    send("-TERM", server.process.id());
    wait_until("it still accepts", || {
        Client::connect(&server.address, "").is_err()
    });
    does(&mut client, &["commit"]);
    assert!(server.process.wait().unwrap().success());
    let server = Server::start(&config);
    assert_eq!(server.client().run("find /d").unwrap(), "0 1\na\n");
}

#[test]
fn no_process_outlives_the_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&configured(folder.path(), 2));
    let mut clients = [server.client(), server.client()];
    for client in &mut clients {
        assert_eq!(client.run("pwd").unwrap(), "0 1\n/\n");
    }
    let both = workers(&server);
    assert_eq!(both.len(), 2);
    server.kill();
    wait_until("a process lives on", || {
        both.iter()
            .all(|one| !Path::new(&format!("/proc/{one}")).exists())
    });
}

#[test]
fn a_process_that_was_killed_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&configured(folder.path(), 1));
    let mut client = server.client();
    assert_eq!(client.run("pwd").unwrap(), "0 1\n/\n");
    let before = workers(&server);
    send("-KILL", before[0]);
    assert!(client.run("pwd").is_err());
    assert_eq!(server.client().run("pwd").unwrap(), "0 1\n/\n");
    assert!(workers(&server).iter().all(|one| !before.contains(one)));
}

#[test]
fn processes_read_the_settings_again_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), 1);
    let server = Server::start(&config);
    let before = workers(&server);
    send("-HUP", server.process.id());
    wait_until("the old process stays", || workers(&server) != before);
    assert_eq!(server.client().run("pwd").unwrap(), "0 1\n/\n");
    let good = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, "broken").unwrap();
    let before = workers(&server);
    send("-HUP", server.process.id());
    assert_eq!(server.client().run("pwd").unwrap(), "0 1\n/\n");
    assert_eq!(workers(&server), before);
    std::fs::write(&config, good).unwrap();
}

#[test]
fn a_database_that_is_away_is_told_before_the_server_listens() {
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), 1);
    let text = std::fs::read_to_string(&config).unwrap();
    let url = sqlite(folder.path());
    let away = text.replace(&url, &format!("{url}/none.db"));
    std::fs::write(&config, away).unwrap();
    let output = super::program(&["serve", "--config", config.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
    assert_ne!(output.stderr, b"");
}
