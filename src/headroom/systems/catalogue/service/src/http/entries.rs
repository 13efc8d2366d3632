//! Entries: one, many, all for which a condition holds.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};

use super::Shares;
use super::login::Asker;
use super::model::{
    self, Entries, Entry, Existing, Found, Inserted, Names, NewEntries, NewQuery, NewValues,
    OfEntries, OfEntry, OfPath, Wanted, after, limit, texts, token,
};
use super::problem::{Body, Problem, Query};
use crate::catalogue::call::{self, Call, Page, Selection, entry_of, literal};
use crate::refusal::{Answer, Code, Refusal};

/// How often an entry is put that others remove meanwhile.
const ATTEMPTS: usize = 3;

/// Get an entry.
#[utoipa::path(get, path = "/v1/entry", tag = "entries", params(OfEntry),
    responses((status = 200, body = Entry)))]
pub(super) async fn get(
    mut asker: Asker,
    Query(of): Query<OfEntry>,
) -> Result<Json<Entry>, Problem> {
    let (directory, name) = entry_of(&of.path)?;
    let selection = Selection {
        directory,
        select: listed(of.attributes.as_deref()),
        names: Some(vec![name]),
        page: Page {
            after: None,
            limit: 1,
        },
        condition: None,
    };
    let table = asker.call(Call::Entries(selection)).await?;
    let found = model::entries(table).pop();
    let found = found.ok_or_else(|| {
        let message = format!("no entry {}", of.path.escape_debug());
        Refusal::new(Code::NotFound, message)
    })?;
    Ok(Json(found))
}

/// Put an entry: insert it, or replace all its values. `If-None-Match: *` only inserts.
#[utoipa::path(put, path = "/v1/entry", tag = "entries", params(OfPath), request_body = NewValues,
    responses((status = 201, description = "inserted"), (status = 204, description = "replaced")))]
pub(super) async fn put(
    mut asker: Asker,
    Query(of): Query<OfPath>,
    headers: HeaderMap,
    Body(new): Body<NewValues>,
) -> Result<StatusCode, Problem> {
    let (directory, name) = entry_of(&of.path)?;
    let must_be_new = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|value| value == "*");
    let values = texts(new.values);
    for _ in 0..ATTEMPTS {
        let entry = call::Entry {
            name: name.clone(),
            values: values.clone(),
        };
        let inserted = asker.call(Call::Insert(directory.clone(), vec![entry.clone()]));
        match inserted.await {
            Ok(_) => return Ok(StatusCode::CREATED),
            Err(refusal) if refusal.code == Code::Exists && must_be_new => {
                return Err(Problem::with_code(412, Code::Exists, refusal.message));
            }
            Err(refusal) if refusal.code == Code::Exists => {}
            Err(refusal) => return Err(refusal.into()),
        }
        match replace(&mut asker, &directory, entry).await {
            Err(refusal) if refusal.code == Code::NotFound => {}
            replaced => {
                replaced?;
                return Ok(StatusCode::NO_CONTENT);
            }
        }
    }
    let message = "the entry is removed and added too often; try again";
    Err(Refusal::new(Code::Transaction, message).into())
}

/// Replace all values of an entry: those that are not given go.
async fn replace(asker: &mut Asker, directory: &str, mut entry: call::Entry) -> Answer<()> {
    let words = vec![directory.to_owned()];
    let table = asker.call(Call::Command("listattr", words)).await?;
    for row in table.cells.chunks_exact(2) {
        let name = row[0].clone().unwrap_or_default();
        if entry.values.iter().all(|(given, _)| *given != name) {
            entry.values.push((name, None));
        }
    }
    if entry.values.is_empty() {
        return Ok(());
    }
    let call = Call::Update(directory.to_owned(), entry);
    asker.call(call).await.map(drop)
}

/// Change values of an entry; null removes one.
#[utoipa::path(patch, path = "/v1/entry", tag = "entries", params(OfPath), request_body = NewValues,
    responses((status = 204, description = "changed")))]
pub(super) async fn patch(
    mut asker: Asker,
    Query(of): Query<OfPath>,
    Body(new): Body<NewValues>,
) -> Result<StatusCode, Problem> {
    let (directory, name) = entry_of(&of.path)?;
    let values = texts(new.values);
    let entry = call::Entry { name, values };
    asker.call(Call::Update(directory, entry)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove an entry.
#[utoipa::path(delete, path = "/v1/entry", tag = "entries", params(OfPath),
    responses((status = 204, description = "removed")))]
pub(super) async fn delete(
    mut asker: Asker,
    Query(of): Query<OfPath>,
) -> Result<StatusCode, Problem> {
    asker.run("rm", [literal(&of.path)?]).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List entries of a directory by name, if wanted only those for which a condition holds.
#[utoipa::path(get, path = "/v1/entries", tag = "entries", params(OfEntries),
    responses((status = 200, body = Entries)))]
