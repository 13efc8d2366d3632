//! Requests over real sockets to a catalogue in each database that is here.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::*;
use crate::catalogue;
use crate::security::{Trust, tls, tokens};
use crate::server::sessions::MemorySessions;
use crate::server::{self};
use crate::store::Store;
use crate::store::sql::Dialect;
use crate::store::testing::{Place, database, databases};
use crate::testing::pki::{Ca, Holder};
use crate::testing::tokens::Signer;

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

#[tokio::test]
async fn entries_are_put_changed_read_and_removed_in_every_database() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let entry = "/v1/entry?path=/d/a";
        let values = json!({"values": {"n": 7, "x": 1.5, "t": "", "p": "1.10"}});
        server
            .hears(&format!("PUT {entry}"), values, 201, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": 7, "x": 1.5, "t": "", "p": "1.10"}});
        server.hears(&format!("GET {entry}"), None, 200, read).await;
        let changed = json!({"values": {"n": 8, "x": null}});
        server
            .hears(&format!("PATCH {entry}"), changed, 204, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": 8, "x": null}});
        server
            .hears(&format!("GET {entry}&attributes=n,x"), None, 200, read)
            .await;
        // Put replaces: what is not given goes.
        let values = json!({"values": {"t": "new"}});
        server
            .hears(&format!("PUT {entry}"), values.clone(), 204, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": null, "x": null, "t": "new", "p": null}});
        server.hears(&format!("GET {entry}"), None, 200, read).await;
        let only = server
            .ask_as("If-None-Match: *\r\n", &format!("PUT {entry}"), values)
            .await;
        assert_eq!((only.status, &only.body["code"]), (412, &json!(15)));
        server
            .hears(&format!("HEAD {entry}"), None, 200, json!(""))
            .await;
        server
            .hears(&format!("DELETE {entry}"), None, 204, json!(""))
            .await;
        server
            .hears(&format!("HEAD {entry}"), None, 404, json!(""))
            .await;
        server
            .hears(&format!("DELETE {entry}"), None, 404, json!(1))
            .await;
    }
}

#[tokio::test]
async fn many_entries_are_inserted_together_and_found() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let new = |names: &[&str]| {
            let entries: Vec<_> = names
                .iter()
                .zip(1..)
                .map(|(name, n)| json!({"name": name, "values": {"n": n}}))
                .collect();
            json!({"path": "/d", "entries": entries})
        };
        let names = ["a", "b*", "c", "d e", "é"];
        let done = json!({"inserted": 5});
        server
            .hears("POST /v1/entries", new(&names), 201, done)
            .await;
        // All or none.
        server
            .hears("POST /v1/entries", new(&["new", "a"]), 409, json!(15))
            .await;
        let asked = json!({"path": "/d", "names": ["new", "b*", "é"]});
        let told = json!({"present": ["b*", "é"], "missing": ["new"]});
        server
            .hears("POST /v1/entries/exist", asked.clone(), 200, told)
            .await;
        let asked = json!({"path": "/d", "names": ["c", "new"], "select": ["n"]});
        let told = json!({"entries": [{"name": "c", "values": {"n": 3}}], "missing": ["new"]});
        server.hears("POST /v1/entries/get", asked, 200, told).await;
        let asked = json!({"path": "/d", "select": ["n * 2"], "condition": "n > 4"});
        let told = json!({"entries": [{"name": "é", "values": {"n * 2": 10}}], "next": null});
        server.hears("POST /v1/query", asked, 200, told).await;
        // Another directory in the condition: each entry appears once.
        for (name, k) in [("one", 1), ("two", 2), ("zwei", 2)] {
            if k == 1 {
                server
                    .ask("POST /v1/directories", json!({"path": "/k"}))
                    .await;
                let new = json!({"path": "/k", "name": "k", "type": "int"});
                server.ask("POST /v1/attributes", new).await;
            }
            let line = format!("PUT /v1/entry?path=/k/{name}");
            server.ask(&line, json!({"values": {"k": k}})).await;
        }
        let asked = json!({"path": "/d", "select": ["n"], "condition": "/d:n = /k:k"});
        let found = server.ask("POST /v1/query", asked).await.body;
        assert_eq!(found["entries"].as_array().unwrap().len(), 2, "{found}");
        // `b*` is a name, no pattern.
        server
            .hears("DELETE /v1/entry?path=/d/b*", None, 204, json!(""))
            .await;
        let names = server
            .ask("GET /v1/entries?path=/d&attributes=", None)
            .await
            .body;
        assert_eq!(names["entries"].as_array().unwrap().len(), 4, "{names}");
    }
}

