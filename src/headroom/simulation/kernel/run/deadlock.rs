//! Deadlock: jobs that wait for each other, whether or not other jobs continue.
//!
//! The wait-for graph is reduced: every job that does not wait will eventually release what it
//! holds; this serves waiting jobs, which will release their resources in turn. Jobs that remain
//! when no more can be served wait indefinitely. The resources are tokens of pools, places at
//! stations with a limited buffer, and servers of stations where jobs can be blocked. A broken
//! server is eventually repaired, and a time-out ends a wait.
//!
//! Source: Holt (1972), *Some deadlock properties of computer systems*.

use std::collections::VecDeque;

use crate::simulation::kernel::places::jobs::{Jobs, NO_EVENT, NO_JOB, NO_STATION, Phase};
use crate::simulation::kernel::plan::instruction::{Act, Instruction, Wait};
use crate::simulation::kernel::plan::program::Plan;
use crate::simulation::kernel::run::engine::State;
use crate::simulation::kernel::run::holdings;
use crate::simulation::kernel::time::SimTime;

/// A cycle of jobs that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When the last of them began to wait, which closed the cycle.
    pub since: SimTime,
    /// The holders, and the jobs that wait for each.
    pub cycle: String,
}

/// Anything that a job can hold or wait for; numbers are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Pool(u32),
    Place(u32),
    Server(u32),
}

/// Return a cycle of jobs that wait for each other, or None.
pub fn find(plan: &Plan, state: &State) -> Option<Deadlock> {
    let is_asked = state.pools.iter().any(|pool| !pool.line().is_empty());
    let is_blocked = || {
        let special = state.stations.iter().filter_map(|s| s.special.as_ref());
        special.into_iter().any(|special| !special.entry.is_empty())
    };
    if !is_asked && !is_blocked() {
        return None;
    }
    let scene = Scene { plan, state };
    let stuck = Reduction::new(&scene).stuck();
    let first = stuck.iter().position(|&is_stuck| is_stuck)?;
    Some(scene.describe(&stuck, u32::try_from(first).ok()?))
}

/// A run at one moment.
struct Scene<'run> {
    plan: &'run Plan,
    state: &'run State,
}

