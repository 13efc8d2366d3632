//! Native SQL over directories.

use super::client::{Client, Ended, Streamed};
use super::commands::{Request, attempts};
use super::constraints::Touched;
use super::entries::{self, Row};
use super::guard::Use;
use super::layout::FILE;
use super::rights::Rights;
use super::scope::Scope;
use crate::language::compile::{assign, compile, group_condition};
use crate::language::expression::{Expression, Literal};
use crate::language::native::{self, Insert, Select, Statement, Update};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::Value;
use crate::wire::reply::Reply;

/// Return whether a line is native SQL and no other command.
pub(super) fn is_statement(line: &str) -> bool {
    let (first, rest) = line
        .trim_start()
        .split_once(char::is_whitespace)
        .unwrap_or((line, ""));
    let second = rest.split_whitespace().next().unwrap_or("");
    let is = |word: &str, keyword: &str| word.eq_ignore_ascii_case(keyword);
    is(first, "select")
        || is(first, "update")
        || (is(first, "insert") && is(second, "into"))
        || (is(first, "delete") && is(second, "from"))
}

/// Run a line of native SQL.
pub(super) async fn execute(client: &mut Client, line: &str, reply: &mut Reply<'_>) -> Answer<()> {
    let statement = native::parse(line)?;
    attempts(client, Request::Native(&statement, line), reply).await
}

pub(super) async fn run(
    client: &mut Client,
    statement: &Statement,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    match statement {
        Statement::Select(query) => select(client, query, reply).await,
        Statement::Insert(new) => insert(client, new).await,
        Statement::Update(changed) => update(client, changed).await,
        Statement::Delete(removed) => {
            let scope = Scope::of_tables(client, std::slice::from_ref(&removed.table)).await?;
            let (sql, filter) = (entries::delete(&scope), removed.condition.as_ref());
            let reads = filter.is_some();
            entries::change(client, &scope, sql, None, filter, reads, Touched::Removed).await
        }
    }
}

