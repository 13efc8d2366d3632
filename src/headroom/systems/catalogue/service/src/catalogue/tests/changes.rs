//! Directories, attributes, entries, transactions, rules.

use super::worlds;

#[tokio::test]
async fn entries_are_added_read_changed_and_removed() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /jobs",
            "addattr /jobs events int",
            "addattr /jobs energy float",
            "addattr /jobs status varchar(8)",
            "addattr /jobs price numeric(6,2)",
            "addattr /jobs made timestamp",
            "addentry /jobs/a events 5 status 'it\\'s' price 12.5 made '2008-01-02 03:04:05'",
            "addentry /jobs/b events 7 energy 0.5",
            "cd /jobs",
        ])
        .await;
        root.hears(&[
            ("pwd", "0 1 | /jobs"),
            ("getattr a events status price", "0 4 | a | 5 | it's | 12.50"),
            ("getattr /jobs/* events energy", "0 3 | a | 5 |  | b | 7 | 0.5"),
            ("selectattr FILE '.:events * 2' '/jobs:events > 5'", "0 2 | b | 14"),
            ("selectattr count(FILE) 'events > 100'", "0 1 | 0"),
            ("selectattr count(FILE) sum(events) ''", "0 2 | 2 | 12"),
            ("find /jobs 'events < 6'", "0 1 | a"),
            ("find /jobs/b* 'events < 6'", "0 1"),
            ("find /jobs 'like(/jobs:FILE, \"a%\")'", "0 1 | a"),
            ("dir /jobs", "0 2 | a | entry | b | entry"),
            ("dir /", "0 2 | jobs | collection"),
            ("listattr a", "0 2 | events | int | energy | float | status | varchar(8) | price | numeric(6,2) | made | timestamp"),
            ("setattr /jobs/* status x", "0"),
            ("updateattr * events 'events + 1' price 'events / 2' 'status = \"x\"'", "0"),
            ("getattr * events price", "0 3 | a | 6 | 2.00 | b | 8 | 3.00"),
            ("clearattr a events", "0"),
            ("getattr a events", "0 2 | a | "),
            ("rm b*", "0"),
            ("rm b*", "0"),
            ("listentries /jobs", "0 2 | a | entry"),
        ])
        .await;
        root.is_refused(&[
            ("getattr b events", 1),
            ("getattr /jobs/a nothing", 10),
            ("getattr /nowhere/a events", 1),
            ("addentry /jobs/a", 15),
            ("addentry /jobs/c events five", 8),
            ("addentry /jobs/c status 'far too long a text'", 8),
            ("addentry /jobs/c events 1 events 2", 3),
            ("setattr /jobs/c events 1", 1),
            ("rm /jobs/c", 1),
            ("selectattr events 'events ='", 8),
            (
                "updateattr a price 'price * 9223372036854775807' 'price > 0'",
                8,
            ),
            ("nothing", 3),
            ("getattr", 3),
            ("createdir /jobs", 16),
            ("createdir /a/b", 1),
            ("addattr /jobs events int", 15),
            ("rmdir /jobs", 11),
            ("sequence_next /jobs/none", 17),
        ])
        .await;
    }
}

#[tokio::test]
async fn an_attribute_that_goes_leaves_no_value_to_the_next_one() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /d",
            "addattr /d secret int",
            "addentry /d/a secret 42",
        ])
        .await;
        root.does(&["removeattr /d secret", "addattr /d other int"])
            .await;
        root.hears(&[("getattr /d/a other", "0 2 | a | ")]).await;
    }
}

#[tokio::test]
async fn a_directory_grows_beyond_the_narrow_table() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&["createdir /d", "addattr /d a0 int", "addentry /d/e a0 10"])
            .await;
        for number in 1..8 {
            root.does(&[&format!("addattr /d a{number} int")]).await;
        }
        root.does(&["setattr /d/e a7 17", "addentry /d/f a0 20 a7 27"])
            .await;
        root.hears(&[("getattr /d/* a0 a7", "0 3 | e | 10 | 17 | f | 20 | 27")])
            .await;
    }
}

