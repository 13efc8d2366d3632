//! Lines of a client, with a limit on their length and cancellation bytes taken out.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

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

/// Reads lines. Every method may be dropped at any await without losing bytes.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    max_line_bytes: usize,
    is_skipping: bool,
    is_at_end: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Return a reader that allows lines of `max_line_bytes`.
    pub fn new(reader: R, max_line_bytes: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            max_line_bytes,
            is_skipping: false,
            is_at_end: false,
        }
    }

    /// Return the next line. A cancellation byte outside a running command came too late and is
    /// dropped: it is never part of a line.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(line);
            }
            if self.is_at_end {
                return Ok(self.take_rest());
            }
            self.fill().await?;
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
            if self.is_at_end || self.buffer.len() > self.max_line_bytes {
                return std::future::pending().await;
            }
            self.fill().await?;
        }
    }

    /// Return the reader and its rest, bytes that came after the last line.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        (self.reader, self.buffer)
    }

    async fn fill(&mut self) -> io::Result<()> {
        // A small block on the stack of the task: an idle connection holds no buffer.
        let mut block = [0; 1024];
        let count = self.reader.read(&mut block).await?;
        self.is_at_end = count == 0;
        self.buffer.extend_from_slice(&block[..count]);
        Ok(())
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
        if std::mem::take(&mut self.is_skipping) || bytes.len() > self.max_line_bytes + 1 {
            return Some(Line::TooLong);
        }
        bytes.pop();
        Some(text(bytes))
    }

    fn skip_oversize(&mut self) {
        if self.is_skipping || self.buffer.len() > self.max_line_bytes {
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
    use super::*;

    async fn all(sent: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(sent, 8);
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
        assert_eq!(all(b"\x18pwd\r\n").await, [Line::Text("pwd".into())]);
    }

    #[tokio::test]
    async fn an_oversize_line_is_dropped_and_the_next_one_read() {
        let found = all(b"123456789\n12345678\n").await;
        assert_eq!(found, [Line::TooLong, Line::Text("12345678".into())]);
    }

    #[tokio::test]
    async fn an_oversize_line_without_an_end_is_reported() {
        assert_eq!(all(&[b'x'; 5000]).await, [Line::TooLong]);
    }

    #[tokio::test]
    async fn binary_rubbish_is_not_text() {
        assert_eq!(all(b"\xff\xfe\n\0\n").await, [Line::NotText, Line::NotText]);
    }

    #[tokio::test]
    async fn a_cancellation_leaves_the_commands_before_and_after_it() {
        let mut lines = Lines::new(&b"a\n\x18b\n"[..], 8);
        lines.cancelled().await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Line::Text("a".into()));
        assert_eq!(lines.next().await.unwrap(), Line::Text("b".into()));
    }
}
