//! Commands on directories: make, remove, list, owners, rights.

use std::sync::Arc;

use super::client::{Client, Ended, Streamed, Tried};
use super::commands::lines;
use super::directory::{Directory, ROOT};
use super::guard::{Guard, Use};
use super::layout::Layout;
use super::path::{Path, check_name, split_last};
use super::reading::and_name;
use super::rights::{Acl, Rights};
use super::{new_id, text};
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::server::Session as _;
use crate::store::sql::Sql;
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// The number of the root directory, in every database.
const ROOT_ID: i64 = 1;

/// Return the statement that makes the root directory if there is none.
pub(super) fn make_root() -> Sql {
    let mut sql = insert_directory();
    sql.text(" VALUES (")
        .number(ROOT_ID)
        .text(", '/', NULL, ")
        .bind(text(ROOT))
        .text(", ");
    sql.number(Rights::ALL.number()).text(", '', 1, '{}')");
    sql.unless_there();
    sql
}

fn insert_directory() -> Sql {
    let mut sql = Sql::insert_new();
    sql.text("directory (id, path, parent, owner, mode, acl, version, layout)");
    sql
}

/// Make a directory. Options: `plain` (entries have no owners), `acls` (entries may have a list of
/// groups), `inherit` (attributes of the parent).
pub(super) async fn createdir(
    client: &mut Client,
    path: &str,
    options: &[String],
) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let Some((parent, name)) = path.split() else {
        return Err(Refusal::new(Code::DirectoryExists, "/ exists"));
    };
    check_name(name)?;
    let person = client.person().await?;
    // The root is in every database: take the one where the new directory will be.
    let shard = client.catalogue.shard(&path);
    let parent = client.directory_in(shard, &parent).await?;
    parent.demand(&person, Rights::WRITE)?;
    let layout = if parent.id == ROOT_ID && shard != 0 {
        // Attributes of the root are in the first database alone.
        let rows = client
            .catalogue
            .rows(Directory::query(&parent.path))
            .await?;
        let row = rows
            .first()
            .ok_or_else(|| super::client::no_directory(&parent.path))?;
        new_layout(&Directory::of_row(row)?, options)?
    } else {
        new_layout(&parent, options)?
    };
    let guard = Guard::new(&person, [&*parent]);
    let mut sql = insert_directory();
    sql.text(" SELECT ")
        .bind(Value::Integer(new_id()?))
        .text(", ")
        .bind(text(path.text()));
    sql.text(", ")
        .bind(text(parent.path.text()))
        .text(", ")
        .bind(text(&person.name))
        .text(", ");
    sql.number(Rights::ALL.number())
        .text(", ")
        .bind(text(parent.acl.searchable()));
    sql.text(", 1, ").bind(text(super::schema::json(&layout)?));
    sql.text(" FROM authority AS a WHERE a.id = 1");
    guard.and(Use::Write, &mut sql);
    sql.unless_there();
    let steps = vec![Step::expecting(sql, Expect::Something)];
    match client.attempt(shard, &guard, steps).await? {
        Tried::Done(_) => Ok(Ended::Done),
        Tried::Stale => Ok(Ended::Stale),
        Tried::Unmet(..) => {
            let message = format!("{} exists", path.text());
            Err(Refusal::new(Code::DirectoryExists, message))
        }
    }
}