impl Scene<'_> {
    /// Return the number of `thing` as an index over all things.
    fn index(&self, thing: Thing) -> usize {
        let (pools, stations) = (self.plan.pools.len(), self.plan.stations.len());
        match thing {
            Thing::Pool(index) => index as usize,
            Thing::Place(index) => pools + index as usize,
            Thing::Server(index) => pools + stations + index as usize,
        }
    }

    fn has_places(&self, station: u32) -> bool {
        self.plan.stations[station as usize].places != u32::MAX
    }

    fn has_held_servers(&self, station: u32) -> bool {
        let plan = &self.plan.stations[station as usize];
        plan.holds_when_blocked || plan.is_reserving
    }

    /// Return what `job` waits for, and how much of it; None if it needs no other job to continue.
    ///
    /// A resource that changes over time may come to have room for it.
    fn wish(&self, job: u32) -> Option<(Thing, u32)> {
        self.asked(job).filter(|wish| !self.can_change(wish.0))
    }

    fn can_change(&self, thing: Thing) -> bool {
        match thing {
            Thing::Pool(index) => self.plan.pools[index as usize].can_change,
            Thing::Place(index) | Thing::Server(index) => {
                self.plan.stations[index as usize].can_change
            }
        }
    }

    fn asked(&self, job: u32) -> Option<(Thing, u32)> {
        let instruction = self.plan.instructions[self.state.jobs[job].at as usize];
        match (self.state.jobs[job].phase, instruction) {
            (Phase::Asking, Instruction::Wait(Wait::Acquire { pool, tokens })) => {
                Some((Thing::Pool(pool), tokens))
            }
            (Phase::Reserving, Instruction::Wait(Wait::UseReserving { next, .. })) => {
                Some((Thing::Place(next), 1))
            }
            (Phase::Blocked, used) => Some((Thing::Place(used.used_station()?), 1)),
            (Phase::Waiting, used) => {
                let station = used.used_station()?;
                self.has_held_servers(station)
                    .then_some((Thing::Server(station), 1))
            }
            _ => None,
        }
    }

    fn is_waiting(&self, job: u32) -> bool {
        let waits = self.state.jobs[job].phase == Phase::Joining || self.wish(job).is_some();
        waits && !self.has_time_limit(job)
    }

    /// Return whether a time-out, or the end of its patience, will set `job` free, or end it
    /// together with the job that waits for it.
    fn has_time_limit(&self, job: u32) -> bool {
        let jobs = &self.state.jobs;
        let mut who = job;
        while who != NO_JOB {
            if jobs[who].event != NO_EVENT {
                return true;
            }
            let mut guard = jobs.extra(who).guard;
            while guard != NO_JOB {
                if jobs[guard].event != NO_EVENT {
                    return true;
                }
                guard = jobs[guard].next;
            }
            who = jobs[who].parent;
        }
        false
    }

    /// Return the holdings of `job`.
    fn held(&self, job: u32) -> Vec<(Thing, u32)> {
        let jobs = &self.state.jobs;
        let mut held: Vec<(Thing, u32)> = holdings::of_job(self.plan, jobs, job)
            .into_iter()
            .map(|(pool, tokens)| (Thing::Pool(pool), tokens))
            .collect();
        let used = self.plan.instructions[jobs[job].at as usize].used_station();
        let (present_at, has_server) = match jobs[job].phase {
            Phase::Waiting => (used, false),
            Phase::Serving | Phase::Reserving => (used, true),
            Phase::Blocked => (
                Some(jobs.extra(job).occupies).filter(|&station| station != NO_STATION),
                true,
            ),
            _ => (None, false),
        };
        if let Some(station) = present_at {
            if self.has_places(station) {
                held.push((Thing::Place(station), 1));
            }
            if has_server && self.has_held_servers(station) {
                held.push((Thing::Server(station), 1));
            }
        }
        let reserved = jobs.extra(job).reserved;
        if reserved != NO_STATION {
            held.push((Thing::Place(reserved), 1));
        }
        held
    }

    /// Return how much of `thing` is free; a broken server will be repaired.
    fn free(&self, thing: Thing) -> u32 {
        match thing {
            Thing::Pool(index) => self.state.pools[index as usize].free(),
            Thing::Place(index) => {
                let station = &self.state.stations[index as usize];
                let kept = station.special.as_ref().map_or(0, |s| s.reserved);
                let places = self.plan.stations[index as usize].places;
                places.saturating_sub(station.present).saturating_sub(kept)
            }
            Thing::Server(index) => {
                let station = &self.state.stations[index as usize];
                let held = station.special.as_ref().map_or(0, |s| s.held);
                station
                    .servers
                    .saturating_sub(station.busy)
                    .saturating_sub(held)
            }
        }
    }

    /// Return the jobs that wait for `thing`, the next one first.
    fn line(&self, thing: Thing) -> Vec<u32> {
        let jobs = &self.state.jobs;
        match thing {
            Thing::Pool(index) => self.state.pools[index as usize].line().members(jobs),
            Thing::Server(index) if self.has_held_servers(index) => {
                self.state.stations[index as usize].line.members(jobs)
            }
            Thing::Place(index) => self.state.stations[index as usize]
                .special
                .as_ref()
                .map_or_else(Vec::new, |special| special.entry.iter(jobs).collect()),
            Thing::Server(_) => Vec::new(),
        }
    }

    fn things(&self) -> Vec<Thing> {
        let stations = 0..u32::try_from(self.plan.stations.len()).unwrap_or(0);
        let pools = 0..u32::try_from(self.plan.pools.len()).unwrap_or(0);
        pools
            .map(Thing::Pool)
            .chain(stations.clone().map(Thing::Place))
            .chain(stations.map(Thing::Server))
            .collect()
    }
}

/// The reduction in progress.
struct Reduction<'run> {
    scene: &'run Scene<'run>,
    /// How much of each thing no stuck job holds.
    available: Vec<u32>,
    lines: Vec<VecDeque<u32>>,
    /// Jobs that must still end for each parent.
    awaited: Vec<u32>,
    is_stuck: Vec<bool>,
    served: Vec<u32>,
}

impl<'run> Reduction<'run> {
    fn new(scene: &'run Scene<'run>) -> Self {
        let state = scene.state;
        let slot_count = state.jobs.slot_count();
        let things = scene.things();
        let mut reduction = Self {
            scene,
            available: vec![0; things.len()],
            lines: things
                .iter()
                .map(|&thing| scene.line(thing).into())
                .collect(),
            awaited: vec![0; slot_count],
            is_stuck: vec![false; slot_count],
            served: Vec::new(),
        };
        for (index, &thing) in things.iter().enumerate() {
            reduction.available[index] = scene.free(thing);
        }
        for (index, job) in state.jobs.working() {
            reduction.is_stuck[index as usize] = true;
            if job.phase == Phase::Joining {
                let stack = state.jobs.stack(index);
                reduction.awaited[index as usize] = stack[stack.len() - 1];
            }
        }
        for (index, _) in state.jobs.working() {
            if !scene.is_waiting(index) {
                reduction.serve(index);
            }
        }
        for index in 0..things.len() {
            reduction.serve_line(index);
        }
        reduction
    }

    /// Serve every job that can be served; return those left.
    fn stuck(mut self) -> Vec<bool> {
        while let Some(job) = self.served.pop() {
            for (thing, amount) in self.scene.held(job) {
                let index = self.scene.index(thing);
                self.available[index] += amount;
                self.serve_line(index);
            }
            self.end_child(self.scene.state.jobs[job].parent);
        }
        self.is_stuck
    }

