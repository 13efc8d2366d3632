//! Rules that entries keep: required values, unique values, conditions, references.
//!
//! A condition or a reference is checked by a statement after the change, in its transaction. For a
//! reference, the writer keeps the row of the other directory, and a client that removes entries there
//! locks it: so no entry goes while one that refers to it comes.

use std::sync::Arc;

use super::client::{Client, Ended};
use super::directory::{Directory, Person};
use super::guard::Guard;
use super::layout::{FILE, Named, Rule};
use super::path::Path;
use super::scope::Scope;
use crate::language::compile::condition;
use crate::language::parser::parse_expression;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Access, Column, Sql};
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// The effect of a change on entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// It adds some.
    Added,
    /// It changes values.
    Changed,
    /// It removes some.
    Removed,
}

/// The rules that a change of a directory's entries has to keep.
pub(super) struct Rules {
    directory: Arc<Directory>,
    /// Conditions, compiled.
    checks: Vec<(String, Sql)>,
    /// References from here, with the other directory.
    references: Vec<(String, String, Arc<Directory>, String)>,
    /// Directories that refer to this one.
    referring: Vec<Arc<Directory>>,
}

impl Rules {
    /// Return the rules of a directory.
    pub async fn of(
        client: &mut Client,
        directory: &Arc<Directory>,
        touched: Touched,
    ) -> Answer<Self> {
        let mut rules = Self {
            directory: Arc::clone(directory),
            checks: Vec::new(),
            references: Vec::new(),
            referring: Vec::new(),
        };
        if touched != Touched::Added {
            for path in &directory.layout.referenced_by {
                let path = Path::root().resolve(path)?;
                rules.referring.extend(client.find_directory(&path).await?);
            }
        }
        if touched == Touched::Removed {
            return Ok(rules);
        }
        for Named { name, rule } in &directory.layout.rules {
            match rule {
                Rule::Check { condition: text } => {
                    let sql = compiled(client, directory, text).await?;
                    rules.checks.push((name.clone(), sql));
                }
                Rule::Reference {
                    attribute,
                    path,
                    there,
                } => {
                    let other = client.directory(&Path::root().resolve(path)?).await?;
                    rules
                        .references
                        .push((name.clone(), attribute.clone(), other, there.clone()));
                }
            }
        }
        Ok(rules)
    }

    /// Return the guard of a change: the directory and those that it refers to.
    pub fn guard(&self, person: &Person, directory: &Directory) -> Guard {
        let others = self.references.iter().map(|(_, _, other, _)| &**other);
        let mut seen = vec![directory];
        for other in others {
            if seen.iter().all(|one| one.id != other.id) {
                seen.push(other);
            }
        }
        Guard::new(person, seen)
    }

    /// Return the steps before a change: a directory that others refer to is locked.
    pub fn before(&self, guard: &Guard) -> Vec<Step> {
        let is_locked = !self.referring.is_empty();
        let lock = is_locked.then(|| Step::expecting(guard.lock(), Expect::Something));
        lock.into_iter().collect()
    }

    /// Return the steps after a change of the entries for which ` AND …` holds.
    pub fn after(&self, only: &Sql) -> Answer<Vec<Step>> {
        let mut steps = Vec::new();
        for (_, check) in &self.checks {
            let mut query = self.directory.entries("SELECT 1");
            query
                .append(only.clone())
                .text(" AND NOT (")
                .append(check.clone());
            query.text(") LIMIT 1");
            steps.push(Step::expecting(query, Expect::Nothing));
        }
        for (_, attribute, other, there) in &self.references {
            let query = dangling(&self.directory, attribute, other, there, only)?;
            steps.push(Step::expecting(query, Expect::Nothing));
        }
        for referring in &self.referring {
            for (attribute, there) in references_to(referring, &self.directory.path) {
                let nothing = Sql::default();
                let query = dangling(referring, attribute, &self.directory, there, &nothing)?;
                steps.push(Step::expecting(query, Expect::Nothing));
            }
        }
        Ok(steps)
    }

    /// Return the refusal for the step of [`Rules::after`] with this number, counted over entries.
    pub fn violated(&self, step: usize) -> Refusal {
        let checks = self.checks.iter().map(|(name, _)| format!("`{name}`"));
        let references = self.references.iter().map(|(name, ..)| format!("`{name}`"));
        let referring = self.referring.iter().flat_map(|referring| {
            let count = references_to(referring, &self.directory.path).count();
            (0..count).map(|_| format!("a reference of {}", referring.path.text()))
        });
        let all: Vec<_> = checks.chain(references).chain(referring).collect();
        let name = all
            .get(step % all.len().max(1))
            .map_or("a rule", |name| name);
        Refusal::new(Code::Constraint, format!("{name} would be violated"))
    }
}

