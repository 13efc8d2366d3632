//! Login, commands, sessions and drain.

use super::*;
use crate::wire::lines::Limits;

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
        lines: Limits {
            max_line_bytes: 64,
            ..Limits::default()
        },
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

/// The id was given out in TLS: it must not be sent without it.
#[tokio::test]
async fn an_encrypted_session_is_not_resumed_without_encryption() {
    let settings = Settings {
        sessions: Sessions::Allow,
        ..Settings::default()
    };
    let server = server(settings, Trust::default());
    let id = server.sessions.create("alice").await.unwrap();
    let server = run(server).await;
    let mut stream = connect(&server).await;
    let reply = ask(&mut stream, format!("resume{id}\n\nwhoami\n").as_bytes()).await;
    assert!(reply.starts_with("5 the session has expired"), "{reply}");
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

#[tokio::test]
async fn a_silent_success_sends_nothing() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    assert_eq!(
        ask(&mut stream, b"put 1\nput 2\nwhoami\n").await,
        "0\nalice\n\x04\x04"
    );
}

#[tokio::test]
async fn a_refused_client_gets_its_reply_although_it_sent_more() {
    let server = start(Settings::default()).await;
    let mut stream = connect(&server).await;
    let sent = [
        &b"plain\n\n0 alice\n5 guess\n\n"[..],
        &b"whoami\n".repeat(500),
    ]
    .concat();
    stream.write_all(&sent).await.unwrap();
    let mut reply = String::new();
    stream.shutdown().await.unwrap();
    stream.read_to_string(&mut reply).await.unwrap();
    assert_eq!(reply, "OK\n5 wrong password\n\x04\x04");
}

#[tokio::test]
async fn a_drain_does_not_wait_for_clients_that_have_not_logged_in() {
    let server = start(Settings::default()).await;
    let mut silent = connect(&server).await;
    let mut chosen = connect(&server).await;
    chosen.write_all(b"plain\n\n").await.unwrap();
    read_until(&mut chosen, b"\n").await;
    server.stop.send(()).unwrap();
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(chosen.read(&mut [0]).await.unwrap(), 0);
    server.task.await.unwrap();
}

#[tokio::test]
async fn a_drain_lets_a_running_command_end() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    stream.write_all(b"pause\n").await.unwrap();
    server.paused.notified().await;
    server.stop.send(()).unwrap();
    server.resume.notify_one();
    assert_eq!(read_until(&mut stream, b"\x04\x04").await, "0\n\x04\x04");
    server.task.await.unwrap();
}

#[tokio::test]
async fn a_drain_cuts_off_what_does_not_end() {
    let settings = Settings {
        drain_timeout: Duration::from_millis(10),
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = log_in(&server).await;
    ask(&mut stream, b"transaction\n").await;
    server.stop.send(()).unwrap();
    server.task.await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
}
