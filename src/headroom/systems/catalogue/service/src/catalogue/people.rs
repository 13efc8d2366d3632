//! Users and groups. They are in the first database; each change raises the epoch.

use super::client::{Client, Ended};
use super::commands::lines;
use super::directory::{ANYUSER, ROOT};
use super::{Catalogue, shown, text};
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::store::{Expect, Step};
use crate::value::Value;
use crate::wire::reply::Reply;

/// Letters of the name of a user or a group.
const NAME_LETTERS: usize = 64;

/// Return the statement that makes a person if there is none of this name.
pub(super) fn make(name: &str) -> Sql {
    let mut sql = Sql::insert_new();
    sql.text("person (name) VALUES (")
        .bind(text(name))
        .text(")");
    sql.unless_there();
    sql
}

/// Return the statement that sets the hash of a password.
pub(super) fn set_password(person: &str, hash: String) -> Sql {
    let mut sql = Sql::new("UPDATE person SET password = ");
    sql.bind(text(hash))
        .text(" WHERE name = ")
        .bind(text(person));
    sql
}

/// Return the query of the hash of a password.
pub(super) fn password(person: &str) -> Sql {
    let mut sql = Sql::new("SELECT password FROM person WHERE name = ");
    sql.bind(text(person));
    sql
}

/// Return the query of the epoch, and of the person that a certificate belongs to.
fn of_subject(subject: &str) -> Sql {
    let mut sql = Sql::new(
        "SELECT a.epoch, c.person FROM authority AS a \
         LEFT JOIN credential AS c ON c.subject = ",
    );
    sql.bind(text(subject)).text(" WHERE a.id = 1");
    sql
}

pub(super) fn no_person(name: &str) -> Refusal {
    Refusal::new(Code::NoSuchName, format!("no user `{name}`"))
}

fn no_group(name: &str) -> Refusal {
    let message = format!("no group `{name}`; a full name is `owner:group`");
    Refusal::new(Code::NoSuchName, message)
}

/// Refuse a name that neither a user nor a group without its owner may have.
pub(super) fn check_name(name: &str) -> Answer<()> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= NAME_LETTERS && name.chars().all(is_letter) {
        return Ok(());
    }
    let message = format!(
        "`{}` cannot be a name; use up to {NAME_LETTERS} of a to z, digits, `_`, `-` and `.`",
        name.escape_debug()
    );
    Err(Refusal::new(Code::IllegalCommand, message))
}

impl Catalogue {
    /// Ask which person a certificate belongs to, and remember it.
    pub(super) async fn certified(&self, subject: &str, login: &str) -> Answer<String> {
        let rows = self.rows(of_subject(subject)).await?;
        let found = match rows.first().map(Vec::as_slice) {
            Some([Value::Integer(epoch), Value::Text(name)]) => Some((name.clone(), *epoch)),
            _ => None,
        };
        self.cache.keep_subject(subject, found.clone());
        let name = found.map(|(name, _)| name);
        name.filter(|name| login.is_empty() || name == login)
            .ok_or_else(|| {
                let message = format!("no such user belongs to the certificate {subject}");
                Refusal::new(Code::LoginRefused, message)
            })
    }

    /// Refuse a person that does not exist.
    pub(super) async fn demand_person(&self, name: &str) -> Answer<()> {
        let mut query = Sql::new("SELECT 1 FROM person WHERE name = ");
        query.bind(text(name));
        let is_known = !self.rows(query).await?.is_empty();
        is_known.then_some(()).ok_or_else(|| no_person(name))
    }

    /// Refuse a group that does not exist.
    pub(super) async fn demand_group(&self, name: &str) -> Answer<()> {
        if name == ANYUSER {
            return Ok(());
        }
        let mut query = Sql::new("SELECT 1 FROM team WHERE name = ");
        query.bind(text(name));
        let is_known = !self.rows(query).await?.is_empty();
        is_known.then_some(()).ok_or_else(|| no_group(name))
    }
}

impl Client {
    /// Refuse everyone but root.
    async fn demand_root(&mut self) -> Answer<()> {
        if self.person().await?.is_root() {
            return Ok(());
        }
        Err(Refusal::new(
            Code::PermissionDenied,
            "only root may do this",
        ))
    }

