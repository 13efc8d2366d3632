//! The layout of a directory: attributes with their columns, rules, and directories that refer to it.

use serde::{Deserialize, Serialize};

use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Access, Slot};
use crate::store::tables::Family;
use crate::value::Type;

/// The pseudo attribute that holds the name of an entry.
pub const FILE: &str = "FILE";

/// Characters of the name of an attribute.
const NAME_CHARACTERS: usize = 64;

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The type, as it was given: `listattr` shows it.
    pub shown: String,
    /// The type.
    pub of: Type,
    /// The column.
    pub slot: Slot,
    /// Whether each entry needs a value.
    #[serde(default)]
    pub is_required: bool,
}

/// A rule that entries keep; `is_required` of an attribute and unique columns are the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// A condition that is not false for any entry.
    Check {
        /// The condition.
        condition: String,
    },
    /// Each value of an attribute is one of another directory.
    Reference {
        /// The attribute here.
        attribute: String,
        /// Path of the other directory.
        path: String,
        /// The attribute there; it is unique, or the name of the entry.
        there: String,
    },
}

/// A rule with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The rule.
    pub rule: Rule,
}

/// The layout of a directory, stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The table of the entries.
    #[serde(default)]
    pub family: Family,
    /// Attributes in the order in which they were added.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// Whether entries have an owner and rights of their own.
    #[serde(default)]
    pub has_owners: bool,
    /// Whether entries may have a list of groups.
    #[serde(default)]
    pub has_acls: bool,
    /// Rules.
    #[serde(default)]
    pub rules: Vec<Named>,
    /// Paths of directories whose rules refer to this one.
    #[serde(default)]
    pub referenced_by: Vec<String>,
}

impl Layout {
    /// Return the attribute of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn attribute(&self, name: &str) -> Answer<&Attribute> {
        let found = self.attributes.iter().find(|known| known.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.attributes.iter().map(|one| &*one.name).collect();
            let message = format!(
                "no attribute `{name}`; there are: {}",
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            );
            Refusal::new(Code::NoSuchAttribute, message)
        })
    }

    /// Return a free column for values of this type.
    ///
    /// # Errors
    ///
    /// If all are taken.
    pub fn free_slot(&self, family: Family, access: Access, of: &Type) -> Answer<Slot> {
        let kind = of.kind();
        let is_taken = |slot: &Slot| self.attributes.iter().any(|one| one.slot == *slot);
        family
            .slots()
            .filter(|slot| slot.access == access && slot.kind == kind)
            .find(|slot| !is_taken(slot))
            .ok_or_else(|| {
                let message = format!(
                    "the directory has all {} attributes that it may have of this kind",
                    family.columns(access, kind)
                );
                Refusal::new(Code::IllegalCommand, message)
            })
    }

    /// Return the attributes that need a value and are not among `given`.
    pub fn missing<'a>(&'a self, given: &[&str]) -> Vec<&'a str> {
        let required = self.attributes.iter().filter(|one| one.is_required);
        required
            .map(|one| &*one.name)
            .filter(|name| !given.contains(name))
            .collect()
    }
}

/// Refuse a name that no attribute may have.
///
/// # Errors
///
/// It is not a letter or `_` followed by letters, digits and `_`, is too long, or is `FILE`.
pub fn check_attribute_name(name: &str) -> Answer<()> {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_fine = begins
        && letters.all(|c| c.is_alphanumeric() || c == '_')
        && name.chars().count() <= NAME_CHARACTERS
        && name != FILE;
    if is_fine {
        return Ok(());
    }
    let message = format!(
        "`{}` cannot be an attribute; use up to {NAME_CHARACTERS} letters, digits and `_`, not `{FILE}`",
        name.escape_debug()
    );
    Err(Refusal::new(Code::IllegalCommand, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_taken_one_by_one() {
        let mut layout = Layout::default();
        for number in 0..4 {
            let slot = layout
                .free_slot(Family::Narrow, Access::Plain, &Type::Int)
                .unwrap();
            assert_eq!(slot.number, number);
            layout.attributes.push(Attribute {
                name: format!("a{number}"),
                shown: "int".into(),
                of: Type::Int,
                slot,
                is_required: number == 3,
            });
        }
        let full = layout.free_slot(Family::Narrow, Access::Plain, &Type::Int);
        assert_eq!(full.unwrap_err().code, Code::IllegalCommand);
        assert_eq!(layout.missing(&["a0"]), ["a3"]);
        assert_eq!(
            layout.attribute("a9").unwrap_err().code,
            Code::NoSuchAttribute
        );
        let text = serde_json::to_string(&layout).unwrap();
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), layout);
    }

    #[test]
    fn names_of_attributes_are_words() {
        for name in ["a", "_b1", "événement"] {
            assert!(check_attribute_name(name).is_ok(), "{name}");
        }
        for name in ["", "1a", "a b", "a:b", "FILE", "a;DROP"] {
            assert!(check_attribute_name(name).is_err(), "{name}");
        }
    }
}
