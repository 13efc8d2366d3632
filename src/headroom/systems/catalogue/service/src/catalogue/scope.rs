//! The directories of a query: which names mean which columns, and which entries may be seen.

use std::sync::Arc;

use super::client::Client;
use super::directory::{Directory, Person};
use super::guard::Guard;
use super::layout::{Attribute, FILE};
use super::path::Path;
use super::rights::Rights;
use crate::language::compile::{Meaning, Names, condition};
use crate::language::expression::{AttributeName, Expression};
use crate::language::native::Table;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Column, Sql};
use crate::store::tables::KEY_CHARACTERS;
use crate::value::{Type, Value};

/// Directories that one query joins.
const MAX_DIRECTORIES: usize = 8;

/// Directories of a query, in the order of its tables `e0`, `e1`, ….
pub struct Scope {
    here: Path,
    /// The directory of names without one; none: the only directory that has the attribute.
    default: Option<Path>,
    directories: Vec<Arc<Directory>>,
    /// Names of the tables in native SQL.
    aliases: Vec<Option<String>>,
    /// The person who asks.
    pub person: Arc<Person>,
}

impl Scope {
    /// Return a scope of `default` and of the directories that expressions name. Names without a
    /// directory mean `default`; it is joined only if a name means it or `is_joined`.
    ///
    /// # Errors
    ///
    /// A directory that does not exist, too many, or of several databases.
    pub async fn of(
        client: &mut Client,
        default: &Path,
        is_joined: bool,
        expressions: &[&Expression],
    ) -> Answer<Self> {
        let mut scope = Self {
            here: client.here.clone(),
            default: Some(default.clone()),
            directories: Vec::new(),
            aliases: Vec::new(),
            person: client.person().await?,
        };
        let mut paths = Vec::new();
        if is_joined {
            paths.push(default.clone());
        }
        for name in expressions.iter().flat_map(|expression| expression.names()) {
            let path = scope.path(name)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            paths.push(default.clone());
        }
        scope.load(client, paths).await?;
        Ok(scope)
    }

    /// Return the scope of a statement in native SQL, which names its directories first. One
    /// directory may be there several times, under several names.
    ///
    /// # Errors
    ///
    /// A directory that does not exist, too many, or of several databases.
    pub async fn of_tables(client: &mut Client, tables: &[Table]) -> Answer<Self> {
        let mut scope = Self {
            here: client.here.clone(),
            default: None,
            directories: Vec::new(),
            aliases: tables.iter().map(|table| table.alias.clone()).collect(),
            person: client.person().await?,
        };
        let paths = tables
            .iter()
            .map(|table| scope.here.resolve(&table.directory));
        let paths = paths.collect::<Answer<Vec<_>>>()?;
        scope.load(client, paths).await?;
        Ok(scope)
    }