fn new_layout(parent: &Directory, options: &[String]) -> Answer<Layout> {
    let mut layout = Layout {
        has_owners: true,
        ..Layout::default()
    };
    let mut wants_acls = false;
    for option in options {
        match option.as_str() {
            "plain" => layout.has_owners = false,
            "acls" => wants_acls = true,
            "inherit" => {
                layout.family = parent.layout.family;
                layout.attributes.clone_from(&parent.layout.attributes);
                layout.has_acls |= parent.layout.has_acls;
            }
            other => {
                let message = format!("unknown option `{other}`; use `plain`, `acls` or `inherit`");
                return Err(Refusal::new(Code::IllegalCommand, message));
            }
        }
    }
    if wants_acls && !layout.has_owners {
        let message = "entries of a plain directory have no lists of groups";
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    layout.has_acls = layout.has_owners && (layout.has_acls || wants_acls);
    Ok(layout)
}

/// Remove an empty directory.
pub(super) async fn rmdir(client: &mut Client, path: &str) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let Some((parent, _)) = path.split() else {
        return Err(Refusal::new(Code::PermissionDenied, "/ stays"));
    };
    let shard = client.catalogue.shard(&path);
    let parent = client.directory_in(shard, &parent).await?;
    let person = client.person().await?;
    parent.demand(&person, Rights::WRITE)?;
    directory.demand(&person, Rights::WRITE)?;
    if let [referring, ..] = &directory.layout.referenced_by[..] {
        let message = format!("entries of {referring} refer to it");
        return Err(Refusal::new(Code::Constraint, message));
    }
    let guard = Guard::new(&person, [&*directory]);
    let mut steps = vec![
        Step::expecting(guard.lock(), Expect::Something),
        Step::expecting(guard.question(), Expect::Something),
    ];
    let id = Value::Integer(directory.id);
    for (query, key) in [
        ("SELECT 1 FROM entry WHERE dir = ", id.clone()),
        ("SELECT 1 FROM wide WHERE dir = ", id.clone()),
        ("SELECT 1 FROM sequence WHERE dir = ", id),
        ("SELECT 1 FROM directory WHERE parent = ", text(path.text())),
    ] {
        let mut held = Sql::new(query);
        held.bind(key).text(" LIMIT 1");
        steps.push(Step::expecting(held, Expect::Nothing));
    }
    let mut delete = Sql::new("DELETE FROM directory WHERE id = ");
    delete.bind(Value::Integer(directory.id));
    steps.push(Step::expecting(delete, Expect::Something));
    let tried = client.attempt(shard, &guard, steps).await?;
    client.catalogue.cache.forget([&path], "");
    match tried {
        Tried::Done(_) => Ok(Ended::Done),
        Tried::Stale => Ok(Ended::Stale),
        Tried::Unmet(step, _) => {
            let what = ["entries", "entries", "sequences", "directories"];
            let what = what.get(step.wrapping_sub(2)).unwrap_or(&"something");
            let message = format!("{} holds {what}", path.text());
            Err(Refusal::new(Code::NotEmpty, message))
        }
    }
}

/// Directories and entries of a directory whose names fit: name and type.
pub(super) async fn dir(client: &mut Client, text: &str, reply: &mut Reply<'_>) -> Answer<Ended> {
    let (path, pattern) = if let Some(whole) = client.as_directory(text).await? {
        (whole.path.clone(), None)
    } else {
        let (path, last) = split_last(&client.here, text)?;
        (path, Some(Pattern::parse(last)?))
    };
    list(client, &path, pattern.as_ref(), true, reply).await
}

/// Entries of a directory: name and type.
pub(super) async fn listentries(
    client: &mut Client,
    text: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let path = client.here.resolve(text)?;
    list(client, &path, None, false, reply).await
}

