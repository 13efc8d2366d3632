//! The rows of the result tables: one per station or pool, or one per group of similar ones.

use std::collections::BTreeMap;

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::compile::{position, refuse};

/// Rows in the order in which the first of each appears in the model.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Name of each row.
    pub names: Vec<String>,
    /// Stations, or pools, of each row.
    pub members: Vec<Vec<u32>>,
}

impl Rows {
    /// Collect `parts`, each with its name and the name of its group.
    ///
    /// # Errors
    ///
    /// Fails if a group has the name of a separate part.
    pub fn collect<'a>(
        parts: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Self, SimulationError> {
        let mut rows = Self::default();
        let mut known: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for (index, (name, group)) in parts.enumerate() {
            let next = (rows.names.len(), group.is_some());
            let &mut (row, is_group) = known.entry(group.unwrap_or(name)).or_insert(next);
            if is_group != group.is_some() {
                return refuse(format!(
                    "'{}' names both a group and something by itself",
                    group.unwrap_or(name)
                ));
            }
            if row == rows.names.len() {
                rows.names.push(group.unwrap_or(name).to_owned());
                rows.members.push(Vec::new());
            }
            rows.members[row].push(position(index));
        }
        Ok(rows)
    }

    /// Return whether some row represents several.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.members.iter().any(|row| row.len() > 1)
    }

    /// Iterate over the indices of the members of each row.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = usize> + Clone> {
        self.members
            .iter()
            .map(|row| row.iter().map(|&index| index as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_parts_share_a_row_where_the_first_of_them_stands() {
        let parts = [("a", None), ("b", Some("g")), ("c", None), ("d", Some("g"))];
        let rows = Rows::collect(parts.into_iter()).expect("each name means one thing");
        assert_eq!(rows.names, ["a", "g", "c"]);
        assert_eq!(rows.members, [vec![0], vec![1, 3], vec![2]]);
    }

    #[test]
    fn a_group_has_no_name_of_something_by_itself() {
        let parts = [("a", None), ("b", Some("a"))];
        assert!(Rows::collect(parts.into_iter()).is_err());
        let parts = [("a", Some("b")), ("b", None)];
        assert!(Rows::collect(parts.into_iter()).is_err());
    }
}
