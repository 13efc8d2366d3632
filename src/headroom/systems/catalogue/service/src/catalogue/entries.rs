//! Commands that change entries.

use std::sync::Arc;

use super::client::{Client, Ended, Tried};
use super::constraints::{Rules, Touched};
use super::directory::{Directory, Person};
use super::guard::{Guard, Use};
use super::layout::{Attribute, FILE};
use super::path::{Path, check_name, split_last};
use super::reading::{and_name, is_file};
use super::rights::Rights;
use super::scope::Scope;
use super::text;
use crate::language::expression::Expression;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Slot, Sql};
use crate::store::{Expect, Outcome, Step};
use crate::value::Value;

/// Entries that one `addentries` takes.
pub(super) const MAX_AT_ONCE: usize = 10_000;

/// A new entry.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub name: String,
    pub values: Vec<(Slot, Value)>,
}

impl Row {
    /// Return the row of a name and of texts for attributes.
    pub fn of(directory: &Directory, name: &str, pairs: &[(&str, &str)]) -> Answer<Self> {
        check_name(name)?;
        let given: Vec<_> = pairs.iter().map(|(attribute, _)| *attribute).collect();
        if let [first, ..] = directory.layout.missing(&given)[..] {
            return Err(required(first));
        }
        let values = pairs
            .iter()
            .map(|(attribute, text)| encoded(directory, attribute, Some(text)));
        Ok(Self {
            name: name.to_owned(),
            values: values.collect::<Answer<_>>()?,
        })
    }

    /// Return the statement that adds the entry; it changes nothing if its name is taken.
    pub fn insertion(&self, directory: &Directory, person: &Person, guard: &Guard) -> Sql {
        let mut sql = Sql::insert_new();
        sql.text(directory.layout.family.table())
            .text(" (dir, name, owner, mode, acl");
        for (slot, _) in &self.values {
            sql.text(", ").slot(*slot);
        }
        sql.text(") SELECT ")
            .bind(Value::Integer(directory.id))
            .text(", ");
        sql.bind(text(&self.name))
            .text(", ")
            .bind(text(&person.name))
            .text(", ");
        sql.number(Rights::ALL.number()).text(", ''");
        for (slot, value) in &self.values {
            sql.text(", ").bind_as(value.clone(), slot.kind);
        }
        sql.text(" FROM authority AS a WHERE a.id = 1");
        guard.and(Use::Write, &mut sql);
        sql.unless_there();
        sql
    }
}

/// Return the column and the value of an attribute; a text that is missing gives none.
fn encoded(directory: &Directory, name: &str, text: Option<&str>) -> Answer<(Slot, Value)> {
    let attribute = directory.layout.attribute(name)?;
    let value = text
        .map_or(Ok(Value::Null), |text| attribute.of.encode(text))
        .map_err(|refusal| Refusal::new(refusal.code, format!("`{name}`: {}", refusal.message)))?;
    if value == Value::Null && attribute.is_required {
        return Err(required(name));
    }
    check_indexed(attribute, &value)?;
    Ok((attribute.slot, value))
}

/// Refuse a text that is too long for the index of its column.
fn check_indexed(attribute: &Attribute, value: &Value) -> Answer<()> {
    use crate::store::{sql::Access, tables::KEY_CHARACTERS};
    match value {
        Value::Text(text)
            if attribute.slot.access != Access::Plain && text.chars().count() > KEY_CHARACTERS =>
        {
            let message = format!(
                "`{}` has an index, so its values have at most {KEY_CHARACTERS} characters",
                attribute.name
            );
            Err(Refusal::new(Code::IllegalQuery, message))
        }
        _ => Ok(()),
    }
}

fn required(name: &str) -> Refusal {
    Refusal::new(Code::Constraint, format!("`{name}` needs a value"))
}

