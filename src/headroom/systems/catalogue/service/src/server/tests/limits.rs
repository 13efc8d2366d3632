//! Limits on connections, on time, and the headers of balancers.

use super::*;
use crate::wire::lines::Limits;

async fn is_closed(stream: &mut TcpStream) -> bool {
    stream.read(&mut [0]).await.unwrap_or(0) == 0
}

#[tokio::test]
async fn an_address_has_a_limit_and_its_places_come_back() {
    let settings = Settings {
        max_connections_per_address: 1,
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut first = log_in(&server).await;
    ask(&mut first, b"whoami\n").await;
    let mut second = TcpStream::connect(server.address).await.unwrap();
    assert!(is_closed(&mut second).await);
    first.shutdown().await.unwrap();
    assert!(is_closed(&mut first).await);
    log_in(&server).await;
}

#[tokio::test]
async fn a_person_has_a_limit_and_hears_of_it() {
    let settings = Settings {
        max_connections_per_person: 1,
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut first = log_in(&server).await;
    ask(&mut first, b"whoami\n").await;
    let mut second = log_in(&server).await;
    let reply = ask(&mut second, b"whoami\n").await;
    assert!(
        reply.starts_with("2 too many connections of this person"),
        "{reply}"
    );
    assert_eq!(ask(&mut first, b"whoami\n").await, "0\nalice\n\x04\x04");
}

#[tokio::test]
async fn the_total_has_a_limit() {
    let settings = Settings {
        max_connections: 1,
        ..Settings::default()
    };
    let server = start(settings).await;
    let _first = connect(&server).await;
    let mut second = TcpStream::connect(server.address).await.unwrap();
    assert!(is_closed(&mut second).await);
}

#[tokio::test]
async fn a_client_that_does_not_log_in_is_cut_off() {
    let settings = Settings {
        opening_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    let server = start(settings).await;
    for sent in [&b""[..], b"plain\n", b"plain\n\n", b"plain\n\n0 alice\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut all = Vec::new();
        // A reset is an end, too: the server may close before it has read what was sent.
        let _ = stream.read_to_end(&mut all).await;
    }
}

#[tokio::test]
async fn a_client_that_stalls_inside_a_line_is_cut_off() {
    let settings = Settings {
        lines: Limits {
            line_timeout: Duration::from_millis(20),
            ..Limits::default()
        },
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = log_in(&server).await;
    ask(&mut stream, b"whoami\n").await;
    stream.write_all(b"who").await.unwrap();
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn an_idle_client_is_cut_off_even_in_a_transaction() {
    let settings = Settings {
        idle_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = connect(&server).await;
    let sent = b"plain\n\n0 alice\n5 secret\n\ntransaction\n";
    stream.write_all(sent).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert_eq!(reply, "OK\n0\n\x04\x04");
}

#[tokio::test]
async fn a_client_that_reads_no_reply_is_cut_off() {
    let settings = Settings {
        write_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    let server = start(settings).await;
    let mut stream = log_in(&server).await;
    let flood = async { while stream.write_all(&b"rows\n".repeat(100)).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), flood)
        .await
        .expect("the server closes");
}

fn header(address: [u8; 4]) -> Vec<u8> {
    let head = &crate::wire::balancer::SIGNATURE[..];
    let ports = [0x30, 0x39, 0x22, 0x76];
    [head, &[0x21, 0x11, 0, 12], &address, &[10, 0, 0, 1], &ports].concat()
}

async fn start_behind_balancer(network: &str) -> Running {
    let settings = Settings {
        balancers: vec![network.parse().unwrap()],
        max_connections_per_address: 1,
        ..Settings::default()
    };
    start(settings).await
}

async fn log_in_from(server: &Running, address: [u8; 4]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&header(address)).await.unwrap();
    read_greeting(&mut stream).await;
    stream.write_all(b"plain\n\n").await.unwrap();
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    stream.write_all(LOGIN).await.unwrap();
    stream
}

#[tokio::test]
async fn a_balancer_states_the_address_that_counts() {
    let server = start_behind_balancer("127.0.0.0/8").await;
    let mut first = log_in_from(&server, [192, 0, 2, 7]).await;
    let mut second = log_in_from(&server, [192, 0, 2, 8]).await;
    assert_eq!(
        ask(&mut first, b"address\n").await,
        "0\n192.0.2.7\n\x04\x04"
    );
    assert_eq!(
        ask(&mut second, b"address\n").await,
        "0\n192.0.2.8\n\x04\x04"
    );
    let mut third = TcpStream::connect(server.address).await.unwrap();
    third.write_all(&header([192, 0, 2, 7])).await.unwrap();
    assert!(is_closed(&mut third).await);
}

#[tokio::test]
async fn a_balancer_without_a_header_of_version_2_gets_no_greeting() {
    let server = start_behind_balancer("127.0.0.0/8").await;
    for sent in [
        &b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 8822\r\n"[..],
        b"plain\n\n0 alice\n5 secret\n\n",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        assert!(is_closed(&mut stream).await);
    }
}

#[tokio::test]
async fn a_header_of_another_address_is_refused() {
    let server = start_behind_balancer("192.0.2.0/24").await;
    let version_1 = b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 8822\r\n".to_vec();
    for sent in [header([192, 0, 2, 7]), version_1] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&sent).await.unwrap();
        stream.write_all(b"plain\n\n").await.unwrap();
        let mut all = Vec::new();
        // The server closes with bytes unread, so the end may be a reset.
        let _ = stream.read_to_end(&mut all).await;
        let text = String::from_utf8(all).unwrap();
        assert!(!text.contains("OK"), "{text}");
    }
}
