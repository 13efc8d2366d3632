//! Lines of a client, with limits on their length and time, and cancellation bytes taken out.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};

use super::CAN;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Text(String),
    /// A line that is longer than allowed; all of it was read and dropped.
    TooLong,
    /// A line that is not UTF-8.
    NotText,
    /// The client will send nothing more.
    End,
}

/// Limits on lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest line (bytes).
    pub max_line_bytes: usize,
    /// Time from the first bytes of a line to its end, whatever its length.
    pub line_timeout: Duration,
    /// A longer line gets more time, if its sender is at least this fast (bytes/s).
    pub min_bytes_per_s: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line_bytes: 64 * 1024,
            line_timeout: Duration::from_secs(30),
            min_bytes_per_s: 1024,
        }
    }
}

impl Limits {
    /// Return the time for a line of which this much has arrived.
    fn time(&self, byte_count: u64) -> Duration {
        let rate = u64::from(self.min_bytes_per_s.max(1));
        self.line_timeout + Duration::from_secs(byte_count / rate)
    }
}

/// Reads lines. Every method may be dropped at any await without losing bytes.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    limits: Limits,
    is_skipping: bool,
    is_at_end: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Return a reader of lines within limits.
    pub fn new(reader: R, limits: Limits) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            limits,
            is_skipping: false,
            is_at_end: false,
        }
    }

    /// Return the next line. A cancellation byte outside a running command came too late and is
    /// dropped: it is never part of a line.
    ///
    /// # Errors
    ///
    /// If the connection fails, or a line that has begun takes too long.
    pub async fn next(&mut self) -> io::Result<Line> {
        let mut begun = None;
        let mut byte_count = 0;
        loop {
            if let Some(line) = self.take_line() {
                return Ok(line);
            }
            if self.is_at_end {
                return Ok(self.take_rest());
            }
            byte_count += if self.buffer.is_empty() && !self.is_skipping {
                self.fill().await?
            } else {
                let begun = *begun.get_or_insert_with(Instant::now);
                let deadline = begun + self.limits.time(byte_count);
                timeout_at(deadline, self.fill()).await??
            };
        }
    }

    /// Return when the client cancels its running command. Commands that the client sent before
    /// stay in the buffer; those before the cancellation byte are kept too.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub async fn cancelled(&mut self) -> io::Result<()> {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == CAN) {
                self.buffer.remove(at);
                return Ok(());
            }
            if self.is_at_end || self.buffer.len() > self.limits.max_line_bytes {
                return std::future::pending().await;
            }
            self.fill().await?;
        }
    }

    /// Return the reader and its rest, bytes that came after the last line.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        (self.reader, self.buffer)
    }

    async fn fill(&mut self) -> io::Result<u64> {
        // A small block on the stack of the task: an idle connection holds no buffer.
        let mut block = [0; 1024];
        let count = self.reader.read(&mut block).await?;
        self.is_at_end = count == 0;
        self.buffer.extend_from_slice(&block[..count]);
        Ok(count as u64)
    }

    fn take_line(&mut self) -> Option<Line> {
        let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') else {
            self.skip_oversize();
            return None;
        };
        let mut bytes: Vec<u8> = self.buffer.drain(..=at).collect();
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
        if std::mem::take(&mut self.is_skipping) || bytes.len() > self.limits.max_line_bytes + 1 {
            return Some(Line::TooLong);
        }
        bytes.pop();
        Some(text(bytes))
    }

    fn skip_oversize(&mut self) {
        if self.is_skipping || self.buffer.len() > self.limits.max_line_bytes {
            self.is_skipping = true;
            self.buffer = Vec::new();
        }
    }

    fn take_rest(&mut self) -> Line {
        if std::mem::take(&mut self.is_skipping) {
            return Line::TooLong;
        }
        match std::mem::take(&mut self.buffer) {
            rest if rest.is_empty() => Line::End,
            rest => text(rest),
        }
    }
}

fn text(mut bytes: Vec<u8>) -> Line {
    bytes.retain(|byte| *byte != CAN);
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Line::Text(text),
        _ => Line::NotText,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    const SHORT: Limits = Limits {
        max_line_bytes: 8,
        line_timeout: Duration::from_secs(30),
        min_bytes_per_s: 1024,
    };

    async fn all(sent: impl AsyncRead + Unpin) -> Vec<Line> {
        let mut lines = Lines::new(sent, SHORT);
        let mut found = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::End => return found,
                line => found.push(line),
            }
        }
    }

    #[tokio::test]
    async fn a_late_cancellation_is_not_part_of_a_line() {
        assert_eq!(all(&b"\x18pwd\r\n"[..]).await, [Line::Text("pwd".into())]);
    }

    #[tokio::test]
    async fn an_oversize_line_is_dropped_and_the_next_one_read() {
        let found = all(&b"123456789\n12345678\n"[..]).await;
        assert_eq!(found, [Line::TooLong, Line::Text("12345678".into())]);
    }

    #[tokio::test]
    async fn an_oversize_line_without_an_end_is_reported() {
        assert_eq!(all(&[b'x'; 5000][..]).await, [Line::TooLong]);
    }

    #[tokio::test]
    async fn binary_rubbish_is_not_text() {
        assert_eq!(
            all(&b"\xff\xfe\n\0\n"[..]).await,
            [Line::NotText, Line::NotText]
        );
    }

    #[tokio::test]
    async fn a_cancellation_leaves_the_commands_before_and_after_it() {
        let mut lines = Lines::new(&b"a\n\x18b\n"[..], SHORT);
        lines.cancelled().await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Line::Text("a".into()));
        assert_eq!(lines.next().await.unwrap(), Line::Text("b".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_stalls_inside_a_line_is_cut_off() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut lines = Lines::new(server, SHORT);
        client.write_all(b"ab").await.unwrap();
        let error = lines.next().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_waits_between_lines_is_not_cut_off() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut lines = Lines::new(server, SHORT);
        let patient = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            client.write_all(b"pwd\n").await
        };
        let (line, sent) = tokio::join!(lines.next(), patient);
        sent.unwrap();
        assert_eq!(line.unwrap(), Line::Text("pwd".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_a_second_is_too_slow_even_for_an_oversize_line() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut lines = Lines::new(server, SHORT);
        let drip = async {
            while client.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            line = lines.next() => assert!(line.is_err(), "{line:?}"),
            () = drip => panic!("the reader is gone"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_line_has_more_time_if_it_comes_fast_enough() {
        let limits = Limits {
            max_line_bytes: 1 << 20,
            ..SHORT
        };
        let (mut client, server) = tokio::io::duplex(4096);
        let mut lines = Lines::new(server, limits);
        let send = async {
            for _ in 0..50 {
                client.write_all(&[b'x'; 2048]).await.unwrap();
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            client.write_all(b"\n").await.unwrap();
        };
        let (line, ()) = tokio::join!(lines.next(), send);
        assert_eq!(line.unwrap(), Line::Text("x".repeat(50 * 2048)));
    }

    /// Property: how a stream is cut into segments does not change its lines.
    #[tokio::test]
    async fn segments_do_not_change_the_lines_of_random_bytes() {
        let mut random = crate::testing::Random::new(7);
        for _ in 0..500 {
            let sent = random.bytes_of(40, b"ab\n\r\x18\0\xff\xc3\xa9 ");
            let whole = all(&sent[..]).await;
            let middle = random.below(sent.len() + 1);
            let (front, back) = sent.split_at(middle);
            assert_eq!(all(front.chain(back)).await, whole, "{sent:?} at {middle}");
        }
    }
}
