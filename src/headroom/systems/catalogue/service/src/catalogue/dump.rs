//! `dump`: the commands that make a directory and all below it again. In none of them is the name of a
//! directory or an entry a pattern, as people choose names.

use std::fmt::Write as _;
use std::sync::Arc;

use super::client::{Client, Ended, gone};
use super::directory::Directory;
use super::guard::{Guard, Use};
use super::layout::{Layout, Named, Rule};
use super::path::Path;
use super::rights::{Acl, Rights};
use super::{shown, text};
use crate::language::words::quoted;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Access, Column, Sql};
use crate::value::Value;
use crate::wire::reply::Reply;

/// Entries that are read at once.
const PAGE: i64 = 1000;

/// Write the commands. Each page of entries is as it was at one moment.
pub(super) async fn dump(client: &mut Client, path: &str, reply: &mut Reply<'_>) -> Answer<Ended> {
    let first = client.here.resolve(path)?;
    let mut rules = Vec::new();
    let mut waiting = vec![first];
    reply.columns(1);
    while let Some(path) = waiting.pop() {
        let directory = client.directory(&path).await?;
        let person = client.person().await?;
        directory.demand(&person, Rights::READ)?;
        directory.demand(&person, Rights::SEE)?;
        let guard = Guard::new(&person, [&*directory]);
        for line in schema(&directory) {
            reply.line(&line).await.map_err(gone)?;
        }
        rules.extend(rules_of(&directory));
        entries(client, &directory, &guard, reply).await?;
        sequences(client, &directory, reply).await?;
        waiting.extend(children(client, &directory).await?);
    }
    // A reference needs the unique rule of the other directory.
    rules.sort_by_key(|line| line.starts_with("constraint_add_reference "));
    for line in rules {
        reply.line(&line).await.map_err(gone)?;
    }
    Ok(Ended::Done)
}

fn schema(directory: &Directory) -> Vec<String> {
    let path = quoted(directory.path.text());
    let Layout {
        has_owners,
        has_acls,
        ..
    } = directory.layout;
    let mut lines = Vec::new();
    if directory.path != Path::root() {
        let options = [(!has_owners, " plain"), (has_acls, " acls")];
        let options = options
            .iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, option)| *option);
        lines.push(format!("createdir {path}{}", options.collect::<String>()));
    }
    for attribute in &directory.layout.attributes {
        lines.push(format!(
            "addattr {path} {} {}",
            attribute.name,
            quoted(&attribute.shown)
        ));
    }
    lines
}

/// Return the last lines: rules that could refuse entries, and rights.
fn rules_of(directory: &Directory) -> Vec<String> {
    let path = quoted(directory.path.text());
    let mut lines = Vec::new();
    for attribute in &directory.layout.attributes {
        let name = &attribute.name;
        match attribute.slot.access {
            Access::Unique => lines.push(format!("constraint_add_unique {path} {name}")),
            Access::Indexed => lines.push(format!("index_create {path} {name}")),
            Access::Plain => {}
        }
        if attribute.is_required {
            lines.push(format!("constraint_add_not_null {path} {name}"));
        }
    }
    for Named { name, rule } in &directory.layout.rules {
        lines.push(match rule {
            Rule::Check { condition } => {
                format!("constraint_add_check {path} {name} {}", quoted(condition))
            }
            Rule::Reference {
                attribute,
                path: to,
                there,
            } => {
                let to = quoted(&format!("{to}:{there}"));
                format!("constraint_add_reference {path} {name} {attribute} {to}")
            }
        });
    }
    let Directory {
        owner, mode, acl, ..
    } = directory;
    lines.push(format!(
        "restore_directory {path} {}",
        rights(owner, *mode, acl)
    ));
    lines
}