/// Return the query that finds an entry whose value another directory does not have.
fn dangling(
    from: &Directory,
    attribute: &str,
    to: &Directory,
    there: &str,
    only: &Sql,
) -> Answer<Sql> {
    let mut query = from.entries("SELECT 1");
    query.append(only.clone()).text(" AND ");
    query
        .append(column(from, attribute, 0)?)
        .text(" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ");
    query
        .text(to.layout.family.table())
        .text(" AS e1 WHERE e1.dir = ");
    query
        .bind(Value::Integer(to.id))
        .text(" AND ")
        .append(column(to, there, 1)?);
    query
        .text(" = ")
        .append(column(from, attribute, 0)?)
        .text(") LIMIT 1");
    Ok(query)
}

fn references_to<'a>(
    directory: &'a Directory,
    path: &'a Path,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    directory
        .layout
        .rules
        .iter()
        .filter_map(move |named| match &named.rule {
            Rule::Reference {
                attribute,
                path: to,
                there,
            } if to == path.text() => Some((&**attribute, &**there)),
            _ => None,
        })
}

fn column(directory: &Directory, attribute: &str, table: u16) -> Answer<Sql> {
    if attribute == FILE {
        return Ok(Sql::new(if table == 0 { "e0.name" } else { "e1.name" }));
    }
    let slot = directory.layout.attribute(attribute)?.slot;
    let mut sql = Sql::default();
    sql.column(Column { table, slot });
    Ok(sql)
}

async fn compiled(client: &mut Client, directory: &Directory, text: &str) -> Answer<Sql> {
    let parsed = parse_expression(text)?;
    let scope = Scope::of(client, &directory.path, true, &[&parsed]).await?;
    if scope.count() > 1 {
        let message = "a rule may name attributes of its own directory only";
        return Err(Refusal::new(Code::IllegalQuery, message));
    }
    condition(&parsed, &scope)
}

fn check_new(directory: &Directory, name: &str) -> Answer<()> {
    super::layout::check_attribute_name(name)?;
    if names(directory).any(|known| known == name) {
        return Err(Refusal::new(
            Code::Exists,
            format!("the rule `{name}` exists"),
        ));
    }
    Ok(())
}

fn names(directory: &Directory) -> impl Iterator<Item = &str> {
    directory.layout.rules.iter().map(|named| &*named.name)
}

/// Add a condition: no entry may violate it, now or later.
pub(super) async fn add_check(
    client: &mut Client,
    path: &str,
    name: &str,
    text: &str,
) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    check_new(&directory, name)?;
    let check = compiled(client, &directory, text).await?;
    let mut violated = directory.entries("SELECT 1");
    violated.text(" AND NOT (").append(check).text(") LIMIT 1");
    let mut layout = directory.layout.clone();
    let rule = Rule::Check {
        condition: text.to_owned(),
    };
    layout.rules.push(Named {
        name: name.to_owned(),
        rule,
    });
    let steps = vec![Step::expecting(violated, Expect::Nothing)];
    client
        .change_layout(
            &directory,
            &layout,
            steps,
            "an entry violates the condition",
        )
        .await
}

/// Let an attribute refer to a unique attribute, or to the names, of another directory.
pub(super) async fn add_reference(
    client: &mut Client,
    path: &str,
    name: &str,
    attribute: &str,
    target: &str,
) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let (other, there) = target.rsplit_once(':').unwrap_or((target, FILE));
    let other = client.here.resolve(other)?;
    let (directory, other) = (
        client.directory(&path).await?,
        client.directory(&other).await?,
    );
    check_new(&directory, name)?;
    check_reference(client, &directory, attribute, &other, there)?;
    let mut layout = directory.layout.clone();
    let rule = Rule::Reference {
        attribute: attribute.to_owned(),
        path: other.path.text().to_owned(),
        there: there.to_owned(),
    };
    layout.rules.push(Named {
        name: name.to_owned(),
        rule,
    });
    let mut theirs = other.layout.clone();
    if !theirs
        .referenced_by
        .iter()
        .any(|known| known == directory.path.text())
    {
        theirs.referenced_by.push(directory.path.text().to_owned());
    }
    let changes = [(&*directory, &layout), (&*other, &theirs)];
    let dangling = dangling(&directory, attribute, &other, there, &Sql::default())?;
    let steps = vec![Step::expecting(dangling, Expect::Nothing)];
    client
        .change_layouts(&changes, steps, "an entry refers to nothing")
        .await
}

