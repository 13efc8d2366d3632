//! Owners and rights of directories and entries: `chown`, `chmod` and the commands of lists of groups.

use std::sync::Arc;

use super::client::{Client, Ended, Tried};
use super::commands::lines;
use super::directory::{ANYUSER, Directory, Person};
use super::entries::pairs;
use super::guard::{Guard, Use};
use super::path::split_last;
use super::people::check_name;
use super::reading::and_name;
use super::rights::{Acl, Rights};
use super::text;
use super::tree::ROOT_ID;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::server::Session as _;
use crate::store::sql::Sql;
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// A change by `chown`, `chmod`, `acl_add` or `acl_remove`.
pub(super) enum Change {
    /// The owner.
    Owner(String),
    /// Rights of the owner.
    Mode(Rights),
    /// Rights of a group; none: the group goes.
    Group(String, Option<Rights>),
    /// Owner, rights and groups, whatever they were.
    All(String, Rights, Acl),
}

impl Change {
    fn has_groups(&self) -> bool {
        match self {
            Self::Owner(_) | Self::Mode(_) => false,
            Self::Group(..) => true,
            Self::All(_, _, acl) => !acl.0.is_empty(),
        }
    }

    /// Append what it sets; a list of groups that changes is read before.
    fn set(&self, sql: &mut Sql) {
        match self {
            Self::Owner(owner) => sql.text("owner = ").bind(text(owner)),
            Self::Mode(mode) => sql.text("mode = ").number(mode.number()),
            Self::Group(..) => sql,
            Self::All(owner, mode, acl) => {
                sql.text("owner = ").bind(text(owner)).text(", mode = ");
                sql.number(mode.number())
                    .text(", acl = ")
                    .bind(text(acl.searchable()))
            }
        };
    }
}

/// Change owner or rights of a directory, or of the entries that a pattern names.
pub(super) async fn change(client: &mut Client, text: &str, change: &Change) -> Answer<Ended> {
    if let Some(directory) = client.as_directory(text).await? {
        return change_directory(client, &directory, change).await;
    }
    let (path, last) = split_last(&client.here, text)?;
    let pattern = Pattern::parse(last)?;
    let directory = client.directory(&path).await?;
    if pattern != Pattern::exact(last) {
        demand_no_name(client, &directory, last).await?;
    }
    change_entries(client, &directory, &pattern, change).await
}