#[tokio::test]
async fn a_transaction_counts_as_a_whole() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        let mut other = world.person(1, "root").await;
        root.does(&[
            "createdir /d",
            "addattr /d n int",
            "transaction",
            "addentry /d/a n 1",
        ])
        .await;
        other.hears(&[("find /d", "0 1")]).await;
        root.hears(&[("find /d", "0 1 | a")]).await;
        root.is_refused(&[("transaction", 9), ("addentry /d/a n 2", 15)])
            .await;
        root.does(&["addentry /d/b n 2", "commit"]).await;
        other.hears(&[("find /d", "0 1 | a | b")]).await;
        root.does(&["transaction", "rm /d/*", "abort"]).await;
        other.hears(&[("find /d", "0 1 | a | b")]).await;
        root.is_refused(&[("commit", 9), ("abort", 9)]).await;
    }
}

#[tokio::test]
async fn entries_at_once_are_added_all_or_none() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&["createdir /d", "addentry /d/b"]).await;
        root.is_refused(&[("addentries /d/a /d/b /d/c", 15)]).await;
        root.hears(&[("find /d", "0 1 | b")]).await;
        root.does(&["addentries /d/a /d/c"]).await;
        root.is_refused(&[("put x", 3)]).await;
        root.does(&["addattr /d n int", "cd /d", "upload /d n"])
            .await;
        for number in 0..600 {
            root.does(&[&format!("put u{number:03} {number}")]).await;
        }
        root.does(&["commit"]).await;
        root.hears(&[("selectattr count(n) max(n) ''", "0 2 | 600 | 599")])
            .await;
        root.does(&["upload /d n", "put z 1", "abort"]).await;
        for faulty in ["put u", "put u000 1", "upload /d n", "put z one"] {
            root.does(&["upload /d n", "put y 1", faulty, "put z 1"])
                .await;
            let said = root.says("commit").await;
            assert!(!said.starts_with('0'), "{faulty}: {said}");
        }
        root.does(&["upload /none n", "put y 1"]).await;
        root.is_refused(&[("commit", 1), ("commit", 9)]).await;
        root.hears(&[("selectattr count(n) max(n) ''", "0 2 | 600 | 599")])
            .await;
    }
}

#[tokio::test]
async fn rules_are_kept() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /sites",
            "addattr /sites code int",
            "constraint_add_unique /sites code",
            "addentry /sites/kisti code 1",
            "createdir /files",
            "addattr /files site int",
            "addattr /files size int",
            "constraint_add_not_null /files size",
            "constraint_add_check /files positive 'size > 0'",
            "constraint_add_reference /files place site /sites:code",
            "addentry /files/a site 1 size 10",
        ])
        .await;
        root.hears(&[(
            "constraint_list /files",
            "0 1 | not_null size | check positive size > 0 | reference place site /sites:code",
        )])
        .await;
        root.is_refused(&[
            ("addentry /sites/cern code 1", 18),
            ("addentry /files/b size 0", 18),
            ("addentry /files/b site 1", 18),
            ("addentry /files/b site 2 size 1", 18),
            ("setattr /files/a size -1", 18),
            ("clearattr /files/a size", 18),
            ("updateattr /files/* size 'size - 10' ''", 18),
            ("rm /sites/kisti", 18),
            ("setattr /sites/kisti code 9", 18),
            ("removeattr /sites code", 18),
            ("rmdir /sites", 18),
            ("constraint_add_check /files small 'size < 5'", 18),
            ("constraint_drop /files none", 19),
        ])
        .await;
        root.does(&[
            "constraint_drop /files place",
            "rm /sites/kisti",
            "rm /files/a",
        ])
        .await;
    }
}

#[tokio::test]
async fn sequences_give_each_number_once() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        let mut other = world.person(1, "root").await;
        root.does(&["createdir /d", "sequence_create ids /d 5 100"])
            .await;
        root.hears(&[("sequence_next /d/ids", "0 1 | 100")]).await;
        other.hears(&[("sequence_next /d/ids", "0 1 | 105")]).await;
        root.is_refused(&[("sequence_create ids /d", 15), ("rmdir /d", 11)])
            .await;
        root.does(&["sequence_remove /d/ids", "rmdir /d"]).await;
    }
}