async fn select(client: &mut Client, query: &Select, reply: &mut Reply<'_>) -> Answer<Ended> {
    check_groups(query)?;
    let scope = Scope::of_tables(client, &query.tables).await?;
    let mut sql = Sql::new(if query.is_distinct {
        "SELECT DISTINCT "
    } else {
        "SELECT "
    });
    let mut types = Vec::new();
    let mut column = |sql: &mut Sql, value: Sql, of| {
        sql.text(if types.is_empty() { "" } else { ", " })
            .append(value);
        types.push(of);
    };
    for one in &query.columns {
        let compiled = compile(&one.value, &scope)?;
        column(&mut sql, compiled.sql, compiled.of);
    }
    if query.columns.is_empty() {
        for meaning in scope.all() {
            column(&mut sql, meaning.sql, meaning.of);
        }
    }
    scope.from(&mut sql);
    scope.conditions(Rights::READ, &mut sql)?;
    let guard = scope.guard();
    guard.and(Use::Read, &mut sql);
    let joined = query
        .tables
        .iter()
        .filter_map(|table| table.condition.as_ref());
    for filter in joined.chain(&query.condition) {
        scope.and_filter(filter, &mut sql)?;
    }
    groups(query, &scope, &mut sql)?;
    if is_of_many(query) && query.groups.is_empty() {
        // Without entries an aggregate still has a row: it must not come from an old plan.
        sql.text(if query.group_condition.is_some() {
            ""
        } else {
            " HAVING 1 = 1"
        });
        guard.and(Use::Read, &mut sql);
    }
    order(query, &mut sql)?;
    reply.columns(types.len());
    let shard = client.catalogue.shard(&scope.first().path);
    let show = |number: usize, value: &Value| types[number].decode(value);
    match client.stream(shard, &guard, sql, reply, &show).await? {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

/// Return whether a row stands for several entries.
fn is_of_many(query: &Select) -> bool {
    !query.groups.is_empty()
        || query.group_condition.is_some()
        || query.columns.iter().any(|one| one.value.has_aggregate())
}

/// Refuse columns that are neither grouped nor an aggregate: some databases would take any entry's.
fn check_groups(query: &Select) -> Answer<()> {
    if !is_of_many(query) {
        return Ok(());
    }
    if query.columns.is_empty() {
        return Err(illegal("`*` cannot be grouped; name the columns"));
    }
    for group in &query.groups {
        if place(query, group).is_none() {
            return Err(illegal("what is grouped has to be among the columns"));
        }
    }
    let is_grouped = |value: &Expression| query.groups.contains(value);
    let columns = query.columns.iter().map(|one| &one.value);
    for value in columns.filter(|value| !is_grouped(value)) {
        if !value.bare_names().is_empty() {
            return Err(illegal("a column is neither grouped nor an aggregate"));
        }
    }
    Ok(())
}

fn groups(query: &Select, scope: &Scope, sql: &mut Sql) -> Answer<()> {
    for (number, group) in query.groups.iter().enumerate() {
        sql.text(if number == 0 { " GROUP BY " } else { ", " });
        sql.number(place(query, group).unwrap_or_default());
    }
    if let Some(filter) = &query.group_condition {
        if let Some(name) = filter.bare_names().first() {
            let message = format!(
                "HAVING names `{}` outside an aggregate; use WHERE",
                name.name
            );
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        sql.text(" HAVING ").append(group_condition(filter, scope)?);
    }
    Ok(())
}

/// Append the order. Values of it are columns: a database compares parameters of two places as
/// different values, although they are equal.
fn order(query: &Select, sql: &mut Sql) -> Answer<()> {
    for (number, one) in query.order.iter().enumerate() {
        let place = place(query, &one.value)
            .ok_or_else(|| illegal("ORDER BY needs a column, its name or its number"))?;
        sql.text(if number == 0 { " ORDER BY " } else { ", " })
            .number(place);
        sql.text(if one.is_descending { " DESC" } else { "" });
    }
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    if query.limit.is_some() || query.offset.is_some() {
        sql.text(" LIMIT ")
            .number(query.limit.map_or(i64::MAX, number));
    }
    if let Some(offset) = query.offset {
        sql.text(" OFFSET ").number(number(offset));
    }
    Ok(())
}

/// Return the place of a value among the columns, from 1: by its number, its name or itself.
fn place(query: &Select, value: &Expression) -> Option<i64> {
    if let Expression::Literal(Literal::Integer(place)) = value {
        let count = i64::try_from(query.columns.len()).ok()?;
        return (1..=count).contains(place).then_some(*place);
    }
    let is_meant = |one: &native::Column| match (value, &one.alias) {
        (Expression::Attribute(name), Some(alias)) if name.directory.is_none() => {
            name.name == *alias || one.value == *value
        }
        _ => one.value == *value,
    };
    let at = query.columns.iter().position(is_meant)?;
    i64::try_from(at + 1).ok()
}

async fn insert(client: &mut Client, new: &Insert) -> Answer<Ended> {
    let path = client.here.resolve(&new.directory)?;
    let directory = client.directory(&path).await?;
    let Some(at) = new.attributes.iter().position(|name| name == FILE) else {
        let message = format!("each entry needs a name: give `{FILE}` a value");
        return Err(Refusal::new(Code::IllegalCommand, message));
    };
    let mut rows = Vec::new();
    for values in &new.rows {
        let texts = values.iter().map(literal).collect::<Answer<Vec<_>>>()?;
        let named = new.attributes.iter().zip(&texts);
        let pairs = named.filter(|(name, text)| *name != FILE && text.is_some());
        let pairs: Vec<_> = pairs
            .map(|(name, text)| (&**name, text.as_deref().unwrap_or_default()))
            .collect();
        let name = texts.get(at).cloned().flatten().unwrap_or_default();
        rows.push(Row::of(&directory, &name, &pairs)?);
    }
    entries::add(client, &directory, &rows).await
}

/// Return the text of a value; none for null.
fn literal(value: &Expression) -> Answer<Option<String>> {
    Ok(Some(match value {
        Expression::Literal(Literal::Null) => return Ok(None),
        Expression::Literal(Literal::Text(text)) => text.clone(),
        Expression::Literal(Literal::Integer(number)) => number.to_string(),
        Expression::Literal(Literal::Real(number)) => number.to_string(),
        Expression::Literal(Literal::Decimal { unscaled, scale }) => {
            let of = crate::value::Type::Numeric {
                precision: 18,
                scale: *scale,
            };
            of.decode(&Value::Integer(*unscaled))
        }
        Expression::Negative(inner) => match literal(inner)? {
            Some(text) => format!("-{text}"),
            None => return Ok(None),
        },
        _ => return Err(illegal("values of new entries are numbers, texts or null")),
    }))
}

async fn update(client: &mut Client, changed: &Update) -> Answer<Ended> {
    let scope = Scope::of_tables(client, std::slice::from_ref(&changed.table)).await?;
    let mut sql = entries::update(&scope);
    for (number, (name, value)) in changed.changes.iter().enumerate() {
        entries::refuse_file(name)?;
        let attribute = scope.first().layout.attribute(name)?;
        let value = assign(value, &scope, &attribute.of)?;
        sql.text(if number == 0 { " SET " } else { ", " });
        sql.slot(attribute.slot).text(" = ").append(value);
    }
    let filter = changed.condition.as_ref();
    let mut values = changed.changes.iter().map(|(_, value)| value);
    let reads = filter.is_some() || values.any(|value| !value.names().is_empty());
    entries::change(client, &scope, sql, None, filter, reads, Touched::Changed).await
}

fn illegal(message: &str) -> Refusal {
    Refusal::new(Code::IllegalQuery, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_commands() {
        for line in [
            "SELECT 1 FROM /d",
            "insert INTO /d (FILE) VALUES (\"a\")",
            "delete from /d",
        ] {
            assert!(is_statement(line), "{line}");
        }
        for line in ["selectattr n ''", "delete", "insert x", "pwd"] {
            assert!(!is_statement(line), "{line}");
        }
    }
}
