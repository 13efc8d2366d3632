//! Rights: what an owner and groups may do.
//!
//! On a directory `x` allows its list of attributes, `r` the values of its entries, `w` changes of
//! entries and schema. They differ from those of POSIX; see the reference of the commands.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::{Answer, Code, Refusal};

/// A set of `r`, `w` and `x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights(u8);

impl Rights {
    /// None.
    pub const NONE: Self = Self(0);
    /// To read values.
    pub const READ: Self = Self(4);
    /// To change.
    pub const WRITE: Self = Self(2);
    /// To see attributes and what is below.
    pub const SEE: Self = Self(1);
    /// All.
    pub const ALL: Self = Self(7);

    /// Return the rights of a text such as `rw-` or `rx`.
    ///
    /// # Errors
    ///
    /// Another letter.
    pub fn parse(text: &str) -> Answer<Self> {
        let mut found = 0;
        for letter in text.chars() {
            found |= match letter {
                'r' => Self::READ.0,
                'w' => Self::WRITE.0,
                'x' => Self::SEE.0,
                '-' => 0,
                _ => {
                    let message = format!("`{text}` is not a set of rights; use letters of `rwx`");
                    return Err(Refusal::new(Code::IllegalCommand, message));
                }
            };
        }
        Ok(Self(found))
    }

    /// Return whether all of `wanted` are here.
    pub fn include(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Return these and `others`.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Return the number that the tables hold.
    pub fn number(self) -> i64 {
        i64::from(self.0)
    }

    /// Return the rights of a number of a table.
    pub fn of_number(number: i64) -> Self {
        u8::try_from(number & 7).map_or(Self::NONE, Self)
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (right, letter) in [(Self::READ, 'r'), (Self::WRITE, 'w'), (Self::SEE, 'x')] {
            write!(out, "{}", if self.include(right) { letter } else { '-' })?;
        }
        Ok(())
    }
}

/// Groups with rights, by full name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acl(pub BTreeMap<String, Rights>);

impl Acl {
    /// Return the rights of members of these groups.
    pub fn rights_of<'a>(&self, groups: impl IntoIterator<Item = &'a str>) -> Rights {
        let rights = groups.into_iter().filter_map(|group| self.0.get(group));
        rights.fold(Rights::NONE, |all, more| all.and(*more))
    }

    /// Return the text that a condition of SQL can search: `;r=a:b;w=a:b;`. Empty: none.
    pub fn searchable(&self) -> String {
        let mut text = String::new();
        for (group, rights) in &self.0 {
            for letter in rights.to_string().chars().filter(|letter| *letter != '-') {
                text.push(';');
                text.push(letter);
                text.push('=');
                text.push_str(group);
            }
        }
        if !text.is_empty() {
            text.push(';');
        }
        text
    }

    /// Return the list of such a text.
    pub fn of_searchable(text: &str) -> Self {
        let mut found = Self::default();
        for part in text.split(';') {
            if let Some((letter, group)) = part.split_once('=') {
                let more = Rights::parse(letter).unwrap_or_default();
                let rights = found.0.entry(group.to_owned()).or_default();
                *rights = rights.and(more);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_and_shown() {
        assert_eq!(Rights::parse("xr").unwrap().to_string(), "r-x");
        assert_eq!(Rights::parse("").unwrap(), Rights::NONE);
        assert_eq!(Rights::parse("rwx").unwrap(), Rights::ALL);
        assert!(Rights::parse("rwz").is_err());
    }

    #[test]
    fn groups_add_up() {
        let mut acl = Acl::default();
        acl.0.insert("ann:readers".into(), Rights::READ);
        acl.0.insert("system:anyuser".into(), Rights::SEE);
        assert_eq!(
            acl.rights_of(["system:anyuser", "ann:readers"]).to_string(),
            "r-x"
        );
        assert_eq!(acl.rights_of(["bob:writers"]), Rights::NONE);
        assert_eq!(acl.searchable(), ";r=ann:readers;x=system:anyuser;");
        assert_eq!(Acl::of_searchable(&acl.searchable()), acl);
        assert_eq!(Acl::default().searchable(), "");
    }
}
