//! Sequences: numbers that are given out once.

use std::sync::Arc;

use super::client::{Client, Ended, Tried};
use super::commands::lines;
use super::directory::Directory;
use super::guard::{Guard, Use};
use super::path::{check_name, split_last};
use super::rights::Rights;
use super::{shown, text};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Dialect, Sql};
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// Make a sequence in a directory, with a step and a first number.
pub(super) async fn create(
    client: &mut Client,
    name: &str,
    path: &str,
    numbers: &[String],
) -> Answer<Ended> {
    check_name(name)?;
    let step = number(numbers.first(), 1)?;
    let start = number(numbers.get(1), 1)?;
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let guard = writer(client, &directory).await?;
    let mut sql = Sql::insert_new();
    sql.text("sequence (dir, name, next, step) SELECT ")
        .bind(Value::Integer(directory.id));
    sql.text(", ")
        .bind(text(name))
        .text(", ")
        .bind(Value::Integer(start))
        .text(", ");
    sql.bind(Value::Integer(step))
        .text(" FROM authority AS a WHERE a.id = 1");
    guard.and(Use::Write, &mut sql);
    sql.unless_there();
    let message = format!("the sequence {} exists", path.child(name));
    let exists = Refusal::new(Code::Exists, message);
    one(
        client,
        &directory,
        &guard,
        vec![Step::expecting(sql, Expect::Something)],
        exists,
    )
    .await
    .map(|found| found.map_or(Ended::Stale, |_| Ended::Done))
}

/// Give out the next number. In a transaction, other clients wait for its end.
pub(super) async fn next(client: &mut Client, path: &str, reply: &mut Reply<'_>) -> Answer<Ended> {
    let (path, name) = split_last(&client.here, path)?;
    let directory = client.directory(&path).await?;
    let guard = writer(client, &directory).await?;
    let of = |sql: &mut Sql| {
        sql.text(" WHERE dir = ").bind(Value::Integer(directory.id));
        sql.text(" AND name = ").bind(text(name));
    };
    let mut update = Sql::new("UPDATE sequence SET next = next + step");
    of(&mut update);
    guard.and(Use::Write, &mut update);
    let mut steps = Vec::new();
    if client.catalogue.store.dialect() == Dialect::Mysql {
        let mut query = Sql::new("SELECT next FROM sequence");
        of(&mut query);
        query.text(" FOR UPDATE");
        steps.push(Step::expecting(query, Expect::Something));
    } else {
        update.text(" RETURNING next - step");
    }
    steps.push(Step::expecting(update, Expect::Something));
    let missing = Refusal::new(Code::Sequence, format!("no sequence {}", path.child(name)));
    let Some(number) = one(client, &directory, &guard, steps, missing).await? else {
        return Ok(Ended::Stale);
    };
    reply.columns(1);
    lines(reply, [number]).await?;
    Ok(Ended::Done)
}

/// Remove a sequence.
pub(super) async fn remove(client: &mut Client, path: &str) -> Answer<Ended> {
    let (path, name) = split_last(&client.here, path)?;
    let directory = client.directory(&path).await?;
    let guard = writer(client, &directory).await?;
    let mut sql = Sql::new("DELETE FROM sequence WHERE dir = ");
    sql.bind(Value::Integer(directory.id))
        .text(" AND name = ")
        .bind(text(name));
    guard.and(Use::Write, &mut sql);
    let missing = Refusal::new(Code::Sequence, format!("no sequence {}", path.child(name)));
    one(
        client,
        &directory,
        &guard,
        vec![Step::expecting(sql, Expect::Something)],
        missing,
    )
    .await
    .map(|found| found.map_or(Ended::Stale, |_| Ended::Done))
}

fn number(word: Option<&String>, default: i64) -> Answer<i64> {
    let Some(word) = word else {
        return Ok(default);
    };
    word.parse().map_err(|_| {
        let message = format!("`{word}` is not a whole number");
        Refusal::new(Code::Sequence, message)
    })
}

async fn writer(client: &mut Client, directory: &Arc<Directory>) -> Answer<Guard> {
    let person = client.person().await?;
    directory.demand(&person, Rights::WRITE)?;
    Ok(Guard::new(&person, [&**directory]))
}

/// Run steps and return the first value that they found, or nothing if the plan was old.
async fn one(
    client: &mut Client,
    directory: &Directory,
    guard: &Guard,
    steps: Vec<Step>,
    unmet: Refusal,
) -> Answer<Option<String>> {
    let shard = client.catalogue.shard(&directory.path);
    match client.attempt(shard, guard, steps).await? {
        Tried::Done(outcomes) => {
            let row = outcomes.iter().find_map(|outcome| outcome.rows.first());
            Ok(Some(row.map_or_else(String::new, |row| shown(&row[0]))))
        }
        Tried::Stale => Ok(None),
        Tried::Unmet(..) => Err(unmet),
    }
}
