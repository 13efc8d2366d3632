//! Commands for callers that are no connections: typed arguments, and rows as a table.

use super::client::{Client, Ended, Streamed};
use super::commands::{Request, attempts};
use super::entries::{self, MAX_AT_ONCE, Row, escaped};
use super::guard::{Guard, Use};
use super::path::{Path, check_name, split_last};
use super::rights::Rights;
use super::scope::Scope;
use super::text;
use crate::language::compile::{Names as _, compile};
use crate::language::expression::{AttributeName, Expression};
use crate::language::parser::parse_expression;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::value::{Type, Value};
use crate::wire::reply::{Reply, Table};

/// A part of rows that are ordered by name. The next part begins after the last name, so entries that
/// others add or remove meanwhile let no other entry appear twice or not at all.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The last name of the part before.
    pub after: Option<String>,
    /// Rows at most.
    pub limit: usize,
}

impl Page {
    fn limit(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX)
    }
}

/// Entries of a directory, and what is asked of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The directory.
    pub directory: String,
    /// Expressions over its attributes; none: all attributes.
    pub select: Option<Vec<String>>,
    /// A condition, which may name attributes of other directories.
    pub condition: Option<String>,
    /// Names, if only these are wanted.
    pub names: Option<Vec<String>>,
    /// The part that is wanted.
    pub page: Page,
}

/// An entry with texts for attributes; nothing removes a value.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Attributes with their texts.
    pub values: Vec<(String, Option<String>)>,
}

/// A command.
#[derive(Clone, Debug)]
pub enum Call {
    /// One of the wire, with its arguments.
    Command(&'static str, Vec<String>),
    /// Directories right below a path: path, owner.
    Directories(String, Page),
    /// Entries: name, selected values.
    Entries(Selection),
    /// Add entries to a directory, all or none.
    Insert(String, Vec<Entry>),
    /// Change values of an entry of a directory.
    Update(String, Entry),
}

impl Call {
    /// The names that are not those of a command of the wire.
    pub(super) const NAMES: [&str; 4] = ["directories", "entries", "insert", "update"];

    /// Return the name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command(name, _) => name,
            Self::Directories(..) => Self::NAMES[0],
            Self::Entries(_) => Self::NAMES[1],
            Self::Insert(..) => Self::NAMES[2],
            Self::Update(..) => Self::NAMES[3],
        }
    }

    /// Return the path and the expressions, without numbers and texts.
    pub(super) fn shape(&self) -> String {
        match self {
            Self::Command(name, words) => super::commands::shape(name, words),
            Self::Directories(path, _) | Self::Insert(path, _) | Self::Update(path, _) => {
                path.clone()
            }
            Self::Entries(selection) => {
                let texts = selection.select.iter().flatten();
                let texts = texts.chain(&selection.condition);
                let shapes = texts.map(|text| crate::language::shape::shape(text));
                let all: Vec<_> = [selection.directory.clone()]
                    .into_iter()
                    .chain(shapes)
                    .collect();
                all.join(" | ")
            }
        }
    }
}

impl Client {
    /// Run a command outside of a transaction.
    ///
    /// # Errors
    ///
    /// Those of the command.
    pub async fn call(&mut self, call: &Call, max_bytes: usize) -> Answer<Table> {
        let mut table = Table::new(max_bytes);
        let mut reply = Reply::of_table(&mut table);
        let request = match call {
            Call::Command(name, words) => Request::Words(name, words),
            call => Request::Call(call),
        };
        attempts(self, request, &mut reply).await?;
        Ok(table)
    }

    /// Return whether all is allowed.
    pub fn is_root(&self) -> bool {
        self.name == super::directory::ROOT
    }
}

pub(super) async fn run(client: &mut Client, call: &Call, reply: &mut Reply<'_>) -> Answer<Ended> {
    match call {
        Call::Directories(path, page) => directories(client, path, page, reply).await,
        Call::Entries(selection) => select(client, selection, reply).await,
        Call::Insert(path, new) => insert(client, path, new).await,
        Call::Update(path, changed) => update(client, path, changed).await,
        Call::Command(name, _) => Err(Refusal::new(Code::IllegalCommand, name)),
    }
}

async fn directories(
    client: &mut Client,
    path: &str,
    page: &Page,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let person = client.person().await?;
    directory.demand(&person, Rights::SEE)?;
    let guard = Guard::new(&person, [&*directory]);
    let home = client.catalogue.shard(&path);
    reply.columns(2);
    for shard in client.shards_below(&path) {
        let mut query = Sql::new("SELECT path, owner FROM directory WHERE parent = ");
        query.bind(text(path.text()));
        if let Some(after) = &page.after {
            query.text(" AND path > ").bind(text(path.child(after)));
        }
        if shard == home {
            guard.and(Use::Read, &mut query);
        }
        query.text(" ORDER BY path LIMIT ").number(page.limit());
        let show = |_: usize, value: &Value| super::shown(value);
        let ended = client.stream(shard, &guard, query, reply, &show).await?;
        if ended == Streamed::Stale && shard == home && !reply.has_begun() {
            return Ok(Ended::Stale);
        }
    }
    Ok(Ended::Done)
}

