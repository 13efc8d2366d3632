//! Caches compared with a naive implementation, and with the theory of least recent use.

use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::simulation::kernel::random::stream::open;

fn parameters(blocks: u64) -> Parameters {
    Parameters {
        cache_bytes: 512 * blocks,
        block_bytes: 512,
        capacity_bytes: 512 * 1_000_000,
        dirty_bytes: 512 * blocks / 2,
        high_share: 0.8,
        low_share: 0.2,
        extent_bytes: 512 * 8,
        fills_gaps: false,
        left_shares: (0.0, 0.0),
        left_range_bytes: 0,
    }
}

fn block(number: u64) -> (u64, u64) {
    (512 * number, 512 * (number + 1))
}

#[test]
fn the_hit_ratio_is_that_of_che() {
    // Independent references by Zipf's law. Che, Tung & Wang (2002), Hierarchical web caching
    // systems: a block is there when it was used within T, where T fills the cache on average.
    let (objects, blocks) = (4000_u64, 400_u64);
    let weights: Vec<f64> = (1..=objects)
        .map(|rank| libm::pow(rank as f64, -0.8))
        .collect();
    let total: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    let filled = |time: f64| -> f64 { shares.iter().map(|p| 1.0 - libm::exp(-p * time)).sum() };
    let (mut low, mut high) = (0.0, 1e7);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if filled(middle) < blocks as f64 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let expected: f64 = shares.iter().map(|p| p * (1.0 - libm::exp(-p * low))).sum();

    let sums: Vec<f64> = shares
        .iter()
        .scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        })
        .collect();
    let (mut cache, mut stream) = (
        Cache::new(&parameters(blocks), open(0, 0)).expect("a cache"),
        open(1, 1),
    );
    let (mut hits, count) = (0_u32, 400_000_u32);
    for request in 0..count + 20_000 {
        let drawn: f64 = stream.random();
        let bytes = block(sums.partition_point(|&sum| sum < drawn) as u64);
        let is_hit = cache.missing(bytes) == 0;
        cache.insert(bytes);
        hits += u32::from(is_hit && request >= 20_000);
    }
    let found = f64::from(hits) / f64::from(count);
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{found} for {expected}"
    );
}

#[test]
fn dirty_blocks_leave_in_the_order_of_an_elevator_and_neighbours_together() {
    let mut cache = Cache::new(&parameters(100), open(0, 0)).expect("a cache");
    for number in [50, 3, 4, 5, 90, 7, 8, 9] {
        cache.write(block(number));
    }
    let mut left = Vec::new();
    while cache.destage() > 0 {
        left.push((cache.extent.0 / 512, cache.extent.1 / 512));
        if left.len() == 2 {
            cache.write(block(4));
            cache.write(block(60));
        }
    }
    // 7 and 8, 9 lie in two stretches of eight blocks; 4 was written again after it had left.
    assert_eq!(
        left,
        [(3, 3), (7, 1), (8, 2), (50, 1), (60, 1), (90, 1), (4, 1)]
    );
}

#[test]
fn the_marks_start_and_end_the_writing_back() {
    let mut cache = Cache::new(&parameters(100), open(0, 0)).expect("a cache");
    let mut wanted = Vec::new();
    for number in 0..45 {
        cache.write(block(20 * number));
        wanted.push(cache.wants_destage());
    }
    assert_eq!(wanted.iter().position(|&wants| wants), Some(40));
    let mut count = 0;
    while cache.wants_destage() {
        cache.destage();
        count += 1;
    }
    assert_eq!(count, 35);
}

#[test]
fn a_block_stays_pinned_until_its_last_way_has_ended() {
    let mut cache = Cache::new(&parameters(4), open(0, 0)).expect("a cache");
    cache.write(block(1));
    cache.write(block(5));
    assert_eq!(cache.lacking(block(9)), 512);
    assert_eq!(cache.lacking(block(5)), 0);
    cache.destage();
    assert_eq!(cache.lacking(block(9)), 512, "on its way is not there");
    cache.write(block(1));
    cache.destaged(block(1)).expect("on its way");
    assert_eq!(cache.lacking(block(9)), 512, "written again meanwhile");
    assert!(cache.destaged(block(1)).is_err());
}

