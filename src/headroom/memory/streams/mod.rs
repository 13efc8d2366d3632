//! Streams of accesses, from files of other tools or packed in memory.
//!
//! | format | a line | from |
//! | --- | --- | --- |
//! | lackey | `I  04001000,3`, ` L 1ffe,8`, ` S 1ffe,8`, ` M 1ffe,8` | `valgrind --tool=lackey --trace-mem=yes` |
//! | din | `0 1ffe` (read), `1 1ffe` (write), `2 4000` (fetch) | Dinero and its relatives |
//! | view | `12 3: 7042 read 8 byte(s) @ 0x0000000000001ffe by PC 0x0000000000401000`, `write`, `ifetch`; the thread `7042` or `W0.T7042` | `drmemtrace`'s view: `drrun -t drmemtrace -tool view -indir ...` |
//! | memtrace | `0x1ffe:  8, r`, `w`, or the name of an instruction | `DynamoRIO`'s sample `memtrace_simple` |
//! | memtrace | `0x401000,r,8,0x1ffe`, `w` | `DynamoRIO`'s sample `memtrace_x86` with `OUTPUT_TEXT` |
//! | packed | 8 bytes after `HRMEM1\n\0`: 56 bits of address, 6 of bytes - 1, 2 of the kind | `headroom.memory.pack` |
//!
//! View gives the thread of each access; the other tools write a file for each thread, or only one.
//! Lines about something else than an access are left out: what valgrind says, headings, markers of
//! view, its prefetches and flushes.

mod packed;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

pub use packed::{MAGIC, pack, unpack};

/// Bits of an address.
pub const ADDRESS_BITS: u32 = 56;

/// Effect of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Reads data, then writes them.
    Modify,
    /// Fetches an instruction.
    Fetch,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its effect.
    pub kind: Kind,
    /// First byte, below 2^56.
    pub address: u64,
    /// Bytes, >= 1.
    pub bytes: u32,
}

/// Hand every access of a file to `each`, whatever its format; return their number.
///
/// # Errors
///
/// The line, and what is wrong with it; or why the file cannot be read.
pub fn read(file: impl Read, each: &mut impl FnMut(Access)) -> Result<u64, String> {
    read_named(file, &mut |_, access| each(access))
}

/// Hand every access of a file to `each` with the number of its thread, from 0 in the order of
/// their first accesses; return the names of the threads. A format without threads has one, which
/// has no name.
///
/// # Errors
///
/// As [`read`].
pub fn read_threads(
    file: impl Read,
    each: &mut impl FnMut(usize, Access),
) -> Result<Vec<String>, String> {
    let mut numbers: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    // Threads change seldom.
    let (mut present, mut number) = (Vec::new(), None);
    read_named(file, &mut |name, access| {
        if number.is_none() || present != name {
            present = name.to_vec();
            let next = numbers.len();
            number = Some(*numbers.entry(present.clone()).or_insert(next));
        }
        each(number.unwrap_or_default(), access);
    })?;
    let mut names = vec![String::new(); numbers.len()];
    for (name, number) in numbers {
        names[number] = String::from_utf8_lossy(&name).into_owned();
    }
    Ok(names)
}

/// Hand every access of a file to `each` with the name of its thread, which may be empty.
fn read_named(file: impl Read, each: &mut impl FnMut(&[u8], Access)) -> Result<u64, String> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let start = reader.fill_buf().map_err(|error| error.to_string())?;
    if start.starts_with(MAGIC) {
        reader.consume(MAGIC.len());
        return packed::read(&mut reader, &mut |access| each(b"", access));
    }
    read_text(&mut reader, each)
}

fn read_text(
    reader: &mut impl BufRead,
    each: &mut impl FnMut(&[u8], Access),
) -> Result<u64, String> {
    let mut line = Vec::new();
    let (mut number, mut count) = (0_u64, 0);
    loop {
        line.clear();
        let length = reader
            .read_until(b'\n', &mut line)
            .map_err(|error| error.to_string())?;
        if length == 0 {
            return Ok(count);
        }
        number += 1;
        let text = line.trim_ascii();
        let found = text::parse(text).map_err(|why| {
            let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
            format!("line {number}: {shown:?}: {why}")
        })?;
        if let Some((thread, access)) = found {
            count += 1;
            each(thread, access);
        }
    }
}
