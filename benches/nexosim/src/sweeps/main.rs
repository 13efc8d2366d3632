//! Times sweeps of caches and the simulation of single ones in turns, on the thread's processor
//! time.
//!
//! `cache-sweeps time STREAM ACCESSES ROUNDS` prints a JSON object for each simulation and round:
//! its name, the round, the accesses and the time (s), after a round that is not printed. The
//! misses of each single cache must be those in the sweeps.
//!
//! For other tools, `cache-sweeps use STREAM ACCESSES TIMES` makes the accesses, and
//! `cache-sweeps print STREAM ACCESSES 1` prints the packed ones, as hexadecimal numbers.

mod streams;

use std::hint::black_box;
use std::process::ExitCode;

use headroom::memory::caches::cache::{Cache, Found, Replacement};
use headroom::memory::stack_distance::StackDistances;
use headroom::memory::streams::{Kind, unpack};
use headroom::memory::sweep::{Sweep, all_ways::AllWays};

const LINE_BYTES: u64 = 64;
const MOST_SETS: u64 = 1024;
const MOST_WAYS: u32 = 16;
const SIZES: [u64; 6] = [16, 32, 64, 128, 256, 512];
/// Single caches: sets and ways.
const SINGLE: [(u64, u32); 3] = [(64, 8), (1024, 8), (1024, 16)];
const USAGE: &str = "cache-sweeps time|use|print sequential|random|zipf|blocked ACCESSES ROUNDS";

/// Return the misses of one cache: reads and writes.
fn single(stream: &[u8], sets: u64, ways: u32) -> (u64, u64) {
    let mut cache = Cache::new(sets, ways, Replacement::Lru).expect("sound");
    let (mut reads, mut writes) = (0, 0);
    unpack(stream, &mut |access| {
        let last = (access.address + u64::from(access.bytes) - 1) / LINE_BYTES;
        let is_write = access.kind == Kind::Write;
        let mut is_miss = false;
        for line in access.address / LINE_BYTES..=last {
            if cache.look_up(line, is_write) == Found::Miss {
                cache.insert(line, is_write, false);
                is_miss = true;
            }
        }
        if is_write {
            writes += u64::from(is_miss);
        } else {
            reads += u64::from(is_miss);
        }
    });
    (reads, writes)
}

fn all_ways(stream: &[u8]) -> AllWays {
    let mut caches = AllWays::new(LINE_BYTES, MOST_SETS, MOST_WAYS).expect("sound");
    unpack(stream, &mut |access| {
        let is_write = access.kind == Kind::Write;
        caches.access(access.address, access.bytes, is_write);
    });
    caches.misses(1, 1);
    caches
}

fn sweep(stream: &[u8]) -> Sweep {
    let mut sweep = Sweep::new(&SIZES, MOST_SETS, MOST_WAYS).expect("sound");
    unpack(stream, &mut |access| {
        let is_write = access.kind == Kind::Write;
        sweep.access(access.address, access.bytes, is_write);
    });
    sweep.sizes();
    sweep
}

fn distances(stream: &[u8]) -> u64 {
    let mut distances = StackDistances::new(LINE_BYTES);
    unpack(stream, &mut |access| {
        distances.access_all(access.address, u64::from(access.bytes));
    });
    distances.first_count
}

/// Do a work, and print what it took if the round has a number.
fn timed<T>(name: &str, round: Option<usize>, count: usize, work: impl FnOnce() -> T) -> T {
    let before = thread_s();
    let made = work();
    let taken_s = thread_s() - before;
    if let Some(round) = round {
        println!(
            "{{\"name\": \"{name}\", \"round\": {round}, \"count\": {count}, \"s\": {taken_s:.6}}}"
        );
    }
    made
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

fn take_turns(stream: &[u8], round: Option<usize>) {
    let count = stream.len() / 8;
    let mut caches = timed("all ways", round, count, || all_ways(stream));
    let mut sizes = timed("sweep", round, count, || sweep(stream));
    for (sets, ways) in SINGLE {
        let name = format!("{sets} sets of {ways} ways");
        let misses = timed(&name, round, count, || single(stream, sets, ways));
        assert_eq!(misses, caches.misses(sets, ways), "{name}, all ways");
        let size = sizes
            .sizes()
            .iter_mut()
            .find(|one| one.line_bytes() == LINE_BYTES);
        let swept = size.map(|size| size.misses(sets, ways));
        assert_eq!(Some(misses), swept, "{name}, sweep");
    }
    timed("stack distances", round, count, || distances(stream));
}

/// Make the accesses of a stream.
fn make_accesses(stream: &[u8], times: usize) {
    let mut memory = vec![0_u64; (64 << 20) / 8];
    for _ in 0..times {
        unpack(stream, &mut |access| {
            let word = &mut memory[access.address as usize / 8];
            if access.kind == Kind::Write {
                *black_box(word) = 1;
            } else {
                black_box(*word);
            }
        });
    }
}

fn print(stream: &[u8]) {
    for word in stream.as_chunks::<8>().0 {
        println!("{:x}", u64::from_le_bytes(*word));
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [action, kind, count, rounds] = words.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let asked = count.parse().ok().zip(rounds.parse::<usize>().ok());
    let Some((stream, rounds)) =
        asked.and_then(|(count, rounds)| Some((streams::packed(kind, count)?, rounds)))
    else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match action.as_str() {
        "time" => {
            for turn in 0..=rounds {
                take_turns(&stream, turn.checked_sub(1));
            }
        }
        "use" => make_accesses(&stream, rounds),
        "print" => print(&stream),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
