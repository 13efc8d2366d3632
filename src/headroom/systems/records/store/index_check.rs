//! All entries of the index, and whether it is sound: for tests, and after loading.

use super::index::{Index, KEYS, NO_KEY};
use super::region::{At, NOWHERE};

impl Index {
    /// Return all entries in ascending order.
    pub fn entries(&self) -> Vec<(u32, u32)> {
        let touch = &mut super::touch::Silent;
        let (mut leaf, mut found) = (self.leaf_of(0, touch), Vec::new());
        while leaf != NOWHERE {
            let (count, _) = self.header(leaf, touch);
            for place in 0..count {
                found.push((self.key(leaf, place, touch), self.value(leaf, place, touch)));
            }
            leaf = self.next(leaf, touch);
        }
        found
    }

    /// Check the invariants.
    ///
    /// # Errors
    ///
    /// Which node breaks which one.
    pub fn check(&self) -> Result<(), String> {
        let mut leaves = Vec::new();
        self.check_node(self.root, self.height - 1, (0, NO_KEY), &mut leaves)?;
        let touch = &mut super::touch::Silent;
        let nexts = leaves.iter().skip(1).copied().chain([NOWHERE]);
        for (&leaf, next) in leaves.iter().zip(nexts) {
            if self.next(leaf, touch) != next {
                return Err(format!("leaf {leaf} is not followed by the next one"));
            }
        }
        Ok(())
    }

    fn check_node(
        &self,
        node: At,
        level: usize,
        (low, high): (u32, u32),
        leaves: &mut Vec<At>,
    ) -> Result<(), String> {
        let touch = &mut super::touch::Silent;
        let (count, own_level) = self.header(node, touch);
        let keys = self.region.words(node + KEYS, self.capacity as usize);
        let (used, unused) = keys.split_at(count as usize);
        if own_level as usize != level || unused.iter().any(|&key| key != NO_KEY) {
            return Err(format!(
                "node {node} has level {own_level}, or keys too many"
            ));
        }
        let is_sorted = used.is_sorted_by(|one, other| one < other);
        if !is_sorted || used.iter().any(|key| !(low..high).contains(key)) {
            return Err(format!("node {node} has keys that are not its own"));
        }
        if level == 0 {
            leaves.push(node);
            return Ok(());
        }
        for place in 0..=count {
            let low = if place == 0 {
                low
            } else {
                used[place as usize - 1]
            };
            let high = used.get(place as usize).copied().unwrap_or(high);
            let child = self.child(node, place, touch);
            self.check_node(child, level - 1, (low, high), leaves)?;
        }
        Ok(())
    }
}
