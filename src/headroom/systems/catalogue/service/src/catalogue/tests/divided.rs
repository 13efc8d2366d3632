//! Directories divided among two databases: what is below one name stays together.

use super::{World, world};
use crate::catalogue::path::Path;
use crate::store::Step;
use crate::store::sql::{Dialect, Sql};
use crate::store::testing::database;

/// Return a divided catalogue of each kind of database that is here, and a name in each database.
async fn divided() -> Vec<(World, [String; 2])> {
    let mut worlds = Vec::new();
    for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
        let (Some(first), Some(second)) = (database(dialect), database(dialect)) else {
            continue;
        };
        let world = world(vec![first, second]).await;
        let name = |shard| {
            let mut names = (b'a'..=b'z').map(|letter| format!("/{}", char::from(letter)));
            let is_there = |name: &String| {
                let path = Path::root().resolve(name).unwrap();
                world.servers[0].shard(&path) == shard
            };
            names.find(is_there).unwrap()
        };
        let names = [name(0), name(1)];
        worlds.push((world, names));
    }
    worlds
}

impl World {
    async fn column(&self, shard: usize, query: &'static str) -> Vec<String> {
        let steps = vec![Step::new(Sql::new(query))];
        let mut ran = self.servers[0].store.run(shard, steps).await.unwrap();
        let rows = ran.outcomes.pop().unwrap().rows;
        rows.iter()
            .map(|row| crate::catalogue::shown(&row[0]))
            .collect()
    }
}

#[tokio::test]
async fn all_below_a_name_is_in_one_database_and_the_root_in_each() {
    for (world, [a, b]) in divided().await {
        let mut root = world.person(0, "root").await;
        root.does(&["user_create ann", "addattr / note text"]).await;
        for name in [&a, &b] {
            root.does(&[
                &format!("createdir {name} inherit"),
                &format!("createdir {name}/below plain"),
                &format!("addattr {name}/below n int"),
                &format!("addentry {name}/below/e n 1"),
                &format!("sequence_create s {name}"),
                &format!("addentry {name}/e note 'of {name}'"),
            ])
            .await;
        }
        for (shard, name) in [&a, &b].into_iter().enumerate() {
            let paths = world
                .column(shard, "SELECT path FROM directory ORDER BY path")
                .await;
            assert_eq!(
                paths,
                ["/".to_owned(), name.clone(), format!("{name}/below")]
            );
        }
        let people = world
            .column(0, "SELECT name FROM person ORDER BY name")
            .await;
        assert_eq!(people, ["ann", "root"]);
        assert_eq!(world.column(1, "SELECT name FROM person").await, ["root"]);
        let mut there = world.person(1, "root").await;
        let listed = there.says("dir /").await;
        for name in [&a, &b] {
            assert!(
                listed.contains(&format!("{} | collection", &name[1..])),
                "{listed}"
            );
            there
                .hears(&[
                    (&format!("getattr {name}/below/e n"), "0 2 | e | 1"),
                    (&format!("find {name} 'like(note, \"of%\")'"), "0 1 | e"),
                    (&format!("sequence_next {name}/s"), "0 1 | 1"),
                ])
                .await;
        }
    }
}

#[tokio::test]
async fn rights_and_groups_count_in_every_database() {
    for (world, [a, b]) in divided().await {
        let mut root = world.person(0, "root").await;
        root.does(&["user_create ann", "grp_create g"]).await;
        let mut ann = world.person(1, "ann").await;
        for name in [&a, &b] {
            root.does(&[
                &format!("createdir {name} plain"),
                &format!("addentry {name}/e"),
                &format!("acl_add {name} root:g rwx"),
            ])
            .await;
            let find = format!("find {name}");
            ann.is_refused(&[(&find, 4)]).await;
            root.does(&["grp_adduser g ann"]).await;
            ann.hears(&[(&find, "0 1 | e")]).await;
            ann.does(&["transaction", &find]).await;
            root.does(&["grp_removeuser g ann"]).await;
            ann.is_refused(&[(&find, 4)]).await;
            ann.does(&["abort"]).await;
            ann.is_refused(&[(&format!("addentry {name}/f"), 4)]).await;
        }
        // Who may make directories right below the root is known to each database.
        let more = [&a, &b].map(|name| format!("createdir {name}/more"));
        ann.is_refused(&[(&more[0], 4), (&more[1], 4)]).await;
        for name in [&a, &b] {
            root.does(&[&format!("rm {name}/e"), &format!("rmdir {name}")])
                .await;
            ann.is_refused(&[(&format!("createdir {name}"), 4)]).await;
            root.does(&["acl_add / system:anyuser w"]).await;
            ann.does(&[&format!("createdir {name}")]).await;
            root.does(&["acl_remove / system:anyuser"]).await;
        }
        root.does(&["transaction"]).await;
        root.is_refused(&[("acl_add / system:anyuser w", 9)]).await;
    }
}

#[tokio::test]
async fn a_command_or_a_transaction_is_of_one_database() {
    for (world, [a, b]) in divided().await {
        let mut root = world.person(0, "root").await;
        for name in [&a, &b] {
            root.does(&[
                &format!("createdir {name} plain"),
                &format!("addattr {name} n int"),
                &format!("constraint_add_unique {name} n"),
                &format!("addentry {name}/e n 1"),
            ])
            .await;
        }
        root.is_refused(&[
            (&format!("selectattr {a}:n {b}:n ''"), 8),
            (&format!("find {a} '{b}:n = 1'"), 8),
            (&format!("select x.n from {a} x join {b} y on x.n = y.n"), 8),
            (&format!("constraint_add_reference {a} r n {b}:n"), 3),
        ])
        .await;
        root.does(&["transaction", &format!("addentry {a}/f n 2")])
            .await;
        root.is_refused(&[(&format!("addentry {b}/f n 2"), 9)])
            .await;
        root.does(&["commit"]).await;
        root.hears(&[
            (&format!("find {a}"), "0 1 | e | f"),
            (&format!("find {b}"), "0 1 | e"),
        ])
        .await;
        root.does(&["transaction", &format!("addentry {b}/f n 2"), "abort"])
            .await;
        root.hears(&[(&format!("find {b}"), "0 1 | e")]).await;
    }
}

#[tokio::test]
async fn a_dump_moves_a_catalogue_from_two_databases_to_one_and_back() {
    for (two, [a, b]) in divided().await {
        let sorted = |dump: String| {
            let mut lines: Vec<_> = dump.split(" | ").map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let mut root = two.person(0, "root").await;
        for name in [&a, &b] {
            root.does(&[
                &format!("createdir {name} acls"),
                &format!("addattr {name} n int"),
                &format!("addentry {name}/e n 1"),
                &format!("createdir {name}/below plain inherit"),
            ])
            .await;
        }
        root.does(&["addentry /of_root", "acl_add / system:anyuser x"])
            .await;
        let first = root.says("dump /").await;
        let one = world(vec![database(Dialect::Sqlite).unwrap()]).await;
        let mut other = one.person(0, "root").await;
        other.restores(&first).await;
        let second = other.says("dump /").await;
        assert_eq!(
            sorted(second.clone()),
            sorted(first.clone()),
            "{}",
            two.name
        );
        let places = [database(Dialect::Sqlite), database(Dialect::Sqlite)];
        let again = world(places.into_iter().flatten().collect()).await;
        let mut third = again.person(0, "root").await;
        third.restores(&second).await;
        assert_eq!(sorted(third.says("dump /").await), sorted(first));
    }
}
