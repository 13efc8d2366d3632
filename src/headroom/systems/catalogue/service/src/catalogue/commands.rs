//! The commands: names, arguments, help; and planning again when a plan was old.

use std::sync::Arc;

use super::call::{self, Call};
use super::client::{Client, Ended, gone};
use super::command_table::COMMANDS;
use super::grants::Change;
use super::rights::Rights;
use super::{
    constraints, dump, entries, grants, native, people, reading, schema, sequences, sites, tree,
    updates, upload,
};
use crate::language::native::Statement;
use crate::language::shape::shape as shaped;
use crate::language::words::words;
use crate::refusal::{Answer, Code, Refusal};
use crate::wire::reply::Reply;

/// How often a command is planned before the client hears that its directory changes too often.
const ATTEMPTS: usize = 10;

/// Commands that succeed only if a statement has compared the epoch of users and groups.
const SELF_CONFIRMING: [&str; 12] = [
    "addentry",
    "addentries",
    "clearattr",
    "dir",
    "find",
    "getattr",
    "listentries",
    "rm",
    "selectattr",
    "setattr",
    "updateattr",
    "updateattr_single",
];

/// Commands and topics of AMGA that are missing here: its documents name them and say no more.
const MISSING: [&str; 4] = ["execute", "link", "ticket", "view"];

/// Write lines.
pub(super) async fn lines(
    reply: &mut Reply<'_>,
    lines: impl IntoIterator<Item = impl AsRef<str>>,
) -> Answer<()> {
    for line in lines {
        reply.line(line.as_ref()).await.map_err(gone)?;
    }
    Ok(())
}

/// Run a line of a client.
pub(super) async fn execute(client: &mut Client, line: &str, reply: &mut Reply<'_>) -> Answer<()> {
    if native::is_statement(line) {
        return native::execute(client, line, reply).await;
    }
    let words = words(line)?;
    let Some((name, arguments)) = words.split_first() else {
        return Err(Refusal::new(Code::IllegalCommand, "an empty command"));
    };
    check(name, arguments)?;
    let result = attempts(client, Request::Words(name, arguments), reply).await;
    match &**name {
        "upload" | "put" => upload::answer(client, name == "upload", result, reply),
        _ => result,
    }
}

/// A command, understood.
#[derive(Clone, Copy)]
pub(super) enum Request<'a> {
    /// Its name and arguments.
    Words(&'a str, &'a [String]),
    /// Native SQL, read and as it was written.
    Native(&'a Statement, &'a str),
    /// A typed command.
    Call(&'a Call),
}

impl Request<'_> {
    /// The name of all statements in native SQL.
    const NATIVE: &'static str = "sql";

    fn name(&self) -> &'static str {
        match self {
            Self::Words(name, _) => {
                let known = COMMANDS.iter().find(|command| command.name == *name);
                known.map_or("", |command| command.name)
            }
            Self::Native(..) => Self::NATIVE,
            Self::Call(call) => call.name(),
        }
    }

    fn shape(&self) -> String {
        match self {
            Self::Words(name, words) => shape(name, words),
            Self::Native(_, text) => shaped(text),
            Self::Call(call) => call.shape(),
        }
    }
}

/// Return the names that requests have.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let names = COMMANDS.iter().map(|command| command.name);
    names.chain([Request::NATIVE]).chain(Call::NAMES)
}

