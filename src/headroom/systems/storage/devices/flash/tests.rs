//! Flash compared with the theory of write amplification, and with itself.

use proptest::prelude::*;

use super::*;
use crate::simulation::kernel::random::stream::open;

/// Write amplification of greedy collection under uniform random writes, in the limit of many
/// blocks of `pages` pages of which the share `used` is valid.
///
/// Greedy empties blocks as soon as they are among the emptiest: those with `j` valid pages at
/// once, and the share `1 - q` of those with `j + 1` that would have to wait for it. A block loses
/// pages in proportion to those that it has, so it stays for `1/i` in state `i`; that the shares
/// of the states add up to 1 and the valid pages to the used ones gives `j` and `q` (the fixed
/// point of Van Houdt 2013; with large blocks, the formula of Desnoyers 2012).
fn greedy(pages: u32, used: f64) -> f64 {
    let harmonic = |from: u32| (from..=pages).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    for j in (0..pages - 1).rev() {
        // pages - j - 1 + q = pages * used * (H(j + 2 ..= pages) + q / (j + 1)), solved for q.
        let (b, next) = (f64::from(pages), f64::from(j + 1));
        let q = (b * used * harmonic(j + 2) - (b - next)) / (1.0 - b * used / next);
        if (0.0..=1.0).contains(&q) {
            return b / (b - (next - q));
        }
    }
    1.0
}

#[test]
fn write_amplification_of_random_writes_is_that_of_greedy_collection() {
    for (over_provisioning, pages_per_block) in [(0.1, 64), (0.28, 32), (0.5, 64), (1.0, 16)] {
        let (user, reserve) = (60_000_u32, 2);
        let all = f64::from(user) * (1.0 + over_provisioning);
        let blocks = share_of_many(1, all / f64::from(pages_per_block)) + reserve + 1;
        let mut die = Die::new(user, blocks, pages_per_block, reserve);
        let mut stream = open(7, u64::from(pages_per_block));
        for page in 0..user {
            die.write(page);
        }
        for _ in 0..4 * user {
            die.write(stream.random_range(0..user));
        }
        die.reset_work();
        for _ in 0..4 * user {
            die.write(stream.random_range(0..user));
        }
        let (written, moved) = die.work();
        let found = (written + moved) as f64 / written as f64;
        let full = f64::from((blocks - reserve - 1) * pages_per_block);
        let expected = greedy(pages_per_block, f64::from(user) / full);
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{found} for {expected} at {over_provisioning}"
        );
    }
}

#[test]
fn the_formula_has_the_limit_of_large_blocks() {
    // Desnoyers (2012): for blocks without end, u = exp(-(1 - u) / rho) and 1 / (1 - u).
    let used = 0.8;
    let mut left = 0.5;
    for _ in 0..200 {
        left = libm::exp(-(1.0 - left) / used);
    }
    let large = greedy(20_000, used);
    assert!(
        (large * (1.0 - left) - 1.0).abs() < 1e-3,
        "{large} for {}",
        1.0 / (1.0 - left)
    );
}

fn parameters() -> Parameters {
    Parameters {
        capacity_bytes: 4096 * 40_000,
        over_provisioning: 0.25,
        dies: 4,
        planes: 2,
        page_bytes: 4096,
        pages_per_block: 32,
        reserve_blocks: 3,
        read_s: 50e-6,
        program_s: 600e-6,
        erase_s: 3e-3,
        filled_share: 0.0,
        preconditioned: 0.0,
    }
}

#[test]
fn sequential_overwriting_moves_nothing() {
    let mut flash = Flash::new(&parameters(), open(1, 1)).expect("a device");
    for _ in 0..5 {
        for page in 0..40_000_u64 {
            let die = (page % 4) as usize;
            flash.write(die, (4096 * page, 4096 * (page + 1)));
        }
    }
    assert!((flash.write_amplification() - 1.0).abs() < 1e-12);
}

#[test]
fn a_device_written_full_at_random_falls_off_the_cliff() {
    let fresh = parameters();
    let used = Parameters {
        filled_share: 1.0,
        preconditioned: 3.0,
        ..parameters()
    };
    let rate = |parameters: &Parameters| {
        let mut flash = Flash::new(parameters, open(1, 1)).expect("a device");
        let mut stream = open(2, 2);
        let (mut time_s, count) = (0.0, 8000_u64);
        for _ in 0..count {
            let page = stream.random_range(0..40_000_u64);
            time_s += flash.write((page % 4) as usize, (4096 * page, 4096 * (page + 1)));
        }
        count as f64 / time_s
    };
    let (fresh, used) = (rate(&fresh), rate(&used));
    assert!((fresh * 600e-6 - 1.0).abs() < 1e-9, "{fresh}");
    assert!(used < 0.6 * fresh, "{used} against {fresh}");
}

#[test]
fn pages_go_round_the_dies_and_planes_work_together() {
    let mut flash = Flash::new(&parameters(), open(1, 1)).expect("a device");
    let bytes = (4096 * 3, 4096 * 13);
    // Pages 3 to 12: die 3 has 3, 7, 11; die 0 has 4, 8, 12; die 1 has 5, 9; die 2 has 6, 10.
    let counts: Vec<usize> = (0..4)
        .map(|die| flash.pages_on(die, bytes).count())
        .collect();
    assert_eq!(counts, [3, 2, 2, 3]);
    assert!((flash.write(0, bytes) - 2.0 * 600e-6).abs() < 1e-12);
    assert!((flash.read(0, bytes) - 2.0 * 50e-6).abs() < 1e-12);
    assert!(
        flash.read(1, bytes).abs() < 1e-12,
        "nothing was written there"
    );
    assert_eq!(flash.trim((4096 * 4, 4096 * 5)), 1);
    assert!((flash.read(0, bytes) - 50e-6).abs() < 1e-12);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let tight = Parameters {
        over_provisioning: 0.001,
        ..parameters()
    };
    assert!(Flash::new(&tight, open(1, 1)).is_err_and(|said| said.contains("over_provisioning")));
    let mut flash = Flash::new(&parameters(), open(1, 1)).expect("a device");
    assert!(flash.call(3, 0.0, &[9.0, 0.0, 4096.0]).is_err());
    assert!(flash.call(0, 0.0, &[1e12]).is_err());
}

proptest! {
    /// However pages are written and trimmed, each is valid once and none is lost.
    #[test]
    fn valid_pages_are_conserved(seed in any::<u64>(), count in 1_usize..20_000, trims in 0_u32..4) {
        let mut die = Die::new(800, 40, 25, 3);
        let mut stream = open(seed, 1);
        let mut written = vec![false; 800];
        for _ in 0..count {
            let page = stream.random_range(0..800_u32);
            let is_trim = stream.random_range(0..10_u32) < trims;
            if is_trim { die.trim(page) } else { die.write(page); }
            written[page as usize] = !is_trim;
        }
        let held = written.iter().filter(|&&one| one).count() as u64;
        prop_assert_eq!(die.counts(), (held, held, held));
        prop_assert!((0..800).all(|page| die.holds(page) == written[page as usize]));
    }
}
