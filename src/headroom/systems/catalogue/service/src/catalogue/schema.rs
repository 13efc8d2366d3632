//! Commands that change the attributes of a directory, and how its row is changed.

use std::sync::Arc;

use super::client::{Client, Ended, Tried};
use super::directory::Directory;
use super::guard::Guard;
use super::layout::{Attribute, Layout, check_attribute_name};
use super::rights::Rights;
use super::text;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::{Access, Slot, Sql};
use crate::store::tables::{Family, KEY_CHARACTERS};
use crate::store::{Expect, Step};
use crate::value::{Kind, Type, Value};

impl Client {
    /// Change the layout of a directory; `steps` come after its row is locked and before it changes,
    /// and `unmet` says what it means if one does not go as expected.
    pub(super) async fn change_layout(
        &mut self,
        directory: &Directory,
        layout: &Layout,
        steps: Vec<Step>,
        unmet: &str,
    ) -> Answer<Ended> {
        self.change_layouts(&[(directory, layout)], steps, unmet)
            .await
    }

    /// Change the layouts of several directories of one database together.
    pub(super) async fn change_layouts(
        &mut self,
        changes: &[(&Directory, &Layout)],
        steps: Vec<Step>,
        unmet: &str,
    ) -> Answer<Ended> {
        let person = self.person().await?;
        for (directory, _) in changes {
            directory.demand(&person, Rights::WRITE)?;
        }
        let directories = changes.iter().map(|(directory, _)| *directory);
        let guard = Guard::new(&person, directories);
        let mut all = vec![
            Step::expecting(guard.lock(), Expect::Something),
            Step::expecting(guard.question(), Expect::Something),
        ];
        all.extend(steps);
        for (directory, layout) in changes {
            let mut update = Sql::new("UPDATE directory SET version = version + 1, layout = ");
            update.bind(text(json(layout)?)).text(" WHERE id = ");
            update.bind(Value::Integer(directory.id));
            all.push(Step::expecting(update, Expect::Something));
        }
        let shard = self.catalogue.shard(&changes[0].0.path);
        self.changed(
            shard,
            &guard,
            all,
            unmet,
            changes.iter().map(|(one, _)| *one),
        )
        .await
    }

    /// Run the steps of a change of directories, which are then forgotten.
    pub(super) async fn changed<'a>(
        &mut self,
        shard: usize,
        guard: &Guard,
        steps: Vec<Step>,
        unmet: &str,
        directories: impl Iterator<Item = &'a Directory>,
    ) -> Answer<Ended> {
        let tried = self.attempt(shard, guard, steps).await?;
        self.catalogue
            .cache
            .forget(directories.map(|one| &one.path), "");
        match tried {
            Tried::Done(_) => Ok(Ended::Done),
            Tried::Stale => Ok(Ended::Stale),
            Tried::Unmet(..) => Err(Refusal::new(Code::Constraint, unmet)),
        }
    }
}

/// Return the text that a row has of a layout.
pub(super) fn json(layout: &Layout) -> Answer<String> {
    serde_json::to_string(layout)
        .map_err(|error| Refusal::new(Code::Unavailable, format!("the layout: {error}")))
}

/// Add an attribute.
pub(super) async fn addattr(
    client: &mut Client,
    path: &str,
    name: &str,
    of: &str,
) -> Answer<Ended> {
    check_attribute_name(name)?;
    let directory = directory(client, path).await?;
    let mut layout = directory.layout.clone();
    if layout.attributes.iter().any(|known| known.name == name) {
        return Err(Refusal::new(
            Code::Exists,
            format!("the attribute `{name}` exists"),
        ));
    }
    let parsed = Type::parse(of)?;
    let mut steps = Vec::new();
    let slot = match layout.free_slot(layout.family, Access::Plain, &parsed) {
        Ok(slot) => slot,
        Err(_) if layout.family == Family::Narrow => {
            steps = widened(&directory);
            layout.family = Family::Wide;
            layout.free_slot(Family::Wide, Access::Plain, &parsed)?
        }
        Err(refusal) => return Err(refusal),
    };
    layout.attributes.push(Attribute {
        name: name.to_owned(),
        shown: of.trim().to_owned(),
        of: parsed,
        slot,
        is_required: false,
    });
    client.change_layout(&directory, &layout, steps, "").await
}

/// Remove an attribute and its values.
pub(super) async fn removeattr(client: &mut Client, path: &str, name: &str) -> Answer<Ended> {
    let directory = directory(client, path).await?;
    let mut layout = directory.layout.clone();
    let slot = layout.attribute(name)?.slot;
    if let Some(rule) = super::constraints::rule_of(client, &directory, name).await? {
        let message = format!("`{name}` has the rule {rule}; drop it first");
        return Err(Refusal::new(Code::Constraint, message));
    }
    layout.attributes.retain(|one| one.name != name);
    // The column must be empty when another attribute takes it.
    let mut clear = Sql::new("UPDATE ");
    clear
        .text(layout.family.table())
        .text(" SET ")
        .slot(slot)
        .text(" = NULL WHERE dir = ");
    clear.bind(Value::Integer(directory.id));
    client
        .change_layout(&directory, &layout, vec![Step::new(clear)], "")
        .await
}

