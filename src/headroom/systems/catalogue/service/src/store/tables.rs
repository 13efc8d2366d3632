//! The tables of a catalogue, which migrations make and never a command: a directory takes columns
//! of a table of entries for its attributes, so a user's schema needs no change of a table.
//!
//! `entry` is narrow and has no index but its key; `wide` has more columns of each kind, and some
//! with an index on directory and value, unique or not. The columns of `entry` have the same names
//! in `wide`, so a directory moves by copying.
//!
//! | table | columns |
//! | --- | --- |
//! | `authority` | `id` 1, `epoch`: counts changes of users, groups and members |
//! | `directory` | `id` (key), `path` (unique), `parent`, `owner`, `mode`, `version`, `layout`, `acl` |
//! | `entry`, `wide` | `dir`, `name` (key together), `owner`, `mode`, `acl`, slots |
//! | `person` | `name` (key), `password` (argon2, may be null) |
//! | `credential` | `subject` (key), `person` |
//! | `team` | `name` (key) as `owner:name`, `owner` |
//! | `member` | `team`, `person` (key together) |
//! | `sequence` | `dir`, `name` (key together), `next`, `step` |
//! | `site` | `id` (key), `name` (unique), `config` |
//! | `replica` | `dir`, `name`, `site` (key together) |
//! | `session` | `token` (key, a hash), `person`, `expires` |
//! | `counter` | `name` (key), `next`: blocks of ids are taken from it |
//!
//! Every id and number is a 64-bit integer; every text is compared by its bytes. Keys of text have
//! at most [`KEY_CHARACTERS`] characters, what an index of MariaDB holds. `layout` and `acl` are JSON.

use serde::{Deserialize, Serialize};

use super::sql::{Access, Slot};
use crate::value::Kind;

/// Characters of a path, a name of an entry, and an indexed text.
pub const KEY_CHARACTERS: usize = 700;

/// Characters of a person's name; `owner:name` of a group has twice as many and the colon.
pub const NAME_CHARACTERS: usize = 255;

/// A table of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Family {
    /// Few columns and no index: four whole numbers, two reals, four texts.
    #[default]
    Narrow,
    /// Many columns, some with an index.
    Wide,
}

impl Family {
    /// Return the name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Self::Narrow => "entry",
            Self::Wide => "wide",
        }
    }

    /// Return how many columns of this kind the table has.
    pub fn columns(self, access: Access, kind: Kind) -> u8 {
        match (self, access, kind) {
            (Self::Narrow, Access::Plain, Kind::Integer | Kind::Text) => 4,
            (Self::Narrow, Access::Plain, Kind::Real)
            | (Self::Wide, Access::Indexed, Kind::Real) => 2,
            (Self::Narrow, ..) => 0,
            (Self::Wide, Access::Plain, Kind::Integer) => 48,
            (Self::Wide, Access::Plain, Kind::Real) => 24,
            (Self::Wide, Access::Plain, Kind::Text) => 64,
            (Self::Wide, Access::Indexed, _) => 6,
            (Self::Wide, Access::Unique, Kind::Real) => 1,
            (Self::Wide, Access::Unique, _) => 3,
        }
    }

    /// Return all columns, in the order of the table.
    pub fn slots(self) -> impl Iterator<Item = Slot> {
        [Access::Plain, Access::Indexed, Access::Unique]
            .into_iter()
            .flat_map(|access| {
                [Kind::Integer, Kind::Real, Kind::Text].map(move |kind| (access, kind))
            })
            .flat_map(move |(access, kind)| {
                (0..self.columns(access, kind)).map(move |number| Slot {
                    access,
                    kind,
                    number,
                })
            })
    }
}
