//! The tokens that a job holds, derived from its position and its stack.
//!
//! The engine keeps no list of holders. The compiled model gives the tokens held at each position,
//! so only the callers' positions on the stack must be added up.

use crate::simulation::kernel::places::jobs::Jobs;
use crate::simulation::kernel::plan::program::Plan;

/// Return the tokens that `job` holds: pairs of pool and tokens, sorted by pool.
pub fn of_job(plan: &Plan, jobs: &Jobs, job: u32) -> Vec<(u32, u32)> {
    at(plan, jobs.stack(job), jobs[job].at)
}

/// Return the tokens that a job with `stack` holds at the position `at`.
pub fn at(plan: &Plan, mut stack: &[u32], mut at: u32) -> Vec<(u32, u32)> {
    let mut held: Vec<(u32, u32)> = Vec::new();
    loop {
        let site = &plan.sites[at as usize];
        for &(pool, tokens) in &site.held {
            add(&mut held, pool, tokens);
        }
        stack = &stack[..stack.len() - site.slots as usize];
        match stack.split_last() {
            Some((&back, rest)) => {
                at = back - 1;
                stack = rest;
            }
            None => return held,
        }
    }
}

fn add(held: &mut Vec<(u32, u32)>, pool: u32, tokens: u32) {
    match held.binary_search_by_key(&pool, |entry| entry.0) {
        Ok(place) => held[place].1 += tokens,
        Err(place) => held.insert(place, (pool, tokens)),
    }
}