/// Return the path and the expressions of a command, without numbers and texts. Other arguments may
/// be values or passwords.
pub(super) fn shape(name: &str, words: &[String]) -> String {
    let all_of = |words: &[String]| {
        let shapes: Vec<_> = words.iter().map(|word| shaped(word)).collect();
        shapes.join(" | ")
    };
    match name {
        "selectattr" => all_of(words),
        "find" | "updateattr" | "updateattr_single" => match words.split_first() {
            Some((path, rest)) => format!("{path} | {}", all_of(rest)),
            None => String::new(),
        },
        "createdir" | "rmdir" | "dir" | "listentries" | "stat" | "chmod" | "dump" | "addattr"
        | "removeattr" | "clearattr" | "listattr" | "getattr" | "setattr" | "addentry"
        | "addentries" | "rm" | "upload" => words.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// Run a command; plan it again as long as its plan was old.
pub(super) async fn attempts(
    client: &mut Client,
    request: Request<'_>,
    reply: &mut Reply<'_>,
) -> Answer<()> {
    let catalogue = Arc::clone(&client.catalogue);
    let metrics = &catalogue.metrics;
    let watch = metrics.begin(request.name(), &client.name, move || request.shape());
    let result = plans(client, request, reply).await;
    watch.end(&result);
    result
}

async fn plans(client: &mut Client, request: Request<'_>, reply: &mut Reply<'_>) -> Answer<()> {
    let finds_out = match request {
        Request::Words(name, _) => SELF_CONFIRMING.contains(&name),
        Request::Native(..) => true,
        Request::Call(_) => false,
    };
    // AMGA's clients begin with it: it asks nothing, and what follows finds out.
    if !finds_out && !matches!(request, Request::Words("transaction", _)) {
        client.confirm().await?;
    }
    for _ in 0..ATTEMPTS {
        client.begin_plan();
        let ended = match request {
            Request::Words(name, arguments) => run(client, name, arguments, reply).await,
            Request::Native(statement, _) => native::run(client, statement, reply).await,
            Request::Call(call) => call::run(client, call, reply).await,
        };
        match ended {
            Ok(Ended::Done) => {
                if finds_out {
                    client.is_confirmed();
                }
                return Ok(());
            }
            Ok(Ended::Stale) => {}
            Err(refusal) if is_about_plan(&refusal) && !reply.has_begun() => {
                if !client.was_misled().await? {
                    return Err(refusal);
                }
            }
            Err(refusal) => return Err(refusal),
        }
        client.plan_again().await?;
    }
    let message = "the directory or the groups change too often; try again";
    Err(Refusal::new(Code::Transaction, message))
}

/// Return whether a refusal can depend on what the server remembers.
fn is_about_plan(refusal: &Refusal) -> bool {
    !matches!(
        refusal.code,
        Code::Unavailable | Code::Transaction | Code::LoginRefused | Code::Cancelled
    )
}

fn check(name: &str, arguments: &[String]) -> Answer<()> {
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        let message = if MISSING.contains(&name) {
            format!("AMGA's `{name}` is missing here; `help` lists what there is")
        } else {
            format!("no command `{}`; `help` lists them", name.escape_debug())
        };
        return Err(Refusal::new(Code::IllegalCommand, message));
    };
    if (command.least..=command.most).contains(&arguments.len()) {
        return Ok(());
    }
    let message = format!("usage: {} {}", command.name, command.usage);
    Err(Refusal::new(Code::IllegalCommand, message.trim_end()))
}

/// Run a command whose number of arguments is right.
async fn run(
    client: &mut Client,
    name: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    match name.split('_').next().unwrap_or(name) {
        "user" | "sudo" | "whoami" | "grp" => run_people(client, name, words, reply).await,
        "sequence" | "constraint" | "index" | "site" | "replica" | "acl" | "restore" => {
            run_extra(client, name, words, reply).await
        }
        "transaction" | "commit" | "abort" | "upload" | "put" => {
            run_transaction(client, name, words).await
        }
        "createdir" | "rmdir" | "dir" | "listentries" | "cd" | "pwd" | "stat" | "chown"
        | "chmod" | "dump" | "help" => run_tree(client, name, words, reply).await,
        _ => run_entries(client, name, words, reply).await,
    }
}

async fn run_tree(
    client: &mut Client,
    name: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let first = words.first().map_or(".", String::as_str);
    match name {
        "createdir" => tree::createdir(client, first, &words[1..]).await,
        "rmdir" => tree::rmdir(client, first).await,
        "dir" => tree::dir(client, first, reply).await,
        "listentries" => tree::listentries(client, first, reply).await,
        "cd" => tree::cd(client, words.first().map_or("/", String::as_str)).await,
        "stat" => tree::stat(client, first, reply).await,
        "chown" => grants::change(client, first, &Change::Owner(words[1].clone())).await,
        "chmod" => grants::change(client, first, &Change::Mode(Rights::parse(&words[1])?)).await,
        "dump" => dump::dump(client, first, reply).await,
        "pwd" => {
            reply.columns(1);
            lines(reply, [client.here.text()]).await?;
            Ok(Ended::Done)
        }
        _ => help(words.first(), reply).await,
    }
}

async fn run_entries(
    client: &mut Client,
    name: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let (first, rest) = (&words[0], &words[1..]);
    match name {
        "addattr" => schema::addattr(client, first, &words[1], &words[2..].join(" ")).await,
        "removeattr" => schema::removeattr(client, first, &words[1]).await,
        "clearattr" => entries::clearattr(client, first, &words[1]).await,
        "listattr" => reading::listattr(client, first, reply).await,
        "getattr" => reading::getattr(client, first, rest, reply).await,
        "setattr" => entries::setattr(client, first, rest).await,
        "selectattr" => reading::selectattr(client, words, reply).await,
        "find" => reading::find(client, first, words.get(1).map(String::as_str), reply).await,
        "updateattr" => updates::updateattr(client, first, rest).await,
        "updateattr_single" => updates::updateattr_single(client, first, rest, reply).await,
        "addentry" => entries::addentry(client, first, rest).await,
        "addentries" => entries::addentries(client, words).await,
        "rm" => entries::rm(client, first).await,
        _ => Err(Refusal::new(
            Code::IllegalCommand,
            format!("no command `{name}`"),
        )),
    }
}

async fn run_transaction(client: &mut Client, name: &str, words: &[String]) -> Answer<Ended> {
    match name {
        "transaction" => client.begin()?,
        "upload" => return upload::begin(client, &words[0], &words[1..]).await,
        "put" => return upload::put(client, &words[0], &words[1..]).await,
        "commit" => {
            if upload::end(client).await? == Ended::Stale {
                return Ok(Ended::Stale);
            }
            client.commit().await?;
        }
        _ => {
            client.upload = None;
            client.abort().await?;
        }
    }
    Ok(Ended::Done)
}

async fn run_people(
    client: &mut Client,
    name: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let first = words.first();
    let one = first.map_or("", String::as_str);
    match name {
        "user_list" => people::user_list(client, reply).await,
        "user_listcred" => people::user_listcred(client, one, reply).await,
        "user_create" => people::user_create(client, one, words.get(1)).await,
        "user_remove" => people::user_remove(client, one).await,
        "user_password_change" => people::user_password_change(client, one, &words[1]).await,
        "user_subject_add" => people::user_subject_add(client, one, &words[1]).await,
        "user_subject_remove" => people::user_subject_remove(client, one).await,
        "sudo" => people::sudo(client, one).await,
        "grp_create" => people::grp_create(client, one).await,
        "grp_delete" => people::grp_delete(client, one).await,
        "grp_show" => people::grp_show(client, one, reply).await,
        "grp_adduser" => people::grp_change(client, one, &words[1], true).await,
        "grp_removeuser" => people::grp_change(client, one, &words[1], false).await,
        "grp_member" => people::groups(client, first, false, reply).await,
        "grp_list" => people::groups(client, first, true, reply).await,
        _ => {
            reply.columns(1);
            lines(reply, [&*client.name]).await?;
            Ok(Ended::Done)
        }
    }
}

async fn run_extra(
    client: &mut Client,
    name: &str,
    words: &[String],
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let one = words.first().map_or("", String::as_str);
    match name {
        "sequence_create" => sequences::create(client, one, &words[1], &words[2..]).await,
        "sequence_next" => sequences::next(client, one, reply).await,
        "sequence_remove" => sequences::remove(client, one).await,
        "constraint_add_not_null" => schema::require(client, one, &words[1]).await,
        "constraint_add_unique" => schema::unique(client, one, &words[1]).await,
        "constraint_add_reference" => {
            constraints::add_reference(client, one, &words[1], &words[2], &words[3]).await
        }
        "constraint_add_check" => constraints::add_check(client, one, &words[1], &words[2]).await,
        "constraint_drop" => constraints::drop_rule(client, one, &words[1]).await,
        "constraint_list" => constraints::list(client, one, reply).await,
        "index_create" => schema::index(client, one, &words[1], true).await,
        "index_remove" => schema::index(client, one, &words[1], false).await,
        "acl_add" => {
            let change = Change::Group(words[1].clone(), Some(Rights::parse(&words[2])?));
            grants::change_one(client, one, &change).await
        }
        "acl_remove" => {
            grants::change_one(client, one, &Change::Group(words[1].clone(), None)).await
        }
        "acl_show" => grants::acl_show(client, one, reply).await,
        "restore_directory" => grants::restore_directory(client, one, &words[1..]).await,
        "restore_entry" => grants::change_entry(client, one, &grants::all(&words[1..])?).await,
        "site_add" => sites::site_add(client, one, &words[1]).await,
        "site_remove" => sites::site_remove(client, one).await,
        "site_list" => sites::site_list(client, reply).await,
        "replica_register" | "replica_add" => sites::register(client, words).await,
        "replica_unregister" => sites::unregister(client, words).await,
        "replica_list" => sites::list(client, words, reply).await,
        _ => Err(Refusal::new(
            Code::IllegalCommand,
            format!("no command `{name}`"),
        )),
    }
}

/// Explain a topic or a command; without one, list the topics.
async fn help(word: Option<&String>, reply: &mut Reply<'_>) -> Answer<Ended> {
    let Some(word) = word else {
        let mut topics: Vec<_> = COMMANDS.iter().map(|command| command.topic).collect();
        topics.sort_unstable();
        topics.dedup();
        let first = "help <topic> lists commands; topics:".to_owned();
        lines(reply, [first, topics.join(" ")]).await?;
        return Ok(Ended::Done);
    };
    let fitting = COMMANDS
        .iter()
        .filter(|one| one.topic == word || one.name == word);
    let shown: Vec<_> = fitting
        .map(|one| format!("{} {}: {}", one.name, one.usage, one.what))
        .collect();
    if shown.is_empty() {
        let message = if MISSING.contains(&word.as_str()) {
            format!("AMGA's `{word}` is missing here")
        } else {
            format!("no topic or command `{}`", word.escape_debug())
        };
        return Err(Refusal::new(Code::NotFound, message));
    }
    lines(reply, shown).await?;
    Ok(Ended::Done)
}
