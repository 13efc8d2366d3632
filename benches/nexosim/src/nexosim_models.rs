//! Queueing models in NeXosim: stations are its models, jobs are messages between them.
//!
//! NeXosim has no stations, so a station is implemented here; it counts only what the answer needs.
//! The program uses one thread, because the benchmark reports work per core. Arguments: model and
//! number of station visits to run. Prints `visits answer`; benches/simulation.py defines the
//! answer.

use std::collections::VecDeque;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Address, Mailbox, SimInit, Simulation};
use nexosim::time::MonotonicTime;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Totals over all stations: visits, and nanoseconds from arrival to end of service.
#[derive(Default)]
struct Tally {
    visits: AtomicU64,
    response_ns: AtomicU64,
}

/// Servers with one queue, first come first served; may be held by a full successor.
#[derive(Serialize, Deserialize)]
struct Station {
    next: Vec<Output<()>>,
    /// Notifies the predecessor that a place has become free; connected if places are limited.
    freed: Output<()>,
    mean_s: f64,
    idle_servers: u32,
    waiting: VecDeque<MonotonicTime>,
    /// When the jobs in service arrived. Several servers may end in another order, which does not
    /// change the sum of the response times.
    in_service: VecDeque<MonotonicTime>,
    /// Free places at the successor, if they are limited.
    places_ahead: Option<u32>,
    is_held: bool,
    /// Jobs that are here when the run begins.
    initial_jobs: u32,
    tells_predecessor: bool,
    random: Xoshiro256PlusPlus,
    #[serde(skip)]
    tally: Arc<Tally>,
}

#[Model]
impl Station {
    fn new(seed: u64, mean_s: f64, servers: u32, tally: &Arc<Tally>) -> Self {
        Self {
            next: Vec::new(),
            freed: Output::default(),
            mean_s,
            idle_servers: servers,
            waiting: VecDeque::new(),
            in_service: VecDeque::new(),
            places_ahead: None,
            is_held: false,
            initial_jobs: 0,
            tells_predecessor: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            tally: Arc::clone(tally),
        }
    }

    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        for _ in 0..self.initial_jobs {
            self.arrive((), cx).await;
        }
    }

    /// A job arrives -- input port.
    async fn arrive(&mut self, (): (), cx: &Context<Self>) {
        self.waiting.push_back(cx.time());
        self.begin(cx);
    }

    /// A place has become free at the successor -- input port.
    async fn place_freed(&mut self, (): (), cx: &Context<Self>) {
        if self.is_held {
            self.is_held = false;
            self.leave(cx).await;
        } else if let Some(places) = &mut self.places_ahead {
            *places += 1;
        }
    }

    fn begin(&mut self, cx: &Context<Self>) {
        if self.idle_servers == 0 {
            return;
        }
        let Some(arrived) = self.waiting.pop_front() else {
            return;
        };
        self.idle_servers -= 1;
        self.in_service.push_back(arrived);
        cx.schedule_event(
            draw(&mut self.random, self.mean_s),
            schedulable!(Self::end),
            (),
        )
        .expect("a positive time");
    }

    #[nexosim(schedulable)]
    async fn end(&mut self, (): (), cx: &Context<Self>) {
        let arrived = self.in_service.pop_front().expect("a job in service");
        let response = cx.time().duration_since(arrived).as_nanos() as u64;
        self.tally.visits.fetch_add(1, Ordering::Relaxed);
        self.tally
            .response_ns
            .fetch_add(response, Ordering::Relaxed);
        match &mut self.places_ahead {
            Some(0) => self.is_held = true,
            Some(places) => {
                *places -= 1;
                self.leave(cx).await;
            }
            None => self.leave(cx).await,
        }
    }

    /// The job moves on; its server takes the next one.
    async fn leave(&mut self, cx: &Context<Self>) {
        if !self.next.is_empty() {
            let chosen = if self.next.len() == 1 {
                0
            } else {
                self.random.random_range(0..self.next.len())
            };
            self.next[chosen].send(()).await;
        }
        if self.tells_predecessor {
            self.freed.send(()).await;
        }
        self.idle_servers += 1;
        self.begin(cx);
    }
}

/// Sends jobs with exponential times between them.
#[derive(Serialize, Deserialize)]
struct Source {
    next: Output<()>,
    mean_s: f64,
    random: Xoshiro256PlusPlus,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.plan(cx);
    }

    fn plan(&mut self, cx: &Context<Self>) {
        cx.schedule_event(
            draw(&mut self.random, self.mean_s),
            schedulable!(Self::send),
            (),
        )
        .expect("a positive time");
    }

    #[nexosim(schedulable)]
    async fn send(&mut self, (): (), cx: &Context<Self>) {
        self.next.send(()).await;
        self.plan(cx);
    }
}

/// Sends each job on to a station chosen at random: one model instead of a connection for each
/// pair of stations.
#[derive(Serialize, Deserialize)]
struct Router {
    next: Vec<Output<()>>,
    random: Xoshiro256PlusPlus,
}

#[Model]
impl Router {
    async fn route(&mut self, (): ()) {
        let chosen = self.random.random_range(0..self.next.len());
        self.next[chosen].send(()).await;
    }
}