async fn select(
    client: &mut Client,
    selection: &Selection,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let path = client.here.resolve(&selection.directory)?;
    let selected = match &selection.select {
        Some(texts) => Some(expressions(&path, texts)?),
        None => None,
    };
    let filter = selection.condition.as_deref().map(parse_expression);
    let filter = filter.transpose()?;
    let all: Vec<_> = selected.iter().flatten().chain(&filter).collect();
    let scope = Scope::of(client, &path, true, &all).await?;
    // With another directory in the condition, an entry may have several rows, all alike.
    let is_joined = scope.count() > 1;
    let mut query = Sql::new(if is_joined {
        "SELECT DISTINCT e0.name"
    } else {
        "SELECT e0.name"
    });
    let (mut names, mut types) = (vec![super::layout::FILE.to_owned()], vec![Type::Text]);
    match (&selected, &selection.select) {
        (Some(expressions), Some(texts)) => {
            for (expression, text) in expressions.iter().zip(texts) {
                let compiled = compile(expression, &scope)?;
                query.text(", ").append(compiled.sql);
                names.push(text.clone());
                types.push(compiled.of);
            }
        }
        _ => {
            for attribute in &scope.first().layout.attributes {
                let name = AttributeName {
                    directory: Some(path.text().to_owned()),
                    name: attribute.name.clone(),
                };
                query.text(", ").append(scope.find(&name)?.sql);
                names.push(attribute.name.clone());
                types.push(attribute.of.clone());
            }
        }
    }
    scope.from(&mut query);
    scope.conditions(Rights::READ, &mut query)?;
    scope.guard().and(Use::Read, &mut query);
    if let Some(names) = &selection.names {
        query.text(" AND e0.name IN (");
        for (number, name) in names.iter().enumerate() {
            query.text(if number == 0 { "" } else { ", " });
            query.bind(text(name));
        }
        query.text(")");
    }
    if let Some(after) = &selection.page.after {
        query.text(" AND e0.name > ").bind(text(after));
    }
    if let Some(filter) = &filter {
        scope.and_filter(filter, &mut query)?;
    }
    query.text(" ORDER BY e0.name LIMIT ");
    query.number(selection.page.limit());
    reply.describe(&names, &types);
    let shard = client.catalogue.shard(&path);
    let show = |column: usize, value: &Value| types[column].decode(value);
    let guard = scope.guard();
    match client.stream(shard, &guard, query, reply, &show).await? {
        Streamed::Stale => Ok(Ended::Stale),
        Streamed::Rows(_) => Ok(Ended::Done),
    }
}

/// Return expressions that have one value for an entry of a directory.
fn expressions(path: &Path, texts: &[String]) -> Answer<Vec<Expression>> {
    let refused = |message: String| Err(Refusal::new(Code::IllegalQuery, message));
    let mut found = Vec::new();
    for text in texts {
        let expression = parse_expression(text)?;
        if expression.has_aggregate() {
            return refused(format!("`{text}` is of many entries; select values of one"));
        }
        for name in expression.names() {
            if let Some(directory) = &name.directory
                && Path::root().resolve(directory)? != *path
            {
                return refused(format!("`{text}` is not of {}", path.text()));
            }
        }
        found.push(expression);
    }
    Ok(found)
}

async fn insert(client: &mut Client, path: &str, new: &[Entry]) -> Answer<Ended> {
    if new.len() > MAX_AT_ONCE {
        let message = format!("at most {MAX_AT_ONCE} entries at once");
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let mut rows = Vec::with_capacity(new.len());
    for entry in new {
        let values = entry.values.iter();
        let pairs = values.filter_map(|(name, text)| Some((&**name, text.as_deref()?)));
        let pairs: Vec<_> = pairs.collect();
        for (name, _) in &entry.values {
            entries::refuse_file(name)?;
            directory.layout.attribute(name)?;
        }
        rows.push(Row::of(&directory, &entry.name, &pairs)?);
    }
    entries::add(client, &directory, &rows).await
}

async fn update(client: &mut Client, path: &str, changed: &Entry) -> Answer<Ended> {
    let path = client.here.resolve(path)?;
    if changed.values.is_empty() {
        let message = "an update needs values";
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    let values = changed.values.iter();
    let values: Vec<_> = values
        .map(|(name, text)| (&**name, text.as_deref()))
        .collect();
    let pattern = Pattern::exact(&changed.name);
    entries::set(client, &path, &pattern, &values).await
}

/// Return the directory and the name of an entry.
///
/// # Errors
///
/// The path cannot be.
pub fn entry_of(path: &str) -> Answer<(String, String)> {
    let (directory, name) = split_last(&Path::root(), path)?;
    check_name(name)?;
    Ok((directory.text().to_owned(), name.to_owned()))
}

/// Return the pattern that only the entry of this path fits.
///
/// # Errors
///
/// The path cannot be.
pub fn literal(path: &str) -> Answer<String> {
    let (directory, name) = split_last(&Path::root(), path)?;
    check_name(name)?;
    Ok(directory.child(&escaped(name)))
}