/// Let entries need a value of an attribute.
pub(super) async fn require(client: &mut Client, path: &str, name: &str) -> Answer<Ended> {
    let directory = directory(client, path).await?;
    let mut layout = directory.layout.clone();
    let slot = layout.attribute(name)?.slot;
    let mut missing = of_entries(&directory, "SELECT 1 FROM ");
    missing.text(" AND ").slot(slot).text(" IS NULL LIMIT 1");
    for attribute in &mut layout.attributes {
        attribute.is_required |= attribute.name == name;
    }
    let steps = vec![Step::expecting(missing, Expect::Nothing)];
    client
        .change_layout(&directory, &layout, steps, "an entry has no value")
        .await
}

/// Let no two entries have the same value of an attribute.
pub(super) async fn unique(client: &mut Client, path: &str, name: &str) -> Answer<Ended> {
    let directory = directory(client, path).await?;
    move_attribute(client, &directory, name, Access::Unique).await
}

/// Give an attribute an index, or take it away.
pub(super) async fn index(
    client: &mut Client,
    path: &str,
    name: &str,
    is_on: bool,
) -> Answer<Ended> {
    let directory = directory(client, path).await?;
    let access = directory.layout.attribute(name)?.slot.access;
    match (access, is_on) {
        (Access::Unique, _) => {
            let message = format!("`{name}` is unique, which is an index");
            Err(Refusal::new(Code::Exists, message))
        }
        (Access::Indexed, true) => {
            Err(Refusal::new(Code::Exists, format!("`{name}` has an index")))
        }
        (Access::Plain, false) => Err(Refusal::new(
            Code::NoSuchName,
            format!("`{name}` has no index"),
        )),
        (_, true) => move_attribute(client, &directory, name, Access::Indexed).await,
        (_, false) => move_attribute(client, &directory, name, Access::Plain).await,
    }
}

/// Move the values of an attribute to a column of another access.
pub(super) async fn move_attribute(
    client: &mut Client,
    directory: &Arc<Directory>,
    name: &str,
    access: Access,
) -> Answer<Ended> {
    let mut layout = directory.layout.clone();
    let mut steps = Vec::new();
    if layout.family == Family::Narrow {
        steps = widened(directory);
        layout.family = Family::Wide;
    }
    let attribute = layout.attribute(name)?.clone();
    if attribute.slot.access == access {
        let message = format!("`{name}` has this rule");
        return Err(Refusal::new(Code::Exists, message));
    }
    let slot = layout.free_slot(Family::Wide, access, &attribute.of)?;
    if access != Access::Plain {
        steps.extend(refusing_long(directory, attribute.slot, layout.family));
    }
    if access == Access::Unique {
        steps.push(refusing_twice(directory, attribute.slot, layout.family));
    }
    let mut copy = Sql::new("UPDATE wide SET ");
    copy.slot(slot).text(" = ").slot(attribute.slot).text(", ");
    copy.slot(attribute.slot).text(" = NULL WHERE dir = ");
    copy.bind(Value::Integer(directory.id));
    steps.push(Step::new(copy));
    for one in &mut layout.attributes {
        if one.name == name {
            one.slot = slot;
        }
    }
    let unmet = format!(
        "two entries have the same value, or one is longer than {KEY_CHARACTERS} characters"
    );
    client
        .change_layout(directory, &layout, steps, &unmet)
        .await
}

fn refusing_long(directory: &Directory, slot: Slot, family: Family) -> Option<Step> {
    if slot.kind != Kind::Text {
        return None;
    }
    let mut long = Sql::new("SELECT 1 FROM ");
    long.text(family.table())
        .text(" WHERE dir = ")
        .bind(Value::Integer(directory.id));
    long.by_dialect([" AND length(", " AND char_length(", " AND char_length("])
        .slot(slot);
    long.text(") > ")
        .number(i64::try_from(KEY_CHARACTERS).unwrap_or(i64::MAX))
        .text(" LIMIT 1");
    Some(Step::expecting(long, Expect::Nothing))
}

fn refusing_twice(directory: &Directory, slot: Slot, family: Family) -> Step {
    let mut twice = Sql::new("SELECT 1 FROM ");
    twice
        .text(family.table())
        .text(" WHERE dir = ")
        .bind(Value::Integer(directory.id));
    twice
        .text(" AND ")
        .slot(slot)
        .text(" IS NOT NULL GROUP BY ")
        .slot(slot);
    twice.text(" HAVING COUNT(*) > 1 LIMIT 1");
    Step::expecting(twice, Expect::Nothing)
}

/// Return the steps that move entries to the wide table.
fn widened(directory: &Directory) -> Vec<Step> {
    let columns = |sql: &mut Sql| {
        sql.text("dir, name, owner, mode, acl");
        for slot in Family::Narrow.slots() {
            sql.text(", ").slot(slot);
        }
    };
    let mut copy = Sql::new("INSERT INTO wide (");
    columns(&mut copy);
    copy.text(") SELECT ");
    columns(&mut copy);
    copy.text(" FROM entry WHERE dir = ")
        .bind(Value::Integer(directory.id));
    let mut remove = Sql::new("DELETE FROM entry WHERE dir = ");
    remove.bind(Value::Integer(directory.id));
    vec![Step::new(copy), Step::new(remove)]
}

fn of_entries(directory: &Directory, begin: &'static str) -> Sql {
    let mut query = Sql::new(begin);
    query
        .text(directory.layout.family.table())
        .text(" WHERE dir = ");
    query.bind(Value::Integer(directory.id));
    query
}

async fn directory(client: &mut Client, path: &str) -> Answer<Arc<Directory>> {
    let path = client.here.resolve(path)?;
    client.directory(&path).await
}
