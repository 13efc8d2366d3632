//! Requests over real sockets to a catalogue in each database that is here.

mod entries;
mod limits;
mod people;

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::catalogue;
use crate::security::Trust;
use crate::server::sessions::MemorySessions;
use crate::server::{self};
use crate::store::Store;
use crate::store::sql::Dialect;
use crate::store::testing::{Place, database};

/// A server whose guest is root.
struct Running {
    address: SocketAddr,
    server: Arc<Server<Shared>>,
    /// Lets AMGA's protocol drain, then HTTP.
    stop: [oneshot::Sender<()>; 2],
    tasks: [JoinHandle<()>; 2],
    _place: Place,
}

#[derive(Default)]
struct Options {
    server: server::Settings,
    http: Settings,
    trust: Trust,
    is_without_guest: bool,
}

async fn start(place: Place, options: Options) -> Running {
    let store = Store::open(place.settings.clone()).await.unwrap();
    let users = catalogue::Settings {
        guest: (!options.is_without_guest).then(|| "root".to_owned()),
        allows_plain_passwords: true,
        slow_after: Duration::ZERO,
        ..catalogue::Settings::default()
    };
    let catalogue = Catalogue::open(store, users).await.unwrap();
    catalogue
        .set_password("root", "secret".to_owned())
        .await
        .unwrap();
    let sessions = Arc::new(MemorySessions::new(Duration::from_secs(60)));
    let server = Server::new(Shared(catalogue), options.server, sessions, options.trust);
    let server = Arc::new(server);
    let http = Http::new(Arc::clone(&server), options.http);
    let amga = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let (stop_http, stopped_http) = oneshot::channel();
    let serving = Arc::clone(&server).serve(amga, async { drop(stopped.await) });
    let serving_http = http.serve(listener, async { drop(stopped_http.await) });
    Running {
        address,
        server,
        stop: [stop, stop_http],
        tasks: [tokio::spawn(serving), tokio::spawn(serving_http)],
        _place: place,
    }
}

async fn started(options: Options) -> Running {
    start(database(Dialect::Sqlite).unwrap(), options).await
}

/// A response.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

/// Send a request and read the response up to the end of the connection.
async fn exchange<T: AsyncRead + AsyncWrite + Unpin>(
    mut stream: T,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> Answer {
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    let text = String::from_utf8(read).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("{line}: {text}")),
        head: head.to_lowercase(),
        body: serde_json::from_str(body).unwrap_or_else(|_| json!(body)),
    }
}

impl Running {
    async fn ask(&self, line: &str, body: impl Into<Option<Value>>) -> Answer {
        self.ask_as("", line, body).await
    }

    async fn ask_as(&self, headers: &str, line: &str, body: impl Into<Option<Value>>) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        exchange(stream, line, headers, body.into().as_ref()).await
    }

    /// Ask, and compare status and body; a problem is compared by its code.
    async fn hears(&self, line: &str, body: impl Into<Option<Value>>, status: u16, wanted: Value) {
        let answer = self.ask(line, body).await;
        let found = match answer.body.get("code") {
            Some(code) => code.clone(),
            None => answer.body,
        };
        assert_eq!((answer.status, found), (status, wanted), "{line}");
    }

    /// Make `/d` with attributes of each type.
    async fn fill(&self) {
        self.hears(
            "POST /v1/directories",
            json!({"path": "/d"}),
            201,
            json!(""),
        )
        .await;
        for (name, of) in [
            ("n", "int"),
            ("x", "float"),
            ("t", "text"),
            ("p", "numeric(6,2)"),
        ] {
            let new = json!({"path": "/d", "name": name, "type": of});
            self.hears("POST /v1/attributes", new, 201, json!("")).await;
        }
    }
}
