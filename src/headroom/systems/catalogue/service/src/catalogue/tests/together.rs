//! Two servers at one database: no server hears of the changes of the other, and none is missed.

use std::sync::Arc;
use std::time::Duration;

use super::worlds;
use crate::catalogue::sessions::StoredSessions;
use crate::server::sessions::SessionStore as _;

#[tokio::test]
async fn a_server_finds_out_that_its_plan_is_old() {
    for world in worlds().await {
        let mut here = world.person(0, "root").await;
        let mut there = world.person(1, "root").await;
        here.does(&["createdir /d", "addattr /d n int", "addentry /d/a n 1"])
            .await;
        there.hears(&[("getattr /d/a n", "0 2 | a | 1")]).await;
        here.does(&[
            "addattr /d m int",
            "removeattr /d n",
            "addattr /d k int",
            "setattr /d/a k 3",
        ])
        .await;
        there.is_refused(&[("getattr /d/a n", 10)]).await;
        there.hears(&[("getattr /d/a m k", "0 3 | a |  | 3")]).await;
        here.does(&["rm /d/a", "rmdir /d"]).await;
        there.is_refused(&[("addentry /d/b", 1)]).await;
        here.does(&["createdir /d plain", "addattr /d n text"])
            .await;
        there.does(&["addentry /d/b n text"]).await;
        here.hears(&[("selectattr count(/d:n) ''", "0 1 | 1")])
            .await;
    }
}

#[tokio::test]
async fn one_entry_is_taken_by_one_client() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /tasks",
            "addattr /tasks owner text",
            "addattr /tasks done int",
        ])
        .await;
        for number in 0..40 {
            root.does(&[&format!("addentry /tasks/t{number:02} done 0")])
                .await;
        }
        let mut tasks = Vec::new();
        for number in 0..4 {
            let mut someone = world.person(number % 2, "root").await;
            tasks.push(tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let line = format!(
                        "updateattr_single /tasks/* owner '\"w{number}\"' done 1 'done = 0'"
                    );
                    let said = someone.says(&line).await;
                    match said.strip_prefix("0 1 | ") {
                        Some(name) => taken.push(name.to_owned()),
                        // Another client may hold the last entries and still give them up.
                        None if said == "0" => return taken,
                        None => assert!(said.starts_with("9 "), "{said}"),
                    }
                }
            }));
        }
        let mut taken = Vec::new();
        for task in tasks {
            taken.extend(task.await.unwrap());
        }
        taken.sort();
        let expected: Vec<_> = (0..40).map(|number| format!("t{number:02}")).collect();
        assert_eq!(taken, expected, "{}", world.name);
    }
}

#[tokio::test]
async fn insertions_never_meet_a_removed_directory() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&["createdir /d"]).await;
        let mut adding = Vec::new();
        for number in 0..4 {
            let mut someone = world.person(number % 2, "root").await;
            adding.push(tokio::spawn(async move {
                for step in 0..30 {
                    let said = someone.says(&format!("addentry /d/e{number}_{step}")).await;
                    assert!(said.starts_with(['0', '1', '9']), "{said}");
                }
            }));
        }
        for _ in 0..30 {
            root.says("rm /d/*").await;
            root.says("rmdir /d").await;
            root.says("createdir /d").await;
        }
        for task in adding {
            task.await.unwrap();
        }
        // An entry of a removed directory would belong to no directory.
        let names = root.says("find /d").await;
        assert!(names.starts_with("0 1"), "{names}");
        let orphans = crate::store::sql::Sql::new(
            "SELECT COUNT(*) FROM entry WHERE dir NOT IN (SELECT id FROM directory)",
        );
        let rows = world.servers[0].rows(orphans).await.unwrap();
        assert_eq!(
            rows[0][0],
            crate::value::Value::Integer(0),
            "{}",
            world.name
        );
    }
}

#[tokio::test]
async fn a_session_is_resumed_at_another_server_until_it_expires() {
    for world in worlds().await {
        let of = |server: usize, seconds| {
            let catalogue = Arc::clone(&world.servers[server]);
            StoredSessions::new(catalogue, Duration::from_secs(seconds))
        };
        let mut root = world.person(0, "root").await;
        root.does(&["user_create ann"]).await;
        let id = of(0, 3600).create("ann").await.unwrap();
        let found = of(1, 3600).find(&id).await.unwrap();
        assert_eq!(found.as_deref(), Some("ann"), "{}", world.name);
        assert_eq!(of(1, 3600).find("1234").await.unwrap(), None);
        let short = of(0, 0).create("root").await.unwrap();
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(of(1, 3600).find(&short).await.unwrap(), None);
        root.does(&["user_remove ann"]).await;
        assert_eq!(
            of(1, 3600).find(&id).await.unwrap(),
            None,
            "the user is gone"
        );
    }
}
