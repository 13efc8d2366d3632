//! The store against the standard library's ordered map.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::cells::{Cell, Insertion, Loaded, Mode, Runner, Use};
use super::StoreError;
use super::operation::{Operation, Retrieve, Sum};
use super::placement::Placement;
use super::region::{At, Region};
use super::spec::{Layout, Spec};
use super::table::Table;
use super::touch::{Area, Silent, Touch, Work};
use crate::memory::probe::buffer::Pages;

/// Notes the number and the content of each record.
#[derive(Default)]
struct Noted(Vec<(u32, Vec<u32>)>, usize);

impl Operation for Noted {
    fn take(&mut self, region: &Region, at: At, touch: &mut impl Touch) {
        let number = region.word(at, touch);
        self.0.push((number, region.words(at, self.1).to_vec()));
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u32, u32),
    Remove(u32),
    Update(u32, u32),
    Find(u32),
    Scan(u32, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = prop_oneof![4 => 0..400_u32, 1 => any::<u32>().prop_map(|key| key.min(u32::MAX - 1))];
    let step = prop_oneof![
        8 => (key.clone(), any::<u32>()).prop_map(|(key, word)| Step::Insert(key, word)),
        5 => key.clone().prop_map(Step::Remove),
        1 => (key.clone(), any::<u32>()).prop_map(|(key, word)| Step::Update(key, word)),
        1 => key.clone().prop_map(Step::Find),
        1 => (key, 0..50_u64).prop_map(|(key, count)| Step::Scan(key, count)),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 200 } else { 1200 })
}

fn specs() -> impl Strategy<Value = Spec> {
    let layout = prop_oneof![
        Just(Layout::Array),
        Just(Layout::Slotted),
        Just(Layout::Sorted)
    ];
    let placement = prop_oneof![
        Just(Placement::Arena),
        Just(Placement::Scattered { k: 3 }),
        Just(Placement::SizeClasses),
        Just(Placement::Malloc),
    ];
    // An address of one block from that of another: what Miri, rightly, refuses to follow.
    let placement = placement.prop_map(|one| match one {
        Placement::Malloc if cfg!(miri) => Placement::Arena,
        other => other,
    });
    let bytes = prop::sample::select(vec![64_u64, 96, 128, 256, 1024, 4096, 65536]);
    let record = prop::sample::select(vec![8_u64, 12, 30, 56, 64, 128, 256]);
    let index = prop::sample::select(vec![64_u64, 128, 192, 256]);
    (layout, placement, bytes, record, index, any::<u64>()).prop_map(
        |(layout, placement, node_bytes, record_bytes, index_bytes, seed)| Spec {
            node_bytes,
            record_bytes,
            capacity: 700,
            layout,
            placement,
            pages: Pages::Small,
            index_bytes,
            seed,
        },
    )
}

fn record(spec: &Spec, key: u32, word: u32) -> Vec<u32> {
    let mut record = vec![word; (spec.stride_bytes() / 4) as usize];
    record[0] = key;
    record
}

fn take_step(table: &mut Table, map: &mut BTreeMap<u32, Vec<u32>>, step: Step) {
    let (spec, touch) = (*table.spec(), &mut Silent);
    match step {
        Step::Insert(key, word) => {
            let record = record(&spec, key, word);
            match table.insert(&record, touch) {
                Ok(is_new) => {
                    assert_eq!(is_new, !map.contains_key(&key));
                    map.entry(key).or_insert(record);
                }
                Err(StoreError::Full { .. }) => assert_eq!(map.len(), 700),
                Err(other) => panic!("{other}"),
            }
        }
        Step::Remove(key) => assert_eq!(table.remove(key, touch), map.remove(&key).is_some()),
        Step::Update(key, word) => {
            let found = map.get_mut(&key).map(|one| one[1] = word);
            assert_eq!(table.update(key, 1, &[word], touch), found.is_some());
        }
        Step::Find(key) => {
            let mut retrieve = Retrieve::new(spec.stride_bytes(), 1);
            let found = table.retrieve(key, &mut retrieve, touch);
            let expected = map.get(&key).map(Vec::as_slice);
            assert_eq!(found.then(|| retrieve.user()), expected);
        }
        Step::Scan(key, count) => {
            for ahead in [0, 3] {
                let mut noted = Noted(Vec::new(), (spec.stride_bytes() / 4) as usize);
                table.scan_index(key, count, ahead, &mut noted, touch);
                let around = map.range(key..).chain(map.range(..key));
                let wanted = around.take(count as usize);
                assert!(noted.0.iter().map(|(key, all)| (key, all)).eq(wanted));
            }
        }
    }
}

