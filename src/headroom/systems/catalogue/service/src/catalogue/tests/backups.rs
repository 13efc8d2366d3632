//! A dump of one kind of database makes the same catalogue in another kind.

use std::collections::BTreeSet;

use super::super::entries::escaped;
use super::{Someone, worlds};
use crate::language::chance::Chance;
use crate::language::words::quoted;

impl Someone {
    /// Run the commands of a dump, as [`Someone::says`] returned it.
    pub(super) async fn restores(&mut self, dump: &str) {
        for line in dump.split(" | ").skip(1) {
            self.does(&[line]).await;
        }
    }

    /// Run the commands of lines.
    async fn obeys(&mut self, lines: &str) {
        self.does(&lines.lines().collect::<Vec<_>>()).await;
    }
}

const PEOPLE: [&str; 3] = ["user_create ann", "grp_create g", "grp_adduser g ann"];

const CONTENT: [&str; 30] = [
    "addattr / note text",
    "addentry /top note 'at the root'",
    "createdir /sites plain",
    "addattr /sites code varchar(8)",
    "constraint_add_unique /sites code",
    "addentry /sites/kr code KR",
    "addentry /sites/ch code CH",
    "createdir '/d x' acls",
    "addattr '/d x' n int",
    "addattr '/d x' size numeric(18,3)",
    "addattr '/d x' share float",
    "addattr '/d x' at timestamp",
    "addattr '/d x' t text",
    "addattr '/d x' site varchar(8)",
    "addentry '/d x/a b' n -9223372036854775807 size 123456789012345.678 share 0.1 at '2026-02-28 23:59:59.123456' t 'it\\'s \\\\ \\012 한국 \"q\"' site KR",
    "addentry '/d x/empty'",
    "addentry '/d x/2' n 7 share -1e300 site CH",
    "constraint_add_not_null /sites code",
    "constraint_add_check '/d x' small 'n < 10'",
    "constraint_add_reference '/d x' of_site site /sites:code",
    "index_create '/d x' n",
    "acl_add '/d x' root:g rx",
    "acl_add '/d x/2' root:g rw",
    "chmod '/d x/2' r--",
    "chown '/d x/2' ann",
    "chown '/d x' ann",
    "createdir '/d x/below' plain inherit",
    "addentry '/d x/below/c' n 2",
    "sequence_create s '/d x' 5 100",
    "chmod /sites rx",
];

#[tokio::test]
async fn a_dump_is_restored_in_another_kind_of_database() {
    let sources = worlds().await;
    let mut targets = worlds().await;
    targets.rotate_left(1);
    for (source, target) in sources.iter().zip(&targets) {
        let mut root = source.person(0, "root").await;
        root.does(&PEOPLE).await;
        root.does(&CONTENT).await;
        root.hears(&[("sequence_next '/d x/s'", "0 1 | 100")]).await;
        let dump = root.says("dump /").await;
        let mut other = target.person(0, "root").await;
        other.does(&PEOPLE).await;
        other.restores(&dump).await;
        let (from, to) = (source.name, target.name);
        assert_eq!(other.says("dump /").await, dump, "{from} to {to}");
        other
            .hears(&[
                ("sequence_next '/d x/s'", "0 1 | 105"),
                ("find '/d x' 'size > 1.5'", "0 1 | a b"),
            ])
            .await;
        // Rules came along.
        other
            .is_refused(&[
                ("addentry '/d x/big' n 11", 18),
                ("addentry '/d x/lost' site XX", 18),
                ("addentry /sites/twice code KR", 18),
                ("addentry /sites/none", 18),
            ])
            .await;
    }
}

