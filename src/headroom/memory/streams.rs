//! Streams of accesses, from files of other tools or packed in memory.
//!
//! | format | a line | from |
//! | --- | --- | --- |
//! | lackey | `I  04001000,3`, ` L 1ffe,8`, ` S 1ffe,8`, ` M 1ffe,8` | `valgrind --tool=lackey --trace-mem=yes` |
//! | din | `0 1ffe` (read), `1 1ffe` (write), `2 4000` (fetch) | Dinero and its relatives |
//! | packed | 8 bytes after `HRMEM1\n\0`: 56 bits of address, 6 of bytes - 1, 2 of the kind | `headroom.memory.pack` |

use std::io::{BufRead, BufReader, Read};

/// First bytes of a packed stream.
pub const MAGIC: &[u8; 8] = b"HRMEM1\n\0";
const ADDRESS_BITS: u32 = 56;
const KIND_BITS: u32 = 62;
/// Accesses of a din file have no size: each is within a line.
const DIN_BYTES: u32 = 1;
const LONGEST: u32 = 1 << 16;

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
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let start = reader.fill_buf().map_err(|error| error.to_string())?;
    if start.starts_with(MAGIC) {
        reader.consume(MAGIC.len());
        return read_packed(&mut reader, each);
    }
    read_text(&mut reader, each)
}

fn read_text(reader: &mut impl BufRead, each: &mut impl FnMut(Access)) -> Result<u64, String> {
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
        let text = line.trim_ascii_end();
        // Valgrind writes its own lines into the same file.
        if text.is_empty() || text.starts_with(b"==") || text.starts_with(b"--") {
            continue;
        }
        let access = parse(text).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
            format!(
                "line {number}: {shown:?} is no access of lackey (` L 1ffe,8`) or din (`0 1ffe`)"
            )
        })?;
        count += 1;
        each(access);
    }
}

/// Return the access in a line, None if there is none.
fn parse(text: &[u8]) -> Option<Access> {
    let text = text.trim_ascii_start();
    let (&label, rest) = text.split_first()?;
    let rest = rest.strip_prefix(b" ")?.trim_ascii_start();
    let kind = match label {
        b'L' | b'0' => Kind::Read,
        b'S' | b'1' => Kind::Write,
        b'M' => Kind::Modify,
        b'I' | b'2' => Kind::Fetch,
        _ => return None,
    };
    if label.is_ascii_digit() {
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        let address = number(rest[..end].strip_prefix(b"0x").unwrap_or(&rest[..end]), 16)?;
        return access(kind, address, u64::from(DIN_BYTES));
    }
    let comma = rest.iter().position(|&byte| byte == b',')?;
    access(
        kind,
        number(&rest[..comma], 16)?,
        number(&rest[comma + 1..], 10)?,
    )
}

fn access(kind: Kind, address: u64, bytes: u64) -> Option<Access> {
    let bytes = u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1..=LONGEST).contains(bytes))?;
    (address >> ADDRESS_BITS == 0).then_some(Access {
        kind,
        address,
        bytes,
    })
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        sum.checked_mul(u64::from(radix))?
            .checked_add(u64::from(digit))
    })
}

fn read_packed(reader: &mut impl Read, each: &mut impl FnMut(Access)) -> Result<u64, String> {
    let mut buffer = vec![0; 1 << 16];
    let (mut held, mut count) = (0, 0);
    loop {
        let length = reader
            .read(&mut buffer[held..])
            .map_err(|error| error.to_string())?;
        held += length;
        count += unpack(&buffer[..held], each);
        let rest = held % 8;
        if length == 0 {
            return if rest == 0 {
                Ok(count)
            } else {
                Err("the last access is incomplete".to_owned())
            };
        }
        buffer.copy_within(held - rest..held, 0);
        held = rest;
    }
}

/// Hand every whole packed access to `each`; return their number.
#[allow(clippy::cast_possible_truncation, reason = "six bits")]
pub fn unpack(packed: &[u8], each: &mut impl FnMut(Access)) -> u64 {
    let (words, _) = packed.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let kind = match word >> KIND_BITS {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Modify,
            _ => Kind::Fetch,
        };
        let bytes = (word >> ADDRESS_BITS & 63) as u32 + 1;
        each(Access {
            kind,
            address: word & ((1 << ADDRESS_BITS) - 1),
            bytes,
        });
    }
    words.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(file: &[u8]) -> Result<Vec<Access>, String> {
        let mut found = Vec::new();
        read(file, &mut |one| found.push(one)).map(|_| found)
    }

    #[test]
    fn formats_are_told_apart() {
        let text = b"==1== Lackey\nI  04001000,3\n L 1ffe7e0,8\n S 1f,4\n M 20,2\n";
        let kinds: Vec<_> = all(text)
            .expect("sound")
            .iter()
            .map(|one| one.kind)
            .collect();
        assert_eq!(kinds, [Kind::Fetch, Kind::Read, Kind::Write, Kind::Modify]);
        assert_eq!(all(text).expect("sound")[1].address, 0x01ff_e7e0);
        assert_eq!(all(text).expect("sound")[1].bytes, 8);
        let din = all(b"0 1ffe\n1 0x20\n2 4000 extra\n").expect("sound");
        assert_eq!(
            din[1],
            Access {
                kind: Kind::Write,
                address: 0x20,
                bytes: 1
            }
        );
        let mut packed = MAGIC.to_vec();
        packed.extend((1_u64 << 62 | 7 << 56 | 0x1234).to_le_bytes());
        let wanted = Access {
            kind: Kind::Write,
            address: 0x1234,
            bytes: 8,
        };
        assert_eq!(all(&packed).expect("sound"), [wanted]);
        packed.pop();
        assert!(all(&packed).is_err_and(|why| why.contains("incomplete")));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for wrong in [
            "hello",
            " L 1ffe",
            " L xyz,8",
            " L 1ffe,0",
            "3 1ffe",
            " L 1ffffffffffffffff,8",
        ] {
            let text = format!("I  04001000,3\n{wrong}\n");
            assert!(
                all(text.as_bytes()).is_err_and(|why| why.starts_with("line 2: ")),
                "{wrong}"
            );
        }
    }
}