    /// Change users or groups, and raise the epoch. This does not belong to the client's transaction:
    /// it counts at once, on all servers.
    async fn change_people(&mut self, mut steps: Vec<Step>, unmet: Refusal) -> Answer<Ended> {
        let raise = Sql::new("UPDATE authority SET epoch = epoch + 1 WHERE id = 1");
        steps.push(Step::new(raise));
        let ran = self.catalogue.store.run(0, steps).await?;
        if ran.failed.is_some() {
            return Err(unmet);
        }
        self.catalogue.cache.forget([], &self.name);
        self.catalogue.spread_epoch().await?;
        Ok(Ended::Done)
    }

    async fn list_people(&mut self, query: Sql, reply: &mut Reply<'_>) -> Answer<Ended> {
        reply.columns(1);
        for row in self.catalogue.rows(query).await? {
            lines(reply, row.iter().map(shown)).await?;
        }
        Ok(Ended::Done)
    }

    /// Return the full name of a group; one without an owner is of this person.
    fn group_name(&self, name: &str) -> String {
        if name.contains(':') {
            name.to_owned()
        } else {
            format!("{}:{name}", self.name)
        }
    }

    async fn demand_group_owner(&mut self, group: &str) -> Answer<()> {
        let owner = group.split(':').next().unwrap_or_default();
        if owner == self.name || self.name == ROOT {
            return self.catalogue.demand_group(group).await;
        }
        Err(Refusal::new(
            Code::PermissionDenied,
            format!("`{group}` belongs to `{owner}`"),
        ))
    }
}

/// Users.
pub(super) async fn user_list(client: &mut Client, reply: &mut Reply<'_>) -> Answer<Ended> {
    let query = Sql::new("SELECT name FROM person ORDER BY name");
    client.list_people(query, reply).await
}

/// Subjects of certificates of a user.
pub(super) async fn user_listcred(
    client: &mut Client,
    name: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    if name != client.name {
        client.demand_root().await?;
    }
    client.catalogue.demand_person(name).await?;
    let mut query = Sql::new("SELECT subject FROM credential WHERE person = ");
    query.bind(text(name)).text(" ORDER BY subject");
    client.list_people(query, reply).await
}

/// Make a user.
pub(super) async fn user_create(
    client: &mut Client,
    name: &str,
    password: Option<&String>,
) -> Answer<Ended> {
    client.demand_root().await?;
    check_name(name)?;
    let mut steps = vec![Step::expecting(make(name), Expect::Something)];
    if let Some(password) = password {
        let hash = client.catalogue.passwords.hash(password.clone()).await?;
        steps.push(Step::new(set_password(name, hash)));
    }
    let exists = Refusal::new(Code::Exists, format!("the user `{name}` exists"));
    client.change_people(steps, exists).await
}

/// Remove a user with credentials, memberships and groups. Its directories and entries stay.
pub(super) async fn user_remove(client: &mut Client, name: &str) -> Answer<Ended> {
    client.demand_root().await?;
    if name == ROOT {
        return Err(Refusal::new(Code::PermissionDenied, "root stays"));
    }
    let mut steps = Vec::new();
    for (begin, end) in [
        ("DELETE FROM credential WHERE person = ", ""),
        ("DELETE FROM session WHERE person = ", ""),
        ("DELETE FROM member WHERE person = ", ""),
        (
            "DELETE FROM member WHERE team IN (SELECT name FROM team WHERE owner = ",
            ")",
        ),
        ("DELETE FROM team WHERE owner = ", ""),
    ] {
        let mut sql = Sql::new(begin);
        sql.bind(text(name)).text(end);
        steps.push(Step::new(sql));
    }
    let mut sql = Sql::new("DELETE FROM person WHERE name = ");
    sql.bind(text(name));
    steps.push(Step::expecting(sql, Expect::Something));
    client.change_people(steps, no_person(name)).await
}

/// Change a password: one's own, or as root anyone's.
pub(super) async fn user_password_change(
    client: &mut Client,
    name: &str,
    password: &str,
) -> Answer<Ended> {
    if name != client.name {
        client.demand_root().await?;
    }
    let hash = client.catalogue.passwords.hash(password.to_owned()).await?;
    let steps = vec![Step::expecting(set_password(name, hash), Expect::Something)];
    client.change_people(steps, no_person(name)).await
}

/// Let a user log in with certificates of a subject.
pub(super) async fn user_subject_add(
    client: &mut Client,
    name: &str,
    subject: &str,
) -> Answer<Ended> {
    client.demand_root().await?;
    client.catalogue.demand_person(name).await?;
    let mut sql = Sql::insert_new();
    sql.text("credential (subject, person) VALUES (")
        .bind(text(subject))
        .text(", ");
    sql.bind(text(name)).text(")");
    sql.unless_there();
    let steps = vec![Step::expecting(sql, Expect::Something)];
    let exists = Refusal::new(Code::Exists, format!("a user has the subject `{subject}`"));
    client.change_people(steps, exists).await
}