fn draw(random: &mut Xoshiro256PlusPlus, mean_s: f64) -> Duration {
    let standard: f64 = Exp1.sample(random);
    // The clock counts nanoseconds, and an event cannot be planned for now.
    Duration::from_nanos(((mean_s * standard * 1e9) as u64).max(1))
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let visit_limit: u64 = arguments[2].parse().expect("a number of visits");
    let tally = Arc::new(Tally::default());
    let mut simulation = match arguments[1].as_str() {
        "mm1" => open_queue(0.8, 1, &tally),
        "mm4" => open_queue(3.2, 4, &tally),
        "central-server" => central_server(&tally),
        "pipeline" => pipeline(&tally),
        "many-stations" => many_stations(&tally),
        other => panic!("no model {other:?}"),
    };
    while tally.visits.load(Ordering::Relaxed) < visit_limit {
        simulation.step().expect("a step");
    }
    let visits = tally.visits.load(Ordering::Relaxed) as f64;
    let now_s = simulation
        .time()
        .duration_since(MonotonicTime::EPOCH)
        .as_secs_f64();
    let answer = match arguments[1].as_str() {
        "mm1" | "mm4" => tally.response_ns.load(Ordering::Relaxed) as f64 / 1e9 / visits,
        "central-server" => visits / 2.0 / now_s,
        "pipeline" => visits / 3.0 / now_s,
        _ => visits / now_s,
    };
    println!("{visits} {answer}");
}

fn open_queue(load: f64, servers: u32, tally: &Arc<Tally>) -> Simulation {
    let mailbox = Mailbox::new();
    let mut source = Source {
        next: Output::default(),
        mean_s: 1.0 / load,
        random: random(1),
    };
    source.next.connect(Station::arrive, &mailbox);
    single_threaded()
        .add_model(Station::new(2, 1.0, servers, tally), mailbox, "station")
        .add_model(source, Mailbox::new(), "source")
        .init(MonotonicTime::EPOCH)
        .expect("a valid bench")
}

fn central_server(tally: &Arc<Tally>) -> Simulation {
    let mut cpu = Station::new(1, 4.0, 4, tally);
    cpu.initial_jobs = 64;
    let cpu_mailbox = Mailbox::new();
    let mut bench = single_threaded();
    for number in 0..16 {
        let mut disk = Station::new(2 + number, 15.0, 1, tally);
        let mailbox = Mailbox::new();
        disk.next = vec![to(Station::arrive, &cpu_mailbox.address())];
        cpu.next.push(to(Station::arrive, &mailbox.address()));
        bench = bench.add_model(disk, mailbox, "disk");
    }
    bench
        .add_model(cpu, cpu_mailbox, "cpu")
        .init(MonotonicTime::EPOCH)
        .expect("a valid bench")
}

/// Three stations in a ring; as many jobs as keep the first one from ever starving.
fn pipeline(tally: &Arc<Tally>) -> Simulation {
    const PLACES: u32 = 3;
    let mut stations: Vec<Station> = (1..=3)
        .map(|seed| Station::new(seed, 1.0, 1, tally))
        .collect();
    let mailboxes: Vec<Mailbox<Station>> = (0..3).map(|_| Mailbox::new()).collect();
    for number in 0..3 {
        let next = (number + 1) % 3;
        stations[number].next = vec![to(Station::arrive, &mailboxes[next].address())];
        if next != 0 {
            stations[number].places_ahead = Some(PLACES);
            stations[next]
                .freed
                .connect(Station::place_freed, &mailboxes[number]);
            stations[next].tells_predecessor = true;
        }
    }
    stations[0].initial_jobs = 10;
    let mut bench = single_threaded();
    for (station, mailbox) in stations.into_iter().zip(mailboxes) {
        bench = bench.add_model(station, mailbox, "station");
    }
    bench.init(MonotonicTime::EPOCH).expect("a valid bench")
}

/// A closed network that begins in equilibrium.
fn many_stations(tally: &Arc<Tally>) -> Simulation {
    let mut router = Router {
        next: Vec::new(),
        random: random(1),
    };
    let router_mailbox = Mailbox::new();
    let mut bench = single_threaded();
    for (seed, initial_jobs) in (2..).zip(placement(10_000, 20_000)) {
        let mut station = Station::new(seed, 1.0, 1, tally);
        station.initial_jobs = initial_jobs;
        let mailbox = Mailbox::new();
        station.next = vec![to(Router::route, &router_mailbox.address())];
        router.next.push(to(Station::arrive, &mailbox.address()));
        bench = bench.add_model(station, mailbox, "station");
    }
    bench
        .add_model(router, router_mailbox, "router")
        .init(MonotonicTime::EPOCH)
        .expect("a valid bench")
}

/// Draws how the jobs are spread in equilibrium: every way to spread them is equally likely, so
/// bars are laid at random places between the jobs.
fn placement(stations: usize, jobs: usize) -> Vec<u32> {
    let mut random = random(1);
    let mut counts = vec![0];
    let (mut bars_left, mut jobs_left) = (stations - 1, jobs);
    while bars_left + jobs_left > 0 {
        if random.random_range(0..bars_left + jobs_left) < bars_left {
            bars_left -= 1;
            counts.push(0);
        } else {
            jobs_left -= 1;
            *counts.last_mut().expect("at least one station") += 1;
        }
    }
    counts
}

fn single_threaded() -> SimInit {
    SimInit::with_num_threads(1)
}

fn to<M, F, S>(input: F, address: &Address<M>) -> Output<()>
where
    M: Model,
    F: for<'a> nexosim::ports::InputFn<'a, M, (), S> + Clone + Sync,
    S: Send + Sync + 'static,
{
    let mut output = Output::default();
    output.connect(input, address.clone());
    output
}
