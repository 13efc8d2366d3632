//! The store of records against the standard library's ordered map.

#![no_main]

use std::collections::BTreeMap;

use headroom::memory::probe::buffer::Pages;
use headroom::systems::records::store::StoreError;
use headroom::systems::records::store::operation::Sum;
use headroom::systems::records::store::placement::Placement;
use headroom::systems::records::store::spec::{Layout, Spec};
use headroom::systems::records::store::table::Table;
use headroom::systems::records::store::touch::Silent;
use libfuzzer_sys::fuzz_target;

const CAPACITY: u64 = 300;

fn spec(made: &[u8]) -> Spec {
    let bytes = [64, 96, 128, 256, 1024];
    let records = [8, 12, 30, 56, 64];
    Spec {
        node_bytes: bytes[usize::from(made[0]) % bytes.len()],
        record_bytes: records[usize::from(made[1]) % records.len()],
        capacity: CAPACITY,
        layout: [Layout::Array, Layout::Slotted, Layout::Sorted][usize::from(made[2]) % 3],
        placement: [
            Placement::Arena,
            Placement::Scattered { k: 3 },
            Placement::SizeClasses,
        ][usize::from(made[3]) % 3],
        pages: Pages::Small,
        index_bytes: [64, 128, 192][usize::from(made[4]) % 3],
        seed: u64::from(made[5]),
    }
}

fuzz_target!(|steps: &[u8]| {
    let Some((made, steps)) = steps.split_at_checked(6) else {
        return;
    };
    let spec = spec(made);
    if spec.check().is_err() {
        return;
    }
    let mut table = Table::new(spec).expect("memory");
    let mut map = BTreeMap::new();
    for step in steps.chunks_exact(3) {
        let (key, word) = (
            u32::from(step[1]) | u32::from(step[0] & 3) << 8,
            u32::from(step[2]),
        );
        match step[0] >> 2 & 3 {
            0 | 1 => {
                let mut record = vec![word; (spec.stride_bytes() / 4) as usize];
                record[0] = key;
                match table.insert(&record, &mut Silent) {
                    Ok(is_new) => {
                        assert_eq!(is_new, !map.contains_key(&key));
                        map.entry(key).or_insert(word);
                    }
                    Err(StoreError::Full { .. }) => assert_eq!(map.len() as u64, CAPACITY),
                    Err(other) => panic!("{other}"),
                }
            }
            2 => assert_eq!(table.remove(key, &mut Silent), map.remove(&key).is_some()),
            _ => {
                let found = map.get_mut(&key).map(|one| *one = word);
                let is_found = table.update(key, 1, &[word], &mut Silent);
                assert_eq!(is_found, found.is_some());
            }
        }
    }
    table.check().expect("a table in order");
    let keys: Vec<u32> = map.keys().copied().collect();
    let mut sum = Sum::default();
    assert_eq!(
        table.look_up(&keys, 7, &mut sum, &mut Silent),
        map.len() as u64
    );
    assert_eq!(
        sum.total,
        map.values().map(|&one| u64::from(one)).sum::<u64>()
    );
});
