//! `headroom-catalogue`: the catalogue service as a program.

mod configuration;
mod processes;

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use headroom_catalogue::catalogue::sessions::StoredSessions;
use headroom_catalogue::catalogue::{Catalogue, Shared};
use headroom_catalogue::http::Http;
use headroom_catalogue::security::Trust;
use headroom_catalogue::server::{Server, listen};
use headroom_catalogue::store::{self, Store};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

use configuration::Configuration;

/// A metadata catalogue that speaks AMGA's protocol.
#[derive(Parser)]
#[command(name = "headroom-catalogue", version, about)]
struct Arguments {
    /// How log lines look on the standard error.
    #[arg(long, global = true, value_enum, default_value = "text")]
    log: Log,
    #[command(subcommand)]
    command: Command,
}

/// A form of log lines.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Log {
    /// For people.
    Text,
    /// An object of JSON in each line.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM. SIGHUP reads certificates, keys and the settings of TLS and tokens again.
    Serve {
        /// The settings, a TOML file; without one, the defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Read a password from the standard input, and let a user log in with it.
    SetPassword {
        /// The settings, a TOML file; without one, the defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// The user; `root` exists from the beginning.
        user: String,
    },
    /// Serve the clients that another process passes on.
    #[command(hide = true)]
    Work {
        /// The settings.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print all settings with their defaults.
    ShowConfig,
    /// Print the statements that make the tables, in the SQL of the settings' database.
    ShowSchema {
        /// The settings, a TOML file; without one, the defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match arguments.log {
        Log::Text => log.init(),
        Log::Json => log.json().flatten_event(true).init(),
    }
    let done = match arguments.command {
        Command::Serve { config } => serve(config.as_deref()),
        Command::Work { config } => work(config.as_deref()),
        Command::SetPassword { config, user } => set_password(config.as_deref(), &user),
        Command::ShowConfig => show_config(),
        Command::ShowSchema { config } => show_schema(config.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "headroom-catalogue: error: {error}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn Error>>;

fn serve(path: Option<&Path>) -> Done {
    let configuration = Configuration::read(path)?;
    if configuration.server.processes > 0 {
        return one_thread()?.block_on(processes::run(configuration, path));
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if configuration.server.threads > 0 {
        runtime.worker_threads(configuration.server.threads);
    }
    runtime
        .enable_all()
        .build()?
        .block_on(run(configuration, path))
}

fn work(path: Option<&Path>) -> Done {
    let configuration = Configuration::read(path)?;
    one_thread()?.block_on(processes::work(configuration))
}

fn one_thread() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

async fn run(configuration: Configuration, path: Option<&Path>) -> Done {
    // Before anything is opened: a signal that comes early must not kill half of a start.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let (store, server) = opened(&configuration).await?;
    let server = Arc::new(server);
    let reload = server.reload();
    let listener = bind(configuration.server.listen, "server.listen")?;
    let http = match configuration.http()? {
        None => None,
        Some((address, settings)) => {
            let listener = bind(address, "http.listen")?;
            Some((listener, Http::new(Arc::clone(&server), settings)))
        }
    };
    say(&listener, "")?;
    if let Some((listener, _)) = &http {
        say(listener, " for HTTP")?;
    }
    let path = path.map(Path::to_path_buf);
    let reloading = tokio::spawn(async move {
        while hang_up.recv().await.is_some() {
            let read = Configuration::read(path.as_deref()).map_err(|error| error.to_string());
            let done = read.and_then(|new| reload.load(&new.trust()).map_err(|e| e.to_string()));
            match done {
                Ok(()) => tracing::info!("certificates and keys were read again"),
                Err(error) => tracing::error!(%error, "the old certificates and keys stay"),
            }
        }
    });
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: running commands and open transactions may end");
    };
    match http {
        None => server.serve(listener, stop).await,
        Some((http_listener, http)) => {
            let (drained, is_drained) = oneshot::channel::<()>();
            let serving = async {
                server.serve(listener, stop).await;
                drop(drained);
            };
            let stop_http = async { drop(is_drained.await) };
            tokio::join!(serving, http.serve(http_listener, stop_http));
        }
    }
    reloading.abort();
    store.close().await;
    Ok(())
}

type Opened = (Store, Server<Shared>);

/// Return a server with its open store.
async fn opened(configuration: &Configuration) -> Result<Opened, Box<dyn Error>> {
    let settings = configuration.server()?;
    let trust = Trust::load(&configuration.trust())?;
    let store = Store::open(configuration.store()?).await?;
    let catalogue = Catalogue::open(store.clone(), configuration.catalogue()).await?;
    let lifetime = Duration::from_secs(configuration.server.session_lifetime_s);
    let sessions = Arc::new(StoredSessions::new(Arc::clone(&catalogue), lifetime));
    let server = Server::new(Shared(catalogue), settings, sessions, trust);
    Ok((store, server))
}

fn bind(address: SocketAddr, key: &str) -> Result<TcpListener, Box<dyn Error>> {
    listen(address).map_err(|error| {
        format!("cannot listen on {address}: {error}; `{key}` names another address").into()
    })
}

/// Print where a port is, for those who wait for it.
fn say(listener: &TcpListener, kind: &str) -> Done {
    let mut out = std::io::stdout();
    writeln!(out, "listening{kind} on {}", listener.local_addr()?)?;
    out.flush()?;
    Ok(())
}

fn set_password(path: Option<&Path>, user: &str) -> Done {
    let configuration = Configuration::read(path)?;
    let mut password = String::new();
    std::io::stdin().read_to_string(&mut password)?;
    let password = password.trim_end_matches(['\n', '\r']).to_owned();
    if password.is_empty() {
        return Err("the password is empty; give it on the standard input".into());
    }
    one_thread()?.block_on(async {
        let store = Store::open(configuration.store()?).await?;
        let catalogue = Catalogue::open(store.clone(), configuration.catalogue()).await?;
        catalogue.set_password(user, password).await?;
        store.close().await;
        Ok(())
    })
}

fn show_schema(path: Option<&Path>) -> Done {
    let dialect = Configuration::read(path)?.store()?.dialect()?;
    let mut out = std::io::stdout();
    for statement in store::schema(dialect) {
        writeln!(out, "{statement};")?;
    }
    Ok(())
}

fn show_config() -> Done {
    let mut text = toml::to_string(&Configuration::default())?;
    text.push_str(configuration::OPTIONAL);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
