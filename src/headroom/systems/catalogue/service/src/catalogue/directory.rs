//! A directory, as its row says it, and what a person may do in it.

use std::collections::BTreeSet;

use super::layout::Layout;
use super::path::Path;
use super::rights::{Acl, Rights};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::Value;

/// The person who may do all.
pub const ROOT: &str = "root";

/// The group of all who are let in.
pub const ANYUSER: &str = "system:anyuser";

/// A person with groups, as they were at an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name.
    pub name: String,
    /// Full names of the groups.
    pub groups: BTreeSet<String>,
    /// The epoch of users and groups.
    pub epoch: i64,
}

impl Person {
    /// Return whether all is allowed.
    pub fn is_root(&self) -> bool {
        self.name == ROOT
    }
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The number, by which entries belong to it.
    pub id: i64,
    /// Where it is.
    pub path: Path,
    /// The owner.
    pub owner: String,
    /// Rights of the owner.
    pub mode: Rights,
    /// Rights of groups.
    pub acl: Acl,
    /// Counts changes of this row.
    pub version: i64,
    /// Attributes and rules.
    pub layout: Layout,
}

/// Columns of a directory, in the order that [`Directory::of_row`] reads.
pub const COLUMNS: &str = "id, path, owner, mode, acl, version, layout";

impl Directory {
    /// Return the statement that finds the directory of a path.
    pub fn query(path: &Path) -> Sql {
        let mut query = Sql::new("SELECT ");
        query.text(COLUMNS).text(" FROM directory WHERE path = ");
        query.bind(Value::Text(path.text().to_owned()));
        query
    }

    /// Return the query `SELECT …` over the entries, table `e0`.
    pub fn entries(&self, select: &'static str) -> Sql {
        let mut query = Sql::new(select);
        query
            .text(" FROM ")
            .text(self.layout.family.table())
            .text(" AS e0 WHERE e0.dir = ")
            .bind(Value::Integer(self.id));
        query
    }

    /// Return the query `SELECT …` over the entry of a name.
    pub fn entry(&self, select: &'static str, name: &str) -> Sql {
        let mut query = self.entries(select);
        query
            .text(" AND e0.name = ")
            .bind(Value::Text(name.to_owned()));
        query
    }

    /// Return the directory of a row.
    ///
    /// # Errors
    ///
    /// If the row cannot be understood: another version of the service wrote it.
    pub fn of_row(row: &[Value]) -> Answer<Self> {
        let [
            Value::Integer(id),
            Value::Text(path),
            Value::Text(owner),
            Value::Integer(mode),
            Value::Text(acl),
            Value::Integer(version),
            Value::Text(layout),
        ] = row
        else {
            return Err(unreadable("a row of the directories"));
        };
        Ok(Self {
            id: *id,
            path: Path::root().resolve(path)?,
            owner: owner.clone(),
            mode: Rights::of_number(*mode),
            acl: Acl::of_searchable(acl),
            version: *version,
            layout: serde_json::from_str(layout).map_err(|_| unreadable(path))?,
        })
    }

    /// Return the rights of a person: those of the owner and of the groups add up.
    pub fn rights(&self, person: &Person) -> Rights {
        if person.is_root() {
            return Rights::ALL;
        }
        let groups = self.acl.rights_of(person.groups.iter().map(String::as_str));
        if self.owner == person.name {
            groups.and(self.mode)
        } else {
            groups
        }
    }

    /// Refuse a person without these rights on the directory.
    ///
    /// # Errors
    ///
    /// The rights that are missing.
    pub fn demand(&self, person: &Person, wanted: Rights) -> Answer<()> {
        let has = self.rights(person);
        if has.include(wanted) {
            return Ok(());
        }
        let message = format!(
            "`{}` has `{has}` on {}, which needs `{wanted}`",
            person.name,
            self.path.text()
        );
        Err(Refusal::new(Code::PermissionDenied, message))
    }

    /// Refuse who is neither the owner nor root.
    ///
    /// # Errors
    ///
    /// The owner.
    pub fn demand_owner(&self, person: &Person) -> Answer<()> {
        if person.is_root() || self.owner == person.name {
            return Ok(());
        }
        let message = format!("{} belongs to `{}`", self.path.text(), self.owner);
        Err(Refusal::new(Code::PermissionDenied, message))
    }

