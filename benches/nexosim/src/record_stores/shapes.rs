//! Shapes of the record store: `layout/node bytes/index node bytes/batch/records or nodes ahead`.

use headroom::memory::probe::buffer::Pages;
use headroom::systems::records::store::placement::Placement;
use headroom::systems::records::store::spec::{Layout, Spec};

use crate::stores::RECORD_WORDS;

/// Return what a shape says, e.g. `sorted/1024/256/32/2`: the table, the batch, what is ahead.
pub fn read(shape: &str, records: u64, pages: Pages) -> (Spec, usize, usize) {
    let parts: Vec<&str> = shape.split('/').collect();
    let [layout, node, index, batch, ahead] = parts[..] else {
        panic!("a shape is layout/node/index/batch/ahead, not {shape}");
    };
    let layout = match layout {
        "array" => Layout::Array,
        "slotted" => Layout::Slotted,
        "sorted" => Layout::Sorted,
        _ => panic!("there is no layout {layout}"),
    };
    let whole = |text: &str| text.parse::<u64>().expect("a whole number");
    let spec = Spec {
        node_bytes: whole(node),
        record_bytes: RECORD_WORDS as u64 * 4,
        capacity: records,
        layout,
        placement: Placement::Arena,
        pages,
        index_bytes: whole(index),
        seed: 1,
    };
    (spec, whole(batch) as usize, whole(ahead) as usize)
}
