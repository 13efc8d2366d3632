//! The ceiling: the central-server model, hand-written for this one purpose.
//!
//! A binary heap of (time, station) from the standard library, a counter of waiting jobs for each
//! station, and no statistics except the number of visits. Arguments: model (only `central-server`)
//! and number of station visits. Prints `visits cycles-per-unit`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

const JOBS: u32 = 64;
const CPUS: u32 = 4;
const CPU_MS: f64 = 4.0;
const DISKS: usize = 16;
const DISK_MS: f64 = 15.0;
const CPU: usize = DISKS;

/// The bits of a non-negative number have the order of the numbers.
type Event = Reverse<(u64, usize)>;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    assert_eq!(
        arguments[1], "central-server",
        "the only model of the bare loop"
    );
    let visit_limit: u64 = arguments[2].parse().expect("a number of visits");
    let (visits, now) = central_server(visit_limit);
    println!("{visits} {}", visits as f64 / 2.0 / now);
}

/// Returns the visits made and the time at which the last one ended.
fn central_server(visit_limit: u64) -> (u64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut events: BinaryHeap<Event> = BinaryHeap::with_capacity(CPUS as usize + DISKS);
    let mut waiting = [0_u32; DISKS + 1];
    let mut visits = 0;
    let mut now = 0.0;
    let begin = |events: &mut BinaryHeap<Event>,
                 random: &mut Xoshiro256PlusPlus,
                 now: f64,
                 station: usize| {
        let mean_ms = if station == CPU { CPU_MS } else { DISK_MS };
        let service_ms: f64 = Exp1.sample(random);
        events.push(Reverse(((now + mean_ms * service_ms).to_bits(), station)));
    };
    for _ in 0..CPUS {
        begin(&mut events, &mut random, now, CPU);
    }
    waiting[CPU] = JOBS - CPUS;
    let mut idle_cpus = 0;
    let mut is_disk_busy = [false; DISKS];
    while visits < visit_limit {
        let Reverse((bits, station)) = events.pop().expect("the network never empties");
        now = f64::from_bits(bits);
        visits += 1;
        if waiting[station] > 0 {
            waiting[station] -= 1;
            begin(&mut events, &mut random, now, station);
        } else if station == CPU {
            idle_cpus += 1;
        } else {
            is_disk_busy[station] = false;
        }
        let next = if station == CPU {
            random.random_range(0..DISKS)
        } else {
            CPU
        };
        if next == CPU && idle_cpus > 0 {
            idle_cpus -= 1;
            begin(&mut events, &mut random, now, CPU);
        } else if next != CPU && !is_disk_busy[next] {
            is_disk_busy[next] = true;
            begin(&mut events, &mut random, now, next);
        } else {
            waiting[next] += 1;
        }
    }
    (visits, now)
}
