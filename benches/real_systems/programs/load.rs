//! Closed clients: `load PROTOCOL PORT CLIENTS THINK_S SECONDS SEED REQUEST [LABEL…]`.
//!
//! Each client has a thread and a connection: it thinks for an exponential time, sends a request and
//! waits for its whole answer. A request contains `{key}` (1 to 100,000) and `{client}`. A response
//! counts from when the request was due; the first fifth is left out.
//!
//! Compiled by `rustc -O` alone: no crate is needed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

type Reader = BufReader<TcpStream>;

/// Connections in one protocol.
struct Protocol {
    connect: fn(&mut Reader),
    encode: fn(&str) -> Vec<u8>,
    read_answer: fn(&mut Reader, usize),
}

fn protocol(name: &str) -> Protocol {
    match name {
        "http" => Protocol { connect: |_| (), encode: http_request, read_answer: http_answer },
        "redis" => Protocol { connect: |_| (), encode: redis_request, read_answer: redis_answers },
        "postgres" => Protocol {
            connect: postgres_connect,
            encode: |text| postgres_message(b"Q", &[text.as_bytes(), b"\0"].concat()),
            read_answer: |reader, _| postgres_until_ready(reader),
        },
        "mysql" => Protocol {
            connect: mysql_connect,
            encode: |text| mysql_packet(0, &[b"\x03", text.as_bytes()].concat()),
            read_answer: |reader, _| mysql_answer(reader),
        },
        _ => panic!("unknown protocol {name}"),
    }
}

fn read_exactly(reader: &mut Reader, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).expect("the server answers");
    bytes
}

fn read_line(reader: &mut Reader) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("the server answers");
    assert!(!line.is_empty(), "the server closed the connection");
    line.truncate(line.trim_end().len());
    line
}

fn http_request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n").into_bytes()
}

fn http_answer(reader: &mut Reader, _: usize) {
    let status = read_line(reader);
    assert!(status.contains(" 200"), "the server answered {status}");
    let mut length = None;
    loop {
        let line = read_line(reader).to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = Some(value.trim().parse().expect("a length"));
        }
    }
    if let Some(length) = length {
        read_exactly(reader, length);
        return;
    }
    // Without a length, an answer comes in chunks.
    loop {
        let size = usize::from_str_radix(&read_line(reader), 16).expect("the size of a chunk");
        read_exactly(reader, size + 2);
        if size == 0 {
            return;
        }
    }
}

/// Commands are separated by semicolons, words by spaces.
fn redis_request(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for command in text.split(';') {
        let words: Vec<&str> = command.split_whitespace().collect();
        bytes.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
    }
    bytes
}

fn redis_answers(reader: &mut Reader, count: usize) {
    for _ in 0..count {
        let line = read_line(reader);
        let (kind, rest) = line.split_at(1);
        match kind {
            "+" | ":" => (),
            "$" if rest == "-1" => (),
            "$" => drop(read_exactly(reader, rest.parse::<usize>().expect("a length") + 2)),
            "*" => redis_answers(reader, rest.parse().expect("a length")),
            _ => panic!("the server answered {line}"),
        }
    }
}

fn postgres_message(kind: &[u8], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).expect("a short request").to_be_bytes();
    [kind, &length, content].concat()
}

fn postgres_connect(reader: &mut Reader) {
    let content = b"\0\x03\0\0user\0headroom\0database\0postgres\0\0";
    let hello = postgres_message(b"", content);
    reader.get_mut().write_all(&hello).expect("the server is there");
    postgres_until_ready(reader);
}

fn postgres_until_ready(reader: &mut Reader) {
    loop {
        let head = read_exactly(reader, 5);
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let content = read_exactly(reader, length);
        assert!(head[0] != b'E', "the server answered {}", String::from_utf8_lossy(&content));
        if head[0] == b'Z' {
            return;
        }
    }
}

fn mysql_packet(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a short request").to_le_bytes();
    [&length[..3], &[number], content].concat()
}

fn mysql_read(reader: &mut Reader) -> Vec<u8> {
    let head = read_exactly(reader, 4);
    let content = read_exactly(reader, u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize);
    assert!(content[0] != 0xff, "the server answered {}", String::from_utf8_lossy(&content));
    content
}