    async fn load(&mut self, client: &mut Client, paths: Vec<Path>) -> Answer<()> {
        if paths.len() > MAX_DIRECTORIES {
            let message = format!("a query joins at most {MAX_DIRECTORIES} directories");
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        let shard = client.catalogue.shard(&paths[0]);
        for path in paths {
            if client.catalogue.shard(&path) != shard {
                let message = format!(
                    "{} is in another database; a query joins directories of one",
                    path.text()
                );
                return Err(Refusal::new(Code::IllegalQuery, message));
            }
            self.directories.push(client.directory(&path).await?);
        }
        Ok(())
    }

    /// Return the first directory.
    pub fn first(&self) -> &Directory {
        &self.directories[0]
    }

    /// Return the first directory to keep.
    pub fn first_shared(&self) -> Arc<Directory> {
        Arc::clone(&self.directories[0])
    }

    /// Return how many directories are joined.
    pub fn count(&self) -> usize {
        self.directories.len()
    }

    /// Return the guard of all directories.
    pub fn guard(&self) -> Guard {
        Guard::new(&self.person, self.directories.iter().map(AsRef::as_ref))
    }

    /// Append ` FROM …`.
    pub fn from(&self, query: &mut Sql) {
        for (number, directory) in (0..).zip(&self.directories) {
            query.text(if number == 0 { " FROM " } else { ", " });
            query
                .text(directory.layout.family.table())
                .text(" AS e")
                .number(number);
        }
    }

    /// Append ` WHERE …`: entries of the directories on which the person has a right.
    ///
    /// # Errors
    ///
    /// No entry can be allowed.
    pub fn conditions(&self, wanted: Rights, query: &mut Sql) -> Answer<()> {
        for (number, directory) in (0_i64..).zip(&self.directories) {
            query
                .text(if number == 0 { " WHERE e" } else { " AND e" })
                .number(number)
                .text(".dir = ")
                .bind(Value::Integer(directory.id));
        }
        query.append(self.allowed(wanted)?);
        Ok(())
    }

    /// Append ` AND …`: a condition. One that can fail is evaluated only for entries that the person
    /// may read: a database may take the parts of a condition in any order, and an
    /// error would tell a value of an entry that the person may not see.
    ///
    /// # Errors
    ///
    /// No entry can be allowed, or the condition is none.
    pub fn and_filter(&self, filter: &Expression, query: &mut Sql) -> Answer<()> {
        let allowed = self.allowed(Rights::READ)?;
        let compiled = condition(filter, self)?;
        if filter.can_fail() && allowed.size() > 0 {
            query.text(" AND CASE WHEN 1 = 1").append(allowed);
            query
                .text(" THEN ")
                .append(compiled)
                .text(" ELSE FALSE END");
        } else {
            query.text(" AND ").append(compiled);
        }
        Ok(())
    }

    /// Return ` AND …`: the entries of all directories on which the person has a right; nothing if
    /// that is all of them.
    ///
    /// # Errors
    ///
    /// No entry can be allowed.
    pub fn allowed(&self, wanted: Rights) -> Answer<Sql> {
        let mut allowed = Sql::default();
        for (number, directory) in (0_u16..).zip(&self.directories) {
            directory.only_allowed(&self.person, wanted, number, &mut allowed)?;
        }
        Ok(allowed)
    }

    /// Return a column of each attribute and of the names of entries.
    pub fn all(&self) -> Vec<Meaning> {
        let tables = (0_u16..).zip(&self.directories);
        let columns = tables.flat_map(|(table, directory)| {
            let attributes = directory.layout.attributes.iter();
            let attributes = attributes.map(move |attribute| column(table, attribute));
            std::iter::once(name_of_entry(table)).chain(attributes)
        });
        columns.collect()
    }

    fn path(&self, name: &AttributeName) -> Answer<Path> {
        match (&name.directory, &self.default) {
            (Some(directory), _) => self.here.resolve(directory),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => self.holder(&name.name).map(|found| found.path.clone()),
        }
    }

    /// Return the only directory that has an attribute.
    fn holder(&self, name: &str) -> Answer<&Directory> {
        let has = |one: &&Arc<Directory>| {
            name == FILE || one.layout.attributes.iter().any(|known| known.name == name)
        };
        let mut found = self.directories.iter().filter(has);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => {
                let message = format!("several directories have `{name}`: write which one");
                Err(Refusal::new(Code::IllegalQuery, message))
            }
            (None, _) => self.directories[0]
                .layout
                .attribute(name)
                .map(|_| self.first()),
        }
    }

    /// Return the number of the table that a name means.
    fn table(&self, name: &AttributeName) -> Answer<usize> {
        let alias = |alias: &Option<String>| alias.is_some() && *alias == name.directory;
        if let Some(table) = self.aliases.iter().position(alias) {
            return Ok(table);
        }
        let path = self.path(name)?;
        let mut found = (0..)
            .zip(&self.directories)
            .filter(|(_, one)| one.path == path);
        match (found.next(), found.next()) {
            (Some((table, _)), None) => Ok(table),
            (Some(_), Some(_)) => {
                let message = format!("{} is there twice: use their names", path.text());
                Err(Refusal::new(Code::IllegalQuery, message))
            }
            (None, _) => Err(super::client::no_directory(&path)),
        }
    }
}

impl Names for Scope {
    fn find(&self, name: &AttributeName) -> Answer<Meaning> {
        let number = self.table(name)?;
        let table = u16::try_from(number).unwrap_or(u16::MAX);
        if name.name == FILE {
            return Ok(name_of_entry(table));
        }
        let attribute = self.directories[number].layout.attribute(&name.name)?;
        Ok(column(table, attribute))
    }
}

fn name_of_entry(table: u16) -> Meaning {
    let mut sql = Sql::new("e");
    sql.number(i64::from(table)).text(".name");
    let of = Type::Varchar(u32::try_from(KEY_CHARACTERS).unwrap_or(u32::MAX));
    Meaning { sql, of }
}

fn column(table: u16, attribute: &Attribute) -> Meaning {
    let slot = attribute.slot;
    let mut sql = Sql::default();
    sql.column(Column { table, slot });
    let of = attribute.of.clone();
    Meaning { sql, of }
}
