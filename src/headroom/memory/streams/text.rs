//! Lines of text, each by itself: an access, something else, or an error.

use super::{ADDRESS_BITS, Access, Kind};

/// Accesses of a din file have no size: each is within a line.
const DIN_BYTES: &[u8] = b"1";
const LONGEST: u32 = 1 << 16;
/// Beginnings of lines about something else: `==` and `--` are valgrind's, a line of `-` parts the
/// threads of view, and its markers begin with `<`.
const OTHERS: [&[u8]; 6] = [
    b"==",
    b"--",
    b"<",
    b"Format: ",
    b"Output format:",
    b"View tool results:",
];

const NO_ACCESS: &str = "not an access of lackey (` L 1ffe,8`), din (`0 1ffe`), view \
                         (`1 1: 7042 read 8 byte(s) @ 0x1ffe by PC 0x4000`) or memtrace \
                         (`0x1ffe: 8, r`)";
const NO_ADDRESS: &str = "the address is not a hexadecimal number, or its bytes end above 2^56";
const NO_SIZE: &str = "the size is not a number of bytes from 1 to 65536";
const NO_THREAD: &str = "the thread is not a number, `T` with a number, or as `W0.T7042`";
const INCOMPLETE: &str = "the line is incomplete";

/// An access with the name of its thread, which may be empty; None if a line is about something
/// else; or what is wrong.
type Parsed<'a> = Result<Option<(&'a [u8], Access)>, &'static str>;

/// Parse a line without blanks at its ends.
pub fn parse(text: &[u8]) -> Parsed<'_> {
    if text.is_empty() || OTHERS.iter().any(|other| text.starts_with(other)) {
        return Ok(None);
    }
    let (word, rest) = split_word(text);
    if word.starts_with(b"0x") {
        return memtrace(text);
    }
    if !is_number(word) {
        return lackey(word, rest);
    }
    let (second, rest) = split_word(rest);
    if second.ends_with(b":") && is_number(&second[..second.len() - 1]) {
        return view(rest);
    }
    // The last line of view.
    if second == b":" && rest == b"total instructions" {
        return Ok(None);
    }
    din(word, second)
}

fn lackey(label: &[u8], rest: &[u8]) -> Parsed<'static> {
    let kind = match label {
        b"L" => Kind::Read,
        b"S" => Kind::Write,
        b"M" => Kind::Modify,
        b"I" => Kind::Fetch,
        _ => return Err(NO_ACCESS),
    };
    let (address, bytes) = split_at_byte(rest, b',').ok_or(INCOMPLETE)?;
    access(b"", kind, address, bytes)
}

fn din(label: &[u8], address: &[u8]) -> Parsed<'static> {
    let kind = match label {
        b"0" => Kind::Read,
        b"1" => Kind::Write,
        b"2" => Kind::Fetch,
        _ => return Err(NO_ACCESS),
    };
    let address = address.strip_prefix(b"0x").unwrap_or(address);
    access(b"", kind, address, DIN_BYTES)
}

/// Parse a line of view after the numbers of its record and instruction.
fn view(text: &[u8]) -> Parsed<'_> {
    let (thread, rest) = split_word(text);
    if thread.starts_with(b"<") {
        return Ok(None);
    }
    if !is_thread(thread) {
        return Err(NO_THREAD);
    }
    let (label, rest) = split_word(rest);
    let kind = match label {
        b"read" => Kind::Read,
        b"write" => Kind::Write,
        b"ifetch" => Kind::Fetch,
        b"iflush" | b"dflush" => return Ok(None),
        b"" => return Err(INCOMPLETE),
        _ if label.starts_with(b"<") || label.starts_with(b"pref") => return Ok(None),
        // Bytes of a long instruction continue on a line.
        _ if is_byte(label) && rest.split(u8::is_ascii_whitespace).all(is_byte_or_none) => {
            return Ok(None);
        }
        _ => return Err(NO_ACCESS),
    };
    let (bytes, rest) = split_word(rest);
    let (unit, rest) = split_word(rest);
    let (at, rest) = split_word(rest);
    if unit != b"byte(s)" || at != b"@" {
        return Err(INCOMPLETE);
    }
    let (address, rest) = split_word(rest);
    let address = address.strip_prefix(b"0x").ok_or(INCOMPLETE)?;
    if kind == Kind::Fetch {
        match rest {
            b"" => return Err(INCOMPLETE),
            b"non-fetched instruction" => return Ok(None),
            _ => {}
        }
    } else {
        // Both addresses have all digits, so a line without its end has fewer.
        let by = rest.strip_prefix(b"by PC 0x").ok_or(INCOMPLETE)?;
        if by.len() != address.len() || number(by, 16).is_none() {
            return Err(INCOMPLETE);
        }
    }
    access(thread, kind, address, bytes)
}

/// Parse `ADDRESS: BYTES, LABEL` or `INSTRUCTION,LABEL,BYTES,ADDRESS`.
fn memtrace(text: &[u8]) -> Parsed<'static> {
    if let Some((address, rest)) = split_at_byte(text, b':') {
        let (bytes, label) = split_at_byte(rest, b',').ok_or(INCOMPLETE)?;
        let kind = match label.trim_ascii_start() {
            b"r" => Kind::Read,
            b"w" => Kind::Write,
            b"" => return Err(INCOMPLETE),
            _ => Kind::Fetch,
        };
        return access(b"", kind, &address[2..], bytes.trim_ascii());
    }
    let mut parts = text.split(|&byte| byte == b',').skip(1);
    let mut next = || parts.next().ok_or(INCOMPLETE);
    let kind = match next()? {
        b"r" => Kind::Read,
        b"w" => Kind::Write,
        _ => return Err(NO_ACCESS),
    };
    let bytes = next()?;
    let address = next()?.strip_prefix(b"0x").ok_or(NO_ADDRESS)?;
    access(b"", kind, address, bytes)
}

fn access<'a>(thread: &'a [u8], kind: Kind, address: &[u8], bytes: &[u8]) -> Parsed<'a> {
    let bytes = number(bytes, 10)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .filter(|bytes| (1..=LONGEST).contains(bytes))
        .ok_or(NO_SIZE)?;
    let address = number(address, 16)
        .filter(|address| *address <= (1 << ADDRESS_BITS) - u64::from(bytes))
        .ok_or(NO_ADDRESS)?;
    Ok(Some((
        thread,
        Access {
            kind,
            address,
            bytes,
        },
    )))
}

/// Return the first word and the rest, both without blanks at their beginnings.
fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

/// Return the text before and after the first `separator`.
fn split_at_byte(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Return whether a text names a thread: `7042`, `T7042` or `W0.T7042`.
fn is_thread(text: &[u8]) -> bool {
    let workload = text.strip_prefix(b"W").and_then(|rest| {
        let (workload, thread) = split_at_byte(rest, b'.')?;
        is_number(workload).then_some(thread)
    });
    let thread = workload.unwrap_or(text);
    is_number(thread.strip_prefix(b"T").unwrap_or(thread))
}

fn is_byte(text: &[u8]) -> bool {
    text.len() == 2 && text.iter().all(u8::is_ascii_hexdigit)
}

fn is_byte_or_none(text: &[u8]) -> bool {
    text.is_empty() || is_byte(text)
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