async fn entries(
    client: &mut Client,
    directory: &Arc<Directory>,
    guard: &Guard,
    reply: &mut Reply<'_>,
) -> Answer<()> {
    let shard = client.catalogue.shard(&directory.path);
    let person = client.person().await?;
    let mut after = None;
    loop {
        let mut query = Sql::new("SELECT e0.name, e0.owner, e0.mode, e0.acl");
        for attribute in &directory.layout.attributes {
            let slot = attribute.slot;
            query.text(", ").column(Column { table: 0, slot });
        }
        query
            .text(" FROM ")
            .text(directory.layout.family.table())
            .text(" AS e0 WHERE e0.dir = ");
        query.bind(Value::Integer(directory.id));
        directory.only_allowed(&person, Rights::READ, 0, &mut query)?;
        guard.and(Use::Read, &mut query);
        if let Some(name) = after {
            query.text(" AND e0.name > ").bind(text(name));
        }
        query.text(" ORDER BY e0.name LIMIT ").number(PAGE);
        let rows = client.query(shard, query).await?.rows;
        if rows.is_empty() && !client.is_current(shard, guard).await? {
            let message = "the directory changed while it was dumped; dump it again";
            return Err(Refusal::new(Code::Transaction, message));
        }
        for row in &rows {
            for line in entry(directory, row) {
                reply.line(&line).await.map_err(gone)?;
            }
        }
        match rows.last() {
            Some(row) if rows.len() == usize::try_from(PAGE).unwrap_or(0) => {
                after = Some(shown(&row[0]));
            }
            _ => return Ok(()),
        }
    }
}

/// Write the commands that make sequences, which then continue.
async fn sequences(
    client: &mut Client,
    directory: &Directory,
    reply: &mut Reply<'_>,
) -> Answer<()> {
    let mut query = Sql::new("SELECT name, step, next FROM sequence WHERE dir = ");
    query
        .bind(Value::Integer(directory.id))
        .text(" ORDER BY name");
    let shard = client.catalogue.shard(&directory.path);
    for row in client.query(shard, query).await?.rows {
        let (name, path) = (quoted(&shown(&row[0])), quoted(directory.path.text()));
        let (step, next) = (shown(&row[1]), shown(&row[2]));
        let line = format!("sequence_create {name} {path} {step} {next}");
        reply.line(&line).await.map_err(gone)?;
    }
    Ok(())
}

/// Return the commands that make an entry.
fn entry(directory: &Directory, row: &[Value]) -> Vec<String> {
    let path = quoted(&directory.path.child(&shown(&row[0])));
    let mut line = format!("addentry {path}");
    for (attribute, value) in directory.layout.attributes.iter().zip(&row[4..]) {
        if *value != Value::Null {
            let value = quoted(&attribute.of.decode(value));
            let _ = write!(line, " {} {value}", attribute.name);
        }
    }
    let mut lines = vec![line];
    if directory.layout.has_owners {
        let acl = Acl::of_searchable(&shown(&row[3]));
        if let Value::Integer(mode) = row[2] {
            let mode = Rights::of_number(mode);
            let rights = rights(&shown(&row[1]), mode, &acl);
            lines.push(format!("restore_entry {path} {rights}"));
        }
    }
    lines
}

/// Return owner, mode and groups with their rights: none of these names needs quotes.
fn rights(owner: &str, mode: Rights, acl: &Acl) -> String {
    let groups = acl
        .0
        .iter()
        .map(|(group, rights)| format!(" {group} {rights}"));
    format!("{owner} {mode}{}", groups.collect::<String>())
}

async fn children(client: &mut Client, directory: &Directory) -> Answer<Vec<Path>> {
    let mut found = Vec::new();
    for shard in client.shards_below(&directory.path) {
        let mut query = Sql::new("SELECT path FROM directory WHERE parent = ");
        query.bind(text(directory.path.text()));
        for row in client.query(shard, query).await?.rows {
            found.push(Path::root().resolve(&shown(&row[0]))?);
        }
    }
    // The first is taken from the end; the order must not depend on which database has which.
    found.sort_unstable_by(|one: &Path, other| other.cmp(one));
    Ok(found)
}
