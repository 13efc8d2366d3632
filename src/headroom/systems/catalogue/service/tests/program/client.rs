//! A client that does what AMGA's Python client does, and waits for each reply.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connect and send a login block.
    pub fn connect(address: &str, login: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        for _ in 0..3 {
            line(&mut stream)?;
        }
        stream.get_mut().write_all(b"plain\n\n")?;
        if line(&mut stream)? != "OK\n" {
            return Err(io::Error::other("no `OK`"));
        }
        stream
            .get_mut()
            .write_all(format!("{login}\n").as_bytes())?;
        Ok(Self { stream })
    }

    /// Run a command and return its reply without the end mark.
    pub fn run(&mut self, command: &str) -> io::Result<String> {
        self.stream
            .get_mut()
            .write_all(format!("{command}\n").as_bytes())?;
        let mut reply = Vec::new();
        for _ in 0..2 {
            if self.stream.read_until(4, &mut reply)? == 0 || reply.pop() != Some(4) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        String::from_utf8(reply).map_err(io::Error::other)
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}