/// Refuse a pattern that is a name as well: dumps of older versions mean the name, and would give
/// away what else the pattern fits.
async fn demand_no_name(client: &mut Client, directory: &Directory, last: &str) -> Answer<()> {
    let path = directory.path.resolve(last)?;
    if client.entry(directory, last).await? || client.find_directory(&path).await?.is_some() {
        let message = format!(
            "`{last}` is a name here and a pattern; `restore_entry` and `restore_directory` take names"
        );
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    Ok(())
}

/// Change rights of the directory or the entry of this path, or of the one entry that it spells out
/// as a pattern.
pub(super) async fn change_one(client: &mut Client, text: &str, change: &Change) -> Answer<Ended> {
    let path = client.here.resolve(text)?;
    if let Some(directory) = client.find_directory(&path).await? {
        return change_directory(client, &directory, change).await;
    }
    let (path, name) = split_last(&client.here, text)?;
    let directory = client.directory(&path).await?;
    let pattern = if client.entry(&directory, name).await? {
        Pattern::exact(name)
    } else {
        Pattern::parse(name)?
    };
    change_entries(client, &directory, &pattern, change).await
}

/// Change owner or rights of the entry of this path.
pub(super) async fn change_entry(
    client: &mut Client,
    text: &str,
    change: &Change,
) -> Answer<Ended> {
    let (path, name) = split_last(&client.here, text)?;
    let directory = client.directory(&path).await?;
    change_entries(client, &directory, &Pattern::exact(name), change).await
}

/// Set owner, rights and groups of a directory.
pub(super) async fn restore_directory(
    client: &mut Client,
    text: &str,
    words: &[String],
) -> Answer<Ended> {
    let path = client.here.resolve(text)?;
    let directory = client.directory(&path).await?;
    change_directory(client, &directory, &all(words)?).await
}

/// Return the change of `<user> <rwx> [<group> <rights>] ...`. Users and groups need not be there: what
/// they leave behind keeps their names, and so does its copy.
pub(super) fn all(words: &[String]) -> Answer<Change> {
    let (owner, mode) = (&words[0], Rights::parse(&words[1])?);
    check_name(owner)?;
    let mut acl = Acl::default();
    for (group, rights) in pairs(&words[2..])? {
        if group != ANYUSER {
            let (owner, short) = group.split_once(':').unwrap_or_default();
            check_name(owner).and(check_name(short))?;
        }
        acl.0.insert(group.to_owned(), Rights::parse(rights)?);
    }
    Ok(Change::All(owner.clone(), mode, acl))
}

async fn change_directory(
    client: &mut Client,
    directory: &Arc<Directory>,
    change: &Change,
) -> Answer<Ended> {
    let person = client.person().await?;
    directory.demand_owner(&person)?;
    demand_gift(client, &person, change).await?;
    let is_in_all = directory.id == ROOT_ID && client.catalogue.store.shards() > 1;
    if is_in_all && client.is_in_transaction() {
        let message = "/ is in each database: it is changed outside of transactions";
        return Err(Refusal::new(Code::Transaction, message));
    }
    let mut set = Sql::new("UPDATE directory SET version = version + 1, ");
    if let Change::Group(group, rights) = change {
        let acl = changed_acl(client, &directory.acl, group, *rights).await?;
        set.text("acl = ").bind(text(acl.searchable()));
    }
    change.set(&mut set);
    set.text(" WHERE id = ").bind(Value::Integer(directory.id));
    let guard = Guard::new(&person, [&**directory]);
    let steps = vec![
        Step::expecting(guard.lock(), Expect::Something),
        Step::expecting(guard.question(), Expect::Something),
        Step::expecting(set.clone(), Expect::Something),
    ];
    let shard = client.catalogue.shard(&directory.path);
    let ended = client
        .changed(shard, &guard, steps, "", [&**directory].into_iter())
        .await?;
    if is_in_all && ended == Ended::Done {
        for other in client
            .shards_below(&directory.path)
            .filter(|other| *other != shard)
        {
            client
                .catalogue
                .store
                .run(other, vec![Step::new(set.clone())])
                .await?;
        }
    }
    Ok(ended)
}

async fn changed_acl(
    client: &mut Client,
    acl: &Acl,
    group: &str,
    rights: Option<Rights>,
) -> Answer<Acl> {
    let mut acl = acl.clone();
    match rights {
        Some(rights) => {
            client.catalogue.demand_group(group).await?;
            acl.0.insert(group.to_owned(), rights);
        }
        None if acl.0.remove(group).is_none() => {
            let message = format!("`{group}` has no rights here");
            return Err(Refusal::new(Code::NoSuchName, message));
        }
        None => {}
    }
    Ok(acl)
}

async fn change_entries(
    client: &mut Client,
    directory: &Arc<Directory>,
    pattern: &Pattern,
    change: &Change,
) -> Answer<Ended> {
    let person = client.person().await?;
    demand_gift(client, &person, change).await?;
    let refused = |message: &str| Err(Refusal::new(Code::IllegalCommand, message));
    if !directory.layout.has_owners {
        return refused("entries of a plain directory have no owners and rights of their own");
    }
    let guard = Guard::new(&person, [&**directory]);
    let mut sql = Sql::new("UPDATE ");
    sql.text(directory.layout.family.table())
        .text(" AS e0 SET ");
    if change.has_groups() && !directory.layout.has_acls {
        return refused("entries here have no lists of groups; make the directory with `acls`");
    }
    if let Change::Group(group, rights) = change {
        return change_entry_acl(client, directory, pattern, group, *rights).await;
    }
    change.set(&mut sql);
    sql.text(" WHERE e0.dir = ")
        .bind(Value::Integer(directory.id));
    if let Change::All(owner, ..) = change
        && !person.is_root()
    {
        // The owner of the directory must not take what belongs to others.
        sql.text(" AND e0.owner = ").bind(text(owner));
    }
    and_owned(&person, directory, &mut sql);
    and_name(pattern, &mut sql);
    guard.and(Use::Write, &mut sql);
    let steps = vec![Step::expecting(sql, Expect::Something)];
    let shard = client.catalogue.shard(&directory.path);
    match client.attempt(shard, &guard, steps).await? {
        Tried::Done(_) => Ok(Ended::Done),
        Tried::Stale => Ok(Ended::Stale),
        Tried::Unmet(..) => not_owned(client, directory, pattern).await,
    }
}

/// Change the list of groups of one entry: it is read and written in one transaction.
async fn change_entry_acl(
    client: &mut Client,
    directory: &Arc<Directory>,
    pattern: &Pattern,
    group: &str,
    rights: Option<Rights>,
) -> Answer<Ended> {
    let is_own = client.begin_implicit();
    let result = change_acl_inside(client, directory, pattern, group, rights).await;
    client.end_implicit(is_own, result).await
}

async fn change_acl_inside(
    client: &mut Client,
    directory: &Arc<Directory>,
    pattern: &Pattern,
    group: &str,
    rights: Option<Rights>,
) -> Answer<Ended> {
    let Some(name) = pattern.literal() else {
        let message = "a list of groups is changed for one entry at a time";
        return Err(Refusal::new(Code::IllegalCommand, message));
    };
    let person = client.person().await?;
    let guard = Guard::new(&person, [&**directory]);
    let shard = client.catalogue.shard(&directory.path);
    let mut query = directory.entry("SELECT e0.acl", &name);
    and_owned(&person, directory, &mut query);
    guard.and(Use::Read, &mut query);
    query.by_dialect(["", " FOR UPDATE OF e0", " FOR UPDATE"]);
    let found = client.query(shard, query).await?;
    let Some(row) = found.rows.first() else {
        if !client.is_current(shard, &guard).await? {
            return Ok(Ended::Stale);
        }
        return not_owned(client, directory, pattern).await;
    };
    let old = Acl::of_searchable(&super::shown(&row[0]));
    let acl = changed_acl(client, &old, group, rights).await?;
    let mut update = Sql::new("UPDATE ");
    update
        .text(directory.layout.family.table())
        .text(" SET acl = ")
        .bind(text(acl.searchable()));
    update
        .text(" WHERE dir = ")
        .bind(Value::Integer(directory.id));
    update.text(" AND name = ").bind(text(&name));
    client.query(shard, update).await?;
    Ok(Ended::Done)
}

fn and_owned(person: &Person, directory: &Directory, sql: &mut Sql) {
    if !person.is_root() && directory.owner != person.name {
        sql.text(" AND e0.owner = ").bind(text(&person.name));
    }
}

async fn not_owned(client: &mut Client, directory: &Directory, pattern: &Pattern) -> Answer<Ended> {
    let Some(name) = pattern.literal() else {
        return Ok(Ended::Done);
    };
    client.demand_entry(directory, &name).await?;
    let message = format!("{} belongs to another person", directory.path.child(&name));
    Err(Refusal::new(Code::PermissionDenied, message))
}

/// Only root gives things away, to persons that exist; others restore rights of what is theirs.
async fn demand_gift(client: &Client, person: &Person, change: &Change) -> Answer<()> {
    match change {
        Change::Owner(owner) if person.is_root() => client.catalogue.demand_person(owner).await,
        Change::All(owner, ..) if person.is_root() || *owner == person.name => Ok(()),
        Change::Mode(_) | Change::Group(..) => Ok(()),
        Change::Owner(_) | Change::All(..) => {
            let message = "only root changes owners";
            Err(Refusal::new(Code::PermissionDenied, message))
        }
    }
}

/// Groups with rights of a directory or an entry: `<group> <rights>`.
pub(super) async fn acl_show(
    client: &mut Client,
    path: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let person = client.person().await?;
    let resolved = client.here.resolve(path)?;
    let acl = if let Some(directory) = client.find_directory(&resolved).await? {
        directory.demand(&person, Rights::SEE)?;
        let is_current = client.is_current_of(&[&directory]).await?;
        is_current.then(|| directory.acl.clone())
    } else {
        entry_acl(client, path).await?
    };
    let Some(acl) = acl else {
        return Ok(Ended::Stale);
    };
    reply.columns(1);
    for (group, rights) in &acl.0 {
        lines(reply, [format!("{group} {rights}")]).await?;
    }
    Ok(Ended::Done)
}

/// Return the list of groups of an entry; nothing if the plan was old.
async fn entry_acl(client: &mut Client, text_of: &str) -> Answer<Option<Acl>> {
    let (path, name) = split_last(&client.here, text_of)?;
    let person = client.person().await?;
    let directory = client.directory(&path).await?;
    directory.demand(&person, Rights::SEE)?;
    let guard = Guard::new(&person, [&*directory]);
    let shard = client.catalogue.shard(&path);
    let mut query = directory.entry("SELECT e0.acl", name);
    guard.and(Use::Read, &mut query);
    match client.query(shard, query).await?.rows.first() {
        Some(row) => Ok(Some(Acl::of_searchable(&super::shown(&row[0])))),
        None if client.is_current(shard, &guard).await? => {
            let message = format!("no entry {}", path.child(name));
            Err(Refusal::new(Code::NotFound, message))
        }
        None => Ok(None),
    }
}
