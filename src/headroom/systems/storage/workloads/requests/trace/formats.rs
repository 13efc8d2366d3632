//! The line formats of traces.
//!
//! | format | line | time |
//! | --- | --- | --- |
//! | `fio_iolog` | version 2: `file action offset length`; version 3: with a time in front | waits (us) of version 2 are added up; version 3: us |
//! | `blkparse` | `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]` | s |
//! | `msr` | `time,host,disk,type,offset,size,response` | 100 ns since 1601 |
//! | `spc` | `asu,block,size,opcode,seconds,...`, blocks of 512 B | s |
//!
//! Sources: fio, HOWTO, *Trace file format v2* and *v3* (fio itself drops waits below 100 us;
//! here they count); blkparse(1), *Default output*; Narayanan, Donnelly & Rowstron (2008), *Write
//! off-loading*, FAST (MSR Cambridge); Storage Performance Council, *SPC trace file format
//! specification*, revision 1.0.1 (as used by the `UMass` trace repository).
//!
//! Invariant: a line is a request, is known to be none, or is an error.

use serde::Deserialize;

use crate::systems::storage::workloads::request::Kind;

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Logs of fio, versions 2 and 3; the first line gives the version.
    FioIolog,
    /// Text printed by blkparse; requests as they were queued.
    Blkparse,
    /// Traces of MSR Cambridge.
    Msr,
    /// Traces in the format of the Storage Performance Council, as those of `UMass`.
    Spc,
}

/// All formats.
pub const FORMATS: [Format; 4] = [Format::FioIolog, Format::Blkparse, Format::Msr, Format::Spc];

/// A request as given by a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'line> {
    /// When it was begun (ns) on the trace's own clock.
    pub time_ns: u64,
    /// Which device or file it went to.
    pub device: Device<'line>,
    /// Its kind.
    pub kind: Kind,
    /// First byte (B).
    pub offset: u64,
    /// Length (B).
    pub length: u64,
}

/// Name of a device, of which some formats give two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device<'line>(pub &'line str, pub &'line str);

impl Device<'_> {
    /// Return the name in one piece.
    pub fn name(self) -> String {
        match self.1 {
            "" => self.0.to_owned(),
            second => format!("{}.{second}", self.0),
        }
    }

    /// Whether its name is `name`.
    pub fn is(self, name: &str) -> bool {
        match (self.1, name.strip_prefix(self.0)) {
            ("", rest) => rest == Some(""),
            (second, rest) => rest.and_then(|rest| rest.strip_prefix('.')) == Some(second),
        }
    }
}

/// The content of a line; an error says what is wrong with it.
pub type Said<'line> = Result<Option<Entry<'line>>, &'static str>;

/// Reads lines of one format, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Parser {
    format: Format,
    /// Version of fio's log, 0 before the first line.
    version: u8,
    /// Waits so far (ns).
    waited_ns: u64,
}

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

impl Parser {
    /// Begin a trace.
    pub const fn new(format: Format) -> Self {
        Self {
            format,
            version: 0,
            waited_ns: 0,
        }
    }

    /// Return the content of `line`: a request, or none.
    ///
    /// # Errors
    ///
    /// Returns the error in the line.
    pub fn read<'line>(&mut self, line: &'line str) -> Said<'line> {
        match self.format {
            Format::FioIolog => self.fio(line),
            Format::Blkparse => blkparse(line),
            Format::Msr => msr(line),
            Format::Spc => spc(line),
        }
    }

    fn fio<'line>(&mut self, line: &'line str) -> Said<'line> {
        match (self.version, line) {
            (0, "fio version 2 iolog") => self.version = 2,
            (0, "fio version 3 iolog") => self.version = 3,
            (0, _) => return Err("the first line is not 'fio version 2 iolog' or 3"),
            (2, line) => return self.fio_2(line),
            (_, line) => return fio_3(line),
        }
        Ok(None)
    }

    fn fio_2<'line>(&mut self, line: &'line str) -> Said<'line> {
        let mut words = line.split_ascii_whitespace();
        let (Some(file), Some(action)) = (words.next(), words.next()) else {
            return Err("the file or the action is missing");
        };
        let rest = [words.next(), words.next()];
        if action == "wait" {
            let wait = whole(rest[0]).ok_or("the wait must be a whole number (us)")?;
            let wait_ns = wait.checked_mul(1000).ok_or("the wait is too long")?;
            let waited_ns = self.waited_ns.checked_add(wait_ns);
            self.waited_ns = waited_ns.ok_or("the waits are too long in total")?;
            return Ok(None);
        }
        fio_action(self.waited_ns, file, action, rest)
    }
}

fn fio_3(line: &str) -> Said<'_> {
    let mut words = line.split_ascii_whitespace();
    let micros = whole(words.next()).ok_or("the time must be a whole number (us)")?;
    let time_ns = micros.checked_mul(1000).ok_or("the time is too late")?;
    let (Some(file), Some(action)) = (words.next(), words.next()) else {
        return Err("the file or the action is missing");
    };
    if action == "wait" {
        return Err("version 3 has no action `wait`");
    }
    fio_action(time_ns, file, action, [words.next(), words.next()])
}

