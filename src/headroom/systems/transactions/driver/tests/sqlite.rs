//! Loading, transactions and conditions on SQLite, with nothing else installed.

use std::path::PathBuf;

use headroom_transactions::systems::transactions::inputs::Workload;
use headroom_transactions_driver::acid;
use headroom_transactions_driver::check::check;
use headroom_transactions_driver::database::mark::{Stage, connect};
use headroom_transactions_driver::database::{Isolation, Manner};
use headroom_transactions_driver::job::Job;
use headroom_transactions_driver::load::Ready;
use headroom_transactions_driver::populate::{Loaded, Wanted, copy, drop_database, load, runtime};
use headroom_transactions_driver::target::{Place, Product};
use serde_json::Value;

const LOADED: &str = "headroom_test";
const COPY: &str = "headroom_copy";

/// A folder with databases, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("headroom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn place(&self) -> Place {
        Place {
            product: Product::Sqlite,
            address: self.0.display().to_string(),
            password: None,
            tls_roots: None,
        }
    }

    fn load(&self, workload: Workload) -> Loaded {
        let wanted = Wanted {
            name: LOADED,
            workload,
            scale: 1,
            seed: 7,
            connections: 1,
        };
        load(&self.place(), &wanted).expect("loaded")
    }

    fn run(&self, more: &str) -> Value {
        let url = format!("sqlite:{}", self.0.display());
        let text = format!(
            r#"{{"do": "run", "target": {{"url": "{url}"}}, "database": "{COPY}", "seed": 3, {more}}}"#
        );
        let Job::Run(run) = Job::parse(&text).expect("a job") else {
            panic!("a run")
        };
        Ready::new(run)
            .expect("ready")
            .run(&mut || true)
            .expect("a report")
            .json()
    }

    fn broken(&self, name: &str) -> Vec<u32> {
        let (_, findings) = check(&self.place(), name).expect("checked");
        findings
            .iter()
            .filter(|one| one.broken > 0)
            .map(|one| one.number)
            .collect()
    }

    fn tell(&self, name: &str, sql: &str) {
        runtime().expect("a runtime").block_on(async {
            let link = connect(&self.place(), name, Manner::default()).await;
            link.expect("connected").tell(sql).await.expect("told");
        });
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn count(report: &Value, name: &str) -> u64 {
    report["workload_counters"][name].as_u64().expect("a count")
}

#[test]
fn all_conditions_hold_after_loading_and_after_a_run_and_each_is_seen_when_broken() {
    let folder = Folder::new("conditions");
    let place = folder.place();
    assert_eq!(folder.load(Workload::TpcC).loaded, 22);
    assert_eq!(folder.broken(LOADED), Vec::<u32>::new());
    let (mark, findings) = check(&place, LOADED).expect("checked");
    assert_eq!((mark.stage, findings.len()), (Stage::Loaded, 12));

    copy(&place, LOADED, COPY).expect("copied");
    let load = r#""load": {"kind": "closed", "terminals": 4, "waits": false}, "is_fresh": true,
        "stop": {"operations": 460}"#;
    let report = folder.run(load);
    assert_eq!(report["problem"], Value::Null);
    let kinds = [
        "new_order_count",
        "payment_count",
        "order_status_count",
        "delivery_count",
        "stock_level_count",
    ];
    let all: u64 = kinds.map(|name| count(&report, name)).iter().sum();
    assert_eq!(all, 460);
    // 20 decks, but for the last of each terminal, which may not be at its end.
    assert!((176..=224).contains(&count(&report, "new_order_count")));
    assert!((176..=224).contains(&count(&report, "payment_count")));
    assert_eq!(
        count(&report, "delivered_count"),
        10 * count(&report, "delivery_count")
    );
    assert!(count(&report, "rolled_back_count") < 10);
    assert_eq!(folder.broken(COPY), Vec::<u32>::new());

    for (condition, sql) in [
        (1, "update warehouse set w_ytd = w_ytd + 1"),
        (
            2,
            "update district set d_next_o_id = d_next_o_id + 1 where d_id = 3",
        ),
        (
            3,
            "delete from new_order where no_d_id = 2 and no_o_id = 2500",
        ),
        (
            4,
            "delete from order_line where ol_d_id = 1 and ol_o_id = 5 and ol_number = 1",
        ),
        (
            5,
            "update orders set o_carrier_id = 3 where o_d_id = 1 and o_id = 2999",
        ),
        (
            6,
            "update orders set o_ol_cnt = o_ol_cnt + 1 where o_d_id = 4 and o_id = 7",
        ),
        (
            7,
            "update order_line set ol_delivery_d = null where ol_d_id = 1 and ol_o_id = 8",
        ),
        (
            8,
            "update history set h_amount = h_amount + 1 where h_c_id = 5 and h_d_id = 5",
        ),
        (9, "update district set d_ytd = d_ytd + 1 where d_id = 6"),
        (
            10,
            "update customer set c_balance = c_balance + 1 where c_d_id = 2 and c_id = 9",
        ),
        (
            11,
            "delete from new_order where no_d_id = 9 and no_o_id = 2700",
        ),
        (
            12,
            "update customer set c_ytd_payment = c_ytd_payment + 1 where c_d_id = 2 and c_id = 3",
        ),
    ] {
        copy(&place, LOADED, COPY).expect("copied");
        folder.tell(COPY, sql);
        let broken = folder.broken(COPY);
        assert!(broken.contains(&condition), "{condition}: {broken:?}");
    }
}

#[test]
fn a_load_goes_on_where_it_stopped_and_a_used_database_is_not_taken_for_a_loaded_one() {
    let folder = Folder::new("resumed");
    let place = folder.place();
    folder.load(Workload::TpcC);
    folder.tell(
        LOADED,
        "delete from headroom_part where part = 259; delete from customer where c_d_id = 3; \
         delete from history where h_d_id = 3; \
         update headroom_mark set value = 0 where name = 'stage'",
    );
    let again = folder.load(Workload::TpcC);
    assert_eq!((again.kept, again.loaded), (21, 1));
    assert_eq!(folder.broken(LOADED), Vec::<u32>::new());

    folder.tell(LOADED, "update warehouse set w_ytd = w_ytd + 1");
    let error = copy(&place, LOADED, COPY).expect_err("refused").to_string();
    assert!(error.contains("not as it was loaded"), "{error}");
    let other = Wanted {
        name: LOADED,
        workload: Workload::TpcB,
        scale: 1,
        seed: 7,
        connections: 1,
    };
    let error = load(&place, &other).expect_err("refused").to_string();
    assert!(error.contains("something else"), "{error}");
}

#[test]
fn a_database_without_the_mark_is_left_alone() {
    let folder = Folder::new("stranger");
    let place = folder.place();
    std::fs::write(folder.0.join(format!("{LOADED}.sqlite")), b"").expect("a file");
    folder.tell(
        LOADED,
        "create table precious (id integer); insert into precious values (1)",
    );
    for error in [
        drop_database(&place, LOADED).expect_err("refused"),
        copy(&place, LOADED, COPY).expect_err("refused"),
        check(&place, LOADED).expect_err("refused"),
    ] {
        assert!(
            error.to_string().contains("was not made by this program"),
            "{error}"
        );
    }
    assert!(
        drop_database(&place, "orders").is_err(),
        "a name of somebody else"
    );
    assert!(!drop_database(&place, "headroom_absent").expect("nothing is there"));
}

#[test]
fn balances_of_tpc_b_agree_after_a_run() {
    let folder = Folder::new("bank");
    let place = folder.place();
    folder.load(Workload::TpcB);
    copy(&place, LOADED, COPY).expect("copied");
    let report = folder.run(
        r#""load": {"kind": "open", "rate_per_s": 5000, "connections": 2},
        "stop": {"operations": 300}"#,
    );
    assert_eq!(count(&report, "change_count"), 300);
    assert_eq!(folder.broken(COPY), Vec::<u32>::new());
    folder.tell(COPY, "update branch set b_balance = b_balance + 1");
    assert_eq!(folder.broken(COPY), [1, 2]);
}

#[test]
fn sqlite_passes_the_tests_of_atomicity_and_isolation() {
    let folder = Folder::new("acid");
    let place = folder.place();
    folder.load(Workload::TpcC);
    assert!(
        acid::test(&place, LOADED, Isolation::Default).is_err(),
        "it is no copy"
    );
    copy(&place, LOADED, COPY).expect("copied");
    let verdicts = acid::test(&place, COPY, Isolation::Default).expect("tested");
    assert_eq!(verdicts.len(), 11);
    for verdict in verdicts {
        assert!(verdict.passed, "{verdict:?}");
    }
}

#[test]
fn a_hundred_thousand_terminals_ask_as_often_as_their_times_say() {
    let text = r#"{"do": "run", "target": {"scale": 10000}, "seed": 1,
        "load": {"kind": "closed", "terminals": 100000, "connections": 4},
        "stop": {"seconds": 3}}"#;
    let Job::Run(run) = Job::parse(text).expect("a job") else {
        panic!("a run")
    };
    let report = Ready::new(run)
        .expect("ready")
        .run(&mut || true)
        .expect("a report")
        .json();
    let names = [
        "new_order_count",
        "payment_count",
        "order_status_count",
        "stock_level_count",
    ];
    let all: u64 = names.map(|name| count(&report, name)).iter().sum();
    assert!(all > 5_000, "{all}");
    assert_eq!(report["waiting_count"], 0);
}
