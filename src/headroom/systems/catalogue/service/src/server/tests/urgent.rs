//! Cancellation by TCP urgent data, as AMGA's clients send it.

use socket2::SockRef;

use super::*;
use crate::wire::CAN;

const CANCELLED: &str = "\x1812 cancelled by the client\n\x04\x04";

fn send_urgent(stream: &TcpStream) {
    let sent = SockRef::from(stream).send_out_of_band(&[CAN]).unwrap();
    assert_eq!(sent, 1);
}

#[tokio::test]
async fn an_urgent_byte_cancels_a_running_command() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    for _ in 0..20 {
        stream.write_all(b"pause\n").await.unwrap();
        server.paused.notified().await;
        send_urgent(&stream);
        assert_eq!(read_until(&mut stream, b"\x04\x04").await, CANCELLED);
        assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
    }
}

/// The command and the urgent byte are in the queue of the kernel together: a read that ends before
/// the byte must not count as the last one.
#[tokio::test]
async fn an_urgent_byte_right_behind_its_command_cancels_it() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    for _ in 0..20 {
        stream.write_all(b"wait\n").await.unwrap();
        send_urgent(&stream);
        assert_eq!(read_until(&mut stream, b"\x04\x04").await, CANCELLED);
    }
}

#[tokio::test]
async fn a_late_urgent_byte_does_not_cancel_the_next_command() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    for _ in 0..20 {
        ask(&mut stream, b"whoami\n").await;
        send_urgent(&stream);
        assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
    }
}

#[tokio::test]
async fn an_urgent_byte_in_a_reply_of_many_rows_ends_it() {
    let server = start(Settings::default()).await;
    let mut stream = log_in(&server).await;
    stream.write_all(b"rows\n").await.unwrap();
    send_urgent(&stream);
    let reply = read_until(&mut stream, b"\x04\x04").await;
    assert!(reply.ends_with(CANCELLED) || reply.ends_with("\n4999\n\x04\x04"));
    assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
}
