//! How deep the stack of a job can grow, and whether a program calls itself.
//!
//! Source: Kahn (1962), *Topological sorting of large networks*.

use crate::simulation::kernel::plan::program::Site;

/// Return the stack slots that the deepest of `count` programs needs, or None if a program calls
/// itself, directly or through others.
///
/// `calls` holds the position of each call and the program that it calls.
pub fn of_programs(sites: &[Site], calls: &[(u32, u32)], count: usize) -> Option<u32> {
    let mut depth = own_depths(sites, count);
    let mut callers: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
    let mut open_call_count = vec![0_usize; count];
    for &(at, callee) in calls {
        let site = &sites[at as usize];
        let caller = site.program? as usize;
        callers[callee as usize].push((caller, site.slots + 1));
        open_call_count[caller] += 1;
    }
    let mut ready: Vec<usize> = (0..count)
        .filter(|&program| open_call_count[program] == 0)
        .collect();
    let mut done_count = 0;
    while let Some(callee) = ready.pop() {
        done_count += 1;
        for &(caller, slots) in &callers[callee] {
            depth[caller] = depth[caller].max(slots + depth[callee]);
            open_call_count[caller] -= 1;
            if open_call_count[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    (done_count == count).then(|| depth.into_iter().max().unwrap_or(0))
}

/// Return the slots that each program needs on its own.
fn own_depths(sites: &[Site], count: usize) -> Vec<u32> {
    let mut depth = vec![0; count];
    for site in sites {
        if let Some(program) = site.program {
            let deepest = &mut depth[program as usize];
            *deepest = site.slots.max(*deepest);
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(program: u32, slots: u32) -> Site {
        Site {
            program: Some(program),
            slots,
            ..Site::default()
        }
    }

    #[test]
    fn a_call_inside_a_loop_adds_the_slots_of_both() {
        let sites = [site(0, 2), site(1, 3)];
        assert_eq!(of_programs(&sites, &[(0, 1)], 2), Some(2 + 1 + 3));
    }

    #[test]
    fn mutual_recursion_is_found() {
        let sites = [site(0, 0), site(1, 0)];
        assert_eq!(of_programs(&sites, &[(0, 1), (1, 0)], 2), None);
    }
}
