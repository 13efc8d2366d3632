//! The ceiling: the models of the benchmark, each written by hand in one loop for this one purpose.
//!
//! The loops keep what the kernel keeps of a visit: the time spent at each number of jobs present
//! (and so the areas), waiting and response times of each station, jobs and response times of the
//! class, their histogram and their batch means. They know their model at compile time and ask
//! nothing: no other discipline, no branch of another kind, no limit but the number of visits, no
//! snapshots, no conservation laws. Arguments: model and number of station visits. Prints
//! `visits answer`.

use std::env;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

type Random = Xoshiro256PlusPlus;

/// Time units (ticks) of one unit of the model's time.
const TICKS: f64 = 1e9;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let visit_limit: u64 = arguments[2].parse().expect("a number of visits");
    let (visits, answer) = match arguments[1].as_str() {
        "mm1" => open_queue(1.0 / 0.8, 1, visit_limit),
        "mm4" => open_queue(1.0 / 3.2, 4, visit_limit),
        "central-server" => central_server(visit_limit),
        "pipeline" => pipeline(visit_limit),
        "many-stations" => ring(10_000, 20_000, visit_limit),
        "many-jobs" => ring(10_000, 100_000, visit_limit),
        other => panic!("no model is named {other}"),
    };
    println!("{visits} {answer}");
}

/// The pending events: an implicit heap of four children each, of times and what happens then.
struct Events {
    heap: Vec<(u64, u32)>,
}

impl Events {
    fn first(&self) -> (u64, u32) {
        self.heap[0]
    }

    /// Replace the first event.
    #[inline(always)]
    fn replace(&mut self, event: (u64, u32)) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let mut best = first;
            if first + 4 <= heap.len() {
                let left = if heap[first + 1].0 < heap[first].0 { first + 1 } else { first };
                let right = if heap[first + 3].0 < heap[first + 2].0 { first + 3 } else { first + 2 };
                best = if heap[right].0 < heap[left].0 { right } else { left };
            } else if first < heap.len() {
                for child in first + 1..heap.len() {
                    best = if heap[child].0 < heap[best].0 { child } else { best };
                }
            } else {
                break;
            }
            if event.0 <= heap[best].0 {
                break;
            }
            heap[at] = heap[best];
            at = best;
        }
        heap[at] = event;
    }

    #[inline(always)]
    fn pop(&mut self) {
        let last = self.heap.pop().expect("an event");
        if !self.heap.is_empty() {
            self.replace(last);
        }
    }

    #[inline(always)]
    fn push(&mut self, event: (u64, u32)) {
        let mut at = self.heap.len();
        self.heap.push(event);
        while at > 0 {
            let above = (at - 1) / 4;
            if self.heap[above].0 <= event.0 {
                break;
            }
            self.heap[at] = self.heap[above];
            at = above;
        }
        self.heap[at] = event;
    }
}

/// Numbers of jobs present whose times are kept apart.
const BINS: usize = 16;

/// A station with a first-come-first-served line of jobs, and its statistics.
struct Station {
    present: u32,
    changed: u64,
    line: Line,
    visits: u64,
    wait: u128,
    response: u128,
    near: [u64; BINS],
    far: Vec<u64>,
}

/// A line of jobs, linked through them.
#[derive(Clone, Copy)]
struct Line {
    first: u32,
    last: u32,
}

/// A job: when it entered the system and its station, and who stands behind it.
#[derive(Clone, Copy, Default)]
struct Job {
    arrived: u64,
    entered: u64,
    next: u32,
}

impl Station {
    fn new() -> Self {
        Self {
            present: 0,
            changed: 0,
            line: Line { first: 0, last: 0 },
            visits: 0,
            wait: 0,
            response: 0,
            near: [0; BINS],
            far: Vec::new(),
        }
    }

    #[inline(always)]
    fn advance(&mut self, now: u64) {
        let ticks = now - self.changed;
        self.changed = now;
        match self.near.get_mut(self.present as usize) {
            Some(bin) => *bin += ticks,
            None => self.advance_far(ticks),
        }
    }

    #[inline(never)]
    fn advance_far(&mut self, ticks: u64) {
        let bin = (self.present as usize).min(1023);
        if bin >= self.far.len() {
            self.far.resize(bin + 1, 0);
        }
        self.far[bin] += ticks;
    }

    /// Let `job` enter; return whether one of `servers` is free.
    #[inline(always)]
    fn enter(&mut self, now: u64, job: u32, jobs: &mut [Job], servers: u32) -> bool {
        self.advance(now);
        jobs[job as usize].entered = now;
        self.present += 1;
        let is_free = self.present <= servers;
        if !is_free {
            if self.present == servers + 1 {
                self.line.first = job;
            } else {
                jobs[self.line.last as usize].next = job;
            }
            self.line.last = job;
        }
        is_free
    }

