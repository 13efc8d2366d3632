//! Servers that know just enough to answer a load: a catalogue and a database.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A stream of bytes, encrypted or not.
trait Bytes: Read + Write + Send {}
impl<T: Read + Write + Send> Bytes for T {}

/// How a server behaves.
#[derive(Clone, Default)]
pub struct Behaviour {
    /// Number of AMGA's protocol.
    pub protocol: u8,
    /// Whether a catalogue gives sessions.
    pub has_sessions: bool,
    /// Encryption.
    pub tls: Option<Arc<ServerConfig>>,
    /// Texts after which a connection is closed without an answer.
    pub closes_after: Option<usize>,
    /// Whether GUIDs are wrong.
    pub lies: bool,
    /// A text that is refused: code 15, or SQLSTATE 23505.
    pub refused: Option<&'static str>,
    /// A command that is never answered.
    pub ignored: Option<&'static str>,
}

/// A running server.
pub struct Stub {
    /// Where it listens.
    pub address: SocketAddr,
    /// All texts that it received, with the options and the login block of a catalogue.
    pub texts: Arc<Mutex<Vec<String>>>,
    /// GUID by path.
    pub entries: Arc<Mutex<BTreeMap<String, String>>>,
    /// Commands on each connection of a catalogue that has ended.
    pub command_counts: Arc<Mutex<Vec<usize>>>,
}

type Talk = fn(TcpStream, &Behaviour, &Shared) -> io::Result<()>;

#[derive(Clone)]
struct Shared {
    texts: Arc<Mutex<Vec<String>>>,
    entries: Arc<Mutex<BTreeMap<String, String>>>,
    command_counts: Arc<Mutex<Vec<usize>>>,
}

impl Stub {
    /// Start a catalogue.
    pub fn amga(behaviour: Behaviour) -> Self {
        Self::start(behaviour, amga)
    }

    /// Start a database.
    pub fn postgres(behaviour: Behaviour) -> Self {
        Self::start(behaviour, postgres)
    }

    fn start(behaviour: Behaviour, talk: Talk) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared {
            texts: Arc::default(),
            entries: Arc::default(),
            command_counts: Arc::default(),
        };
        let own = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behaviour, shared) = (behaviour.clone(), own.clone());
                // A client that leaves ends its connection, which no test looks at.
                std::thread::spawn(move || drop(talk(stream, &behaviour, &shared)));
            }
        });
        Self {
            address,
            texts: shared.texts,
            entries: shared.entries,
            command_counts: shared.command_counts,
        }
    }

    /// Return how often a text was received.
    pub fn count(&self, text: &str) -> usize {
        let texts = self.texts.lock().unwrap();
        texts.iter().filter(|one| *one == text).count()
    }
}

fn amga(mut stream: TcpStream, behaviour: &Behaviour, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let greeting = format!("stub\nProtocol {}\nplain ssl\n", behaviour.protocol);
    stream.write_all(greeting.as_bytes())?;
    let option = block(&mut stream)?.concat();
    shared.texts.lock().unwrap().push(option.clone());
    if option == "plain" || option.contains("SSL") || option == "ssl" {
        stream.write_all(b"OK\n")?;
    }
    let mut stream: Box<dyn Bytes> = match &behaviour.tls {
        Some(tls) => Box::new(encrypted(stream, tls)),
        None => Box::new(stream),
    };
    if !option.starts_with("resume") {
        let login = block(&mut stream)?.join("|");
        shared.texts.lock().unwrap().push(login);
    }
    let mut count = 0;
    let result = commands(&mut stream, behaviour, shared, &mut count);
    shared.command_counts.lock().unwrap().push(count);
    result
}

fn commands(
    stream: &mut Box<dyn Bytes>,
    behaviour: &Behaviour,
    shared: &Shared,
    count: &mut usize,
) -> io::Result<()> {
    loop {
        let command = line(stream)?;
        if behaviour.closes_after == Some(*count) {
            return Ok(());
        }
        if behaviour.ignored == Some(&command) {
            continue;
        }
        *count += 1;
        let mut reply = amga_reply(&command, behaviour, shared).into_bytes();
        shared.texts.lock().unwrap().push(command);
        reply.push(4);
        if behaviour.has_sessions && *count == 1 {
            reply.extend_from_slice(b"session77");
        }
        if behaviour.protocol > 1 {
            reply.push(4);
        }
        stream.write_all(&reply)?;
        stream.flush()?;
    }
}

