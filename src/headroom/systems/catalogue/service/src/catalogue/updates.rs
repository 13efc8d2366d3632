//! Changes of values by expressions: `updateattr` and its relatives.

use super::client::{Client, Ended};
use super::constraints::Touched;
use super::entries::{change, conditions, pairs, refuse_file, update};
use super::guard::Use;
use super::path::split_last;
use super::scope::Scope;
use crate::language::compile::assign;
use crate::language::expression::Expression;
use crate::language::parser::parse_expression;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::wire::reply::Reply;

/// Change values of entries by expressions, where a condition holds.
pub(super) async fn updateattr(
    client: &mut Client,
    pattern: &str,
    words: &[String],
) -> Answer<Ended> {
    let update = Update::of(client, pattern, words).await?;
    let sql = update.statement()?;
    let filter = update.filter.as_ref();
    change(
        client,
        &update.scope,
        sql,
        Some(&update.pattern),
        filter,
        update.reads(),
        Touched::Changed,
    )
    .await
}

/// The same for one entry at most, whose name is the reply. Entries that another client is about to
/// change are left out, so that many clients each get another entry.
pub(super) async fn updateattr_single(
    client: &mut Client,
    pattern: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let update = Update::of(client, pattern, words).await?;
    let is_own = client.begin_implicit();
    let result = update_one(client, &update).await;
    let result = client.end_implicit(is_own, result).await?;
    Ok(match result {
        One::Stale => Ended::Stale,
        One::Nothing => Ended::Done,
        One::Entry(name) => {
            reply.columns(1);
            super::commands::lines(reply, [&*name]).await?;
            Ended::Done
        }
    })
}

/// The outcome of `updateattr_single`.
enum One {
    Stale,
    Nothing,
    Entry(String),
}

async fn update_one(client: &mut Client, update: &Update) -> Answer<One> {
    let scope = &update.scope;
    let shard = client.catalogue.shard(&scope.first().path);
    let mut query = Sql::new("SELECT e0.name");
    scope.from(&mut query);
    conditions(
        scope,
        Some(&update.pattern),
        update.filter.as_ref(),
        update.reads(),
        &mut query,
    )?;
    scope.guard().and(Use::Read, &mut query);
    query.text(" LIMIT 1").by_dialect([
        "",
        " FOR UPDATE OF e0 SKIP LOCKED",
        " FOR UPDATE SKIP LOCKED",
    ]);
    let found = client.query(shard, query).await?;
    let Some(name) = found.rows.first().map(|row| super::shown(&row[0])) else {
        let is_current = client.is_current(shard, &scope.guard()).await?;
        return Ok(if is_current { One::Nothing } else { One::Stale });
    };
    let only = Pattern::exact(&name);
    let ended = change(
        client,
        scope,
        update.statement()?,
        Some(&only),
        None,
        update.reads(),
        Touched::Changed,
    )
    .await?;
    Ok(match ended {
        Ended::Done => One::Entry(name),
        Ended::Stale => One::Stale,
    })
}

/// An update by expressions.
struct Update {
    scope: Scope,
    pattern: Pattern,
    changes: Vec<(String, Expression)>,
    filter: Option<Expression>,
}

impl Update {
    async fn of(client: &mut Client, pattern: &str, words: &[String]) -> Answer<Self> {
        let Some((filter, words)) = words.split_last().filter(|(_, rest)| !rest.is_empty()) else {
            let message = "give attributes with expressions and a condition, `''` for all entries";
            return Err(Refusal::new(Code::IllegalCommand, message));
        };
        let (path, last) = split_last(&client.here, pattern)?;
        let pattern = Pattern::parse(last)?;
        let filter = (!filter.trim().is_empty())
            .then(|| parse_expression(filter))
            .transpose()?;
        let mut changes = Vec::new();
        for (name, text) in pairs(words)? {
            refuse_file(name)?;
            changes.push((name.to_owned(), parse_expression(text)?));
        }
        let expressions = changes.iter().map(|(_, expression)| expression);
        let all: Vec<&Expression> = expressions.chain(&filter).collect();
        let scope = Scope::of(client, &path, true, &all).await?;
        if scope.count() > 1 {
            let message = "an update may name attributes of its own directory only";
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(Self {
            scope,
            pattern,
            changes,
            filter,
        })
    }

    /// Return whether it depends on values that entries have.
    fn reads(&self) -> bool {
        let mut values = self.changes.iter().map(|(_, value)| value);
        self.filter.is_some() || values.any(|value| !value.names().is_empty())
    }

    fn statement(&self) -> Answer<Sql> {
        let mut sql = update(&self.scope);
        for (number, (name, expression)) in self.changes.iter().enumerate() {
            let attribute = self.scope.first().layout.attribute(name)?;
            let value = assign(expression, &self.scope, &attribute.of)?;
            sql.text(if number == 0 { " SET " } else { ", " });
            sql.slot(attribute.slot).text(" = ").append(value);
        }
        Ok(sql)
    }
}