    fn serve(&mut self, job: u32) {
        if std::mem::take(&mut self.is_stuck[job as usize]) {
            self.served.push(job);
        }
    }

    /// Serve the head of the line while its wish fits; it gives back what it gets.
    fn serve_line(&mut self, index: usize) {
        while let Some(&job) = self.lines[index].front() {
            let fits = |wish: (Thing, u32)| wish.1 <= self.available[index];
            if self.is_stuck[job as usize] && !self.scene.wish(job).is_some_and(fits) {
                break;
            }
            self.lines[index].pop_front();
            self.serve(job);
        }
    }

    fn end_child(&mut self, parent: u32) {
        if parent == NO_JOB || self.awaited[parent as usize] == 0 {
            return;
        }
        self.awaited[parent as usize] -= 1;
        if self.awaited[parent as usize] == 0 {
            self.serve(parent);
        }
    }
}

impl Scene<'_> {
    /// Follow the waits from the stuck job `first` until they close, and describe the circle.
    fn describe(&self, stuck: &[bool], first: u32) -> Deadlock {
        let mut path = vec![first];
        let cycle_start = loop {
            let next = self.blocker(stuck, path[path.len() - 1]);
            if let Some(place) = path.iter().position(|&job| job == next) {
                break place;
            }
            path.push(next);
        };
        let cycle = &path[cycle_start..];
        let stuck_count = stuck.iter().filter(|&&is_stuck| is_stuck).count();
        let links: Vec<String> = cycle.iter().map(|&job| self.link(job)).collect();
        Deadlock {
            since: self.last_wait(cycle),
            cycle: format!(
                "{stuck_count} job(s) wait indefinitely; {}, which closes the cycle at job {}",
                links.join(", held up by "),
                cycle[0]
            ),
        }
    }

    /// Return when the last of the jobs in `cycle` began to wait.
    ///
    /// A parent that waits for its arms began before the arm in the cycle did.
    fn last_wait(&self, cycle: &[u32]) -> SimTime {
        let jobs: &Jobs = &self.state.jobs;
        let waiting = cycle
            .iter()
            .filter(|&&job| self.wish(job).is_some())
            .map(|&job| jobs[job].since);
        waiting.max().unwrap_or(self.state.progress.now)
    }

    /// Return the stuck job for which the stuck `job` waits.
    fn blocker(&self, stuck: &[bool], job: u32) -> u32 {
        let jobs = &self.state.jobs;
        let mut others = jobs
            .working()
            .map(|(index, _)| index)
            .filter(|&index| stuck[index as usize]);
        let found = match self.wish(job) {
            None => others.find(|&other| jobs[other].parent == job),
            Some((thing, _)) => match self.line(thing).first() {
                Some(&head) if head != job => Some(head),
                _ => others.find(|&other| self.held(other).iter().any(|held| held.0 == thing)),
            },
        };
        found.expect("a stuck job waits for a stuck job")
    }

    /// Describe a stuck job, its holdings and its wait.
    fn link(&self, job: u32) -> String {
        let class = &self.plan.classes[self.state.jobs[job].class as usize].name;
        let at = self.state.jobs[job].at as usize;
        let program = self.plan.sites[at]
            .program
            .map_or("", |index| &self.plan.programs[index as usize]);
        let held: Vec<String> = self
            .held(job)
            .into_iter()
            .map(|(thing, amount)| self.amount(thing, amount))
            .collect();
        let holds = if held.is_empty() {
            "nothing".to_owned()
        } else {
            held.join(" and ")
        };
        let waits = match self.wish(job) {
            Some((thing, amount)) => self.amount(thing, amount),
            None => self.awaited(at).to_owned(),
        };
        format!(
            "job {job} of class '{class}' in program '{program}' holds {holds} and waits for \
             {waits}"
        )
    }

    /// Return which jobs a job at the join at position `at` waits for.
    fn awaited(&self, at: usize) -> &'static str {
        match self.plan.instructions[at - 1] {
            Instruction::Act(Act::Fork { .. }) => "the arms of its fork",
            _ => "the reply to its call",
        }
    }

    fn amount(&self, thing: Thing, amount: u32) -> String {
        match thing {
            Thing::Pool(index) => {
                let pool = &self.plan.pools[index as usize];
                format!(
                    "{amount} of {} token(s) of pool '{}'",
                    pool.tokens, pool.name
                )
            }
            Thing::Place(index) => {
                let station = &self.plan.stations[index as usize];
                format!(
                    "one of {} place(s) at station '{}'",
                    station.places, station.name
                )
            }
            Thing::Server(index) => {
                let station = &self.plan.stations[index as usize];
                format!(
                    "one of {} server(s) of station '{}'",
                    station.servers, station.name
                )
            }
        }
    }
}