fn amga_reply(command: &str, behaviour: &Behaviour, shared: &Shared) -> String {
    let mut entries = shared.entries.lock().unwrap();
    if behaviour.refused == Some(command) {
        return "15 refused\n".to_owned();
    }
    match &command.split(' ').collect::<Vec<_>>()[..] {
        ["addentry", path, "guid", _] if entries.contains_key(*path) => {
            "15 entry exists\n".to_owned()
        }
        ["addentry", path, "guid", guid] => {
            entries.insert((*path).to_owned(), (*guid).to_owned());
            "0\n".to_owned()
        }
        ["getattr", path, "guid"] => match entries.get(*path) {
            Some(guid) if behaviour.lies => format!("0\n{path}\n{}\n", guid.to_uppercase()),
            Some(guid) => format!("0\n{path}\n{guid}\n"),
            None => "1 no such entry\n".to_owned(),
        },
        ["transaction" | "commit" | "abort" | "pwd"] => "0\n".to_owned(),
        _ => "3 no such command\n".to_owned(),
    }
}

/// The messages of PostgreSQL's protocol 3.0 that a simple query needs.
fn postgres(mut stream: TcpStream, behaviour: &Behaviour, shared: &Shared) -> io::Result<()> {
    const ENCRYPT: [u8; 4] = 80_877_103_u32.to_be_bytes();
    stream.set_nodelay(true)?;
    let mut startup = sized(&mut stream)?;
    let mut stream: Box<dyn Bytes> = if startup == ENCRYPT {
        stream.write_all(b"S")?;
        let tls = behaviour.tls.as_ref().unwrap();
        let mut stream = encrypted(stream, tls);
        startup = sized(&mut stream)?;
        Box::new(stream)
    } else {
        Box::new(stream)
    };
    assert_eq!(startup[..4], [0, 3, 0, 0], "the version of the protocol");
    let welcome = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    stream.write_all(&welcome)?;
    stream.flush()?;
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        let content = sized(&mut stream)?;
        if kind != *b"Q" {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&content[..content.len() - 1]).into_owned();
        let reply = if behaviour.refused == Some(&text) {
            message(b'E', b"SERROR\0C23505\0Mduplicate\0\0")
        } else if let Some(guid) = text.strip_prefix("select ") {
            [row_description(), row(guid), message(b'C', b"SELECT 1\0")].concat()
        } else {
            message(b'C', b"DONE\0")
        };
        shared.texts.lock().unwrap().push(text);
        stream.write_all(&[reply, message(b'Z', b"I")].concat())?;
        stream.flush()?;
    }
}

fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap().to_be_bytes();
    [&[kind], &length[..], content].concat()
}

/// One column of texts.
fn row_description() -> Vec<u8> {
    let column = [
        &[0, 1][..],
        b"guid\0",
        &[0; 6],
        &25_u32.to_be_bytes(),
        &[255, 255],
        &[255; 4],
        &[0, 0],
    ];
    message(b'T', &column.concat())
}

fn row(value: &str) -> Vec<u8> {
    let length = u32::try_from(value.len()).unwrap().to_be_bytes();
    message(b'D', &[&[0, 1], &length[..], value.as_bytes()].concat())
}

fn sized(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut content = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut content)?;
    Ok(content)
}

fn encrypted(
    stream: TcpStream,
    tls: &Arc<ServerConfig>,
) -> StreamOwned<ServerConnection, TcpStream> {
    let connection = ServerConnection::new(Arc::clone(tls)).unwrap();
    StreamOwned::new(connection, stream)
}

/// Read lines up to an empty one.
fn block(stream: &mut (impl Read + ?Sized)) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        match line(stream)? {
            line if line.is_empty() => return Ok(lines),
            line => lines.push(line),
        }
    }
}

fn line(stream: &mut (impl Read + ?Sized)) -> io::Result<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    loop {
        stream.read_exact(&mut byte)?;
        if byte == *b"\n" {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        text.push(byte[0]);
    }
}