fn fio_action<'line>(
    time_ns: u64,
    file: &'line str,
    action: &str,
    [offset, length]: [Option<&str>; 2],
) -> Said<'line> {
    let kind = match action {
        "add" | "open" | "close" => return Ok(None),
        "read" => Kind::Read,
        "write" => Kind::Write,
        "trim" => Kind::Trim,
        "sync" => Kind::Sync,
        "datasync" => Kind::DataSync,
        _ => return Err("unknown action"),
    };
    let has_place = !matches!(kind, Kind::Sync | Kind::DataSync);
    let number = |word, problem| {
        if has_place {
            whole(word).ok_or(problem)
        } else {
            Ok(0)
        }
    };
    Ok(Some(Entry {
        time_ns,
        device: Device(file, ""),
        kind,
        offset: number(offset, "the offset must be a whole number (B)")?,
        length: number(length, "the length must be a whole number (B)")?,
    }))
}

fn blkparse(line: &str) -> Said<'_> {
    let mut words = line.split_ascii_whitespace();
    let device = words.next().unwrap_or("");
    let is_event = device
        .split_once(',')
        .is_some_and(|(major, minor)| is_number(major) && is_number(minor));
    if !is_event {
        return Ok(None);
    }
    let (Some(_cpu), Some(_sequence), Some(time)) = (words.next(), words.next(), words.next())
    else {
        return Err("the event has no time");
    };
    let time_ns = nanoseconds(time).ok_or("the time must be a number of seconds")?;
    let (Some(_process), Some(action)) = (words.next(), words.next()) else {
        return Err("the event has no action");
    };
    if action != "Q" {
        return Ok(None);
    }
    let flags = words
        .next()
        .ok_or("the event does not say whether it reads or writes")?;
    let rest = [words.next(), words.next(), words.next()];
    let Some(kind) = kind_of_flags(flags, rest[1] == Some("+") && rest[2] != Some("0")) else {
        return Ok(None);
    };
    let has_no_place = rest[0].is_none_or(|word| word.starts_with('['));
    let is_sync = kind == Kind::Sync;
    if has_no_place && !is_sync {
        // A request without data that is not a flush: there is nothing to replay.
        return Ok(None);
    }
    let sectors = |word, problem| {
        if is_sync {
            return Ok(0);
        }
        let bytes = whole(word).and_then(|sectors| sectors.checked_mul(SECTOR));
        bytes.ok_or(problem)
    };
    if !is_sync && rest[1] != Some("+") {
        return Err("the request has no '+' between its sector and its length");
    }
    Ok(Some(Entry {
        time_ns,
        device: Device(device, ""),
        kind,
        offset: sectors(rest[0], "the sector must be a whole number")?,
        length: sectors(rest[2], "the length must be a whole number of sectors")?,
    }))
}

/// Return the meaning of blkparse's flags; a flush in front of data counts as the data alone.
fn kind_of_flags(flags: &str, has_data: bool) -> Option<Kind> {
    let is_flush = flags.starts_with('F');
    match flags.trim_start_matches('F').as_bytes().first() {
        Some(b'R') => Some(Kind::Read),
        Some(b'D') => Some(Kind::Trim),
        Some(b'W') if has_data || !is_flush => Some(Kind::Write),
        _ if is_flush => Some(Kind::Sync),
        _ => None,
    }
}

fn msr(line: &str) -> Said<'_> {
    let mut fields = line.split(',').map(str::trim);
    let time = fields.next().unwrap_or("");
    if time.eq_ignore_ascii_case("timestamp") {
        return Ok(None);
    }
    let time_ns = whole(Some(time))
        .and_then(|ticks| ticks.checked_mul(100))
        .ok_or("the time must be a whole number (100 ns)")?;
    let (Some(host), Some(disk)) = (fields.next(), fields.next()) else {
        return Err("the host or the disk is missing");
    };
    let kind = match fields.next() {
        Some(word) if word.eq_ignore_ascii_case("read") => Kind::Read,
        Some(word) if word.eq_ignore_ascii_case("write") => Kind::Write,
        _ => return Err("the type is neither Read nor Write"),
    };
    Ok(Some(Entry {
        time_ns,
        device: Device(host, disk),
        kind,
        offset: whole(fields.next()).ok_or("the offset must be a whole number (B)")?,
        length: whole(fields.next()).ok_or("the size must be a whole number (B)")?,
    }))
}

fn spc(line: &str) -> Said<'_> {
    let mut fields = line.split(',').map(str::trim);
    let unit = fields.next().unwrap_or("");
    if !is_number(unit) {
        return Err("the unit (ASU) must be a whole number");
    }
    let offset = whole(fields.next()).and_then(|block| block.checked_mul(SECTOR));
    let length = whole(fields.next());
    let kind = match fields.next() {
        Some("R" | "r") => Kind::Read,
        Some("W" | "w") => Kind::Write,
        _ => return Err("the opcode is neither R nor W"),
    };
    let time_ns = fields.next().and_then(nanoseconds);
    Ok(Some(Entry {
        time_ns: time_ns.ok_or("the time must be a number of seconds")?,
        device: Device(unit, ""),
        kind,
        offset: offset.ok_or("the block must be a whole number")?,
        length: length.ok_or("the size must be a whole number (B)")?,
    }))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn whole(word: Option<&str>) -> Option<u64> {
    let word = word.filter(|word| is_number(word))?;
    word.parse().ok()
}

/// Return a decimal number of seconds in nanoseconds; further digits are dropped.
fn nanoseconds(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let whole_ns = whole(Some(seconds))?.checked_mul(1_000_000_000)?;
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let part_ns = digits.fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    is_fraction.then(|| whole_ns.checked_add(part_ns)).flatten()
}
