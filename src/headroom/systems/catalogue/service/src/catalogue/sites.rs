//! Sites, and the replicas of entries at them.

use super::client::{Client, Ended, Tried};
use super::commands::lines;
use super::guard::{Guard, Use};
use super::path::split_last;
use super::rights::Rights;
use super::{shown, text};
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// Add a site with its configuration.
pub(super) async fn site_add(client: &mut Client, name: &str, config: &str) -> Answer<Ended> {
    demand_root(client).await?;
    let id = super::new_id()? & 0x7fff_ffff;
    let mut sql = Sql::insert_new();
    sql.text("site (id, name, config) VALUES (")
        .bind(Value::Integer(id))
        .text(", ");
    sql.bind(text(name)).text(", ").bind(text(config)).text(")");
    sql.unless_there();
    let exists = Refusal::new(Code::Exists, format!("the site `{name}` exists"));
    change(
        client,
        vec![Step::expecting(sql, Expect::Something)],
        exists,
    )
    .await
}

/// Remove a site without replicas.
pub(super) async fn site_remove(client: &mut Client, name: &str) -> Answer<Ended> {
    demand_root(client).await?;
    let id = site(client, name).await?;
    for shard in 0..client.catalogue.store.shards() {
        let mut used = Sql::new("SELECT 1 FROM replica WHERE site = ");
        used.bind(Value::Integer(id)).text(" LIMIT 1");
        let ran = client
            .catalogue
            .store
            .run(shard, vec![Step::expecting(used, Expect::Nothing)]);
        if ran.await?.failed.is_some() {
            let message = format!("the site `{name}` has replicas");
            return Err(Refusal::new(Code::NotEmpty, message));
        }
    }
    let mut sql = Sql::new("DELETE FROM site WHERE id = ");
    sql.bind(Value::Integer(id));
    change(
        client,
        vec![Step::expecting(sql, Expect::Something)],
        no_site(name),
    )
    .await
}

/// Sites: `<id> <name> <config>`.
pub(super) async fn site_list(client: &mut Client, reply: &mut Reply<'_>) -> Answer<Ended> {
    reply.columns(1);
    let query = Sql::new("SELECT id, name, config FROM site ORDER BY name");
    for row in client.catalogue.rows(query).await? {
        let words: Vec<_> = row.iter().map(shown).collect();
        lines(reply, [words.join(" ")]).await?;
    }
    Ok(Ended::Done)
}

/// Let an entry have replicas at sites; with `-c` the entry is made.
pub(super) async fn register(client: &mut Client, words: &[String]) -> Answer<Ended> {
    let (is_new, words) = option(words, "-c");
    let [path, sites @ ..] = words else {
        return Err(usage("replica_register [-c] <entry> <site> ..."));
    };
    let is_own = is_new && client.begin_implicit();
    let result = register_inside(client, is_new, path, sites).await;
    client.end_implicit(is_own, result).await
}

async fn register_inside(
    client: &mut Client,
    is_new: bool,
    path: &str,
    sites: &[String],
) -> Answer<Ended> {
    if is_new && super::entries::addentry(client, path, &[]).await? == Ended::Stale {
        return Ok(Ended::Stale);
    }
    let mut ids = Vec::new();
    for name in sites {
        ids.push(site(client, name).await?);
    }
    let ended = write(client, path, |directory, name, guard| {
        let insertions = ids.iter().map(|id| {
            let mut sql = Sql::insert_new();
            sql.text("replica (dir, name, site) SELECT ")
                .bind(Value::Integer(directory));
            sql.text(", ")
                .bind(text(name))
                .text(", ")
                .bind(Value::Integer(*id));
            sql.text(" FROM authority AS a WHERE a.id = 1");
            guard.and(Use::Write, &mut sql);
            sql.unless_there();
            sql
        });
        insertions.collect()
    })
    .await?;
    if is_new && ended == Ended::Stale {
        let message = "the directory changed meanwhile; try again";
        return Err(Refusal::new(Code::Transaction, message));
    }
    Ok(ended)
}

