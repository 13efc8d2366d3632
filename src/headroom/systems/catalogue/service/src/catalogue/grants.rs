//! Owners and rights of directories and entries: `chown`, `chmod` and the commands of lists of groups.

use std::sync::Arc;

use super::client::{Client, Ended, Tried};
use super::commands::lines;
use super::directory::Directory;
use super::guard::{Guard, Use};
use super::path::split_last;
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
}

/// Change owner or rights of a directory, or of entries.
pub(super) async fn change(client: &mut Client, text: &str, change: &Change) -> Answer<Ended> {
    if let Some(directory) = client.as_directory(text).await? {
        return change_directory(client, &directory, change).await;
    }
    let (path, last) = split_last(&client.here, text)?;
    let pattern = Pattern::parse(last)?;
    let directory = client.directory(&path).await?;
    change_entries(client, &directory, &pattern, change).await
}

async fn change_directory(
    client: &mut Client,
    directory: &Arc<Directory>,
    change: &Change,
) -> Answer<Ended> {
    let person = client.person().await?;
    directory.demand_owner(&person)?;
    demand_gift(&person, change)?;
    let is_in_all = directory.id == ROOT_ID && client.catalogue.store.shards() > 1;
    if is_in_all && client.is_in_transaction() {
        let message = "/ is in each database: it is changed outside of transactions";
        return Err(Refusal::new(Code::Transaction, message));
    }
    let mut set = Sql::new("UPDATE directory SET version = version + 1, ");
    match change {
        Change::Owner(owner) => {
            client.catalogue.demand_person(owner).await?;
            set.text("owner = ").bind(text(owner));
        }
        Change::Mode(mode) => drop(set.text("mode = ").number(mode.number())),
        Change::Group(group, rights) => {
            let acl = changed_acl(client, &directory.acl, group, *rights).await?;
            set.text("acl = ").bind(text(acl.searchable()));
        }
    }
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
    demand_gift(&person, change)?;
    let refused = |message: &str| Err(Refusal::new(Code::IllegalCommand, message));
    if !directory.layout.has_owners {
        return refused("entries of a plain directory have no owners and rights of their own");
    }
    let guard = Guard::new(&person, [&**directory]);
    let mut sql = Sql::new("UPDATE ");
    sql.text(directory.layout.family.table())
        .text(" AS e0 SET ");
    match change {
        Change::Owner(owner) => {
            client.catalogue.demand_person(owner).await?;
            sql.text("owner = ").bind(text(owner));
        }
        Change::Mode(mode) => drop(sql.text("mode = ").number(mode.number())),
        Change::Group(..) if !directory.layout.has_acls => {
            return refused("entries here have no lists of groups; make the directory with `acls`");
        }
        Change::Group(group, rights) => {
            return change_entry_acl(client, directory, pattern, group, *rights).await;
        }
    }
    sql.text(" WHERE e0.dir = ")
        .bind(Value::Integer(directory.id));
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

fn and_owned(person: &super::directory::Person, directory: &Directory, sql: &mut Sql) {
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

/// Only root gives things away.
fn demand_gift(person: &super::directory::Person, change: &Change) -> Answer<()> {
    if matches!(change, Change::Owner(_)) && !person.is_root() {
        let message = "only root changes owners";
        return Err(Refusal::new(Code::PermissionDenied, message));
    }
    Ok(())
}

/// Groups with rights of a directory or an entry: `<group> <rights>`.
pub(super) async fn acl_show(
    client: &mut Client,
    path: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let person = client.person().await?;
    let acl = if let Some(directory) = client.as_directory(path).await? {
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
