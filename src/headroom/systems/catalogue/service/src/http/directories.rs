//! Directories and their attributes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::Shares;
use super::login::Asker;
use super::model::{
    Attribute, Attributes, Directories, Directory, NewAttribute, NewDirectory, OfAttribute, OfPage,
    OfPath, after, limit, token,
};
use super::problem::{Body, Problem, Query};
use crate::catalogue::call::{Call, Page};

/// List the directories right below another one.
#[utoipa::path(get, path = "/v1/directories", tag = "directories", params(OfPage),
    responses((status = 200, body = Directories)))]
pub(super) async fn list(
    State(http): Shares,
    mut asker: Asker,
    Query(of): Query<OfPage>,
) -> Result<Json<Directories>, Problem> {
    let limit = limit(of.limit, http.settings.max_page)?;
    let page = Page {
        after: after(of.page.as_deref())?,
        limit: limit + 1,
    };
    let table = asker.call(Call::Directories(of.path, page)).await?;
    let rows = table.cells.chunks_exact(2);
    let mut found: Vec<_> = rows
        .map(|row| {
            let path = row[0].as_deref().unwrap_or_default();
            Directory {
                name: path.rsplit('/').next().unwrap_or(path).to_owned(),
                owner: row[1].clone().unwrap_or_default(),
            }
        })
        .collect();
    // Each database has its own part of those below the root.
    found.sort_by(|left, right| left.name.cmp(&right.name));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more);
    Ok(Json(Directories {
        next: next.map(|last| token(&last.name)),
        directories: found,
    }))
}

/// Make a directory.
#[utoipa::path(post, path = "/v1/directories", tag = "directories", request_body = NewDirectory,
    responses((status = 201, description = "made")))]
pub(super) async fn create(
    mut asker: Asker,
    Body(new): Body<NewDirectory>,
) -> Result<StatusCode, Problem> {
    let options = [
        ("plain", new.plain),
        ("acls", new.acls),
        ("inherit", new.inherit),
    ];
    let chosen = options.iter().filter(|(_, is_chosen)| *is_chosen);
    let options = chosen.map(|(name, _)| (*name).to_owned());
    let words = std::iter::once(new.path).chain(options).collect();
    asker.call(Call::Command("createdir", words)).await?;
    Ok(StatusCode::CREATED)
}

/// Remove an empty directory.
#[utoipa::path(delete, path = "/v1/directories", tag = "directories", params(OfPath),
    responses((status = 204, description = "removed")))]
pub(super) async fn remove(
    mut asker: Asker,
    Query(of): Query<OfPath>,
) -> Result<StatusCode, Problem> {
    asker.run("rmdir", [of.path]).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the attributes of a directory.
#[utoipa::path(get, path = "/v1/attributes", tag = "attributes", params(OfPath),
    responses((status = 200, body = Attributes)))]
pub(super) async fn attributes(
    mut asker: Asker,
    Query(of): Query<OfPath>,
) -> Result<Json<Attributes>, Problem> {
    let table = asker.call(Call::Command("listattr", vec![of.path])).await?;
    let rows = table.cells.chunks_exact(2);
    let attributes = rows.map(|row| Attribute {
        name: row[0].clone().unwrap_or_default(),
        r#type: row[1].clone().unwrap_or_default(),
    });
    let attributes = attributes.collect();
    Ok(Json(Attributes { attributes }))
}

/// Add an attribute to a directory.
#[utoipa::path(post, path = "/v1/attributes", tag = "attributes", request_body = NewAttribute,
    responses((status = 201, description = "added")))]
pub(super) async fn add_attribute(
    mut asker: Asker,
    Body(new): Body<NewAttribute>,
) -> Result<StatusCode, Problem> {
    let words = [new.path, new.name, new.r#type];
    asker.run("addattr", words).await?;
    Ok(StatusCode::CREATED)
}

/// Remove an attribute and its values.
#[utoipa::path(delete, path = "/v1/attributes", tag = "attributes", params(OfAttribute),
    responses((status = 204, description = "removed")))]
pub(super) async fn remove_attribute(
    mut asker: Asker,
    Query(of): Query<OfAttribute>,
) -> Result<StatusCode, Problem> {
    asker.run("removeattr", [of.path, of.name]).await?;
    Ok(StatusCode::NO_CONTENT)
}