    /// Append ` AND …`, which holds for entries of table `e<table>` on which a person has a right;
    /// nothing if it holds for all of them.
    ///
    /// # Errors
    ///
    /// No entry can be allowed.
    pub fn only_allowed(
        &self,
        person: &Person,
        wanted: Rights,
        table: u16,
        condition: &mut Sql,
    ) -> Answer<()> {
        if person.is_root() {
            return Ok(());
        }
        if !self.layout.has_owners {
            return self.demand(person, wanted);
        }
        let column = |condition: &mut Sql, name: &'static str| {
            condition.text("e").number(i64::from(table)).text(name);
        };
        condition.text(" AND (");
        column(condition, ".owner = ");
        condition
            .bind(Value::Text(person.name.clone()))
            .text(" AND (");
        column(condition, ".mode & ");
        condition
            .number(wanted.number())
            .text(") = ")
            .number(wanted.number());
        if self.rights(person).include(wanted) {
            condition.text(" OR ");
            column(condition, ".acl = ''");
        }
        for group in person.groups.iter().filter(|_| self.layout.has_acls) {
            condition
                .text(" OR ")
                .by_dialect(["instr(", "strpos(", "instr("]);
            column(condition, ".acl, ");
            condition
                .by_dialect(["", "CAST(", ""])
                .bind(Value::Text(format!(";{}={group};", letter(wanted))))
                .by_dialect([")", " AS text))", ")"])
                .text(" > 0");
        }
        condition.text(")");
        Ok(())
    }
}

/// Return the letter of a single right.
fn letter(right: Rights) -> &'static str {
    match right {
        Rights::READ => "r",
        Rights::WRITE => "w",
        _ => "x",
    }
}

fn unreadable(place: &str) -> Refusal {
    let message = format!("{place} cannot be read; was it written by a newer version?");
    Refusal::new(Code::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::Dialect;

    fn directory() -> Directory {
        let mut acl = Acl::default();
        acl.0.insert("ann:readers".into(), Rights::READ);
        Directory {
            id: 7,
            path: Path::root().resolve("/jobs").unwrap(),
            owner: "ann".into(),
            mode: Rights::ALL,
            acl,
            version: 1,
            layout: Layout::default(),
        }
    }

    fn person(name: &str, groups: &[&str]) -> Person {
        Person {
            name: name.into(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            epoch: 0,
        }
    }

    #[test]
    fn rights_of_owner_groups_and_root() {
        let directory = directory();
        let rights = |name, groups: &[&str]| directory.rights(&person(name, groups)).to_string();
        assert_eq!(rights("ann", &[]), "rwx");
        assert_eq!(rights("bob", &["ann:readers"]), "r--");
        assert_eq!(rights("bob", &[ANYUSER]), "---");
        assert_eq!(rights(ROOT, &[]), "rwx");
        let bob = person("bob", &[]);
        let refused = directory.demand(&bob, Rights::WRITE).unwrap_err();
        assert_eq!(
            refused.message,
            "`bob` has `---` on /jobs, which needs `-w-`"
        );
        assert!(directory.demand_owner(&bob).is_err());
    }

    #[test]
    fn entries_without_owners_are_allowed_or_refused_together() {
        let directory = directory();
        let mut condition = Sql::default();
        let bob = person("bob", &["ann:readers"]);
        directory
            .only_allowed(&bob, Rights::READ, 0, &mut condition)
            .unwrap();
        assert_eq!(condition, Sql::default());
        let refused = directory.only_allowed(&bob, Rights::WRITE, 0, &mut condition);
        assert_eq!(refused.unwrap_err().code, Code::PermissionDenied);
    }

    #[test]
    fn entries_with_owners_are_filtered() {
        let mut directory = directory();
        directory.layout.has_owners = true;
        directory.layout.has_acls = true;
        let mut condition = Sql::default();
        let bob = person("bob", &["x:y"]);
        directory
            .only_allowed(&bob, Rights::READ, 2, &mut condition)
            .unwrap();
        let (text, values) = condition.render(Dialect::Sqlite);
        assert_eq!(
            text,
            " AND (e2.owner = ? AND (e2.mode & 4) = 4 OR instr(e2.acl, ?) > 0)"
        );
        assert_eq!(values[1].0, Value::Text(";r=x:y;".into()));
    }
}