    /// Let `job` leave; return whose service begins.
    #[inline(always)]
    fn leave(&mut self, now: u64, job: u32, jobs: &mut [Job], servers: u32) -> Option<u32> {
        self.advance(now);
        self.visits += 1;
        self.response += u128::from(now - jobs[job as usize].entered);
        self.present -= 1;
        if self.present < servers {
            return None;
        }
        let next = self.line.first;
        self.wait += u128::from(now - jobs[next as usize].entered);
        self.line.first = jobs[next as usize].next;
        Some(next)
    }
}

/// The statistics of the class.
struct Class {
    present: u32,
    changed: u64,
    area: u128,
    count: u64,
    response: u128,
    histogram: Vec<u64>,
    batch: u128,
    batch_count: u64,
    batch_size: u64,
    batches: Vec<u128>,
}

impl Class {
    fn new() -> Self {
        Self {
            present: 0,
            changed: 0,
            area: 0,
            count: 0,
            response: 0,
            histogram: vec![0; 8192],
            batch: 0,
            batch_count: 0,
            batch_size: 1,
            batches: Vec::with_capacity(1024),
        }
    }

    #[inline(always)]
    fn advance(&mut self, now: u64) {
        self.area += u128::from(self.present) * u128::from(now - self.changed);
        self.changed = now;
    }

    #[inline(always)]
    fn begin(&mut self, now: u64) {
        self.advance(now);
        self.present += 1;
    }

    /// Count a response time.
    #[inline(always)]
    fn complete(&mut self, now: u64, arrived: u64) {
        self.advance(now);
        self.present -= 1;
        self.again(now - arrived);
    }

    #[inline(always)]
    fn again(&mut self, ticks: u64) {
        self.count += 1;
        self.response += u128::from(ticks);
        let shift = (u64::BITS - ticks.leading_zeros()).saturating_sub(8);
        self.histogram[shift as usize * 128 + (ticks >> shift) as usize] += 1;
        self.batch += u128::from(ticks);
        self.batch_count += 1;
        if self.batch_count == self.batch_size {
            self.close();
        }
    }

    #[inline(never)]
    fn close(&mut self) {
        self.batches.push(self.batch);
        (self.batch, self.batch_count) = (0, 0);
        if self.batches.len() == 1024 {
            self.batches = self.batches.chunks(2).map(|two| two[0] + two[1]).collect();
            self.batch_size *= 2;
        }
    }
}

/// Draw an exponential time (ticks).
#[inline(always)]
fn draw(random: &mut Random, mean: f64) -> u64 {
    let unit: f64 = Exp1.sample(random);
    (unit * mean * TICKS) as u64
}

/// Return the visits, and the mean response time in service times, of an open queue.
fn open_queue(gap: f64, servers: u32, visit_limit: u64) -> (u64, f64) {
    const ARRIVAL: u32 = u32::MAX;
    let mut random = Random::seed_from_u64(1);
    let mut events = Events { heap: Vec::new() };
    let mut station = Station::new();
    let mut class = Class::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut vacant: Vec<u32> = Vec::new();
    events.push((draw(&mut random, gap), ARRIVAL));
    while station.visits < visit_limit {
        let (now, who) = events.first();
        if who == ARRIVAL {
            events.replace((now + draw(&mut random, gap), ARRIVAL));
            let job = vacant.pop().unwrap_or_else(|| {
                jobs.push(Job::default());
                jobs.len() as u32 - 1
            });
            class.begin(now);
            jobs[job as usize].arrived = now;
            if station.enter(now, job, &mut jobs, servers) {
                events.push((now + draw(&mut random, 1.0), job));
            }
        } else {
            match station.leave(now, who, &mut jobs, servers) {
                Some(next) => events.replace((now + draw(&mut random, 1.0), next)),
                None => events.pop(),
            }
            class.complete(now, jobs[who as usize].arrived);
            vacant.push(who);
        }
    }
    let mean = class.response as f64 / class.count as f64 / TICKS;
    (station.visits, mean)
}

/// Return the visits, and the cycles per millisecond, of the central server.
fn central_server(visit_limit: u64) -> (u64, f64) {
    const JOBS: u32 = 64;
    const CPUS: u32 = 4;
    const DISKS: usize = 16;
    let mut random = Random::seed_from_u64(1);
    let mut events = Events { heap: Vec::new() };
    let mut cpu = Station::new();
    let mut disks: [Station; DISKS] = std::array::from_fn(|_| Station::new());
    let mut class = Class::new();
    let mut jobs = vec![Job::default(); JOBS as usize];
    let mut at = vec![0_u8; JOBS as usize];
    const CPU: u8 = DISKS as u8;
    class.present = JOBS;
    for job in 0..JOBS {
        at[job as usize] = CPU;
        if cpu.enter(0, job, &mut jobs, CPUS) {
            events.push((draw(&mut random, 4.0), job));
        }
    }
    let mut visits = 0;
    let mut now = 0;
    while visits < visit_limit {
        let job;
        (now, job) = events.first();
        visits += 1;
        if at[job as usize] == CPU {
            match cpu.leave(now, job, &mut jobs, CPUS) {
                Some(next) => events.replace((now + draw(&mut random, 4.0), next)),
                None => events.pop(),
            }
            let disk = random.random_range(0..DISKS);
            at[job as usize] = disk as u8;
            if disks[disk].enter(now, job, &mut jobs, 1) {
                events.push((now + draw(&mut random, 15.0), job));
            }
        } else {
            let disk = &mut disks[at[job as usize] as usize];
            match disk.leave(now, job, &mut jobs, 1) {
                Some(next) => events.replace((now + draw(&mut random, 15.0), next)),
                None => events.pop(),
            }
            let arrived = &mut jobs[job as usize].arrived;
            class.advance(now);
            class.again(now - *arrived);
            *arrived = now;
            at[job as usize] = CPU;
            if cpu.enter(now, job, &mut jobs, CPUS) {
                events.push((now + draw(&mut random, 4.0), job));
            }
        }
    }
    (visits, visits as f64 / 2.0 / (now as f64 / TICKS))
}