async fn list(
    client: &mut Client,
    path: &Path,
    pattern: Option<&Pattern>,
    has_directories: bool,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let directory = client.directory(path).await?;
    let person = client.person().await?;
    directory.demand(&person, Rights::SEE)?;
    let guard = Guard::new(&person, [&*directory]);
    let home = client.catalogue.shard(path);
    reply.columns(2);
    let mut count = 0;
    if has_directories {
        for shard in client.shards_below(path) {
            let mut query = Sql::new("SELECT path, 'collection' FROM directory WHERE parent = ");
            query.bind(Value::Text(path.text().to_owned()));
            if shard == home {
                guard.and(Use::Read, &mut query);
            }
            if let Some(pattern) = pattern {
                query
                    .text(" AND ")
                    .append(pattern.condition(&last_name(path)));
            }
            query.text(" ORDER BY path");
            let show = |_: usize, value: &Value| {
                let shown = super::shown(value);
                shown.rsplit('/').next().unwrap_or(&shown).to_owned()
            };
            let ended = client.stream(shard, &guard, query, reply, &show).await?;
            match ended {
                Streamed::Stale if shard == home && count == 0 => return Ok(Ended::Stale),
                Streamed::Stale => {}
                Streamed::Rows(rows) => count += rows,
            }
        }
    }
    let mut query = directory.entries("SELECT e0.name, 'entry'");
    guard.and(Use::Read, &mut query);
    if let Some(pattern) = pattern {
        and_name(pattern, &mut query);
    }
    query.text(" ORDER BY e0.name");
    let show = |_: usize, value: &Value| super::shown(value);
    match client.stream(home, &guard, query, reply, &show).await? {
        Streamed::Stale if count == 0 => Ok(Ended::Stale),
        Streamed::Stale => {
            let message = "the directory changed while it was listed; list it again";
            Err(Refusal::new(Code::Transaction, message))
        }
        Streamed::Rows(rows) if rows + count == 0 => match pattern.and_then(Pattern::literal) {
            Some(name) => {
                let message = format!("no entry or directory {}", path.child(&name));
                Err(Refusal::new(Code::NotFound, message))
            }
            None => Ok(Ended::Done),
        },
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

/// Return the last name of the paths below a directory, as SQL.
fn last_name(parent: &Path) -> Sql {
    let skipped = parent.child("").chars().count() + 1;
    let mut sql = Sql::new("substr(path, ");
    sql.number(i64::try_from(skipped).unwrap_or(i64::MAX))
        .text(")");
    sql
}

/// Go to a directory.
pub(super) async fn cd(client: &mut Client, text: &str) -> Answer<Ended> {
    let path = client.here.resolve(text)?;
    let directory = client.directory(&path).await?;
    let person = client.person().await?;
    directory.demand(&person, Rights::SEE)?;
    if !client.is_current_of(&[&directory]).await? {
        return Ok(Ended::Stale);
    }
    client.here = path;
    Ok(Ended::Done)
}

/// Type, owner and rights of directories and entries: name, type, owner, rights.
pub(super) async fn stat(client: &mut Client, text: &str, reply: &mut Reply<'_>) -> Answer<Ended> {
    let person = client.person().await?;
    if let Some(directory) = client.as_directory(text).await? {
        directory.demand(&person, Rights::SEE)?;
        if !client.is_current_of(&[&directory]).await? {
            return Ok(Ended::Stale);
        }
        reply.columns(4);
        let name = directory
            .path
            .split()
            .map_or("/", |(_, name)| name)
            .to_owned();
        let mode = directory.mode.to_string();
        lines(
            reply,
            [name, "collection".to_owned(), directory.owner.clone(), mode],
        )
        .await?;
        return Ok(Ended::Done);
    }
    let (path, last) = split_last(&client.here, text)?;
    let pattern = Pattern::parse(last)?;
    let directory = client.directory(&path).await?;
    directory.demand(&person, Rights::SEE)?;
    let guard = Guard::new(&person, [&*directory]);
    let mut query = directory.entries("SELECT e0.name, 'entry', e0.owner, e0.mode");
    guard.and(Use::Read, &mut query);
    and_name(&pattern, &mut query);
    query.text(" ORDER BY e0.name");
    reply.columns(4);
    let show = |column: usize, value: &Value| match (column, value) {
        (3, Value::Integer(mode)) => Rights::of_number(*mode).to_string(),
        _ => super::shown(value),
    };
    let shard = client.catalogue.shard(&path);
    match client.stream(shard, &guard, query, reply, &show).await? {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(0) => super::reading::not_found(&path, &pattern),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

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

impl Client {
    /// Return the databases that may have directories right below a path.
    pub(super) fn shards_below(&self, path: &Path) -> std::ops::Range<usize> {
        let shard = self.catalogue.shard(path);
        if path.first().is_none() {
            0..self.catalogue.store.shards()
        } else {
            shard..shard + 1
        }
    }

    /// Return a directory as a database has it: the root is in each.
    async fn directory_in(&mut self, shard: usize, path: &Path) -> Answer<Arc<Directory>> {
        if self.catalogue.shard(path) == shard {
            return self.directory(path).await;
        }
        let found = self.query(shard, Directory::query(path)).await?;
        let row = found
            .rows
            .first()
            .ok_or_else(|| super::client::no_directory(path))?;
        Ok(Arc::new(Directory::of_row(row)?))
    }
}
