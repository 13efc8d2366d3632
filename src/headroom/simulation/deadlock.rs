//! Deadlock: jobs that wait for each other, whether or not others go on.
//!
//! The wait-for graph is reduced: every job that does not wait will in the end give back what it
//! holds; that serves waiting jobs, which will give back in turn. Whoever is left when nothing
//! more can be served waits for ever. Stations never take part: a job in service holds its server
//! for a finite time and waits for nothing meanwhile.
//!
//! Source: Holt (1972), *Some deadlock properties of computer systems*.

use super::engine::State;
use super::holdings;
use super::jobs::{Jobs, NO_JOB};
use super::program::{Instruction, Plan};
use super::time::SimTime;

/// A cycle of jobs that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When the last of them began to wait, which closed the cycle.
    pub since: SimTime,
    /// Who holds what and waits for whom.
    pub cycle: String,
}

/// Return a cycle of jobs that wait for each other, or None.
pub fn find(plan: &Plan, state: &State) -> Option<Deadlock> {
    let is_anyone_waiting = state.pools.iter().any(|pool| !pool.waiting().is_empty());
    if !is_anyone_waiting {
        return None;
    }
    let stuck = Reduction::new(plan, state).stuck();
    let first = stuck.iter().position(|&is_stuck| is_stuck)?;
    Some(describe(plan, state, &stuck, u32::try_from(first).ok()?))
}

/// The reduction under way.
struct Reduction<'run> {
    plan: &'run Plan,
    state: &'run State,
    available: Vec<u32>,
    queues: Vec<std::collections::VecDeque<u32>>,
    arms_left: Vec<u32>,
    is_stuck: Vec<bool>,
    served: Vec<u32>,
}

impl<'run> Reduction<'run> {
    fn new(plan: &'run Plan, state: &'run State) -> Self {
        let slot_count = state.jobs.slot_count();
        let pools = plan.pools.iter().zip(&state.pools);
        let mut reduction = Self {
            plan,
            state,
            available: pools
                .map(|(plan, pool)| plan.capacity - pool.held())
                .collect(),
            queues: state
                .pools
                .iter()
                .map(|p| p.waiting().iter(&state.jobs).collect())
                .collect(),
            arms_left: vec![0; slot_count],
            is_stuck: vec![false; slot_count],
            served: Vec::new(),
        };
        for (index, job) in state.jobs.live() {
            reduction.is_stuck[index as usize] = true;
            if job.parent != NO_JOB {
                reduction.arms_left[job.parent as usize] += 1;
            }
            if !is_waiting(plan, &state.jobs, index) {
                reduction.serve(index);
            }
        }
        reduction
    }

    /// Serve whoever can be served; return who is left.
    fn stuck(mut self) -> Vec<bool> {
        while let Some(job) = self.served.pop() {
            for (pool, tokens) in holdings::of_job(self.plan, &self.state.jobs, job) {
                self.available[pool as usize] += tokens;
                self.serve_queue(pool as usize);
            }
            self.end_arm(self.state.jobs[job].parent);
        }
        self.is_stuck
    }

    fn serve(&mut self, job: u32) {
        self.is_stuck[job as usize] = false;
        self.served.push(job);
    }

    /// Serve the head of the queue while its request fits; it gives back what it gets.
    fn serve_queue(&mut self, pool: usize) {
        while let Some(&job) = self.queues[pool].front() {
            if wish(self.plan, &self.state.jobs, job).is_none_or(|w| w.1 > self.available[pool]) {
                break;
            }
            self.queues[pool].pop_front();
            self.serve(job);
        }
    }

    fn end_arm(&mut self, parent: u32) {
        if parent == NO_JOB {
            return;
        }
        self.arms_left[parent as usize] -= 1;
        if self.arms_left[parent as usize] == 0 {
            self.serve(parent);
        }
    }
}

