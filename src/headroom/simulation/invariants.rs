//! Conservation laws, checked at the end of every run, in release builds too.
//!
//! All sums are integers, so the laws hold exactly; a difference of one tick is a bug.
//!
//! Source: Little (1961), *A proof for the queuing formula L = λW*: on any interval the integral
//! of the number present equals the sum of the times spent there.

use super::engine::State;
use super::holdings;
use super::jobs::NO_JOB;
use super::program::{Instruction, Plan};

/// Panic where `state` breaks a conservation law.
pub fn check(state: &State, plan: &Plan) {
    check_stations(state, plan);
    check_pools(state, plan);
    check_classes(state, plan);
}

/// Number of jobs somewhere, and the time that they have spent there so far.
#[derive(Clone, Copy, Default)]
struct Present {
    count: u64,
    residual: u128,
}

impl Present {
    fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.residual += u128::from(ticks);
    }
}

fn check_stations(state: &State, plan: &Plan) {
    let mut present = vec![Present::default(); plan.stations.len()];
    for (_, job) in state.jobs.live() {
        if let Instruction::Use { station, .. } = plan.instructions[job.at as usize] {
            present[station as usize].add(state.now.since(job.entered));
        }
    }
    for ((station, plan), present) in state.stations.iter().zip(&plan.stations).zip(present) {
        let totals = station.totals_at(state.now);
        assert_eq!(
            totals.arrival_count,
            totals.completion_count + present.count,
            "station '{}': arrivals and completions differ by other than those present",
            plan.name
        );
        assert_eq!(
            totals.jobs_area,
            totals.response_sum + present.residual,
            "station '{}': the area of jobs is not the sum of their times",
            plan.name
        );
        assert_eq!(
            station.age(state.now),
            present.residual,
            "station '{}': the age is not that of the jobs present",
            plan.name
        );
        let mut waiting = Present::default();
        for job in station.waiting().iter(&state.jobs) {
            waiting.add(state.now.since(state.jobs[job].entered));
        }
        assert_eq!(
            totals.jobs_area - totals.busy_area,
            totals.wait_sum + waiting.residual,
            "station '{}': the area of the queue is not the sum of the waits",
            plan.name
        );
        assert_eq!(
            station.waiting().age(state.now),
            waiting.residual,
            "station '{}': the age of the queue is not that of the jobs in it",
            plan.name
        );
    }
}

fn check_pools(state: &State, plan: &Plan) {
    let mut held = vec![0_u64; plan.pools.len()];
    let mut waiting = vec![Present::default(); plan.pools.len()];
    for (index, job) in state.jobs.live() {
        for (pool, tokens) in holdings::of_job(plan, &state.jobs, index) {
            held[pool as usize] += u64::from(tokens);
        }
        if let Instruction::Acquire { pool, .. } = plan.instructions[job.at as usize] {
            waiting[pool as usize].add(state.now.since(job.entered));
        }
    }
    for (index, (pool, plan)) in state.pools.iter().zip(&plan.pools).enumerate() {
        let totals = pool.totals_at(state.now);
        assert_eq!(
            u64::from(pool.held()),
            held[index],
            "pool '{}': the tokens held are not those that jobs hold",
            plan.name
        );
        assert_eq!(
            totals.queue_area,
            totals.wait_sum + waiting[index].residual,
            "pool '{}': the area of the queue is not the sum of the waits",
            plan.name
        );
        assert_eq!(
            pool.waiting().age(state.now),
            waiting[index].residual,
            "pool '{}': the age of the queue is not that of the jobs in it",
            plan.name
        );
    }
}

fn check_classes(state: &State, plan: &Plan) {
    let mut present = vec![Present::default(); plan.classes.len()];
    for (_, job) in state.jobs.live() {
        // Outside a program a job thinks or is the source of arrivals; an arm is part of its job.
        if job.parent == NO_JOB && job.depth > 0 {
            present[job.class as usize].add(state.now.since(job.arrived));
        }
    }
    for ((class, plan), present) in state.classes.iter().zip(&plan.classes).zip(present) {
        let totals = class.totals_at(state.now);
        assert_eq!(
            totals.arrival_count,
            totals.completion_count + present.count,
            "class '{}': arrivals and completions differ by other than those present",
            plan.name
        );
        assert_eq!(
            totals.jobs_area,
            totals.response_sum + present.residual,
            "class '{}': the area of jobs is not the sum of their times",
            plan.name
        );
        assert_eq!(
            class.age(state.now),
            present.residual,
            "class '{}': the age is not that of the jobs present",
            plan.name
        );
    }
}
