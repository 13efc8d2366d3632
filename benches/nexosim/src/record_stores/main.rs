//! Times ordered stores of records in turns, on the thread's processor time.
//!
//! `record-stores RECORDS PAGES FOLDER ROUNDS [SHAPE ...] [only STORE ...]`: each store gets the
//! records by random inserts in `ROUNDS` parts, then looks them up, scans and sums them in as many
//! rounds, after one that is not measured. Prints a JSON object a line: what was done, by whom, in
//! which round, how often, in which time (s); at last the memory, and how much of it was in huge
//! pages. `PAGES` is `huge` or `small`; the allocator is told by `GLIBC_TUNABLES`, and what came of
//! it is printed.

mod floor;
mod memory;
mod peers;
mod shapes;
mod stores;

use std::hint::black_box;

use floor::Floor;
use headroom::memory::probe::buffer::Pages;
use stores::{RECORD_WORDS, Record, Store};

/// What is asked for.
struct Asked {
    records: usize,
    pages: Pages,
    folder: String,
    rounds: usize,
    shapes: Vec<String>,
    only: Vec<String>,
}

impl Asked {
    fn of_arguments() -> Option<Self> {
        let mut all = std::env::args().skip(1);
        let records = all.next()?.parse().ok()?;
        let pages = match all.next()?.as_str() {
            "huge" => Pages::Transparent,
            "small" => Pages::Small,
            _ => return None,
        };
        let (folder, rounds) = (
            all.next()?,
            all.next()?.parse().ok().filter(|&one| one > 0)?,
        );
        let rest: Vec<String> = all.collect();
        let mut parts = rest.split(|word| word == "only");
        let shapes = parts.next()?.to_vec();
        let only = parts.next().map(<[String]>::to_vec).unwrap_or_default();
        Some(Self {
            records,
            pages,
            folder,
            rounds,
            shapes,
            only,
        })
    }
}

/// Return the record number of the record that is inserted as number `place`: each number once, in
/// an order without pattern.
fn number(place: u32) -> u32 {
    // Each step can be undone, so no number comes twice.
    let mut number = place.wrapping_mul(0x9E37_79B1);
    number ^= number >> 15;
    number = number.wrapping_mul(0x85EB_CA6B);
    number ^= number >> 13;
    // The largest number is reserved.
    if number == u32::MAX {
        0x7FFF_FFFF
    } else {
        number
    }
}

fn record(place: u32) -> Record {
    let mut record = [place; RECORD_WORDS];
    record[0] = number(place);
    record
}

/// Do a work, and print what it took in a round.
fn timed(work: &str, store: &str, round: Option<usize>, work_of: &mut dyn FnMut() -> u64) {
    let before = thread_s();
    let count = work_of();
    let taken_s = thread_s() - before;
    let Some(round) = round else { return };
    println!(
        "{{\"work\": \"{work}\", \"store\": \"{store}\", \"round\": {round}, \"count\": {count}, \
         \"s\": {taken_s:.6}}}"
    );
}

/// Return the processor time (s) of this thread.
fn thread_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the time that is lent to it.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(done, 0, "the clock of the thread");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() -> std::process::ExitCode {
    let Some(asked) = Asked::of_arguments() else {
        eprintln!("record-stores RECORDS huge|small FOLDER ROUNDS [SHAPE ...] [only STORE ...]");
        return std::process::ExitCode::from(2);
    };
    let mut stores = stores::all(&asked);
    for round in 0..asked.rounds {
        let (from, to) = (part(&asked, round), part(&asked, round + 1));
        let records: Vec<Record> = (from..to).map(|place| record(place as u32)).collect();
        for store in &mut stores {
            let name = store.name();
            timed("insert", &name, Some(round), &mut || store.insert(&records));
        }
    }
    let floor = Floor::new(asked.records * RECORD_WORDS * 4, asked.pages);
    // The first turns are not measured: pages and caches are as the inserts of all left them.
    for turn in 0..=asked.rounds {
        take_turns(&asked, turn.checked_sub(1), &stores, &floor);
    }
    println!("{}", memory::of_this_process());
    std::process::ExitCode::SUCCESS
}

/// Return how many records there are before a round.
fn part(asked: &Asked, round: usize) -> usize {
    asked.records * round / asked.rounds
}

fn take_turns(asked: &Asked, round: Option<usize>, stores: &[Box<dyn Store>], floor: &Floor) {
    let keys = drawn_keys(asked.records, round.map_or(0, |one| one + 1));
    timed("line", "floor", round, &mut || floor.random_lines(&keys));
    for store in stores {
        timed("look_up", &store.name(), round, &mut || {
            let found = store.look_up(&keys);
            assert_eq!(found, keys.len() as u64, "{} finds all", store.name());
            found
        });
    }
    timed("read", "floor", round, &mut || floor.read());
    for store in stores {
        timed("scan", &store.name(), round, &mut || {
            let count = store.scan();
            assert_eq!(count, asked.records as u64, "{} has all", store.name());
            count
        });
    }
    for store in stores {
        if let Some(expected) = store.sum() {
            timed("sum", &store.name(), round, &mut || {
                assert_eq!(black_box(store.sum()), Some(expected));
                asked.records as u64
            });
        }
    }
}

/// Return numbers of records that are there, drawn anew for each round.
fn drawn_keys(records: usize, round: usize) -> Vec<u32> {
    let count = records.clamp(500_000, 1_000_000);
    let mut state = 0x1234_5678_9ABC_DEF1_u64 + round as u64;
    let draw = || {
        // Xorshift (Marsaglia 2003); the upper half of the product is a fair choice.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        number(((state >> 32) * records as u64 >> 32) as u32)
    };
    std::iter::repeat_with(draw).take(count).collect()
}
