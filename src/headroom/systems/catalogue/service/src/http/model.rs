//! What requests and responses hold.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type as JsonType};
use utoipa::{IntoParams, ToSchema};

use crate::refusal::{Answer, Code, Refusal};
use crate::value::Type;
use crate::wire::reply::Table;

/// A value: a whole number of `int`, a number of `float`, a text of other types (a `numeric` keeps its
/// digits), or nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a value is a text, a number or null")]
pub(super) enum Cell {
    Integer(i64),
    Real(f64),
    Text(String),
    Nothing,
}

impl Cell {
    fn of(of: &Type, text: Option<String>) -> Self {
        let Some(text) = text else {
            return Self::Nothing;
        };
        let number = match of {
            Type::Int => text.parse().ok().map(Self::Integer),
            Type::Float => text.parse().ok().map(Self::Real),
            _ => None,
        };
        number.unwrap_or(Self::Text(text))
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Integer(number) => Some(number.to_string()),
            Self::Real(number) => Some(number.to_string()),
            Self::Text(text) => Some(text),
            Self::Nothing => None,
        }
    }
}

/// Values by attribute or expression.
pub(super) type Values = BTreeMap<String, Cell>;

/// Return the schema of values.
fn of_values() -> Object {
    let types = [JsonType::String, JsonType::Number, JsonType::Null];
    let value = ObjectBuilder::new().schema_type(SchemaType::from_iter(types));
    ObjectBuilder::new()
        .additional_properties(Some(value))
        .build()
}

/// Return values as texts.
pub(super) fn texts(values: Values) -> Vec<(String, Option<String>)> {
    let values = values.into_iter();
    values.map(|(name, cell)| (name, cell.text())).collect()
}

/// The state of the server.
#[derive(Serialize, ToSchema)]
pub(super) struct State {
    /// `up` or `ready`.
    pub status: &'static str,
}

/// A path.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfPath {
    /// A path, as `/jobs` or `/jobs/a`.
    pub path: String,
}

/// An attribute.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfAttribute {
    /// The directory.
    pub path: String,
    /// The attribute.
    pub name: String,
}

/// A part of a list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfPage {
    /// The directory.
    pub path: String,
    /// `next` of the page before.
    pub page: Option<String>,
    /// Rows at most; the server has a limit of its own.
    #[param(minimum = 1)]
    pub limit: Option<u32>,
}

/// An entry.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfEntry {
    /// The entry, as `/jobs/a`.
    pub path: String,
    /// Names of attributes, separated by commas; without it, all.
    pub attributes: Option<String>,
}

/// Entries.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfEntries {
    /// The directory.
    pub path: String,
    /// Names of attributes, separated by commas; without it, all.
    pub attributes: Option<String>,
    /// A condition in the query language.
    pub condition: Option<String>,
    /// `next` of the page before.
    pub page: Option<String>,
    /// Entries at most; the server has a limit of its own.
    #[param(minimum = 1)]
    pub limit: Option<u32>,
}

/// A new directory.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDirectory {
    /// Its path.
    pub path: String,
    /// Whether its entries have no owners.
    #[serde(default)]
    pub plain: bool,
    /// Whether its entries may have lists of groups.
    #[serde(default)]
    pub acls: bool,
    /// Whether it has the attributes of its parent.
    #[serde(default)]
    pub inherit: bool,
}

/// A directory.
#[derive(Serialize, ToSchema)]
pub(super) struct Directory {
    /// The last part of its path.
    pub name: String,
    /// The owner.
    pub owner: String,
}

/// Directories right below another one, by name.
#[derive(Serialize, ToSchema)]
pub(super) struct Directories {
    /// The directories.
    pub directories: Vec<Directory>,
    /// The value of `page` for the next part; null: there is none.
    pub next: Option<String>,
}

/// A new attribute.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAttribute {
    /// The directory.
    pub path: String,
    /// The attribute.
    pub name: String,
    /// Its type: `int`, `float`, `varchar(n)`, `text`, `timestamp` or `numeric(p,s)`.
    pub r#type: String,
}

/// An attribute.
#[derive(Serialize, ToSchema)]
pub(super) struct Attribute {
    /// The name.
    pub name: String,
    /// The type as it was given.
    pub r#type: String,
}

