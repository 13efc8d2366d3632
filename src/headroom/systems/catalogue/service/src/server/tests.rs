//! Conversations over real sockets, with a service that knows five commands.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

use super::sessions::MemorySessions;
use super::*;
use crate::refusal::{Code, Refusal};
use crate::security::Proof;

struct Fake;

struct FakeSession {
    person: String,
    is_in_transaction: bool,
}

impl Service for Fake {
    type Session = FakeSession;

    async fn login(&self, who: Who) -> Answer<FakeSession> {
        let is_right = match &who.proof {
            Proof::Password(password) => password == "secret",
            Proof::Resumed(_) => true,
            Proof::Certificate { subject, .. } => subject == "/O=Grid/CN=alice",
            _ => false,
        };
        let refusal = || Refusal::new(Code::LoginRefused, "wrong password");
        let person = is_right.then_some(who.login).ok_or_else(refusal)?;
        Ok(FakeSession {
            person,
            is_in_transaction: false,
        })
    }

    async fn is_ready(&self) -> bool {
        true
    }
}

impl Session for FakeSession {
    async fn execute(&mut self, line: &str, reply: &mut Reply<'_>) -> Answer<()> {
        match line {
            "wait" => std::future::pending().await,
            "transaction" => self.is_in_transaction = true,
            "commit" => self.is_in_transaction = false,
            "whoami" => {
                let sent = reply.line(&self.person).await;
                return sent.map_err(|error| Refusal::new(Code::Unavailable, error));
            }
            _ => return Err(Refusal::new(Code::IllegalCommand, "no such command")),
        }
        Ok(())
    }

    async fn end(self) {}

    fn person(&self) -> &str {
        &self.person
    }

    fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }
}

struct Running {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

async fn start(settings: Settings) -> Running {
    start_with(settings, None).await
}

async fn start_with(settings: Settings, tls: Option<TlsAcceptor>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let sessions = Arc::new(MemorySessions::new(Duration::from_secs(60)));
    let server = Server::new(Fake, settings, sessions, tls);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));
    Running {
        address,
        stop,
        task,
    }
}

/// Connect, and read the greeting up to its third line.
async fn connect(server: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for _ in 0..3 {
        read_until(&mut stream, b"\n").await;
    }
    stream
}

async fn read_until(stream: &mut TcpStream, end: &[u8]) -> String {
    let mut found = Vec::new();
    while !found.ends_with(end) {
        found.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(found).unwrap()
}

const LOGIN: &[u8] = b"0 alice\n5 secret\n\n";

async fn log_in(server: &Running) -> TcpStream {
    let mut stream = connect(server).await;
    stream.write_all(b"plain\n\n").await.unwrap();
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    stream.write_all(LOGIN).await.unwrap();
    stream
}

async fn ask(stream: &mut TcpStream, command: &[u8]) -> String {
    stream.write_all(command).await.unwrap();
    read_until(stream, b"\x04\x04").await
}

#[tokio::test]
async fn a_login_and_a_command_may_share_a_segment() {
    let server = start(Settings::default()).await;
    let mut stream = connect(&server).await;
    stream
        .write_all(b"plain\n\n0 alice\n5 secret\n\nwhoami\n")
        .await
        .unwrap();
    let reply = read_until(&mut stream, b"\x04\x04").await;
    assert_eq!(reply, "OK\n0\nalice\n\x04\x04");
}

#[tokio::test]
async fn a_login_refusal_is_the_reply_to_the_first_command() {
    let server = start(Settings::default()).await;
    let mut stream = connect(&server).await;
    stream
        .write_all(b"plain\n\n0 alice\n5 guess\n\n")
        .await
        .unwrap();
    let reply = ask(&mut stream, b"whoami\n").await;
    assert_eq!(reply, "OK\n5 wrong password\n\x04\x04");
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_running_command_is_cancelled_and_the_next_one_answered() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    let reply = ask(&mut stream, b"wait\n\x18").await;
    assert_eq!(reply, "\x1812 cancelled by the client\n\x04\x04");
    assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
}

#[tokio::test]
async fn an_oversize_line_is_refused_and_the_connection_kept() {
    let settings = Settings {
        max_line_bytes: 64,
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = log_in(&server).await;
    let mut line = vec![b'x'; 5000];
    line.push(b'\n');
    assert_eq!(
        ask(&mut stream, &line).await,
        "3 the line is too long\n\x04\x04"
    );
    assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
}

#[tokio::test]
async fn a_session_is_resumed_without_ok_and_without_login() {
    let settings = Settings {
        sessions: Sessions::Force,
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = log_in(&server).await;
    stream.write_all(b"whoami\n").await.unwrap();
    read_until(&mut stream, b"\x04session").await;
    let id = read_until(&mut stream, b"\x04").await;
    let mut stream = connect(&server).await;
    let opening = format!("resume{}\n\nwhoami\n", id.trim_end_matches('\x04'));
    stream.write_all(opening.as_bytes()).await.unwrap();
    assert_eq!(read_until(&mut stream, b"\n").await, "0\n");
}

#[tokio::test]
async fn an_unknown_session_is_refused() {
    let settings = Settings {
        sessions: Sessions::Force,
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = connect(&server).await;
    let reply = ask(&mut stream, b"resume42\n\nwhoami\n").await;
    assert!(reply.starts_with("5 the session has expired"), "{reply}");
}

#[tokio::test]
async fn a_stopped_server_lets_a_transaction_end() {
    let server = start(Settings::default()).await;
    let mut busy = log_in(&server).await;
    let mut idle = log_in(&server).await;
    ask(&mut busy, b"transaction\n").await;
    ask(&mut idle, b"whoami\n").await;
    server.stop.send(()).unwrap();
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(ask(&mut busy, b"commit\n").await, "0\n\x04\x04");
    server.task.await.unwrap();
}

/// A CA, and certificates for the server and for `/O=Grid/CN=alice`, as PEM files in `folder`.
fn make_keys(folder: &std::path::Path) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    let key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name.push(DnType::CommonName, "CA");
    let certificate = ca.self_signed(&key).unwrap();
    std::fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
    let issuer = Issuer::new(ca, key);
    for name in ["localhost", "alice"] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "Grid");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

fn client(folder: &std::path::Path) -> tokio_rustls::TlsConnector {
    use rustls_pki_types::pem::PemObject as _;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};

    let read = |name: &str| CertificateDer::from_pem_file(folder.join(name)).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(read("ca.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("alice.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![read("alice.pem")], key)
        .unwrap();
    Arc::new(config).into()
}

#[tokio::test]
async fn a_client_certificate_logs_in_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    make_keys(folder.path());
    let (certificate, key) = (path("localhost.pem"), path("localhost.key"));
    let tls = crate::security::tls::acceptor(&certificate, &key, Some(&path("ca.pem"))).unwrap();
    let server = start_with(Settings::default(), Some(tls)).await;
    let mut stream = connect(&server).await;
    stream.write_all(b"ssl\n\n").await.unwrap();
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    let name = "localhost".try_into().unwrap();
    let mut stream = client(folder.path()).connect(name, stream).await.unwrap();
    stream.write_all(b"0 alice\n\nwhoami\n").await.unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"0\nalice\n\x04\x04");
}