/// Return pool and tokens for which `job` waits, if it waits for a pool.
fn wish(plan: &Plan, jobs: &Jobs, job: u32) -> Option<(u32, u32)> {
    match plan.instructions[jobs[job].at as usize] {
        Instruction::Acquire { pool, tokens } => Some((pool, tokens)),
        _ => None,
    }
}

fn is_waiting(plan: &Plan, jobs: &Jobs, job: u32) -> bool {
    matches!(
        plan.instructions[jobs[job].at as usize],
        Instruction::Acquire { .. } | Instruction::Join
    )
}

/// Follow the waits from the stuck job `first` until they close, and tell the circle.
fn describe(plan: &Plan, state: &State, stuck: &[bool], first: u32) -> Deadlock {
    let mut path = vec![first];
    let cycle_start = loop {
        let next = blocker(plan, state, stuck, path[path.len() - 1]);
        if let Some(place) = path.iter().position(|&job| job == next) {
            break place;
        }
        path.push(next);
    };
    let cycle = &path[cycle_start..];
    let stuck_count = stuck.iter().filter(|&&is_stuck| is_stuck).count();
    let links: Vec<String> = cycle.iter().map(|&job| link(plan, state, job)).collect();
    Deadlock {
        since: last_wait(plan, &state.jobs, cycle),
        cycle: format!(
            "{stuck_count} job(s) wait for ever; {}, which closes the cycle at job {}",
            links.join(", held up by "),
            cycle[0]
        ),
    }
}

/// Return when the last of the jobs in `cycle` began to wait for a pool.
///
/// A parent that waits for its arms began before the arm in the cycle did.
fn last_wait(plan: &Plan, jobs: &Jobs, cycle: &[u32]) -> SimTime {
    let waiting = cycle
        .iter()
        .filter(|&&job| wish(plan, jobs, job).is_some())
        .map(|&job| jobs[job].entered);
    waiting
        .max()
        .expect("a cycle has a job that waits for a pool")
}

/// Return the stuck job for which the stuck `job` waits.
fn blocker(plan: &Plan, state: &State, stuck: &[bool], job: u32) -> u32 {
    let jobs = &state.jobs;
    let mut others = jobs
        .live()
        .map(|(index, _)| index)
        .filter(|&index| stuck[index as usize]);
    let found = match wish(plan, jobs, job) {
        None => others.find(|&other| jobs[other].parent == job),
        Some((pool, _)) => match state.pools[pool as usize].waiting().first() {
            Some(head) if head != job => Some(head),
            _ => others.find(|&other| {
                holdings::of_job(plan, jobs, other)
                    .iter()
                    .any(|held| held.0 == pool)
            }),
        },
    };
    found.expect("a stuck job waits for a stuck job")
}

/// Tell who a stuck job is, what it holds and what it waits for.
fn link(plan: &Plan, state: &State, job: u32) -> String {
    let class = &plan.classes[state.jobs[job].class as usize].name;
    let at = state.jobs[job].at as usize;
    let program = plan.sites[at]
        .program
        .map_or("", |index| &plan.programs[index as usize]);
    let held: Vec<String> = holdings::of_job(plan, &state.jobs, job)
        .into_iter()
        .map(|(pool, tokens)| amount(plan, pool, tokens))
        .collect();
    let holds = if held.is_empty() {
        "nothing".to_owned()
    } else {
        held.join(" and ")
    };
    let waits = match wish(plan, &state.jobs, job) {
        Some((pool, tokens)) => amount(plan, pool, tokens),
        None => "the arms of its fork".to_owned(),
    };
    format!(
        "job {job} of class '{class}' in program '{program}' holds {holds} and waits for {waits}"
    )
}

fn amount(plan: &Plan, pool: u32, tokens: u32) -> String {
    let pool = &plan.pools[pool as usize];
    format!(
        "{tokens} of {} token(s) of pool '{}'",
        pool.capacity, pool.name
    )
}
