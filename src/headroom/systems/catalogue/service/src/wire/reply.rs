//! Replies: rows leave in blocks, so that a large result needs little memory.
//!
//! A line is the value, byte by byte, because AMGA's clients undo no escapes: a backslash is sent as
//! it is. Only bytes that would end the line or the reply become `\ooo`. Stored values have none of
//! them, so what a client reads back is what it stored.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{CAN, EOT};
use crate::refusal::Refusal;
use crate::value::Type;

/// Bytes that are collected before they are sent.
const BLOCK_BYTES: usize = 16 * 1024;

/// The output of a connection.
pub type Output<'a> = &'a mut (dyn AsyncWrite + Send + Unpin);

/// Rows of a command for a caller that is no connection.
#[derive(Debug, Default)]
pub struct Table {
    /// Names of the columns, if the command states them.
    pub names: Vec<String>,
    /// Types of the columns, if the command states them.
    pub types: Vec<Type>,
    /// The values, row after row; nothing for a missing one.
    pub cells: Vec<Option<String>>,
    bytes: usize,
    max_bytes: usize,
}

impl Table {
    /// Return an empty table. A row that begins behind `max_bytes` is left out, with all after it.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            ..Self::default()
        }
    }

    /// Return whether rows were left out, or would be.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.max_bytes
    }
}

/// Where a reply goes.
enum Target<'a> {
    Connection(Output<'a>),
    Table(&'a mut Table),
}

/// A reply that a command writes line by line.
pub struct Reply<'a> {
    target: Target<'a>,
    buffer: Vec<u8>,
    columns: Option<usize>,
    protocol: u8,
    /// Time for the client to take in a block: a slow one loses its connection.
    write_timeout: Duration,
    /// Bytes of the buffer that were sent: a dropped future must not send them again.
    sent_bytes: usize,
    has_begun: bool,
    is_sent: bool,
    is_silent: bool,
}

impl<'a> Reply<'a> {
    /// Return an empty reply in the protocol with this number.
    pub fn new(output: Output<'a>, protocol: u8, write_timeout: Duration) -> Self {
        Self::to(Target::Connection(output), protocol, write_timeout)
    }

    /// Return a reply whose values a table collects.
    pub fn of_table(table: &'a mut Table) -> Self {
        Self::to(Target::Table(table), 2, Duration::MAX)
    }

    fn to(target: Target<'a>, protocol: u8, write_timeout: Duration) -> Self {
        Self {
            target,
            buffer: Vec::new(),
            columns: None,
            protocol,
            write_timeout,
            sent_bytes: 0,
            has_begun: false,
            is_sent: false,
            is_silent: false,
        }
    }

    /// Send nothing if the command succeeds: AMGA's clients do not read replies to `upload` and
    /// `put`.
    pub fn silence(&mut self) {
        self.is_silent = true;
    }

    /// Return whether success is silent.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Return whether a line was written.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// State the number of columns; it counts only before the first line.
    pub fn columns(&mut self, count: usize) {
        self.columns = Some(count);
    }

    /// State names and types of the columns; a connection hears their number.
    pub fn describe(&mut self, names: &[String], types: &[Type]) {
        self.columns(types.len());
        if let Target::Table(table) = &mut self.target {
            (table.names, table.types) = (names.to_vec(), types.to_vec());
        }
    }

    /// Return whether another row can be taken.
    pub fn has_room(&self) -> bool {
        !matches!(&self.target, Target::Table(table) if table.is_full())
    }