/// Return the visits, and the jobs per service time, of the ring of three stations, of which two
/// have room for three jobs each; a job that finds none stays at its server.
fn pipeline(visit_limit: u64) -> (u64, f64) {
    const STATIONS: usize = 3;
    const JOBS: u32 = 10;
    const PLACES: [u32; STATIONS] = [u32::MAX, 3, 3];
    let mut random = Random::seed_from_u64(1);
    let mut events = Events { heap: Vec::new() };
    let mut stations: [Station; STATIONS] = std::array::from_fn(|_| Station::new());
    let mut class = Class::new();
    let mut jobs = vec![Job::default(); JOBS as usize];
    let mut blocked: [Option<(u32, u64)>; STATIONS] = [None; STATIONS];
    let mut blocked_time = [0_u128; STATIONS];
    let mut serving = [0_u32; STATIONS];
    class.present = JOBS;
    for job in 0..JOBS {
        if stations[0].enter(0, job, &mut jobs, 1) {
            serving[0] = job;
            events.push((draw(&mut random, 1.0), 0));
        }
    }
    let mut visits = 0;
    let mut now = 0;
    while visits < visit_limit {
        let event;
        (now, event) = events.first();
        visits += 1;
        let mut from = event as usize;
        let next = (from + 1) % STATIONS;
        if stations[next].present == PLACES[next] {
            blocked[from] = Some((serving[from], now));
            events.pop();
            continue;
        }
        // The job moves on, and behind it the job that it has blocked.
        let mut is_top_free = true;
        let mut job = serving[from];
        loop {
            let to = (from + 1) % STATIONS;
            if to == 0 {
                let arrived = &mut jobs[job as usize].arrived;
                class.advance(now);
                class.again(now - *arrived);
                *arrived = now;
            }
            let begins = [
                stations[from].leave(now, job, &mut jobs, 1).map(|one| (from, one)),
                stations[to].enter(now, job, &mut jobs, 1).then_some((to, job)),
            ];
            for (station, who) in begins.into_iter().flatten() {
                serving[station] = who;
                let event = (now + draw(&mut random, 1.0), station as u32);
                if std::mem::replace(&mut is_top_free, false) {
                    events.replace(event);
                } else {
                    events.push(event);
                }
            }
            let behind = (from + STATIONS - 1) % STATIONS;
            let Some((waiting, since)) = blocked[behind].take() else {
                break;
            };
            blocked_time[behind] += u128::from(now - since);
            (job, from) = (waiting, behind);
        }
        if is_top_free {
            events.pop();
        }
    }
    let time = now as f64 / TICKS;
    (visits, visits as f64 / STATIONS as f64 / time)
}

/// Return the visits, and the visits per service time, of jobs that go from station to station at
/// random.
fn ring(station_count: usize, job_count: u32, visit_limit: u64) -> (u64, f64) {
    let mut random = Random::seed_from_u64(1);
    let mut events = Events { heap: Vec::new() };
    let mut stations: Vec<Station> = (0..station_count).map(|_| Station::new()).collect();
    let mut class = Class::new();
    let mut jobs = vec![Job::default(); job_count as usize];
    let mut at = vec![0_u32; job_count as usize];
    class.present = job_count;
    for job in 0..job_count {
        let station = random.random_range(0..station_count);
        at[job as usize] = station as u32;
        if stations[station].enter(0, job, &mut jobs, 1) {
            events.push((draw(&mut random, 1.0), job));
        }
    }
    let mut now = 0;
    for _ in 0..visit_limit {
        let job;
        (now, job) = events.first();
        let own = &mut stations[at[job as usize] as usize];
        match own.leave(now, job, &mut jobs, 1) {
            Some(next) => events.replace((now + draw(&mut random, 1.0), next)),
            None => events.pop(),
        }
        let arrived = &mut jobs[job as usize].arrived;
        class.advance(now);
        class.again(now - *arrived);
        *arrived = now;
        let station = random.random_range(0..station_count);
        at[job as usize] = station as u32;
        if stations[station].enter(now, job, &mut jobs, 1) {
            events.push((now + draw(&mut random, 1.0), job));
        }
    }
    (visit_limit, visit_limit as f64 / (now as f64 / TICKS))
}