#[tokio::test]
async fn a_dump_makes_the_same_again() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir '/d x' acls",
            "addattr '/d x' n int",
            "addattr '/d x' t text",
            "constraint_add_unique '/d x' n",
            "grp_create g",
            "acl_add '/d x' root:g r",
            "addentry '/d x/a b' n 1 t 'it\\'s \\\\ \\012 here'",
            "acl_add '/d x/a b' root:g rw",
            "createdir '/d x/below' plain inherit",
            "addentry '/d x/below/c' n 2",
        ])
        .await;
        let first = root.says("dump '/d x'").await;
        root.does(&[
            "rm '/d x/below/*'",
            "rmdir '/d x/below'",
            "rm '/d x/*'",
            "rmdir '/d x'",
        ])
        .await;
        for line in first.split(" | ").skip(1) {
            root.does(&[line]).await;
        }
        assert_eq!(root.says("dump '/d x'").await, first, "{}", world.name);
    }
}

#[tokio::test]
async fn replicas_belong_to_entries() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /d",
            "site_add kisti srm://a",
            "replica_register -c /d/a kisti",
        ])
        .await;
        let sites = root.says("site_list").await;
        let id = sites.split(' ').nth(3).unwrap().to_owned();
        root.hears(&[("replica_list -l /d/a", &format!("0 1 | /d/a {id}"))])
            .await;
        root.is_refused(&[
            ("site_remove kisti", 11),
            ("replica_register /d/b kisti", 1),
        ])
        .await;
        root.does(&["rm /d/a", "addentry /d/a"]).await;
        root.hears(&[("replica_list /d/a", "0 1 | /d/a")]).await;
        root.does(&[
            "replica_register -c /d/* kisti",
            "replica_unregister -d /d/*",
        ])
        .await;
        root.hears(&[("find /d", "0 1 | a")]).await;
        root.does(&["site_remove kisti"]).await;
    }
}

#[tokio::test]
async fn native_sql_works_on_directories() {
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /jobs",
            "addattr /jobs events int",
            "addattr /jobs site varchar(8)",
            "createdir '/the sites'",
            "addattr '/the sites' load float",
            "insert into /jobs (FILE, events, site) values ('a', 5, 'kr'), ('b', -7, null), ('c', 9, 'kr')",
            "insert into \"/the sites\" (FILE, load) values ('kr', 0.5)",
        ])
        .await;
        root.hears(&[
            ("select FILE, events from /jobs where events > 0 order by events desc", "0 2 | c | 9 | a | 5"),
            ("SELECT * FROM /jobs j WHERE j.FILE = 'b'", "0 3 | b | -7 | "),
            (
                "select j.FILE, s.load * 2 as twice from /jobs j join \"/the sites\" s on j.site = s.FILE order by 1 limit 1 offset 1",
                "0 2 | c | 1",
            ),
            (
                "select site, count(*) as n, sum(events) from /jobs where site is not null group by site having count(*) > 1",
                "0 3 | kr | 2 | 14",
            ),
            ("select count(*) from /jobs where events > 100", "0 1 | 0"),
            ("select distinct site from /jobs where site is not null", "0 1 | kr"),
            ("select a.FILE, b.FILE from /jobs a join /jobs b on a.events < b.events where b.FILE = 'c' order by 1", "0 2 | a | c | b | c"),
            ("update /jobs set events = events + 1 where site = 'kr'", "0"),
            ("delete from /jobs where events < 0", "0"),
            ("select sum(events) from /jobs", "0 1 | 16"),
        ])
        .await;
        root.is_refused(&[
            (
                "select FILE from /jobs a join /jobs b on a.events = b.events",
                8,
            ),
            ("select site, events from /jobs group by site", 8),
            ("select FILE, count(*) from /jobs", 8),
            ("selectattr /jobs:FILE 'count(/jobs:events)' ''", 8),
            ("select nothing from /jobs", 10),
            ("select FILE from /nowhere", 1),
            ("insert into /jobs (events) values (1)", 3),
            ("insert into /jobs (FILE, events) values ('a', 1)", 15),
            ("insert into /jobs (FILE, events) values ('x', 1 + 1)", 8),
            ("update /jobs set FILE = 'z'", 3),
            ("select FILE from /jobs; drop table entry", 8),
        ])
        .await;
    }
}

#[tokio::test]
async fn what_is_missing_of_amga_is_said() {
    let world = &worlds().await[0];
    let mut root = world.person(0, "root").await;
    root.hears(&[
        (
            "link /a /b",
            "3 AMGA's `link` is missing here; `help` lists what there is",
        ),
        ("help view", "1 AMGA's `view` is missing here"),
    ])
    .await;
}