#[test]
fn clean_blocks_between_dirty_ones_leave_with_them() {
    let filling = Parameters {
        fills_gaps: true,
        ..parameters(100)
    };
    let mut cache = Cache::new(&filling, open(0, 0)).expect("a cache");
    cache.insert((512, 512 * 3));
    for number in [0, 3, 5] {
        cache.write(block(number));
    }
    assert_eq!(
        cache.destage(),
        512 * 4,
        "block 4 is not there, so the way ends before it"
    );
    assert_eq!(cache.destage(), 512);
    cache.destaged((0, 512 * 4)).expect("on its way");
    cache.destaged(block(5)).expect("on its way");
    assert_eq!(cache.blocks.pinned_count(), 0);
}

#[test]
fn what_an_earlier_load_left_is_drawn_between_its_shares() {
    let left = Parameters {
        left_shares: (0.2, 0.8),
        left_range_bytes: 512 * 5000,
        ..parameters(2000)
    };
    let counts: Vec<f64> = (0..200)
        .map(|seed| {
            Cache::new(&left, open(seed, 1))
                .expect("a cache")
                .blocks
                .dirty_count() as f64
        })
        .collect();
    assert!(counts.iter().all(|count| (199.0..=800.0).contains(count)));
    let mean = counts.iter().sum::<f64>() / 200.0;
    // Uniform of width 600: the mean of 200 has a standard deviation of 12.
    assert!((mean - 500.0).abs() < 50.0, "{mean}");
}

#[test]
fn forgotten_blocks_need_not_leave() {
    let mut cache = Cache::new(&parameters(10), open(0, 0)).expect("a cache");
    cache.write((0, 512 * 3));
    cache.forget(block(1));
    let mut left = Vec::new();
    while cache.destage() > 0 {
        left.push(cache.extent.0 / 512);
    }
    assert_eq!(left, [0, 2]);
}

/// A cache as one would write it first: a list in the order of use.
#[derive(Default)]
struct Naive {
    used: Vec<u64>,
}

impl Naive {
    fn use_block(&mut self, block: u64) -> bool {
        let found = self.used.iter().position(|&one| one == block);
        if let Some(index) = found {
            self.used.remove(index);
            self.used.push(block);
        }
        found.is_some()
    }

    fn put(&mut self, block: u64, most: usize) {
        if self.use_block(block) {
            return;
        }
        if self.used.len() == most {
            self.used.remove(0);
        }
        self.used.push(block);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Read(u64),
    Write(u64),
    Destage,
    Arrive,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..40).prop_map(Step::Read),
        2 => (0_u64..40).prop_map(Step::Write),
        1 => Just(Step::Destage),
        1 => Just(Step::Arrive),
    ]
}

proptest! {
    /// Reads hit where a list in the order of use would hit.
    #[test]
    fn reads_hit_as_in_a_list(numbers in prop::collection::vec(0_u64..30, 1..300)) {
        let mut cache = Cache::new(&parameters(12), open(0, 0)).expect("a cache");
        let mut naive = Naive::default();
        for number in numbers {
            prop_assert_eq!(cache.missing(block(number)) == 0, naive.use_block(number));
            cache.insert(block(number));
            naive.put(number, 12);
        }
    }

    /// No written block is lost on its way, and pinned ones stay within their limit.
    #[test]
    fn what_was_written_leaves(steps in prop::collection::vec(step(), 1..300)) {
        let mut cache = Cache::new(&parameters(20), open(0, 0)).expect("a cache");
        let (mut owed, mut on_their_way) = (std::collections::BTreeSet::new(), Vec::new());
        for step in steps {
            match step {
                Step::Read(number) => {
                    let is_hit = cache.missing(block(number)) == 0;
                    prop_assert!(is_hit || !owed.contains(&number));
                    cache.insert(block(number));
                }
                Step::Write(number) => {
                    if cache.lacking(block(number)) == 0 {
                        let is_new = owed.insert(number);
                        prop_assert_eq!(cache.write(block(number)) > 0, is_new);
                    }
                }
                Step::Destage => {
                    let bytes = cache.destage();
                    prop_assert_eq!(bytes == 0, owed.is_empty());
                    for number in cache.extent.0 / 512..(cache.extent.0 + bytes) / 512 {
                        owed.remove(&number);
                        on_their_way.push(number);
                    }
                }
                Step::Arrive => {
                    if let Some(number) = on_their_way.pop() {
                        cache.destaged(block(number)).expect("on its way");
                    }
                }
            }
            prop_assert_eq!(cache.blocks.dirty_count(), owed.len());
            prop_assert!(cache.blocks.pinned_count() <= 10);
            prop_assert!(cache.blocks.count() <= 20);
        }
    }
}
