//! A connection on a long line: each direction is a queue of pieces with the times of their arrival.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

use super::schedule::{Direction, Schedule};

/// Longest piece (B): short, because each direction of each connection holds one.
const PIECE_BYTES: usize = 2048;
/// Pieces on the way in one direction; with more, the sender waits, as with a full window.
const WINDOW: usize = 1024;

/// Bytes that arrive at a moment; none are the end of the stream.
type Piece = (Instant, Box<[u8]>);

/// Carry bytes between `client` and the `server`, which is opened when it is time, until both have
/// ended.
///
/// # Errors
///
/// If a side is lost, or the server cannot be reached.
pub async fn carry<C, S>(
    client: C,
    server: impl Future<Output = io::Result<S>>,
    schedule: Schedule,
) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite,
{
    let (client_in, client_out) = tokio::io::split(client);
    let (up, from_client) = channel(WINDOW);
    let (down, from_server) = channel(WINDOW);
    let server_side = async {
        sleep_until(schedule.server_opens()).await;
        let (server_in, server_out) = tokio::io::split(server.await?);
        tokio::try_join!(
            send(from_client, server_out),
            receive(server_in, down, schedule, Direction::Down),
            send(from_server, client_out),
        )
    };
    let client_side = receive(client_in, up, schedule, Direction::Up);
    tokio::try_join!(client_side, server_side).map(drop)
}

async fn receive(
    mut input: impl AsyncRead + Unpin,
    queue: Sender<Piece>,
    schedule: Schedule,
    direction: Direction,
) -> io::Result<()> {
    let mut block = [0; PIECE_BYTES];
    loop {
        let count = input.read(&mut block).await?;
        let arrival = schedule.arrival(direction, Instant::now());
        let is_sent = queue.send((arrival, block[..count].into())).await.is_ok();
        if count == 0 || !is_sent {
            return Ok(());
        }
    }
}

async fn send(mut queue: Receiver<Piece>, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    while let Some((arrival, bytes)) = queue.recv().await {
        sleep_until(arrival).await;
        if bytes.is_empty() {
            return output.shutdown().await;
        }
        output.write_all(&bytes).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{DuplexStream, duplex};

    use super::*;

    const WAY: Duration = Duration::from_millis(150);

    /// A line whose ends are in memory; the clock jumps from event to event.
    fn line() -> (DuplexStream, DuplexStream, Instant) {
        let (client, near) = duplex(1 << 20);
        let (far, server) = duplex(1 << 20);
        let began = Instant::now();
        let opening = async move { Ok(far) };
        tokio::spawn(carry(near, opening, Schedule::new(began, WAY)));
        (client, server, began)
    }

    /// Whole ways since `began`; timers round up to whole milliseconds.
    fn ways_since(began: Instant) -> u128 {
        began.elapsed().as_millis() / WAY.as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_and_its_answer_take_a_round_trip_after_the_opening() {
        let (mut client, mut server, began) = line();
        client.write_all(b"ask").await.unwrap();
        let mut word = [0; 3];
        server.read_exact(&mut word).await.unwrap();
        assert_eq!((&word, ways_since(began)), (b"ask", 3));
        server.write_all(b"say").await.unwrap();
        client.read_exact(&mut word).await.unwrap();
        assert_eq!((&word, ways_since(began)), (b"say", 4));
        client.write_all(b"end").await.unwrap();
        server.read_exact(&mut word).await.unwrap();
        assert_eq!((&word, ways_since(began)), (b"end", 5));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_stream_is_delayed_too_and_the_other_direction_stays_open() {
        let (mut client, mut server, began) = line();
        client.shutdown().await.unwrap();
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(ways_since(began), 3);
        server.write_all(b"late").await.unwrap();
        drop(server);
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!((&rest[..], ways_since(began)), (&b"late"[..], 4));
    }

    #[tokio::test(start_paused = true)]
    async fn many_bytes_arrive_whole_and_in_order() {
        let (mut client, mut server, _) = line();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|one| (one % 251) as u8).collect();
        let expected = sent.clone();
        let sending = tokio::spawn(async move {
            client.write_all(&sent).await.unwrap();
            client.shutdown().await.unwrap();
            client
        });
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert!(received == expected, "{} bytes", received.len());
        drop(sending.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_refuses_ends_the_connection_after_the_opening() {
        let (mut client, near) = duplex(64);
        let began = Instant::now();
        let refused = async { Err::<DuplexStream, _>(io::ErrorKind::ConnectionRefused.into()) };
        let result = carry(near, refused, Schedule::new(began, WAY)).await;
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(ways_since(began), 3);
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    }
}