/// Log in as root without a password, in protocol 4.1.
fn mysql_connect(reader: &mut Reader) {
    mysql_read(reader);
    let (protocol_41, secure, plugin) = (1_u32 << 9, 1 << 15, 1 << 19);
    let flags = (protocol_41 | secure | plugin).to_le_bytes();
    let (largest, charset) = (0x00ff_ffff_u32.to_le_bytes(), [45_u8]);
    let user = b"root\0\0mysql_native_password\0";
    let content = [&flags[..], &largest, &charset, &[0; 23], user].concat();
    reader.get_mut().write_all(&mysql_packet(1, &content)).expect("the server is there");
    mysql_read(reader);
}

/// Read one result: a status, or columns and rows, each with a mark at their end.
fn mysql_answer(reader: &mut Reader) {
    let is_status = mysql_read(reader)[0] == 0;
    for _ in if is_status { 0..0 } else { 0..2 } {
        while !is_end(&mysql_read(reader)) {}
    }
}

fn is_end(packet: &[u8]) -> bool {
    packet[0] == 0xfe && packet.len() < 9
}

/// A sequence of numbers below 1 (xorshift64*), good enough for keys and pauses.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        for shift in [12_i32, -25, 27] {
            self.0 ^= if shift > 0 { self.0 >> shift } else { self.0 << -shift };
        }
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn pause(&mut self, mean_s: f64) -> Duration {
        Duration::from_secs_f64(-mean_s * (1.0 - self.next()).ln())
    }
}

unsafe extern "C" {
    fn prctl(option: i32, value: u64, ...) -> i32;
}

/// Wake up when asked, not 50 us later.
fn sleep_precisely() {
    const PR_SET_TIMERSLACK: i32 = 29;
    // SAFETY: the option takes a number and touches nothing else of this thread.
    unsafe { prctl(PR_SET_TIMERSLACK, 1) };
}

/// One client, from a moment on; its response times.
fn client(
    protocol: &Protocol, mut reader: Reader, request: &str, number: u64, think_s: f64, seed: u64,
    start: Instant, length: Duration,
) -> Vec<f64> {
    sleep_precisely();
    let mut chance = Chance(seed.wrapping_mul(1_000).wrapping_add(number + 1));
    let count = request.split(';').count();
    let mut due = start + chance.pause(think_s);
    let mut responses_s = Vec::new();
    while due < start + length {
        if let Some(rest) = due.checked_duration_since(Instant::now()) {
            thread::sleep(rest);
        }
        let key = 1 + (chance.next() * 100_000.0) as u64;
        let text = request.replace("{key}", &format!("{key:06}"));
        let bytes = (protocol.encode)(&text.replace("{client}", &number.to_string()));
        reader.get_mut().write_all(&bytes).expect("the server is there");
        (protocol.read_answer)(&mut reader, count);
        let now = Instant::now();
        if now >= start + length / 5 && now < start + length {
            responses_s.push((now - due).as_secs_f64());
        }
        due = now + chance.pause(think_s);
    }
    responses_s
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, port, clients, think_s, seconds, seed, request, ..] = &words[..] else {
        panic!("load PROTOCOL PORT CLIENTS THINK_S SECONDS SEED REQUEST [LABEL…]")
    };
    let count: u64 = clients.parse().expect("a number of clients");
    let think_s: f64 = think_s.parse().expect("a think time");
    let length_s: f64 = seconds.parse().expect("a length");
    let seed: u64 = seed.parse().expect("a seed");
    let protocol = protocol(name);
    let connections: Vec<Reader> = (0..count)
        .map(|_| {
            let stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("the server is there");
            stream.set_nodelay(true).expect("a socket");
            let mut reader = BufReader::with_capacity(1 << 16, stream);
            (protocol.connect)(&mut reader);
            reader
        })
        .collect();
    let start = Instant::now();
    let length = Duration::from_secs_f64(length_s);
    let mut responses_s: Vec<f64> = thread::scope(|scope| {
        let started: Vec<_> = connections
            .into_iter()
            .zip(0..)
            .map(|(reader, number)| {
                let protocol = &protocol;
                scope.spawn(move || {
                    client(protocol, reader, request, number, think_s, seed, start, length)
                })
            })
            .collect();
        started.into_iter().flat_map(|one| one.join().expect("a client ends")).collect()
    });
    responses_s.sort_by(f64::total_cmp);
    let done = responses_s.len();
    println!("throughput {}", done as f64 / (0.8 * length_s));
    println!("mean_s {}", responses_s.iter().sum::<f64>() / done as f64);
    println!("p95_s {}", responses_s[done * 19 / 20]);
}
