//! Commands on directories: make, remove, list, owners, rights.

use std::sync::Arc;

use super::client::{Client, Ended, Streamed, Tried};
use super::commands::lines;
use super::directory::{Directory, ROOT};
use super::guard::{Guard, Use};
use super::layout::Layout;
use super::path::{Path, check_name, split_last};
use super::reading::and_name;
use super::rights::Rights;
use super::{new_id, text};
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// The number of the root directory, in every database.
pub(super) const ROOT_ID: i64 = 1;

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

/// Return the query that finds a row if there is the root directory and the person who owns it.
pub(super) fn find_root() -> Sql {
    let mut sql = Sql::new("SELECT d.id FROM directory AS d JOIN person AS p ON p.name = ");
    sql.bind(text(ROOT)).text(" WHERE d.id = ").number(ROOT_ID);
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