    /// Write a missing value: for a connection, an empty line.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub async fn missing(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Table(table) => {
                self.has_begun = true;
                table.cells.push(None);
                Ok(())
            }
            Target::Connection(_) => self.line("").await,
        }
    }

    /// Write a value as a line. Control bytes of the protocol are written as `\ooo`.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub async fn line(&mut self, text: &str) -> io::Result<()> {
        if let Target::Table(table) = &mut self.target {
            self.has_begun = true;
            table.bytes += text.len();
            table.cells.push(Some(text.to_owned()));
            return Ok(());
        }
        self.begin();
        escape(text, &mut self.buffer);
        self.buffer.push(b'\n');
        if self.buffer.len() >= BLOCK_BYTES {
            self.send().await?;
        }
        Ok(())
    }

    /// End the reply. An error discards rows that were not sent yet; if some were, CAN comes first.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub async fn end(
        mut self,
        result: Result<(), Refusal>,
        session: Option<&str>,
    ) -> io::Result<()> {
        match result {
            Ok(()) if self.is_silent => return Ok(()),
            Ok(()) => self.begin(),
            Err(refusal) if self.is_sent => self.cancel(&refusal),
            Err(refusal) => {
                self.buffer.clear();
                self.code(&refusal);
            }
        }
        self.mark(session);
        self.send().await
    }

    /// End the reply of a cancelled command: CAN, a code and the end mark, whatever was sent.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub async fn end_cancelled(mut self, refusal: &Refusal) -> io::Result<()> {
        if !self.is_sent {
            self.buffer.clear();
        }
        self.cancel(refusal);
        self.mark(None);
        self.send().await
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let first = self
            .columns
            .map_or("0\n".to_owned(), |count| format!("0 {count}\n"));
        self.buffer.extend_from_slice(first.as_bytes());
    }

    fn cancel(&mut self, refusal: &Refusal) {
        self.buffer.push(CAN);
        self.code(refusal);
    }

    fn code(&mut self, refusal: &Refusal) {
        self.buffer
            .extend_from_slice(format!("{} ", refusal.code.number()).as_bytes());
        escape(&refusal.message, &mut self.buffer);
        self.buffer.push(b'\n');
    }

    fn mark(&mut self, session: Option<&str>) {
        self.buffer.push(EOT);
        if self.protocol > 1 {
            if let Some(id) = session {
                self.buffer
                    .extend_from_slice(format!("session{id}").as_bytes());
            }
            self.buffer.push(EOT);
        }
    }

    async fn send(&mut self) -> io::Result<()> {
        while self.sent_bytes < self.buffer.len() {
            let end = self.buffer.len().min(self.sent_bytes + BLOCK_BYTES);
            timeout(self.write_timeout, self.send_to(end)).await??;
        }
        self.buffer.clear();
        self.sent_bytes = 0;
        // An encrypted connection takes bytes in at once and waits for the client here.
        match &mut self.target {
            Target::Connection(output) => timeout(self.write_timeout, output.flush()).await?,
            Target::Table(_) => Ok(()),
        }
    }

    async fn send_to(&mut self, end: usize) -> io::Result<()> {
        let Target::Connection(output) = &mut self.target else {
            return Ok(());
        };
        while self.sent_bytes < end {
            let rest = &self.buffer[self.sent_bytes..end];
            let count = output.write(rest).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.sent_bytes += count;
            self.is_sent = true;
        }
        Ok(())
    }
}

fn escape(text: &str, into: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            EOT | CAN | b'\n' | b'\r' => {
                into.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            byte => into.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::refusal::Code;

    #[tokio::test]
    async fn a_value_with_control_bytes_is_one_line() {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.columns(1);
        reply.line("a\x04\x18\n\r").await.unwrap();
        reply.end(Ok(()), Some("12")).await.unwrap();
        assert_eq!(sent, b"0 1\na\\004\\030\\012\\015\n\x04session12\x04");
    }

    #[tokio::test]
    async fn a_backslash_is_sent_as_it_is() {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.line(r"C:\data\004").await.unwrap();
        reply.end(Ok(()), None).await.unwrap();
        assert_eq!(sent, b"0\nC:\\data\\004\n\x04\x04");
    }

    #[tokio::test]
    async fn a_silent_reply_sends_errors_only() {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.silence();
        reply.end(Ok(()), None).await.unwrap();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.silence();
        let refusal = Refusal::new(Code::IllegalCommand, "no upload");
        reply.end(Err(refusal), None).await.unwrap();
        assert_eq!(sent, b"3 no upload\n\x04\x04");
    }

    #[tokio::test]
    async fn protocol_1_has_one_mark_and_no_session() {
        let mut sent = Vec::new();
        Reply::new(&mut sent, 1, Duration::MAX)
            .end(Ok(()), Some("12"))
            .await
            .unwrap();
        assert_eq!(sent, b"0\n\x04");
    }

    #[tokio::test]
    async fn an_error_discards_rows_that_were_not_sent() {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.line("row").await.unwrap();
        let refusal = Refusal::new(Code::NotFound, "no such entry");
        reply.end(Err(refusal), None).await.unwrap();
        assert_eq!(sent, b"1 no such entry\n\x04\x04");
    }

    #[tokio::test]
    async fn an_error_after_sent_rows_follows_can() {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 2, Duration::MAX);
        reply.line(&"x".repeat(BLOCK_BYTES)).await.unwrap();
        let refusal = Refusal::new(Code::Unavailable, "away");
        reply.end(Err(refusal), None).await.unwrap();
        assert!(sent.starts_with(b"0\nxx"));
        assert!(sent.ends_with(b"x\n\x182 away\n\x04\x04"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_a_second_is_cut_off() {
        let (mut server, mut client) = tokio::io::duplex(16);
        let mut reply = Reply::new(&mut server, 2, Duration::from_secs(60));
        let drip = async {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let line = "x".repeat(BLOCK_BYTES);
        tokio::select! {
            sent = reply.line(&line) => {
                assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::TimedOut);
            }
            () = drip => panic!("the reply has ended"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_reply_has_its_time_for_each_block() {
        let (mut server, mut client) = tokio::io::duplex(4096);
        let mut reply = Reply::new(&mut server, 2, Duration::from_secs(10));
        let read = async {
            let mut block = [0; 4096];
            while client.read(&mut block).await.is_ok_and(|count| count > 0) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let send = async {
            for _ in 0..10 {
                reply.line(&"x".repeat(BLOCK_BYTES)).await.unwrap();
            }
        };
        tokio::select! {
            () = send => {}
            () = read => panic!("the reply has ended"),
        }
    }
}