/// Attributes of a directory.
#[derive(Serialize, ToSchema)]
pub(super) struct Attributes {
    /// The attributes.
    pub attributes: Vec<Attribute>,
}

/// Values of an entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewValues {
    /// Values by attribute.
    #[schema(schema_with = of_values)]
    pub values: Values,
}

/// A new entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEntry {
    /// The name.
    pub name: String,
    /// Values by attribute.
    #[serde(default)]
    #[schema(schema_with = of_values)]
    pub values: Values,
}

/// New entries of a directory.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEntries {
    /// The directory.
    pub path: String,
    /// The entries.
    #[schema(min_items = 1)]
    pub entries: Vec<NewEntry>,
}

/// How many entries were inserted.
#[derive(Serialize, ToSchema)]
pub(super) struct Inserted {
    /// All of the request.
    pub inserted: usize,
}

/// Names of entries.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    /// The directory.
    pub path: String,
    /// The names.
    #[schema(min_items = 1)]
    pub names: Vec<String>,
}

/// Names of entries, and what is asked of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The directory.
    pub path: String,
    /// The names.
    #[schema(min_items = 1)]
    pub names: Vec<String>,
    /// Attributes or expressions; without it, all attributes.
    pub select: Option<Vec<String>>,
}

/// A query.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewQuery {
    /// The directory.
    pub path: String,
    /// Attributes or expressions; without it, all attributes.
    pub select: Option<Vec<String>>,
    /// A condition; it may name attributes of other directories.
    pub condition: Option<String>,
    /// `next` of the page before.
    pub page: Option<String>,
    /// Entries at most; the server has a limit of its own.
    #[schema(minimum = 1)]
    pub limit: Option<u32>,
}

/// An entry.
#[derive(Serialize, ToSchema)]
pub(super) struct Entry {
    /// The name.
    pub name: String,
    /// Values by attribute or expression.
    #[schema(schema_with = of_values)]
    pub values: Values,
}

/// Entries of a directory, by name.
#[derive(Serialize, ToSchema)]
pub(super) struct Entries {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The value of `page` for the next part; null: there is none.
    pub next: Option<String>,
}

/// Entries that were named.
#[derive(Serialize, ToSchema)]
pub(super) struct Found {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Names of entries that do not exist, or may not be read.
    pub missing: Vec<String>,
}

/// Whether entries exist.
#[derive(Serialize, ToSchema)]
pub(super) struct Existing {
    /// Names of entries that exist.
    pub present: Vec<String>,
    /// Names of entries that do not, or may not be read.
    pub missing: Vec<String>,
}

/// Return the rows of a table as entries.
pub(super) fn entries(table: Table) -> Vec<Entry> {
    let Table {
        names,
        types,
        cells,
        ..
    } = table;
    let width = names.len().max(1);
    let mut cells = cells.into_iter();
    let mut found = Vec::new();
    while let Some(name) = cells.next() {
        let row = cells.by_ref().take(width - 1);
        let columns = names.iter().zip(&types).skip(1);
        let values = columns.zip(row);
        let values = values.map(|((name, of), cell)| (name.clone(), Cell::of(of, cell)));
        found.push(Entry {
            name: name.unwrap_or_default(),
            values: values.collect(),
        });
    }
    found
}

/// Return the token of the page that begins after a name.
pub(super) fn token(name: &str) -> String {
    BASE64URL_NOPAD.encode(name.as_bytes())
}

/// Return the name that a token means.
pub(super) fn after(token: Option<&str>) -> Answer<Option<String>> {
    let Some(token) = token else {
        return Ok(None);
    };
    let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok();
    let name = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.filter(|name| !name.contains('\0'));
    let message = "`page` is no value that a page gave as `next`";
    name.map(Some)
        .ok_or_else(|| Refusal::new(Code::IllegalCommand, message))
}

/// Return the number of rows of a page.
pub(super) fn limit(wanted: Option<u32>, most: usize) -> Answer<usize> {
    match wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX)) {
        Some(0) => Err(Refusal::new(Code::IllegalCommand, "`limit` is at least 1")),
        wanted => Ok(wanted.unwrap_or(most).min(most)),
    }
}
