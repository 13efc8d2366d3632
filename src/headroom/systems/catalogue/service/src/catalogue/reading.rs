//! Commands that read values: `getattr`, `selectattr`, `find`.

use super::client::{Client, Ended, Streamed};
use super::guard::Use;
use super::layout::FILE;
use super::path::{Path, split_last};
use super::rights::Rights;
use super::scope::Scope;
use crate::language::compile::{Names as _, compile};
use crate::language::expression::{AttributeName, Expression};
use crate::language::parser::parse_expression;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::{Type, Value};
use crate::wire::reply::Reply;

/// Append ` AND …`: the name fits.
pub(super) fn and_name(pattern: &Pattern, query: &mut Sql) {
    query
        .text(" AND ")
        .append(pattern.condition(&Sql::new("e0.name")));
}

/// Refuse a name without wildcards that was not found.
pub(super) fn not_found(directory: &Path, pattern: &Pattern) -> Answer<Ended> {
    match pattern.literal() {
        Some(name) => {
            let message = format!("no entry {}", directory.child(&name));
            Err(Refusal::new(Code::NotFound, message))
        }
        None => Ok(Ended::Done),
    }
}

/// Names and attributes of entries.
pub(super) async fn getattr(
    client: &mut Client,
    pattern: &str,
    attributes: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let (path, last) = split_last(&client.here, pattern)?;
    let pattern = Pattern::parse(last)?;
    let scope = Scope::of(client, &path, true, &[]).await?;
    let mut query = Sql::new("SELECT e0.name");
    let mut types = vec![Type::Text];
    for name in attributes {
        let meaning = scope.find(&AttributeName {
            directory: None,
            name: name.clone(),
        })?;
        query.text(", ").append(meaning.sql);
        types.push(meaning.of);
    }
    scope.from(&mut query);
    scope.conditions(Rights::READ, &mut query)?;
    scope.guard().and(Use::Read, &mut query);
    and_name(&pattern, &mut query);
    query.text(" ORDER BY e0.name");
    reply.columns(types.len());
    let shard = client.catalogue.shard(&path);
    let show = |column: usize, value: &Value| types[column].decode(value);
    match client
        .stream(shard, &scope.guard(), query, reply, &show)
        .await?
    {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(0) => not_found(&path, &pattern),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

/// Names of entries for which a condition holds.
pub(super) async fn find(
    client: &mut Client,
    pattern: &str,
    text: Option<&str>,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let (path, pattern) = if let Some(whole) = client.as_directory(pattern).await? {
        (whole.path.clone(), None)
    } else {
        let (path, last) = split_last(&client.here, pattern)?;
        (path, Some(Pattern::parse(last)?))
    };
    let parsed = text.map(parse_expression).transpose()?;
    let scope = Scope::of(client, &path, true, &parsed.iter().collect::<Vec<_>>()).await?;
    let mut query = Sql::new("SELECT DISTINCT e0.name");
    scope.from(&mut query);
    scope.conditions(Rights::READ, &mut query)?;
    scope.guard().and(Use::Read, &mut query);
    if let Some(pattern) = &pattern {
        and_name(pattern, &mut query);
    }
    if let Some(parsed) = &parsed {
        scope.and_filter(parsed, &mut query)?;
    }
    query.text(" ORDER BY e0.name");
    reply.columns(1);
    let shard = client.catalogue.shard(&path);
    let show = |_: usize, value: &Value| super::shown(value);
    match client
        .stream(shard, &scope.guard(), query, reply, &show)
        .await?
    {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

/// Values of expressions, for all entries of the joined directories for which a condition holds.
pub(super) async fn selectattr(
    client: &mut Client,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let (filter, selected) = match words {
        [selected @ .., filter] if !selected.is_empty() => (filter, selected),
        _ => {
            let message = "give expressions and a condition, `''` for all entries";
            return Err(Refusal::new(Code::IllegalCommand, message));
        }
    };
    let selected = parse_all(selected)?;
    let filter = (!filter.trim().is_empty())
        .then(|| parse_expression(filter))
        .transpose()?;
    let all: Vec<&Expression> = selected.iter().chain(&filter).collect();
    let here = client.here.clone();
    let scope = Scope::of(client, &here, false, &all).await?;
    let mut query = Sql::new("SELECT ");
    let mut types = Vec::new();
    for expression in &selected {
        let compiled = compile(expression, &scope)?;
        query.text(if types.is_empty() { "" } else { ", " });
        query.append(compiled.sql);
        types.push(compiled.of);
    }
    scope.from(&mut query);
    scope.conditions(Rights::READ, &mut query)?;
    scope.guard().and(Use::Read, &mut query);
    if let Some(filter) = &filter {
        scope.and_filter(filter, &mut query)?;
    }
    let guard = scope.guard();
    let is_of_many = selected.iter().any(Expression::has_aggregate);
    if is_of_many && selected.iter().any(|one| !one.bare_names().is_empty()) {
        let message = "values of single entries and of all entries cannot be asked for together";
        return Err(Refusal::new(Code::IllegalQuery, message));
    }
    if is_of_many {
        // Without entries an aggregate still has a row: it must not come from an old plan.
        query.text(" HAVING 1 = 1");
        guard.and(Use::Read, &mut query);
    }
    reply.columns(types.len());
    let shard = client.catalogue.shard(&scope.first().path);
    let show = |column: usize, value: &Value| types[column].decode(value);
    match client.stream(shard, &guard, query, reply, &show).await? {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

fn parse_all(texts: &[String]) -> Answer<Vec<Expression>> {
    texts.iter().map(|text| parse_expression(text)).collect()
}

/// Names and types of the attributes of a directory, or of the directory of an entry.
pub(super) async fn listattr(
    client: &mut Client,
    text: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let path = client.here.resolve(text)?;
    let found = match client.find_directory(&path).await? {
        Some(found) => found,
        None => match path.split() {
            Some((directory, name)) => {
                let found = client.directory(&directory).await?;
                client.demand_entry(&found, name).await?;
                found
            }
            None => return Err(super::client::no_directory(&path)),
        },
    };
    let person = client.person().await?;
    found.demand(&person, Rights::SEE)?;
    if !client.is_current_of(&[&found]).await? {
        return Ok(Ended::Stale);
    }
    reply.columns(2);
    for attribute in &found.layout.attributes {
        super::commands::lines(reply, [&*attribute.name, &*attribute.shown]).await?;
    }
    Ok(Ended::Done)
}

/// Return whether a name is the pseudo attribute of names.
pub(super) fn is_file(name: &str) -> bool {
    name == FILE
}