/// Remove all replicas of an entry; with `-d` the entry goes as well.
pub(super) async fn unregister(client: &mut Client, words: &[String]) -> Answer<Ended> {
    let (is_last, words) = option(words, "-d");
    let [path] = words else {
        return Err(usage("replica_unregister [-d] <entry>"));
    };
    let ended = write(client, path, |directory, name, guard| {
        let mut sql = Sql::new("DELETE FROM replica WHERE dir = ");
        sql.bind(Value::Integer(directory))
            .text(" AND name = ")
            .bind(text(name));
        guard.and(Use::Write, &mut sql);
        vec![sql]
    })
    .await?;
    if ended == Ended::Done && is_last {
        let (path, name) = split_last(&client.here, path)?;
        return super::entries::remove(client, &path, &Pattern::exact(name)).await;
    }
    Ok(ended)
}

/// Sites of the replicas of entries: `<entry> <site id> <site id> ...`.
pub(super) async fn list(
    client: &mut Client,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let (_, paths) = option(words, "-l");
    let mut found = Vec::new();
    for text_of in paths {
        let (path, name) = split_last(&client.here, text_of)?;
        let directory = client.directory(&path).await?;
        let person = client.person().await?;
        directory.demand(&person, Rights::READ)?;
        let guard = Guard::new(&person, [&*directory]);
        let shard = client.catalogue.shard(&path);
        let mut query = Sql::new("SELECT site FROM replica WHERE dir = ");
        query
            .bind(Value::Integer(directory.id))
            .text(" AND name = ")
            .bind(text(name));
        guard.and(Use::Read, &mut query);
        query.text(" ORDER BY site");
        let rows = client.query(shard, query).await?.rows;
        if rows.is_empty() {
            if !client.is_current(shard, &guard).await? {
                return Ok(Ended::Stale);
            }
            client.demand_entry(&directory, name).await?;
        }
        let sites = rows.iter().map(|row| format!(" {}", shown(&row[0])));
        found.push(format!("{}{}", path.child(name), sites.collect::<String>()));
    }
    reply.columns(1);
    lines(reply, found).await?;
    Ok(Ended::Done)
}

/// Run statements on the replicas of an entry that exists.
async fn write(
    client: &mut Client,
    path: &str,
    statements: impl Fn(i64, &str, &Guard) -> Vec<Sql>,
) -> Answer<Ended> {
    let (path, name) = split_last(&client.here, path)?;
    let directory = client.directory(&path).await?;
    let person = client.person().await?;
    directory.demand(&person, Rights::WRITE)?;
    let guard = Guard::new(&person, [&*directory]);
    let mut exists = directory.entry("SELECT 1", name);
    guard.and(Use::Read, &mut exists);
    let mut steps = vec![Step::expecting(exists, Expect::Something)];
    steps.extend(
        statements(directory.id, name, &guard)
            .into_iter()
            .map(Step::new),
    );
    let shard = client.catalogue.shard(&path);
    match client.attempt(shard, &guard, steps).await? {
        Tried::Done(_) => Ok(Ended::Done),
        Tried::Stale => Ok(Ended::Stale),
        Tried::Unmet(..) => {
            let message = format!("no entry {}", path.child(name));
            Err(Refusal::new(Code::NotFound, message))
        }
    }
}

fn option<'a>(words: &'a [String], option: &str) -> (bool, &'a [String]) {
    match words {
        [first, rest @ ..] if first == option => (true, rest),
        _ => (false, words),
    }
}

fn usage(usage: &str) -> Refusal {
    Refusal::new(Code::IllegalCommand, format!("usage: {usage}"))
}

async fn site(client: &Client, name: &str) -> Answer<i64> {
    let mut query = Sql::new("SELECT id FROM site WHERE name = ");
    query.bind(text(name));
    match client
        .catalogue
        .rows(query)
        .await?
        .first()
        .map(|row| row[0].clone())
    {
        Some(Value::Integer(id)) => Ok(id),
        _ => Err(no_site(name)),
    }
}

fn no_site(name: &str) -> Refusal {
    Refusal::new(Code::NoSuchName, format!("no site `{name}`"))
}

async fn demand_root(client: &mut Client) -> Answer<()> {
    if client.person().await?.is_root() {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PermissionDenied,
        "only root may do this",
    ))
}

async fn change(client: &mut Client, steps: Vec<Step>, unmet: Refusal) -> Answer<Ended> {
    let ran = client.catalogue.store.run(0, steps).await?;
    if ran.failed.is_some() {
        return Err(unmet);
    }
    Ok(Ended::Done)
}
