//! MariaDB: the system's programs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts};

use super::server::{Server, answered, folder, prepare, wait};

static SERVER: OnceLock<Option<Server>> = OnceLock::new();
#[cfg(test)]
static CA: OnceLock<PathBuf> = OnceLock::new();
static COUNT: AtomicU32 = AtomicU32::new(0);

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
    let url = format!("mysql://root@127.0.0.1:{}", server.port);
    wait(async {
        let mut conn = answered(|| connect(&url)).await;
        let created = conn.query_drop(format!("CREATE DATABASE {name}")).await;
        created.expect("a database can be made");
        let _ = conn.disconnect().await;
    });
    format!("{url}/{name}")
}

async fn connect(url: &str) -> Result<Conn, mysql_async::Error> {
    Conn::new(Opts::from_url(url)?).await
}

fn start() -> Option<Server> {
    let (Some(install), Some(server)) = (program("mariadb-install-db"), program("mariadbd")) else {
        super::missing(
            "MariaDB",
            "install the system's package of it, in Debian mariadb-server",
        );
        return None;
    };
    let folder = folder("mariadb");
    let data = format!("--datadir={}", folder.join("data").display());
    let user = format!(
        "--user={}",
        std::env::var("USER").unwrap_or_else(|_| "root".to_owned())
    );
    // A server that starts removes the temporary tables of all servers that share its folder for them.
    let temporary = format!("--tmpdir={}", folder.display());
    let words = ["--no-defaults", &data, &user, &temporary, "--skip-test-db"];
    let mut argv = vec![install.display().to_string()];
    argv.extend(words.map(str::to_owned));
    argv.push("--auth-root-authentication-method=normal".to_owned());
    prepare(&argv);
    let certified = certify(&folder);
    let socket = format!("--socket={}", folder.join("socket").display());
    Some(Server::start("TERM", &folder, |port| {
        let words = [
            "--no-defaults",
            &data,
            &user,
            &temporary,
            &socket,
            "--bind-address=127.0.0.1",
        ];
        let limits = [
            "--max-connections=300",
            // Written at each commit, but not flushed: it survives a kill.
            "--innodb-flush-log-at-trx-commit=2",
        ];
        let mut argv = vec![server.display().to_string()];
        argv.extend(words.iter().chain(&limits).map(|word| (*word).to_owned()));
        argv.extend(certified);
        argv.push(format!("--port={port}"));
        argv
    }))
}

/// Make a certificate for the server, which others need to test their own TLS; return its settings.
#[cfg(test)]
fn certify(folder: &Path) -> Vec<String> {
    let ca = crate::testing::pki::Ca::new("CA");
    ca.issue("localhost", 1).write(folder, "localhost");
    let file = folder.join("ca.pem");
    std::fs::write(&file, &ca.pem).expect("a file can be written");
    let _ = CA.set(file);
    let file = |option, name| format!("--{option}={}", folder.join(name).display());
    vec![
        file("ssl-cert", "localhost.pem"),
        file("ssl-key", "localhost.key"),
    ]
}

#[cfg(not(test))]
fn certify(_folder: &Path) -> Vec<String> {
    Vec::new()
}

/// Return the file of the CA of the running server.
#[cfg(test)]
pub fn ca() -> Option<PathBuf> {
    SERVER.get_or_init(start).as_ref()?;
    CA.get().cloned()
}

/// Return where a program is. Debian keeps servers where ordinary users do not look.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(others);
    folders
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
}