#[tokio::test]
async fn pages_miss_nothing_while_others_insert() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let put = async |name: &str| {
            let line = format!("PUT /v1/entry?path=/d/{name}");
            assert_eq!(server.ask(&line, json!({"values": {}})).await.status, 201);
        };
        for name in ["b", "d", "f", "h", "j"] {
            put(name).await;
        }
        let (mut seen, mut page) = (Vec::new(), String::new());
        for new in [["a", "e"], ["c", "i"], ["g", "k"], ["x", "y"]] {
            let line = format!("GET /v1/entries?path=/d&limit=2&attributes=n{page}");
            let body = server.ask(&line, None).await.body;
            let entries = body["entries"].as_array().unwrap().clone();
            seen.extend(
                entries
                    .iter()
                    .map(|entry| entry["name"].as_str().unwrap().to_owned()),
            );
            match body["next"].as_str() {
                Some(next) => page = format!("&page={next}"),
                None => break,
            }
            // One behind the page, one before it.
            for name in new {
                put(name).await;
            }
        }
        assert_eq!(seen, ["b", "d", "e", "f", "h", "i", "j", "k"]);
        for name in ["/d/x", "/d/y", "/d/z"] {
            server
                .ask("POST /v1/directories", json!({"path": name}))
                .await;
        }
        let first = server
            .ask("GET /v1/directories?path=/d&limit=2", None)
            .await
            .body;
        let next = first["next"].as_str().unwrap();
        let line = format!("GET /v1/directories?path=/d&limit=2&page={next}");
        let last = json!({"directories": [{"name": "z", "owner": "root"}], "next": null});
        server.hears(&line, None, 200, last).await;
    }
}

#[tokio::test]
async fn a_page_ends_where_its_bytes_do() {
    let http = Settings {
        max_body_bytes: 2000,
        ..Settings::default()
    };
    let server = started(Options {
        http,
        ..Options::default()
    })
    .await;
    server.fill().await;
    for name in ["a", "b", "c"] {
        let line = format!("PUT /v1/entry?path=/d/{name}");
        let values = json!({"values": {"t": "x".repeat(1500)}});
        assert_eq!(server.ask(&line, values).await.status, 201);
    }
    let page = server.ask("GET /v1/entries?path=/d", None).await.body;
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    let line = format!(
        "GET /v1/entries?path=/d&page={}",
        page["next"].as_str().unwrap()
    );
    let page = server.ask(&line, None).await.body;
    assert_eq!(page["entries"][0]["name"], "c");
    assert_eq!(page["next"], Value::Null);
    let names = json!({"path": "/d", "names": ["a", "b", "c"]});
    server
        .hears("POST /v1/entries/get", names, 413, json!(3))
        .await;
    let long = json!({"values": {"t": "x".repeat(3000)}});
    server
        .hears("PUT /v1/entry?path=/d/d", long, 413, json!(3))
        .await;
}

#[tokio::test]
async fn refusals_are_problems_with_the_code_of_amga() {
    let server = started(Options::default()).await;
    server.fill().await;
    for (line, body, status, code) in [
        ("GET /v1/entries?path=/none", None, 404, 1),
        ("GET /v1/entries?path=/d&limit=0", None, 400, 3),
        ("GET /v1/entries?path=/d&page=%3F", None, 400, 3),
        ("GET /v1/entries?path=/d&condition=n+%3E", None, 400, 8),
        ("GET /v1/entries?path=/d&attributes=none", None, 404, 10),
        ("GET /v1/entries", None, 400, 3),
        ("GET /v1/entry?path=/", None, 404, 1),
        ("DELETE /v1/directories?path=/", None, 403, 4),
        ("POST /v1/directories", Some(json!({"path": "/d"})), 409, 16),
        (
            "POST /v1/directories",
            Some(json!({"path": "/e", "what": 1})),
            400,
            3,
        ),
        (
            "PUT /v1/entry?path=/d/a",
            Some(json!({"values": {"n": "x"}})),
            400,
            8,
        ),
        (
            "PUT /v1/entry?path=/d/a",
            Some(json!({"values": {"n": true}})),
            400,
            3,
        ),
        (
            "PATCH /v1/entry?path=/d/a",
            Some(json!({"values": {"n": 1}})),
            404,
            1,
        ),
        (
            "PATCH /v1/entry?path=/d/a",
            Some(json!({"values": {}})),
            400,
            3,
        ),
        (
            "POST /v1/query",
            Some(json!({"path": "/d", "select": ["count(n)"]})),
            400,
            8,
        ),
        (
            "POST /v1/query",
            Some(json!({"path": "/d", "select": ["/k:n"]})),
            400,
            8,
        ),
        (
            "POST /v1/entries",
            Some(json!({"path": "/d", "entries": []})),
            400,
            3,
        ),
    ] {
        let answer = server.ask(line, body).await;
        assert_eq!(
            (answer.status, &answer.body["code"]),
            (status, &json!(code)),
            "{line}"
        );
        assert_eq!(answer.body["status"], status, "{line}");
        assert!(answer.head.contains("application/problem+json"), "{line}");
    }
    assert_eq!(server.ask("GET /nothing", None).await.status, 404);
    let other = server.ask("DELETE /v1/query", None).await;
    assert_eq!(other.status, 405);
    assert!(other.head.contains("allow: post"), "{}", other.head);
}

