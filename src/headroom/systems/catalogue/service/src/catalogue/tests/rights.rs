//! Rights: each person does and learns what they allow, and no more.

use super::worlds;

#[tokio::test]
async fn a_user_needs_rights() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "user_create ann",
            "user_create bob",
            "createdir /plain plain",
            "addattr /plain n int",
            "addentry /plain/a n 1",
            "chown /plain ann",
        ])
        .await;
        let mut ann = world.person(1, "ann").await;
        let mut bob = world.person(1, "bob").await;
        ann.does(&[
            "addentry /plain/b n 2",
            "grp_create readers",
            "grp_adduser readers bob",
        ])
        .await;
        bob.is_refused(&[
            ("getattr /plain/a n", 4),
            ("find /plain 'n = 1'", 4),
            ("selectattr /plain:n ''", 4),
            ("addentry /plain/c", 4),
            ("rm /plain/a", 4),
            ("dir /plain", 4),
            ("listattr /plain", 4),
            ("cd /plain", 4),
            ("addattr /plain m int", 4),
            ("acl_add /plain ann:readers r", 4),
            ("user_create eve", 4),
            ("sudo root", 4),
            ("user_password_change ann x", 4),
            ("grp_adduser ann:readers bob", 4),
            ("createdir /more", 4),
        ])
        .await;
        ann.does(&["acl_add /plain ann:readers r"]).await;
        bob.hears(&[("getattr /plain/* n", "0 2 | a | 1 | b | 2")])
            .await;
        bob.is_refused(&[
            ("setattr /plain/a n 3", 4),
            ("updateattr /plain/a n 3 'n = 1'", 4),
            ("dir /plain", 4),
        ])
        .await;
        // The other server hears of a lost membership with the next statement.
        ann.does(&["grp_removeuser readers bob"]).await;
        bob.is_refused(&[("getattr /plain/* n", 4)]).await;
        root.does(&["user_remove bob"]).await;
        bob.is_refused(&[("getattr /plain/* n", 19)]).await;
    }
}

#[tokio::test]
async fn only_root_restores_what_belongs_to_others() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "user_create ann",
            "createdir /d acls",
            "addentry /d/b",
            "restore_directory /d ann rwx ann:g r",
        ])
        .await;
        root.is_refused(&[
            ("restore_entry /d/b 'a;r=b' rwx", 3),
            ("restore_entry /d/b ann rwx 'x;w=y' r", 3),
            ("restore_entry /d/b ann rwx ann:g", 3),
        ])
        .await;
        let mut ann = world.person(0, "ann").await;
        ann.does(&["addentry /d/a", "restore_entry /d/a ann r root:g rx"])
            .await;
        ann.is_refused(&[
            ("restore_entry /d/a root r", 4),
            ("restore_entry /d/b ann rwx", 4),
            ("restore_entry /d/c ann rwx", 1),
            ("restore_directory /d root rwx", 4),
            ("restore_directory / ann rwx", 4),
        ])
        .await;
        root.hears(&[
            (
                "stat /d/*",
                "0 4 | a | entry | ann | r-- | b | entry | root | rwx",
            ),
            ("acl_show /d/a", "0 1 | root:g r-x"),
        ])
        .await;
    }
}

#[tokio::test]
async fn entries_with_owners_hide_from_others() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "user_create ann",
            "user_create bob",
            "createdir /d acls",
            "addattr /d n int",
            "acl_add /d system:anyuser wx",
        ])
        .await;
        let mut ann = world.person(0, "ann").await;
        let mut bob = world.person(1, "bob").await;
        ann.does(&["addentry /d/a n 1", "grp_create g", "grp_adduser g bob"])
            .await;
        bob.does(&["addentry /d/b n 2"]).await;
        ann.hears(&[
            ("find /d", "0 1 | a"),
            ("selectattr sum(/d:n) ''", "0 1 | 1"),
        ])
        .await;
        bob.hears(&[("find /d 'n > 0'", "0 1 | b")]).await;
        bob.is_refused(&[("getattr /d/a n", 1)]).await;
        ann.does(&["acl_add /d/a ann:g r"]).await;
        bob.hears(&[("find /d", "0 1 | a | b")]).await;
        bob.is_refused(&[("setattr /d/a n 5", 4), ("acl_add /d/a ann:g rw", 4)])
            .await;
        // Everyone may write where the entry has no list; a condition still reads.
        root.does(&["addentry /d/r n 7"]).await;
        bob.hears(&[
            ("updateattr /d/r n 8 'n = 7'", "0"),
            ("setattr /d/r n 9", "0"),
        ])
        .await;
        root.hears(&[
            ("getattr /d/r n", "0 2 | r | 9"),
            ("acl_show /d/a", "0 1 | ann:g r--"),
        ])
        .await;
        ann.does(&["chmod /d/a -wx"]).await;
        ann.hears(&[("find /d", "0 1")]).await;
    }
}

#[tokio::test]
async fn no_error_tells_a_value_that_may_not_be_read() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "user_create ann",
            "user_create bob",
            // With groups, the right to read costs more than the condition: PostgreSQL would
            // evaluate the condition first.
            "createdir /d acls",
            "addattr /d n int",
            "addattr /d m int",
            "acl_add /d system:anyuser wx",
            "createdir /w plain",
            "addattr /w n int",
            "addattr /w m int",
            "acl_add /w system:anyuser w",
            "addentry /w/a n 5",
        ])
        .await;
        let mut ann = world.person(0, "ann").await;
        let mut bob = world.person(1, "bob").await;
        ann.does(&["addentry /d/a n 5"]).await;
        bob.does(&["addentry /d/b n 7"]).await;
        // With n = 5, the condition divides by zero: bob must see no difference to other values.
        bob.hears(&[
            ("find /d '1 / (n - 5) = 0'", "0 1 | b"),
            ("select FILE from /d where 1 / (n - 5) = 0", "0 1 | b"),
            ("updateattr /d/* m '1 / (n - 5)' '1 / (n - 5) = 0'", "0"),
            ("updateattr /d/* m '1 / (n - 5)' ''", "0"),
            ("getattr /d/* m", "0 2 | b | 0"),
        ])
        .await;
        bob.is_refused(&[
            ("updateattr /w/* m '1 / (n - 5)' ''", 4),
            ("update /w set m = 1 / (n - 5)", 4),
        ])
        .await;
        ann.is_refused(&[("find /d '1 / (n - 5) = 0'", 8)]).await;
    }
}
