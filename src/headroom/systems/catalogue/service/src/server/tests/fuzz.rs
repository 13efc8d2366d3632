//! Random bytes from clients: nothing panics, and every connection ends.

use super::*;
use crate::testing::Random;
use crate::testing::pki::Ca;

/// Pieces of conversations, good and bad, so that random ones get beyond the option.
const PIECES: &[&[u8]] = &[
    b"plain\n\n",
    b"ssl\n\n",
    b"resume12\n\n",
    b"resumeSSL12\n\n",
    b"plain",
    b"\n",
    b"\r\n",
    b"\0",
    b"0 alice\n",
    b"5 secret\n\n",
    b"6 a.b.c\n",
    b"whoami\n",
    b"rows\n",
    b"put\n",
    b"transaction\n",
    b"\x18",
    b"\x04",
    b"PROXY TCP4\r\n",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"\xff\xfe\n",
    b"\x16\x03\x01",
];

fn conversation(random: &mut Random) -> Vec<u8> {
    let mut sent = Vec::new();
    if random.below(2) == 0 {
        sent.extend_from_slice(b"plain\n\n0 alice\n5 secret\n\n");
    }
    for _ in 0..random.below(12) {
        if random.below(4) == 0 {
            sent.extend(random.bytes(40));
        } else {
            sent.extend_from_slice(PIECES[random.below(PIECES.len())]);
        }
    }
    sent
}

/// Serve one client in this task, so that a panic fails the test.
async fn serve(server: &Server<Fake>, listener: &TcpListener, sent: &[u8]) {
    let client = async {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        // The server may close at any time, with or without a reset.
        let _ = stream.write_all(sent).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    };
    let serving = async {
        let (stream, address) = listener.accept().await.unwrap();
        let _ = connection::run(server, stream, address).await;
    };
    let both = async { tokio::join!(client, serving) };
    tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .unwrap_or_else(|_| panic!("does not end: {sent:?}"));
}

async fn serve_many(settings: Settings, trust: Trust, seed: u64, head: &[u8]) {
    let server = server(settings, trust);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut random = Random::new(seed);
    for _ in 0..300 {
        let sent = [head, &conversation(&mut random)].concat();
        serve(&server, &listener, &sent).await;
    }
}

#[tokio::test]
async fn random_conversations_end() {
    let settings = Settings {
        sessions: Sessions::Force,
        ..Settings::default()
    };
    serve_many(settings, Trust::default(), 1, b"").await;
}

#[tokio::test]
async fn random_handshakes_end() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let trust = super::security::trust(folder.path(), &ca, |_| {});
    serve_many(Settings::default(), trust, 2, b"ssl\n\n").await;
}

#[tokio::test]
async fn random_headers_of_balancers_end() {
    let settings = Settings {
        balancers: vec!["127.0.0.0/8".parse().unwrap()],
        ..Settings::default()
    };
    let head = [&crate::wire::balancer::SIGNATURE[..], &[0x21, 0x11, 0, 14]].concat();
    serve_many(settings.clone(), Trust::default(), 3, &head).await;
    serve_many(settings, Trust::default(), 4, b"").await;
}