/// Return names of characters that patterns, quotes, paths or databases treat in a way of their own.
fn odd_names(chance: &mut Chance) -> BTreeSet<String> {
    let fixed = ["?*", "*", r"a\b", "ab", r"\", " a  b ", "'", "...", "é*"];
    let odd = r#"*?[]{}\'"|%_:;=-.~ab한"#;
    let random = (0..16).map(|_| format!("{}x", chance.text(odd, 4)));
    fixed.map(str::to_owned).into_iter().chain(random).collect()
}

/// Property: a restore gives nothing to another person, whatever names there are. `chown` takes a
/// pattern, so the restored owner of an entry `?*` owned all entries beside it.
#[tokio::test]
async fn a_restore_keeps_owners_and_rights_whatever_names_there_are() {
    let sources = worlds().await;
    let mut targets = worlds().await;
    targets.rotate_left(1);
    for (seed, (source, target)) in (1..).zip(sources.iter().zip(&targets)) {
        let mut chance = Chance::new(seed);
        let mut root = source.person(0, "root").await;
        root.does(&PEOPLE).await;
        root.obeys("user_create bob\ncreatedir /d acls\naddattr /d t text")
            .await;
        root.obeys("acl_add /d system:anyuser rwx\ncreatedir /e\nacl_add /e system:anyuser w\ncreatedir /f\naddattr /f t text")
            .await;
        let (ann, bob) = (source.person(0, "ann").await, source.person(0, "bob").await);
        let mut people = [ann, bob];
        for (number, name) in odd_names(&mut chance).iter().enumerate() {
            let one = &mut people[chance.below(2)];
            let only = quoted(&format!("/d/{}", escaped(name)));
            let there = quoted(&format!("/e/{name}:FILE"));
            let paths = ["/d/", "/e/", ""].map(|at| quoted(&format!("{at}{name}")));
            let [entry, directory, name] = &paths;
            let mode = chance.one_of(&["rwx", "rw", "x", "---"]);
            one.obeys(&format!(
                "addentry {entry} t {name}\ncreatedir {directory}\naddattr {directory} t text\n\
                 chmod {only} {mode}\nsequence_create {name} {directory}"
            ))
            .await;
            let path = chance.one_of(&paths[..2]);
            root.obeys(&format!(
                "acl_add {path} root:g wx\nconstraint_add_reference {directory} r t /d\n\
                 constraint_add_reference /f r{number} t {there}"
            ))
            .await;
        }
        // Names of a person and a group that are gone stay where they were.
        root.does(&["user_remove bob", "grp_delete g"]).await;
        let dump = root.says("dump /").await;
        let mut other = target.person(0, "root").await;
        // A new directory has the groups of its parent, which the restored one had not.
        other
            .obeys("user_create ann\ngrp_create h\nacl_add / root:h rwx")
            .await;
        other.restores(&dump).await;
        let (from, to) = (source.name, target.name);
        assert_eq!(other.says("dump /").await, dump, "{from} to {to}");
        for question in ["stat /d/*", "getattr /d/* t", "dir /e"] {
            let said = root.says(question).await;
            assert_eq!(other.says(question).await, said, "{from} to {to}");
        }
    }
}

/// Dumps of older versions have `chown` and `chmod` with bare names.
#[tokio::test]
async fn an_older_dump_widens_nothing() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&PEOPLE).await;
        root.does(&["createdir /d acls", "createdir /d/a*", "addentry /d/ab"])
            .await;
        root.does(&[r"addentry /d/a\b", r"acl_add /d/a\b root:g x"])
            .await;
        root.does(&["addentry /d/?*", "acl_add /d/?* root:g r"])
            .await;
        root.is_refused(&[
            (r"chown /d/a\b ann", 3),
            ("chown /d/?* ann", 3),
            ("chmod /d/?* r", 3),
            ("chown /d/a* ann", 3),
        ])
        .await;
        // Lists of groups have always been those of one entry.
        root.hears(&[
            ("acl_show /d/?*", "0 1 | root:g r--"),
            (r"acl_show /d/a\b", "0 1 | root:g --x"),
            ("acl_show /d/ab", "0 1"),
        ])
        .await;
        // Patterns that are no names, and names that are spelled out, work.
        root.does(&[r"chown /d/\?\* ann", "chmod /d/a? r", r"chmod /d/a\\b x"])
            .await;
        root.does(&[r"acl_add /d/\?\* root:g rw"]).await;
        let after =
            r"0 4 | ?* | entry | ann | rwx | a\b | entry | root | --x | ab | entry | root | r--";
        root.hears(&[("stat /d/*", after), ("acl_show /d/?*", "0 1 | root:g rw-")])
            .await;
    }
}
