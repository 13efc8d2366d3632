//! Writes traces in each format, so that other programs can replay the same requests.
//!
//! Invariant: written requests are read back unchanged, as far as the format can express them:
//! times are rounded down to its unit, sectors must be whole.

use std::fmt::Write as _;

use super::formats::{Format, SECTOR};
use crate::systems::storage::workloads::request::Kind;

/// A request to write down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedEntry {
    /// When it was begun (ns).
    pub time_ns: u64,
    /// Device: a file name, `major,minor`, `host.disk` or the number of a unit, by format.
    pub device: String,
    /// Its kind.
    pub kind: Kind,
    /// First byte (B).
    pub offset: u64,
    /// Length (B).
    pub length: u64,
}

/// Dialect to write: formats, and the version of fio's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// fio's log, version 2, with waits.
    FioIolog2,
    /// fio's log, version 3, with times.
    FioIolog3,
    /// blkparse's text.
    Blkparse,
    /// MSR Cambridge.
    Msr,
    /// Storage Performance Council.
    Spc,
}

impl Dialect {
    /// Return the format that reads it.
    pub const fn format(self) -> Format {
        match self {
            Self::FioIolog2 | Self::FioIolog3 => Format::FioIolog,
            Self::Blkparse => Format::Blkparse,
            Self::Msr => Format::Msr,
            Self::Spc => Format::Spc,
        }
    }

    /// Return the unit (ns) of its times.
    pub const fn unit_ns(self) -> u64 {
        match self {
            Self::FioIolog2 | Self::FioIolog3 => 1000,
            Self::Blkparse | Self::Spc => 1,
            Self::Msr => 100,
        }
    }
}

/// Return `entries` as text; None if one of them cannot be written in `dialect`.
pub fn written(entries: &[OwnedEntry], dialect: Dialect) -> Option<String> {
    let mut text = match dialect {
        Dialect::FioIolog2 => "fio version 2 iolog\n".to_owned(),
        Dialect::FioIolog3 => "fio version 3 iolog\n".to_owned(),
        _ => String::new(),
    };
    if dialect == Dialect::FioIolog2 {
        let mut files: Vec<&str> = entries.iter().map(|one| one.device.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        for file in files {
            writeln!(text, "{file} add\n{file} open").ok()?;
        }
    }
    let mut last_us = 0;
    for (index, entry) in entries.iter().enumerate() {
        if dialect == Dialect::FioIolog2 {
            let now_us = entry.time_ns / 1000;
            let wait_us = now_us.checked_sub(last_us)?;
            if wait_us > 0 {
                writeln!(text, "{} wait {wait_us} 0", entry.device).ok()?;
            }
            last_us = now_us;
        }
        let line = match dialect {
            Dialect::FioIolog2 => Some(fio(entry)),
            Dialect::FioIolog3 => Some(format!("{} {}", entry.time_ns / 1000, fio(entry))),
            Dialect::Blkparse => blkparse(entry, index),
            Dialect::Msr => msr(entry),
            Dialect::Spc => spc(entry),
        };
        writeln!(text, "{}", line?).ok()?;
    }
    Some(text)
}

fn fio(entry: &OwnedEntry) -> String {
    let action = match entry.kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Sync => "sync",
        Kind::DataSync => "datasync",
    };
    let OwnedEntry {
        device,
        offset,
        length,
        ..
    } = entry;
    format!("{device} {action} {offset} {length}")
}

fn blkparse(entry: &OwnedEntry, index: usize) -> Option<String> {
    let flags = match entry.kind {
        Kind::Read => "R",
        Kind::Write => "W",
        Kind::Trim => "D",
        Kind::Sync => "FWS",
        Kind::DataSync => return None,
    };
    let place = match entry.kind {
        Kind::Sync => String::new(),
        _ => format!("{} + {} ", sectors(entry.offset)?, sectors(entry.length)?),
    };
    let (device, time) = (&entry.device, seconds(entry.time_ns));
    Some(format!(
        "{device:>5}  0 {index:8} {time:>15}  1234  Q {flags:>3} {place}[headroom]"
    ))
}

fn msr(entry: &OwnedEntry) -> Option<String> {
    let (host, disk) = entry.device.split_once('.')?;
    let kind = match entry.kind {
        Kind::Read => "Read",
        Kind::Write => "Write",
        _ => return None,
    };
    let OwnedEntry {
        time_ns,
        offset,
        length,
        ..
    } = entry;
    Some(format!(
        "{},{host},{disk},{kind},{offset},{length},0",
        time_ns / 100
    ))
}

fn spc(entry: &OwnedEntry) -> Option<String> {
    let kind = match entry.kind {
        Kind::Read => "R",
        Kind::Write => "W",
        _ => return None,
    };
    let (unit, block, length) = (&entry.device, sectors(entry.offset)?, entry.length);
    Some(format!(
        "{unit},{block},{length},{kind},{}",
        seconds(entry.time_ns)
    ))
}

fn sectors(bytes: u64) -> Option<u64> {
    bytes.is_multiple_of(SECTOR).then_some(bytes / SECTOR)
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}