/// Histories: Miri takes some seconds for each.
const CASES: u32 = if cfg!(miri) { 4 } else { 160 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    /// Property: after any history the table holds what the map holds, whatever it is made of.
    #[test]
    fn a_table_is_a_map(spec in specs(), steps in steps()) {
        prop_assume!(spec.check().is_ok());
        let mut table = Table::new(spec).expect("memory");
        let mut map = BTreeMap::new();
        for step in steps {
            take_step(&mut table, &mut map, step);
        }
        prop_assert_eq!(table.check(), Ok(()));
        prop_assert_eq!(table.len(), map.len() as u64);
        // The reserved number belongs to no record, and may be looked up.
        let keys: Vec<u32> = (0..400).chain([u32::MAX]).collect();
        for batch in [1, 2, 7, 32, 64] {
            let mut sum = Sum::default();
            let found = table.look_up(&keys, batch, &mut sum, &mut Silent);
            prop_assert_eq!(found, map.range(..400).count() as u64);
            let expected: u64 = map.range(..400).map(|(_, one)| u64::from(one[1])).sum();
            prop_assert_eq!(sum.total, expected);
        }
        let mut noted = Noted(Vec::new(), 2);
        table.scan_physical(0.3, table.len(), &mut noted, &mut Silent);
        noted.0.sort_unstable();
        let all: Vec<_> = map.iter().map(|(&key, one)| (key, one[..2].to_vec())).collect();
        prop_assert_eq!(noted.0, all);
    }
}

fn filled(spec: Spec, keys: impl Iterator<Item = u32>) -> Table {
    let mut table = Table::new(spec).expect("memory");
    for key in keys {
        table
            .insert(&record(&spec, key, key), &mut Silent)
            .expect("room");
    }
    table
}

/// Records of the larger tables; Miri needs a millisecond for each.
const RECORDS: u32 = if cfg!(miri) { 600 } else { 20_000 };

const SPEC: Spec = Spec {
    node_bytes: 1024,
    record_bytes: 64,
    capacity: 20_000,
    layout: Layout::Sorted,
    placement: Placement::Arena,
    pages: Pages::Small,
    index_bytes: 64,
    seed: 1,
};

#[test]
fn ascending_keys_leave_full_nodes() {
    for layout in [Layout::Array, Layout::Slotted, Layout::Sorted] {
        let spec = Spec { layout, ..SPEC };
        let table = filled(spec, 0..RECORDS);
        let nodes = u64::from(RECORDS).div_ceil(spec.records_per_node());
        assert_eq!(table.directory().len() as u64, nodes, "{layout:?}");
        table.check().expect("sound");
    }
    assert_eq!(SPEC.records_per_node(), 15);
}

/// The formula of the reference for 4-byte keys in lines: levels = ceil(log8(records / 7)) + 1.
#[test]
fn a_full_index_of_lines_has_the_levels_of_the_formula() {
    for count in [7_u32, 8, 400, 5000, 20_000].map(|one| one.min(RECORDS)) {
        let spec = Spec {
            layout: Layout::Array,
            ..SPEC
        };
        let table = filled(spec, 0..count);
        let leaves = f64::from(count.div_ceil(7));
        let levels = (leaves.ln() / 8_f64.ln() - 1e-9).ceil() as usize + 1;
        assert_eq!(table.index().height, levels, "{count}");
    }
}

