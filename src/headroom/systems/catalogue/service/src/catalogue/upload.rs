//! Streamed insertion: `upload`, many `put`, then `commit` or `abort`.
//!
//! AMGA's client reads no replies to `upload` and `put`. So there are none, and the first fault is the
//! reply to `commit`, which then undoes all.

use std::sync::Arc;

use super::client::{Client, Ended};
use super::directory::Directory;
use super::entries::{self, Row};
use super::path::Path;
use super::rights::Rights;
use crate::refusal::{Answer, Code, Refusal};
use crate::server::Session as _;
use crate::wire::reply::Reply;

/// Entries that go to the database together.
const BATCH: usize = 256;

/// An upload that is open.
pub(super) struct Upload {
    path: Path,
    attributes: Vec<String>,
    waiting: Vec<Row>,
    /// The first fault: then nothing more is inserted.
    fault: Option<Refusal>,
}

/// Keep the fault of `upload` or `put` for `commit`, and send no reply.
pub(super) fn answer(
    client: &mut Client,
    is_begin: bool,
    result: Answer<()>,
    reply: &mut Reply<'_>,
) -> Answer<()> {
    if let Err(refusal) = result {
        if client.upload.is_none() && !is_begin {
            return Err(refusal);
        }
        let failed = client.upload.get_or_insert_with(|| Upload {
            path: Path::root(),
            attributes: Vec::new(),
            waiting: Vec::new(),
            fault: None,
        });
        failed.fault.get_or_insert(refusal);
    }
    reply.silence();
    Ok(())
}

/// Insert the rest. After a fault, the transaction is undone instead.
pub(super) async fn end(client: &mut Client) -> Answer<Ended> {
    let Some(upload) = &mut client.upload else {
        return Ok(Ended::Done);
    };
    let result = match upload.fault.take() {
        Some(fault) => Err(fault),
        None => flush(client).await,
    };
    match result {
        Ok(Ended::Stale) => return Ok(Ended::Stale),
        Ok(Ended::Done) => client.upload = None,
        Err(fault) => {
            client.upload = None;
            if client.is_in_transaction() {
                client.abort().await?;
            }
            return Err(fault);
        }
    }
    Ok(Ended::Done)
}

/// Begin to insert entries with values of these attributes; it begins a transaction.
pub(super) async fn begin(client: &mut Client, path: &str, attributes: &[String]) -> Answer<Ended> {
    if client.upload.is_some() {
        let message = "an upload is open; `commit` or `abort` it first";
        return Err(Refusal::new(Code::Transaction, message));
    }
    let path = client.here.resolve(path)?;
    let directory = client.directory(&path).await?;
    let person = client.person().await?;
    directory.demand(&person, Rights::WRITE)?;
    for name in attributes {
        directory.layout.attribute(name)?;
    }
    let given: Vec<_> = attributes.iter().map(String::as_str).collect();
    if let [missing, ..] = directory.layout.missing(&given)[..] {
        let message = format!("`{missing}` needs a value");
        return Err(Refusal::new(Code::Constraint, message));
    }
    client.begin()?;
    client.upload = Some(Upload {
        path,
        attributes: attributes.to_vec(),
        waiting: Vec::new(),
        fault: None,
    });
    Ok(Ended::Done)
}

/// Add an entry to the upload.
pub(super) async fn put(client: &mut Client, name: &str, values: &[String]) -> Answer<Ended> {
    if client
        .upload
        .as_ref()
        .is_some_and(|upload| upload.fault.is_some())
    {
        return Ok(Ended::Done);
    }
    let directory = directory(client).await?;
    let Some(upload) = &client.upload else {
        return Err(none());
    };
    if values.len() != upload.attributes.len() {
        let message = format!(
            "{} values for the attributes {}",
            values.len(),
            upload.attributes.join(", ")
        );
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    let attributes = upload.attributes.iter().map(String::as_str);
    let pairs: Vec<_> = attributes.zip(values.iter().map(String::as_str)).collect();
    let row = Row::of(&directory, name, &pairs)?;
    if upload.waiting.len() >= BATCH && flush(client).await? == Ended::Stale {
        return Ok(Ended::Stale);
    }
    if let Some(upload) = &mut client.upload {
        upload.waiting.push(row);
    }
    Ok(Ended::Done)
}

/// Send what waits to the database.
async fn flush(client: &mut Client) -> Answer<Ended> {
    let directory = directory(client).await?;
    let waiting = match &client.upload {
        Some(upload) if !upload.waiting.is_empty() => upload.waiting.clone(),
        _ => return Ok(Ended::Done),
    };
    let ended = entries::add(client, &directory, &waiting).await?;
    if let (Ended::Done, Some(upload)) = (ended, &mut client.upload) {
        upload.waiting.clear();
    }
    Ok(ended)
}

async fn directory(client: &mut Client) -> Answer<Arc<Directory>> {
    let path = client.upload.as_ref().map(|upload| upload.path.clone());
    let path = path.ok_or_else(none)?;
    client.directory(&path).await
}

fn none() -> Refusal {
    let message = "no upload is open; begin with `upload <directory> <attributes>`";
    Refusal::new(Code::IllegalCommand, message)
}
