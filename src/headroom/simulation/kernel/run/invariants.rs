//! Conservation laws, checked at the end of every run, in release builds too.
//!
//! All sums are integers, so the laws hold exactly: a difference of one tick is a bug.
//!
//! Source: Little (1961), *A proof for the queuing formula L = λW*: on any interval the integral
//! of the number present equals the sum of the times spent there.

use crate::simulation::kernel::places::jobs::{Job, Jobs, NO_STATION, Phase, Role};
use crate::simulation::kernel::places::tally::Grid;
use crate::simulation::kernel::plan::instruction::{Instruction, Wait};
use crate::simulation::kernel::plan::program::Plan;
use crate::simulation::kernel::run::engine::State;
use crate::simulation::kernel::run::holdings;
use crate::simulation::kernel::statistics::classes::ClassTotals;
use crate::simulation::kernel::time::SimTime;

/// Panic if `state` breaks a conservation law.
pub fn check(state: &State, plan: &Plan) {
    check_stations(state, plan);
    check_pools(state, plan);
    check_classes(state, plan);
}

/// Number of jobs somewhere, and the time that they have spent there so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Present {
    count: u32,
    residual: u128,
}

impl Present {
    fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.residual += u128::from(ticks);
    }
}

/// Return the station of `job`, its class there, and the time of its arrival.
fn place(plan: &Plan, jobs: &Jobs, index: u32, job: &Job) -> Option<(u32, u32, SimTime)> {
    match job.phase {
        Phase::Waiting | Phase::Serving | Phase::Reserving => {
            let station = plan.instructions[job.at as usize].used_station()?;
            Some((station, job.class, job.entered))
        }
        Phase::Blocked => {
            let extra = jobs.extra(index);
            let before = (extra.occupies, extra.class_before, extra.entered_before);
            (extra.occupies != NO_STATION).then_some(before)
        }
        _ => None,
    }
}

fn check_stations(state: &State, plan: &Plan) {
    let class_count = plan.classes.len();
    let mut present: Grid<Present> = Grid::new(plan.stations.len(), class_count);
    let mut waiting: Grid<Present> = Grid::new(plan.stations.len(), class_count);
    for (index, job) in state.jobs.working() {
        if let Some((station, class, entered)) = place(plan, &state.jobs, index, job) {
            present
                .cell(station, class)
                .add(state.progress.now.since(entered));
            if job.phase == Phase::Waiting {
                waiting
                    .cell(station, class)
                    .add(state.progress.now.since(job.since));
            }
        }
    }
    for (index, station) in plan.stations.iter().enumerate() {
        let name = &station.name;
        let cells = state.stations[index].all_visits_at(state.progress.now);
        for ((cell, here), line) in cells.zip(present.of(index)).zip(waiting.of(index)) {
            let counted = (cell.present, cell.age);
            assert_eq!(
                counted,
                (here.count, here.residual),
                "station '{name}': who is present"
            );
            let counted = (cell.waiting, cell.queue_age);
            assert_eq!(
                counted,
                (line.count, line.residual),
                "station '{name}': who waits"
            );
        }
        check_areas(state, index, name);
    }
}

fn check_areas(state: &State, index: usize, name: &str) {
    let station = &state.stations[index];
    let (totals, sum) = (
        station.totals_at(state.progress.now),
        station.visits_at(state.progress.now),
    );
    assert_eq!(
        totals.jobs_area,
        sum.response_sum + sum.abandon_sum + sum.age,
        "station '{name}': the area of jobs is not the sum of their times"
    );
    assert_eq!(
        totals.queue_area,
        sum.wait_sum + sum.queue_age,
        "station '{name}': the area of the queue is not the sum of the waits"
    );
    assert_eq!(
        (station.present, station.line.len()),
        (sum.present, sum.waiting),
        "station '{name}': the number of jobs is not the sum over the classes"
    );
    assert!(
        totals.busy_area + totals.blocked_area <= station.capacity_area(state.progress.now),
        "station '{name}': its servers worked longer than they were there"
    );
    if station.special.is_none() {
        assert_eq!(
            totals.jobs_area,
            totals.busy_area + totals.queue_area,
            "station '{name}': jobs are neither served nor waiting"
        );
    }
}