fn check_reference(
    client: &Client,
    directory: &Directory,
    attribute: &str,
    other: &Directory,
    there: &str,
) -> Answer<()> {
    let refused = |message: &str| Err(Refusal::new(Code::IllegalCommand, message));
    if directory.id == other.id {
        return refused("a directory cannot refer to itself");
    }
    if client.catalogue.shard(&directory.path) != client.catalogue.shard(&other.path) {
        return refused("the other directory is in another database");
    }
    let here = directory.layout.attribute(attribute)?;
    if there == FILE {
        let is_text = here.of.kind() == crate::value::Kind::Text;
        return if is_text {
            Ok(())
        } else {
            refused("a name is a text, the attribute is not")
        };
    }
    let theirs = other.layout.attribute(there)?;
    if theirs.slot.access != Access::Unique {
        return refused("the attribute there needs a unique rule first: `constraint_add_unique`");
    }
    if theirs.of.kind() != here.of.kind()
        || theirs.shown.split('(').next() != here.shown.split('(').next()
    {
        return refused("the two attributes have different types");
    }
    Ok(())
}

/// Remove a rule, or the unique or required rule of an attribute.
pub(super) async fn drop_rule(client: &mut Client, path: &str, name: &str) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let mut layout = directory.layout.clone();
    let count = layout.rules.len();
    layout.rules.retain(|named| named.name != name);
    if layout.rules.len() < count {
        return client
            .change_layout(&directory, &layout, Vec::new(), "")
            .await;
    }
    match layout.attributes.iter_mut().find(|one| one.name == name) {
        Some(attribute) if attribute.is_required => {
            attribute.is_required = false;
            client
                .change_layout(&directory, &layout, Vec::new(), "")
                .await
        }
        Some(attribute) if attribute.slot.access == Access::Unique => {
            super::schema::move_attribute(client, &directory, name, Access::Plain).await
        }
        _ => {
            let message = format!("no rule `{name}`; `constraint_list` shows them");
            Err(Refusal::new(Code::NoSuchName, message))
        }
    }
}

/// Return the rule that an attribute is part of, here or in a directory that refers to it.
pub(super) async fn rule_of(
    client: &mut Client,
    directory: &Arc<Directory>,
    attribute: &str,
) -> Answer<Option<String>> {
    for Named { name, rule } in &directory.layout.rules {
        let is_named = match rule {
            Rule::Check { condition } => {
                let parsed = parse_expression(condition)?;
                parsed.names().iter().any(|known| known.name == attribute)
            }
            Rule::Reference {
                attribute: known, ..
            } => known == attribute,
        };
        if is_named {
            return Ok(Some(format!("`{name}`")));
        }
    }
    let rules = Rules::of(client, directory, Touched::Removed).await?;
    let mut referring = rules.referring.iter();
    let found = referring
        .find(|one| references_to(one, &directory.path).any(|(_, there)| there == attribute));
    Ok(found.map(|one| format!("of a reference in {}", one.path.text())))
}

/// Rules, one per line.
pub(super) async fn list(client: &mut Client, path: &str, reply: &mut Reply<'_>) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let person = client.person().await?;
    directory.demand(&person, super::rights::Rights::SEE)?;
    if !client.is_current_of(&[&directory]).await? {
        return Ok(Ended::Stale);
    }
    reply.columns(1);
    for attribute in &directory.layout.attributes {
        if attribute.is_required {
            super::commands::lines(reply, [format!("not_null {}", attribute.name)]).await?;
        }
        if attribute.slot.access == Access::Unique {
            super::commands::lines(reply, [format!("unique {}", attribute.name)]).await?;
        }
    }
    for Named { name, rule } in &directory.layout.rules {
        let line = match rule {
            Rule::Check { condition } => format!("check {name} {condition}"),
            Rule::Reference {
                attribute,
                path,
                there,
            } => format!("reference {name} {attribute} {path}:{there}"),
        };
        super::commands::lines(reply, [line]).await?;
    }
    Ok(Ended::Done)
}
