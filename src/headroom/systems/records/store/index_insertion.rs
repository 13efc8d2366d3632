//! Insertion into the index: nodes split from the leaf up.

use super::StoreError;
use super::index::{Index, KEYS, NO_KEY, Path};
use super::region::{At, NOWHERE};
use super::touch::Touch;

impl Index {
    /// Add an entry; return whether it is new: the value of a present key is replaced.
    ///
    /// # Errors
    ///
    /// The index is full, and unchanged.
    ///
    /// # Panics
    ///
    /// If the key is [`NO_KEY`].
    pub fn insert(
        &mut self,
        key: u32,
        value: u32,
        touch: &mut impl Touch,
    ) -> Result<bool, StoreError> {
        assert!(key != NO_KEY, "the key {NO_KEY} is reserved");
        let path = self.path_to(key, touch);
        let leaf = path.leaf();
        let place = self.rank(leaf, key, touch);
        let (count, _) = self.header(leaf, touch);
        if place < count && self.key(leaf, place, touch) == key {
            self.region
                .set_word(leaf + self.values() + place, value, touch);
            return Ok(false);
        }
        if count == self.capacity && !self.has_room_for_splits() {
            return Err(StoreError::Full {
                capacity: self.entry_capacity,
            });
        }
        self.insert_in(&path, place, (key, value), touch)?;
        Ok(true)
    }

    /// Whether every node of a path could be split: checked before, so that nothing is half done.
    fn has_room_for_splits(&self) -> bool {
        let free =
            self.free.len() as u64 + (self.most_words - self.used_words) / u64::from(self.words);
        free > self.height as u64
    }

    /// Insert into a leaf, and separators into the nodes above as far as nodes split.
    fn insert_in(
        &mut self,
        path: &Path,
        place: u32,
        entry: (u32, u32),
        touch: &mut impl Touch,
    ) -> Result<(), StoreError> {
        let (mut place, mut entry) = (place, entry);
        let is_rightmost = self.next(path.leaf(), touch) == NOWHERE;
        for depth in (0..=path.depth()).rev() {
            let (node, _) = path.node(depth);
            if self.header(node, touch).0 < self.capacity {
                self.make_room(node, place, touch);
                self.set_entry(node, place, entry, touch);
                return Ok(());
            }
            entry = self.split(node, place, entry, is_rightmost, touch)?;
            if depth > 0 {
                (_, place) = path.node(depth - 1);
            }
        }
        self.grow(entry, touch)
    }

    fn make_room(&mut self, node: At, place: u32, touch: &mut impl Touch) {
        let (count, level) = self.header(node, touch);
        let moved = (count - place) as usize;
        for at in [node + KEYS + place, node + self.values() + place] {
            self.region.shift(at, at + 1, moved, touch);
        }
        self.set_header(node, count + 1, level, touch);
    }

    /// Split a full node around a new entry; return the separator and the new node on its right.
    ///
    /// A rightmost node that grows at its end stays full: keys in ascending order leave no gaps.
    fn split(
        &mut self,
        node: At,
        place: u32,
        (key, value): (u32, u32),
        is_rightmost: bool,
        touch: &mut impl Touch,
    ) -> Result<(u32, u32), StoreError> {
        let (count, level) = self.header(node, touch);
        let is_leaf = level == 0;
        let right = self.new_node(level)?;
        let is_last = place == count && is_rightmost;
        let left_count = if is_last { count } else { count / 2 };
        if is_leaf {
            let next = self.next(node, touch);
            self.set_next(right, next, touch);
            self.set_next(node, right, touch);
        }
        if is_last && is_leaf {
            self.set_entry(right, 0, (key, value), touch);
            self.set_header(right, 1, level, touch);
            return Ok((key, right));
        }
        if is_last {
            // The separator goes up, and its node is all that the new one has.
            self.set_child(right, 0, value, touch);
            return Ok((key, right));
        }
        let separator = self.move_upper(node, right, left_count, touch);
        let in_right = key >= separator;
        let (target, place) = if !in_right {
            (node, place)
        } else if is_leaf {
            (right, place - left_count)
        } else {
            (right, place - left_count - 1)
        };
        self.make_room(target, place, touch);
        self.set_entry(target, place, (key, value), touch);
        Ok((separator, right))
    }

    /// Move the entries from `left_count` on to an empty node; return the separator of the two,
    /// which of an inner node moves up.
    fn move_upper(&mut self, node: At, right: At, left_count: u32, touch: &mut impl Touch) -> u32 {
        let (count, level) = self.header(node, touch);
        let separator = self.key(node, left_count, touch);
        let first = if level == 0 {
            left_count
        } else {
            let child = self.value(node, left_count, touch);
            self.set_child(right, 0, child, touch);
            left_count + 1
        };
        let moved = (count - first) as usize;
        for part in [KEYS, self.values()] {
            self.region
                .shift(node + part + first, right + part, moved, touch);
        }
        let cleared = (count - left_count) as usize;
        self.region
            .words_mut(node + KEYS + left_count, cleared)
            .fill(NO_KEY);
        self.set_header(right, count - first, level, touch);
        self.set_header(node, left_count, level, touch);
        separator
    }

    fn grow(&mut self, (key, right): (u32, u32), touch: &mut impl Touch) -> Result<(), StoreError> {
        let (_, level) = self.header(self.root, touch);
        let root = self.new_node(level + 1)?;
        self.set_child(root, 0, self.root, touch);
        self.set_entry(root, 0, (key, right), touch);
        self.set_header(root, 1, level + 1, touch);
        self.root = root;
        self.height += 1;
        Ok(())
    }
}