fn check_pools(state: &State, plan: &Plan) {
    let mut held = vec![0_u64; plan.pools.len()];
    let mut waiting: Grid<Present> = Grid::new(plan.pools.len(), plan.classes.len());
    for (index, job) in state.jobs.working() {
        for (pool, tokens) in holdings::of_job(plan, &state.jobs, index) {
            held[pool as usize] += u64::from(tokens);
        }
        let asked = plan.instructions[job.at as usize];
        if let (Phase::Asking, Instruction::Wait(Wait::Acquire { pool, .. })) = (job.phase, asked) {
            waiting
                .cell(pool, job.class)
                .add(state.progress.now.since(job.since));
        }
    }
    for (index, (pool, plan)) in state.pools.iter().zip(&plan.pools).enumerate() {
        let name = &plan.name;
        for (cell, line) in state.requests.of(index).iter().zip(waiting.of(index)) {
            let counted = (cell.waiting, cell.queue_age(state.progress.now));
            assert_eq!(
                counted,
                (line.count, line.residual),
                "pool '{name}': who waits"
            );
        }
        assert_eq!(
            u64::from(pool.held()),
            held[index],
            "pool '{name}': the tokens held are not those that jobs hold"
        );
        let sum = state.requests.total(index);
        assert_eq!(
            pool.totals_at(state.progress.now).queue_area,
            sum.wait_sum + sum.queue_age(state.progress.now),
            "pool '{name}': the area of the queue is not the sum of the waits"
        );
    }
}

/// Panic unless each job of a class ended in one way or is one of those inside.
fn check_ends(name: &str, totals: &ClassTotals, inside: u32) {
    let [rejected, abandoned, failed] = totals.lost;
    let (offered, completed) = (totals.arrival_count, totals.completion_count);
    assert_eq!(
        offered,
        completed + rejected + abandoned + failed + u64::from(inside),
        "class '{name}': {offered} jobs were offered, but {completed} completed, {rejected} were \
         rejected, {abandoned} abandoned, {failed} failed and {inside} are inside"
    );
    assert!(
        totals.late_count <= completed,
        "class '{name}': {} of {completed} completed jobs were late",
        totals.late_count
    );
}

fn check_classes(state: &State, plan: &Plan) {
    let mut present = vec![Present::default(); plan.classes.len()];
    for (_, job) in state.jobs.working() {
        // Outside a program a job thinks; an arm is part of its job.
        if job.role == Role::Root && job.depth > 0 {
            present[job.class as usize].add(state.progress.now.since(job.arrived));
        }
    }
    for ((class, plan), here) in state.classes.iter().zip(&plan.classes).zip(present) {
        let (totals, name) = (class.totals_at(state.progress.now), &plan.name);
        assert_eq!(
            (class.present(), class.age(state.progress.now)),
            (here.count, here.residual),
            "class '{name}': who is present"
        );
        check_ends(name, &totals, here.count);
        assert_eq!(
            totals.jobs_area,
            totals.response_sum + totals.lost_sum + here.residual,
            "class '{name}': the area of jobs is not the sum of their times"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::statistics::classes::{ClassState, Loss};

    /// Return the totals of a class of which one job ended in each way and two are inside.
    fn totals() -> ClassTotals {
        let mut class = ClassState::new(5);
        (0..7).for_each(|_| class.begin(SimTime::ZERO));
        class.complete(SimTime::from_ticks(5), SimTime::ZERO);
        class.complete(SimTime::from_ticks(6), SimTime::ZERO);
        for why in [Loss::Rejected, Loss::Abandoned, Loss::Failed] {
            class.lose(SimTime::from_ticks(7), SimTime::ZERO, why);
        }
        class.totals_at(SimTime::from_ticks(8))
    }

    #[test]
    fn each_job_ends_in_one_way_or_is_inside() {
        let totals = totals();
        assert_eq!((totals.lost, totals.late_count), ([1, 1, 1], 1));
        check_ends("users", &totals, 2);
    }

    #[test]
    #[should_panic(
        expected = "class 'users': 7 jobs were offered, but 2 completed, 1 were rejected, 1 \
                    abandoned, 0 failed and 2 are inside"
    )]
    fn a_job_that_vanishes_is_named_with_all_counts() {
        let totals = ClassTotals {
            lost: [1, 1, 0],
            ..totals()
        };
        check_ends("users", &totals, 2);
    }

    #[test]
    #[should_panic(expected = "3 of 2 completed jobs were late")]
    fn no_more_jobs_are_late_than_complete() {
        let totals = ClassTotals {
            late_count: 3,
            ..totals()
        };
        check_ends("users", &totals, 2);
    }
}