#[test]
fn all_records_may_go_and_come_back() {
    for (layout, node_bytes) in [
        (Layout::Array, 1024),
        (Layout::Slotted, 1024),
        (Layout::Sorted, 1024),
        (Layout::Sorted, 4096),
    ] {
        let spec = Spec {
            node_bytes,
            layout,
            ..SPEC
        };
        let mut table = filled(spec, 0..RECORDS);
        let nodes = table.directory().len();
        for round in 0..3 {
            for key in 0..RECORDS {
                let key = if round == 1 { RECORDS - 1 - key } else { key };
                assert!(table.remove(key, &mut Silent));
            }
            table.check().expect("sound");
            assert!(table.is_empty());
            for key in (0..RECORDS).map(|key| key.wrapping_mul(7919) % RECORDS) {
                table
                    .insert(&record(&spec, key, 1), &mut Silent)
                    .expect("room");
            }
            table.check().expect("sound");
            assert_eq!(table.len(), table.sum());
        }
        if layout != Layout::Sorted {
            assert_eq!(table.directory().len(), nodes, "places are used again");
        }
    }
}

/// Notes which bytes of the nodes are read and written.
#[derive(Default)]
struct Watcher<const AHEAD: usize = 0> {
    read: Vec<(u64, u64)>,
    written: Vec<(u64, u64)>,
}

impl<const AHEAD: usize> Touch for Watcher<AHEAD> {
    const AHEAD: usize = AHEAD;

    fn read(&mut self, area: Area, offset: u64, bytes: u64) {
        if area == Area::Nodes {
            self.read.push((offset, offset + bytes));
        }
    }

    fn write(&mut self, area: Area, offset: u64, bytes: u64) {
        if area == Area::Nodes {
            self.written.push((offset, offset + bytes));
        }
    }

    fn work(&mut self, _: Work, _: u64) {}
}

fn lines(spans: &[(u64, u64)]) -> usize {
    let each = spans
        .iter()
        .flat_map(|&(start, end)| start / 64..end.div_ceil(64));
    each.collect::<BTreeSet<u64>>().len()
}

const TAGGED: Spec = Spec {
    node_bytes: 4096,
    capacity: 3000,
    ..SPEC
};

/// Invariant: the model sees each word that changes. Splits, moves and freed nodes are among them.
#[test]
fn a_watcher_sees_every_change_of_a_node() {
    for node_bytes in [1024, 4096] {
        let spec = Spec {
            node_bytes,
            ..TAGGED
        };
        let mut table = filled(spec, (0..400).map(|key| key * 7));
        let words = |table: &Table| table.region().words(0, 16 * 1024).to_vec();
        for step in 0..600_u32 {
            let key = step.wrapping_mul(7919) % 2800;
            let (before, mut watcher) = (words(&table), Watcher::<0>::default());
            if !table.remove(key, &mut watcher) {
                let record = record(&spec, key, step);
                assert!(table.insert(&record, &mut watcher).expect("room"));
            }
            let after = words(&table);
            for (at, _) in before
                .iter()
                .zip(&after)
                .enumerate()
                .filter(|(_, one)| one.0 != one.1)
            {
                let byte = at as u64 * 4;
                let seen = |&(start, end): &(u64, u64)| start < byte + 4 && byte < end;
                assert!(watcher.written.iter().any(seen), "word {at} in step {step}");
            }
        }
        table.check().expect("sound");
    }
}