pub(super) async fn list(
    shares: Shares,
    asker: Asker,
    Query(of): Query<OfEntries>,
) -> Result<Json<Entries>, Problem> {
    let wanted = NewQuery {
        path: of.path,
        select: listed(of.attributes.as_deref()),
        condition: of.condition,
        page: of.page,
        limit: of.limit,
    };
    query(shares, asker, Body(wanted)).await
}

/// Select values of entries for which a condition holds.
#[utoipa::path(post, path = "/v1/query", tag = "entries", request_body = NewQuery,
    responses((status = 200, body = Entries)))]
pub(super) async fn query(
    State(http): Shares,
    mut asker: Asker,
    Body(of): Body<NewQuery>,
) -> Result<Json<Entries>, Problem> {
    let limit = limit(of.limit, http.settings.max_page)?;
    let condition = of.condition.filter(|text| !text.trim().is_empty());
    let selection = Selection {
        directory: of.path,
        select: of.select,
        condition,
        names: None,
        page: Page {
            after: after(of.page.as_deref())?,
            limit: limit + 1,
        },
    };
    let table = asker.call(Call::Entries(selection)).await?;
    let is_full = table.is_full();
    let mut entries = model::entries(table);
    let has_more = is_full || entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| has_more);
    let next = next.map(|last| token(&last.name));
    Ok(Json(Entries { entries, next }))
}

/// Insert entries, all or none.
#[utoipa::path(post, path = "/v1/entries", tag = "entries", request_body = NewEntries,
    responses((status = 201, body = Inserted)))]
pub(super) async fn insert(
    mut asker: Asker,
    Body(new): Body<NewEntries>,
) -> Result<(StatusCode, Json<Inserted>), Problem> {
    let inserted = new.entries.len();
    if inserted == 0 {
        return Err(Refusal::new(Code::IllegalCommand, "`entries` is empty").into());
    }
    let entries = new.entries.into_iter().map(|entry| call::Entry {
        name: entry.name,
        values: texts(entry.values),
    });
    let call = Call::Insert(new.path, entries.collect());
    asker.call(call).await?;
    Ok((StatusCode::CREATED, Json(Inserted { inserted })))
}

/// Get entries by name.
#[utoipa::path(post, path = "/v1/entries/get", tag = "entries", request_body = Wanted,
    responses((status = 200, body = Found)))]
pub(super) async fn get_many(
    State(http): Shares,
    mut asker: Asker,
    Body(wanted): Body<Wanted>,
) -> Result<Json<Found>, Problem> {
    let (entries, missing) = named(&mut asker, wanted, http.settings.max_page).await?;
    Ok(Json(Found { entries, missing }))
}

/// Find out which entries exist.
#[utoipa::path(post, path = "/v1/entries/exist", tag = "entries", request_body = Names,
    responses((status = 200, body = Existing)))]
pub(super) async fn exist(
    State(http): Shares,
    mut asker: Asker,
    Body(names): Body<Names>,
) -> Result<Json<Existing>, Problem> {
    let wanted = Wanted {
        path: names.path,
        names: names.names,
        select: Some(Vec::new()),
    };
    let (entries, missing) = named(&mut asker, wanted, http.settings.max_page).await?;
    let present = entries.into_iter().map(|entry| entry.name).collect();
    Ok(Json(Existing { present, missing }))
}

/// Return the entries of these names, and the names without one.
async fn named(
    asker: &mut Asker,
    wanted: Wanted,
    most: usize,
) -> Result<(Vec<Entry>, Vec<String>), Problem> {
    if wanted.names.is_empty() || wanted.names.len() > most {
        let message = format!("`names` has 1 to {most} names");
        return Err(Refusal::new(Code::IllegalCommand, message).into());
    }
    if wanted.names.iter().any(|name| name.contains('\0')) {
        let message = "a name may not hold the character NUL";
        return Err(Refusal::new(Code::IllegalCommand, message).into());
    }
    let selection = Selection {
        directory: wanted.path,
        select: wanted.select,
        condition: None,
        names: Some(wanted.names.clone()),
        page: Page {
            after: None,
            limit: most,
        },
    };
    let table = asker.call(Call::Entries(selection)).await?;
    if table.is_full() {
        let detail = "the entries are too large for one response; ask for fewer";
        return Err(Problem::with_code(413, Code::IllegalCommand, detail));
    }
    let entries = model::entries(table);
    let there: BTreeSet<_> = entries.iter().map(|entry| &*entry.name).collect();
    let missing = wanted.names.into_iter();
    let missing = missing.filter(|name| !there.contains(&**name)).collect();
    Ok((entries, missing))
}

/// Return names that commas separate.
fn listed(names: Option<&str>) -> Option<Vec<String>> {
    let names = names?.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    Some(names.map(str::to_owned).collect())
}
