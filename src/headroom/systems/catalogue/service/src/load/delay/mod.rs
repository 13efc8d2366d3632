//! A proxy that stands for a long line: it delays all that passes, and the opening of connections.
//!
//! On a line with the one-way delay d, a client's connection is open for the client after 2 d, and
//! for the server, which then may greet, after 3 d. The system accepts the client's connection at
//! once, so the proxy makes up for it: it connects to the server after 3 d, and takes what the
//! client sends before 2 d as sent then. Both ends see the same moments as on a real line, except
//! that the client's `connect` returns early; its first answer comes in time.
//!
//! Timers have whole milliseconds and never fire early, so a way takes 1 to 2 ms longer than set. The
//! bandwidth is not limited and TCP's slow start is not emulated: a reply of more than about
//! 14 kB would need further round trips on a real line. A reset is not delayed.
//!
//! Invariant: no byte is lost, reordered or early.

mod line;
mod schedule;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use self::schedule::Schedule;
use super::error::LoadError;
use super::limits::allow_files;
use crate::server::listen;

const USAGE: &str = "usage: headroom-catalogue-delay --listen ADDRESS --to ADDRESS \
                     --one-way-ms MILLISECONDS [--connections COUNT]";
/// Files of the proxy that are no connection.
const OTHER_FILES: u64 = 64;
/// Pause after a connection could not be accepted: none can as long as all files are in use.
const AFTER_ERROR: Duration = Duration::from_millis(50);

/// Settings of a proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// Delay from one end to the other, half the round trip time.
    pub one_way: Duration,
    /// Connections for which there must be files.
    pub connections: u64,
}

impl Settings {
    /// Return the settings in the words of a command line.
    ///
    /// # Errors
    ///
    /// If an option is unknown or missing, or has a wrong value.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, LoadError> {
        let (mut listen, mut to, mut one_way, mut connections) = (None, None, None, 10_000);
        while let Some(name) = words.next() {
            let value = words.next().unwrap_or_default();
            match name.as_str() {
                "--listen" => listen = Some(parsed(&name, &value)?),
                "--to" => to = Some(parsed(&name, &value)?),
                "--one-way-ms" => one_way = Some(delay(&name, &value)?),
                "--connections" => connections = parsed(&name, &value)?,
                _ => return Err(LoadError::job(format!("unknown option `{name}`; {USAGE}"))),
            }
        }
        match (listen, to, one_way) {
            (Some(listen), Some(to), Some(one_way)) => Ok(Self {
                listen,
                to,
                one_way,
                connections,
            }),
            _ => Err(LoadError::job(USAGE)),
        }
    }
}

fn parsed<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, LoadError> {
    let wrong = |_| LoadError::job(format!("`{name}`: wrong value `{value}`; {USAGE}"));
    value.parse().map_err(wrong)
}

fn delay(name: &str, value: &str) -> Result<Duration, LoadError> {
    let ms: f64 = parsed(name, value)?;
    Duration::try_from_secs_f64(ms / 1e3)
        .map_err(|error| LoadError::job(format!("`{name}`: `{value}`: {error}")))
}

/// Run the command with its `arguments`, without the program's name.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(if matches!(error, LoadError::Job(_)) {
                2
            } else {
                1
            })
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), LoadError> {
    let settings = Settings::parse(arguments)?;
    allow_files(2 * settings.connections + OTHER_FILES)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LoadError::system("starting the runtime"))?;
    runtime.block_on(async {
        let listener = listen(settings.listen).map_err(LoadError::system("listening"))?;
        serve(listener, settings.to, settings.one_way).await;
        Ok(())
    })
}

/// Carry connections to `to` with a delay, without end.
pub async fn serve(listener: TcpListener, to: SocketAddr, one_way: Duration) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let schedule = Schedule::new(tokio::time::Instant::now(), one_way);
                tokio::spawn(async move {
                    // A lost connection ends both sides, which is all that they can learn.
                    let _ = connection(client, to, schedule).await;
                });
            }
            Err(_) => tokio::time::sleep(AFTER_ERROR).await,
        }
    }
}

async fn connection(client: TcpStream, to: SocketAddr, schedule: Schedule) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = async {
        let server = TcpStream::connect(to).await?;
        server.set_nodelay(true)?;
        Ok(server)
    };
    line::carry(client, server, schedule).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, LoadError> {
        Settings::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn settings_are_read_from_the_command_line() {
        let settings =
            parse("--listen 127.0.0.1:1 --one-way-ms 150.5 --to [::1]:2 --connections 7").unwrap();
        assert_eq!(settings.one_way, Duration::from_micros(150_500));
        assert_eq!(settings.connections, 7);
        for (text, reason) in [
            ("--listen 127.0.0.1:1 --to 127.0.0.1:2", "usage"),
            ("--listen here", "wrong value `here`"),
            ("--one-way-ms -1", "`-1`"),
            ("--speed 1", "unknown option `--speed`"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
    }

    /// Clients beyond the list lose the last step of opening, and wait until TCP repeats it.
    #[tokio::test]
    async fn more_clients_than_a_library_lists_by_default_are_open_before_one_is_accepted() {
        let path = "/proc/sys/net/core/somaxconn";
        let Ok(most) = std::fs::read_to_string(path) else {
            return;
        };
        let most: u64 = most.trim().parse().expect("a number");
        let count = most.min(1500);
        allow_files(2 * count + OTHER_FILES).expect("files");
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut open = Vec::new();
        for _ in 0..count {
            let opening = TcpStream::connect(address);
            let opened = tokio::time::timeout(Duration::from_secs(20), opening).await;
            open.push(opened.expect("no place in the queue").expect("open"));
        }
        for _ in 0..count {
            let accepting = tokio::time::timeout(Duration::from_secs(20), listener.accept());
            accepting
                .await
                .expect("a client was forgotten")
                .expect("accepted");
        }
    }
}
