//! Limits, the drain, and what is open to everyone.

use super::*;

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