/// Invariant: a simulation counts the same whether its host fetches ahead or not.
#[test]
fn a_watcher_does_not_see_what_is_fetched_ahead() {
    for (layout, mode) in [
        (Layout::Array, Mode::PhySeq),
        (Layout::Slotted, Mode::IdxSeq),
        (Layout::Array, Mode::IdxRan),
        (Layout::Sorted, Mode::IdxRan),
    ] {
        let spec = Spec { layout, ..TAGGED };
        let mut loaded = Loaded::new(spec, Insertion::Random, false).expect("room");
        let cell = Cell {
            mode,
            operation: Use::Sum,
            share: 0.7,
            scans: 2,
            batch: 5,
            ahead: 3,
            lookups: 100,
            most_lookups: 1000,
            keeps_all: false,
            from_first: false,
        };
        let (plain, ahead) = (
            read_by::<0>(&mut loaded, cell),
            read_by::<16>(&mut loaded, cell),
        );
        assert!(plain.len() >= 1000, "{mode:?}: {} reads", plain.len());
        assert_eq!(plain, ahead, "{mode:?}");
    }
}

fn read_by<const AHEAD: usize>(loaded: &mut Loaded, cell: Cell) -> Vec<(u64, u64)> {
    let (mut runner, mut watcher) = (Runner::new(cell, loaded, 1), Watcher::<AHEAD>::default());
    runner.prepare(loaded);
    runner.run(loaded, &mut watcher).expect("room");
    watcher.read
}

/// The reason for tags and slots: a look-up reads the line of tags and the record, apart from rare
/// wrong candidates, and an insert writes lines of tags, keys, slots and one record.
#[test]
fn tags_spare_lines_of_keys_and_slots_spare_records() {
    let keys: Vec<u32> = (0..3000_u32)
        .map(|key| key.wrapping_mul(0x9E37_79B1))
        .collect();
    let mut table = filled(TAGGED, keys.iter().copied().take(2900));
    let mut read = 0;
    for &key in &keys[..2900] {
        let mut watcher = Watcher::<0>::default();
        assert_eq!(
            table.look_up(&[key], 2, &mut Sum::default(), &mut watcher),
            1
        );
        read += lines(&watcher.read);
    }
    assert!((2 * 2900..23 * 290).contains(&read), "{read} lines");
    let mut few = 0;
    for &key in &keys[2900..] {
        let mut watcher = Watcher::<0>::default();
        table
            .insert(&record(&TAGGED, key, 1), &mut watcher)
            .expect("room");
        few += usize::from(lines(&watcher.written) <= 8);
    }
    assert!(few > 80, "{few} of 100 inserts, the others split");
}

#[test]
fn what_cannot_be_is_refused_with_what_would_work() {
    let refused = |spec: Spec| {
        Table::new(spec)
            .map(|_| ())
            .expect_err("refused")
            .to_string()
    };
    let narrow = Spec {
        node_bytes: 64,
        record_bytes: 128,
        layout: Layout::Array,
        ..SPEC
    };
    assert!(refused(narrow).contains("give nodes of 128 B or more"));
    let slotted = Spec {
        node_bytes: 64,
        layout: Layout::Slotted,
        ..SPEC
    };
    assert!(refused(slotted).contains("give nodes of 72 B"));
    assert!(
        refused(Spec {
            record_bytes: 4,
            ..SPEC
        })
        .contains("give 8 B or more")
    );
    assert!(
        refused(Spec {
            capacity: 0,
            ..SPEC
        })
        .contains("0 records")
    );
    assert!(
        refused(Spec {
            index_bytes: 100,
            ..SPEC
        })
        .contains("whole lines")
    );
    let scattered = Spec {
        placement: Placement::Scattered { k: 0 },
        ..SPEC
    };
    assert!(refused(scattered).contains("occupancy"));
    let malloc = Spec {
        placement: Placement::Malloc,
        pages: Pages::Huge,
        ..SPEC
    };
    assert!(refused(malloc).contains("allocator"));
    let large = Spec {
        capacity: 1 << 30,
        layout: Layout::Array,
        ..SPEC
    };
    assert!(refused(large).contains("pointers of 4 B"));
}