/// Let certificates of a subject no longer log in.
pub(super) async fn user_subject_remove(client: &mut Client, subject: &str) -> Answer<Ended> {
    client.demand_root().await?;
    let mut sql = Sql::new("DELETE FROM credential WHERE subject = ");
    sql.bind(text(subject));
    let steps = vec![Step::expecting(sql, Expect::Something)];
    let missing = Refusal::new(
        Code::NoSuchName,
        format!("no user has the subject `{subject}`"),
    );
    client.change_people(steps, missing).await
}

/// Become another user.
pub(super) async fn sudo(client: &mut Client, name: &str) -> Answer<Ended> {
    client.demand_root().await?;
    client.catalogue.demand_person(name).await?;
    name.clone_into(&mut client.name);
    Ok(Ended::Done)
}

/// Make a group of one's own.
pub(super) async fn grp_create(client: &mut Client, name: &str) -> Answer<Ended> {
    let full = client.group_name(name);
    let (owner, short) = full.split_once(':').unwrap_or_default();
    check_name(short)?;
    if owner != client.name {
        client.demand_root().await?;
        client.catalogue.demand_person(owner).await?;
    }
    let mut sql = Sql::insert_new();
    sql.text("team (name, owner) VALUES (")
        .bind(text(&full))
        .text(", ");
    sql.bind(text(owner)).text(")");
    sql.unless_there();
    let steps = vec![Step::expecting(sql, Expect::Something)];
    let exists = Refusal::new(Code::Exists, format!("the group `{full}` exists"));
    client.change_people(steps, exists).await
}

/// Remove a group. Lists that name it keep the name, which then has no members.
pub(super) async fn grp_delete(client: &mut Client, name: &str) -> Answer<Ended> {
    let full = client.group_name(name);
    client.demand_group_owner(&full).await?;
    let mut members = Sql::new("DELETE FROM member WHERE team = ");
    members.bind(text(&full));
    let mut team = Sql::new("DELETE FROM team WHERE name = ");
    team.bind(text(&full));
    let steps = vec![Step::new(members), Step::expecting(team, Expect::Something)];
    client.change_people(steps, no_group(&full)).await
}

/// Members of a group.
pub(super) async fn grp_show(
    client: &mut Client,
    name: &str,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let full = client.group_name(name);
    client.catalogue.demand_group(&full).await?;
    let mut query = Sql::new("SELECT person FROM member WHERE team = ");
    query.bind(text(&full)).text(" ORDER BY person");
    client.list_people(query, reply).await
}

/// Let a user belong to a group, or no longer.
pub(super) async fn grp_change(
    client: &mut Client,
    group: &str,
    user: &str,
    is_in: bool,
) -> Answer<Ended> {
    let full = client.group_name(group);
    client.demand_group_owner(&full).await?;
    client.catalogue.demand_person(user).await?;
    let (sql, unmet) = if is_in {
        let mut sql = Sql::insert_new();
        sql.text("member (team, person) VALUES (").bind(text(&full));
        sql.text(", ").bind(text(user)).text(")").unless_there();
        let unmet = Refusal::new(Code::Exists, format!("`{user}` is in `{full}`"));
        (sql, unmet)
    } else {
        let mut sql = Sql::new("DELETE FROM member WHERE team = ");
        sql.bind(text(&full))
            .text(" AND person = ")
            .bind(text(user));
        let unmet = Refusal::new(Code::NoSuchName, format!("`{user}` is not in `{full}`"));
        (sql, unmet)
    };
    client
        .change_people(vec![Step::expecting(sql, Expect::Something)], unmet)
        .await
}

/// Groups that a user belongs to, or owns.
pub(super) async fn groups(
    client: &mut Client,
    name: Option<&String>,
    is_owner: bool,
    reply: &mut Reply<'_>,
) -> Answer<Ended> {
    let name = name.cloned().unwrap_or_else(|| client.name.clone());
    client.catalogue.demand_person(&name).await?;
    let mut query = Sql::new(if is_owner {
        "SELECT name FROM team WHERE owner = "
    } else {
        "SELECT team FROM member WHERE person = "
    });
    query.bind(text(&name)).text(" ORDER BY 1");
    client.list_people(query, reply).await
}