#[tokio::test]
async fn persons_prove_who_they_are_and_have_their_rights() {
    let options = Options {
        is_without_guest: true,
        ..Options::default()
    };
    let server = started(options).await;
    let basic = |pair: &str| {
        let pair = data_encoding::BASE64.encode(pair.as_bytes());
        format!("Authorization: Basic {pair}\r\n")
    };
    let root = basic("root:secret");
    let line = "GET /v1/directories?path=/";
    let nobody = server.ask(line, None).await;
    assert_eq!((nobody.status, &nobody.body["code"]), (401, &json!(5)));
    assert!(nobody.head.contains("www-authenticate: bearer"));
    for wrong in [
        basic("root:guess"),
        "Authorization: Bearer a.b.c\r\n".to_owned(),
    ] {
        assert_eq!(
            server.ask_as(&wrong, line, None).await.status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(server.ask_as(&root, line, None).await.status, 200);
    let catalogue = &server.server.service.0;
    let mut client = catalogue.client("root").await.unwrap();
    let words = vec!["ann".to_owned(), "hush".to_owned()];
    client
        .call(&catalogue::call::Call::Command("user_create", words), 100)
        .await
        .unwrap();
    let ann = basic("ann:hush");
    let new = json!({"path": "/d"});
    let refused = server
        .ask_as(&ann, "POST /v1/directories", new.clone())
        .await;
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!(4)));
    assert_eq!(server.ask_as(&ann, "GET /v1/admin", None).await.status, 403);
    let state = server.ask_as(&root, "GET /v1/admin", None).await;
    assert_eq!(state.body["persons"], json!([{"name": "root", "count": 1}]));
    let shown = state.body["slow"].to_string();
    assert!(
        shown.contains("user_create") && !shown.contains("hush"),
        "{shown}"
    );
}

/// Files of a server that trusts a CA and an issuer of tokens.
fn trust(folder: &Path, ca: &Ca, signer: &Signer) -> Trust {
    ca.issue("localhost", 1).write(folder, "localhost");
    std::fs::write(folder.join("ca.pem"), &ca.pem).unwrap();
    let keys = json!({"keys": [signer.public("k")]});
    std::fs::write(folder.join("keys.json"), keys.to_string()).unwrap();
    let issuer = tokens::Issuer {
        issuer: "https://issuer".to_owned(),
        audiences: vec!["catalogue".to_owned()],
        keys: folder.join("keys.json"),
        scope: None,
        person_claim: Some("sub".to_owned()),
    };
    Trust::load(&crate::security::Settings {
        tls: Some(tls::Settings {
            certificate: folder.join("localhost.pem"),
            key: folder.join("localhost.key"),
            client_cas: Some(folder.join("ca.pem")),
            ..tls::Settings::default()
        }),
        tokens: tokens::Settings {
            issuers: vec![issuer],
            ..tokens::Settings::default()
        },
    })
    .unwrap()
}

fn connector(ca: &Ca, holder: Option<&Holder>) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match holder {
        None => builder.with_no_client_auth(),
        Some(holder) => builder
            .with_client_auth_cert(holder.chain.clone(), holder.private_key())
            .unwrap(),
    };
    Arc::new(config).into()
}