/// Split words into pairs.
pub(super) fn pairs(words: &[String]) -> Answer<Vec<(&str, &str)>> {
    if words.len() % 2 == 1 {
        let message = "each attribute needs a value";
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    let found: Vec<_> = words.chunks(2).map(|pair| (&*pair[0], &*pair[1])).collect();
    for (number, (name, _)) in found.iter().enumerate() {
        if found[..number].iter().any(|(other, _)| other == name) {
            let message = format!("`{name}` is given twice");
            return Err(Refusal::new(Code::IllegalCommand, message));
        }
    }
    Ok(found)
}

/// Add an entry with values.
pub(super) async fn addentry(client: &mut Client, path: &str, words: &[String]) -> Answer<Ended> {
    let (path, name) = split_last(&client.here, path)?;
    let directory = client.directory(&path).await?;
    let row = Row::of(&directory, name, &pairs(words)?)?;
    add(client, &directory, &[row]).await
}

/// Add entries without values, all or none of them.
pub(super) async fn addentries(client: &mut Client, paths: &[String]) -> Answer<Ended> {
    if paths.len() > MAX_AT_ONCE {
        let message = format!("at most {MAX_AT_ONCE} entries at once; `upload` takes more");
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    let mut names = Vec::new();
    let mut all: Option<Path> = None;
    for text in paths {
        let (path, name) = split_last(&client.here, text)?;
        if all.get_or_insert_with(|| path.clone()) != &path {
            let message = "all entries have to be in one directory";
            return Err(Refusal::new(Code::IllegalCommand, message));
        }
        names.push(name);
    }
    let directory = client.directory(&all.unwrap_or_else(Path::root)).await?;
    let rows = names.iter().map(|name| Row::of(&directory, name, &[]));
    let rows = rows.collect::<Answer<Vec<_>>>()?;
    add(client, &directory, &rows).await
}

/// Add rows, all or none of them.
pub(super) async fn add(
    client: &mut Client,
    directory: &Arc<Directory>,
    rows: &[Row],
) -> Answer<Ended> {
    let person = client.person().await?;
    directory.demand(&person, Rights::WRITE)?;
    let rules = Rules::of(client, directory, Touched::Added).await?;
    let guard = rules.guard(&person, directory);
    let mut steps = rules.before(&guard);
    let before = steps.len();
    for row in rows {
        let insertion = row.insertion(directory, &person, &guard);
        steps.push(Step::expecting(insertion, Expect::Something));
    }
    for row in rows {
        let mut only = Sql::new(" AND e0.name = ");
        only.bind(text(&row.name));
        steps.extend(rules.after(&only)?);
    }
    let shard = client.catalogue.shard(&directory.path);
    match client.attempt(shard, &guard, steps).await? {
        Tried::Done(_) => Ok(Ended::Done),
        Tried::Stale => Ok(Ended::Stale),
        Tried::Unmet(step, _) => match rows.get(step.wrapping_sub(before)) {
            Some(row) => Err(client.taken(directory, &row.name).await?),
            None => Err(rules.violated(step - before - rows.len())),
        },
    }
}

/// Remove entries.
pub(super) async fn rm(client: &mut Client, pattern: &str) -> Answer<Ended> {
    let (path, last) = split_last(&client.here, pattern)?;
    remove(client, &path, &Pattern::parse(last)?).await
}

/// Remove the entries of a directory whose names fit.
pub(super) async fn remove(client: &mut Client, path: &Path, pattern: &Pattern) -> Answer<Ended> {
    let scope = Scope::of(client, path, true, &[]).await?;
    let sql = delete(&scope);
    change(
        client,
        &scope,
        sql,
        Some(pattern),
        None,
        false,
        Touched::Removed,
    )
    .await
}

pub(super) fn delete(scope: &Scope) -> Sql {
    let mut sql = Sql::default();
    sql.by_dialect(["DELETE FROM ", "DELETE FROM ", "DELETE e0 FROM "])
        .text(scope.first().layout.family.table())
        .text(" AS e0");
    sql
}

/// Change values of entries.
pub(super) async fn setattr(client: &mut Client, pattern: &str, words: &[String]) -> Answer<Ended> {
    let (path, last) = split_last(&client.here, pattern)?;
    let pattern = Pattern::parse(last)?;
    let values = pairs(words)?.into_iter();
    let values: Vec<_> = values.map(|(name, text)| (name, Some(text))).collect();
    set(client, &path, &pattern, &values).await
}

/// Set attributes of entries; a text that is missing removes the value.
pub(super) async fn set(
    client: &mut Client,
    path: &Path,
    pattern: &Pattern,
    values: &[(&str, Option<&str>)],
) -> Answer<Ended> {
    let scope = Scope::of(client, path, true, &[]).await?;
    let mut sql = update(&scope);
    for (number, (name, text)) in values.iter().enumerate() {
        refuse_file(name)?;
        let (slot, value) = encoded(scope.first(), name, *text)?;
        sql.text(if number == 0 { " SET " } else { ", " });
        sql.slot(slot).text(" = ").bind_as(value, slot.kind);
    }
    change(
        client,
        &scope,
        sql,
        Some(pattern),
        None,
        false,
        Touched::Changed,
    )
    .await
}

/// Remove values of an attribute.
pub(super) async fn clearattr(client: &mut Client, pattern: &str, name: &str) -> Answer<Ended> {
    refuse_file(name)?;
    let (path, last) = split_last(&client.here, pattern)?;
    let pattern = Pattern::parse(last)?;
    let scope = Scope::of(client, &path, true, &[]).await?;
    let attribute = scope.first().layout.attribute(name)?;
    if attribute.is_required {
        return Err(required(name));
    }
    let mut sql = update(&scope);
    sql.text(" SET ").slot(attribute.slot).text(" = NULL");
    change(
        client,
        &scope,
        sql,
        Some(&pattern),
        None,
        false,
        Touched::Changed,
    )
    .await
}

/// Return the pattern that only this name fits.
pub(super) fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

pub(super) fn update(scope: &Scope) -> Sql {
    let mut sql = Sql::new("UPDATE ");
    sql.text(scope.first().layout.family.table()).text(" AS e0");
    sql
}

/// Append which entries a change is about. A person has to be allowed to read what a condition or a new
/// value names, or else the change, or its error, would tell.
pub(super) fn conditions(
    scope: &Scope,
    pattern: Option<&Pattern>,
    filter: Option<&Expression>,
    reads: bool,
    sql: &mut Sql,
) -> Answer<()> {
    scope.conditions(Rights::WRITE, sql)?;
    if reads {
        sql.append(scope.allowed(Rights::READ)?);
    }
    if let Some(filter) = filter {
        scope.and_filter(filter, sql)?;
    }
    if let Some(pattern) = pattern {
        and_name(pattern, sql);
    }
    Ok(())
}

/// Complete a change with its conditions and rules, and run it. `reads`: it depends on values.
pub(super) async fn change(
    client: &mut Client,
    scope: &Scope,
    mut sql: Sql,
    pattern: Option<&Pattern>,
    filter: Option<&Expression>,
    reads: bool,
    touched: Touched,
) -> Answer<Ended> {
    let directory = scope.first_shared();
    let rules = Rules::of(client, &directory, touched).await?;
    let guard = rules.guard(&scope.person, &directory);
    conditions(scope, pattern, filter, reads, &mut sql)?;
    guard.and(Use::Write, &mut sql);
    let mut steps = rules.before(&guard);
    let before = steps.len();
    let is_required = filter.is_none();
    let expect = if is_required {
        Expect::Something
    } else {
        Expect::Anything
    };
    steps.push(Step::expecting(sql, expect));
    let mut only = Sql::default();
    if let Some(pattern) = pattern {
        and_name(pattern, &mut only);
    }
    steps.extend(rules.after(&only)?);
    if touched == Touched::Removed {
        steps.push(Step::new(orphans(&directory, pattern)));
    }
    let shard = client.catalogue.shard(&directory.path);
    match client.attempt(shard, &guard, steps).await? {
        Tried::Stale => Ok(Ended::Stale),
        Tried::Done(outcomes) => {
            let is_changed = outcomes.get(before).is_some_and(Outcome::is_something);
            let is_done = is_changed || client.is_current(shard, &guard).await?;
            Ok(if is_done { Ended::Done } else { Ended::Stale })
        }
        Tried::Unmet(step, _) if step > before => Err(rules.violated(step - before - 1)),
        Tried::Unmet(..) => match pattern.and_then(Pattern::literal) {
            Some(name) => {
                client.demand_entry(&directory, &name).await?;
                let message = format!("no right to change {}", directory.path.child(&name));
                Err(Refusal::new(Code::PermissionDenied, message))
            }
            None => Ok(Ended::Done),
        },
    }
}

/// Return the statement that removes the replicas of entries that are gone, among those that a
/// pattern names.
fn orphans(directory: &Directory, pattern: Option<&Pattern>) -> Sql {
    let mut sql = Sql::new("DELETE FROM replica WHERE dir = ");
    sql.bind(Value::Integer(directory.id));
    if let Some(pattern) = pattern {
        let name = Sql::new("replica.name");
        sql.text(" AND ").append(pattern.condition(&name));
    }
    sql.text(" AND NOT EXISTS (SELECT 1 FROM ");
    sql.text(directory.layout.family.table());
    sql.text(" AS e0 WHERE e0.dir = replica.dir AND e0.name = replica.name)");
    sql
}

pub(super) fn refuse_file(name: &str) -> Answer<()> {
    if is_file(name) {
        let message = format!("`{FILE}` is the name of the entry and cannot be changed");
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    Ok(())
}

impl Client {
    /// Refuse if a directory has no entry of this name.
    pub(super) async fn demand_entry(&mut self, directory: &Directory, name: &str) -> Answer<()> {
        let found = self.entry(directory, name).await?;
        if found {
            return Ok(());
        }
        let message = format!("no entry {}", directory.path.child(name));
        Err(Refusal::new(Code::NotFound, message))
    }

    /// Return whether a directory has an entry of this name.
    pub(super) async fn entry(&mut self, directory: &Directory, name: &str) -> Answer<bool> {
        let query = directory.entry("SELECT 1", name);
        let shard = self.catalogue.shard(&directory.path);
        Ok(self.query(shard, query).await?.is_something())
    }

    /// Return why an entry could not be added.
    async fn taken(&mut self, directory: &Directory, name: &str) -> Answer<Refusal> {
        let path = directory.path.child(name);
        Ok(if self.entry(directory, name).await? {
            Refusal::new(Code::Exists, format!("{path} exists"))
        } else {
            let message = format!(
                "{path} has a value that another entry has, which a unique attribute forbids"
            );
            Refusal::new(Code::Constraint, message)
        })
    }
}
