//! Removal from the index: a node goes when its last entry does.

use super::index::{Index, NO_KEY, Path};
use super::region::NOWHERE;
use super::touch::Touch;

impl Index {
    /// Remove a key; return its value if it was there.
    pub fn remove(&mut self, key: u32, touch: &mut impl Touch) -> Option<u32> {
        let path = self.path_to(key, touch);
        let leaf = path.leaf();
        let place = self.rank(leaf, key, touch);
        let (count, _) = self.header(leaf, touch);
        if place >= count || self.key(leaf, place, touch) != key {
            return None;
        }
        let value = self.value(leaf, place, touch);
        if count == 1 && path.depth() > 0 {
            self.unlink(&path, touch);
        } else {
            self.close_gap(leaf, place, place, touch);
        }
        Some(value)
    }

    /// Take key `key_place` and value `value_place` out of a node.
    fn close_gap(&mut self, node: u32, key_place: u32, value_place: u32, touch: &mut impl Touch) {
        let (count, level) = self.header(node, touch);
        let keys = Self::keys_at(node);
        let values = self.values_at(node);
        let (keys_left, values_left) = (count - key_place - 1, count - value_place - 1);
        self.region.shift(
            keys + key_place + 1,
            keys + key_place,
            keys_left as usize,
            touch,
        );
        self.region.shift(
            values + value_place + 1,
            values + value_place,
            values_left as usize,
            touch,
        );
        self.region.set_word(keys + count - 1, NO_KEY, touch);
        self.set_header(node, count - 1, level, touch);
    }

    /// Take the leaf of a path, which has one entry, out of the tree.
    fn unlink(&mut self, path: &Path, touch: &mut impl Touch) {
        let leaf = path.leaf();
        if let Some(before) = self.leaf_before(path, touch) {
            let next = self.next(leaf, touch);
            self.set_next(before, next, touch);
        }
        self.free_node(leaf);
        let mut depth = path.depth();
        while depth > 0 {
            depth -= 1;
            let (node, place) = path.node(depth);
            let (count, level) = self.header(node, touch);
            if count == 0 {
                // Its only child is gone.
                if depth == 0 {
                    self.restart(touch);
                    return;
                }
                self.free_node(node);
                continue;
            }
            if place > 0 {
                self.close_gap(node, place - 1, place - 1, touch);
            } else {
                // The second child becomes the first, and the key between them goes.
                let second = self.child(node, 1, touch);
                self.set_child(node, 0, second, touch);
                self.close_gap(node, 0, 0, touch);
            }
            debug_assert_eq!(self.header(node, touch), (count - 1, level));
            break;
        }
        self.shrink(touch);
    }

    /// Drop roots with one child.
    fn shrink(&mut self, touch: &mut impl Touch) {
        while self.height > 1 && self.header(self.root, touch).0 == 0 {
            let child = self.child(self.root, 0, touch);
            self.free_node(self.root);
            self.root = child;
            self.height -= 1;
        }
    }

    /// Make the root an empty leaf.
    fn restart(&mut self, touch: &mut impl Touch) {
        self.set_header(self.root, 0, 0, touch);
        self.set_next(self.root, NOWHERE, touch);
        self.height = 1;
    }
}