#[tokio::test]
async fn tokens_and_certificates_let_in_over_tls_only() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, signer) = (Ca::new("CA"), Signer::new());
    let server = started(Options {
        trust: trust(folder.path(), &ca, &signer),
        is_without_guest: true,
        ..Options::default()
    })
    .await;
    let header = json!({"alg": "ES256", "kid": "k"});
    let claims = json!({
        "iss": "https://issuer", "aud": "catalogue", "sub": "root", "exp": 4_000_000_000_u64,
    });
    let bearer = format!(
        "Authorization: Bearer {}\r\n",
        signer.sign(&header, &claims)
    );
    let ask = async |holder: Option<&Holder>, headers: &str| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let stream = connector(&ca, holder).connect(name, stream).await.unwrap();
        exchange(stream, "GET /v1/directories?path=/", headers, None).await
    };
    assert_eq!(ask(None, "").await.status, 401);
    assert_eq!(ask(None, &bearer).await.status, 200);
    let holder = ca.issue("root", 2);
    assert_eq!(
        ask(Some(&holder), "").await.status,
        401,
        "no one has its subject"
    );
    let catalogue = &server.server.service.0;
    let mut root = catalogue.client("root").await.unwrap();
    let words = vec!["root".to_owned(), "/O=Grid/CN=root".to_owned()];
    let call = catalogue::call::Call::Command("user_subject_add", words);
    root.call(&call, 100).await.unwrap();
    assert_eq!(ask(Some(&holder), "").await.status, 200);
    let counts = server.server.handshakes.counts();
    assert_eq!(counts[0], ("full", 4));
    let plain = started(Options {
        is_without_guest: true,
        ..Options::default()
    })
    .await;
    let refused = plain
        .ask_as(&bearer, "GET /v1/directories?path=/", None)
        .await;
    assert_eq!(refused.status, 401);
    let detail = refused.body["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("must be encrypted"), "{detail}");
}

#[tokio::test]
async fn limits_count_requests_and_connections() {
    let server = started(Options {
        server: server::Settings {
            max_connections_per_person: 0,
            max_connections_per_address: 1,
            ..server::Settings::default()
        },
        ..Options::default()
    })
    .await;
    let many = server.ask("GET /v1/directories?path=/", None).await;
    assert_eq!((many.status, &many.body["code"]), (429, &json!(2)));
    while !server.server.addresses.counts().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first
        .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    first.read_u8().await.unwrap();
    let mut second = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(
        second.read(&mut [0]).await.unwrap_or(0),
        0,
        "the second is closed"
    );
}

#[tokio::test]
async fn a_slow_request_and_an_idle_connection_end() {
    let server = started(Options {
        server: server::Settings {
            opening_timeout: Duration::from_millis(300),
            ..server::Settings::default()
        },
        http: Settings {
            request_timeout: Duration::from_millis(300),
            ..Settings::default()
        },
        ..Options::default()
    })
    .await;
    for (request, begin) in [
        ("", ""),
        ("GET /health HTTP/1.1\r\nHo", ""),
        ("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200"),
        (
            "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Content-Length: 9\r\n\r\n{",
            "HTTP/1.1 504",
        ),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut read));
        let _ = ended.await.expect("the server ends the connection");
        let read = String::from_utf8(read).unwrap();
        assert!(read.starts_with(begin), "{request}: {read}");
    }
}

#[tokio::test]
async fn a_draining_server_says_so_and_lets_requests_end() {
    let server = started(Options::default()).await;
    let ready = json!({"status": "ready"});
    server.hears("GET /ready", None, 200, ready).await;
    let mut running = TcpStream::connect(server.address).await.unwrap();
    let head = b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
        Content-Length: 13\r\n\r\n{\"path\"";
    running.write_all(head).await.unwrap();
    while server.server.persons.counts().is_empty() {
        tokio::task::yield_now().await;
    }
    let [stop, stop_http] = server.stop;
    let [amga, http] = server.tasks;
    stop.send(()).unwrap();
    amga.await.unwrap();
    let ask = async |line: &str| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        exchange(stream, line, "", None).await.status
    };
    assert_eq!(ask("GET /health").await, 200);
    assert_eq!(ask("GET /ready").await, 503);
    assert_eq!(ask("GET /v1/directories?path=/").await, 503);
    stop_http.send(()).unwrap();
    while TcpStream::connect(server.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!http.is_finished(), "a request is running");
    running.write_all(b":\"/\"}\n").await.unwrap();
    let mut read = String::new();
    running.read_to_string(&mut read).await.unwrap();
    assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    http.await.unwrap();
}

#[tokio::test]
async fn metrics_may_be_closed_and_the_page_asks_this_server_only() {
    let http = Settings {
        are_metrics_open: false,
        ..Settings::default()
    };
    let server = started(Options {
        http,
        is_without_guest: true,
        ..Options::default()
    })
    .await;
    assert_eq!(server.ask("GET /metrics", None).await.status, 401);
    for line in ["GET /admin", "GET /admin/page.js", "GET /admin/page.css"] {
        let page = server.ask(line, None).await;
        assert_eq!(page.status, 200);
        assert!(page.head.contains("default-src 'none'"), "{}", page.head);
        assert!(!page.body.to_string().contains("//cdn"));
    }
}
