//! Secrets of clients are not logged, however their login ends.

use super::*;
use crate::testing::logs::Logs;

#[tokio::test]
async fn passwords_tokens_and_sessions_are_not_logged() {
    let logs = Logs::default();
    let _guard = tracing::subscriber::set_default(logs.clone());
    let settings = Settings {
        sessions: Sessions::Force,
        max_connections_per_address: 1,
        ..Settings::default()
    };
    let server = start(settings).await;
    for login in [
        &b"plain\n\n0 alice\n5 hush-hush\n\nwhoami\n"[..],
        b"plain\n\n0 alice\n6 hush-hush\n\nwhoami\n",
        b"plain\n\n0 alice\n5 hush-hush\n\xC3\n",
        b"plain\nhush-hush\n",
        b"resume987654321\n\nwhoami\n",
        b"ssl\n\n5 hush-hush\n",
    ] {
        let mut stream = connect(&server).await;
        // A second client of the address is refused, which is logged.
        let mut second = TcpStream::connect(server.address).await.unwrap();
        let _ = second.read(&mut [0]).await;
        stream.write_all(login).await.unwrap();
        stream.shutdown().await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    let text = logs.text();
    assert!(text.contains("too many connections"), "{text}");
    for secret in ["hush-hush", "987654321"] {
        assert!(!text.contains(secret), "{text}");
    }
}
