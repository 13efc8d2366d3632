//! Logins by certificates that a server remembers: they cost no statement, and whoever may no longer
//! come in learns and changes nothing.

use std::sync::Arc;

use super::{Someone, World, worlds};
use crate::catalogue::Shared;
use crate::refusal::{Answer, Code};
use crate::security::{Proof, Who};
use crate::server::Service as _;

const ANN: &str = "/C=KR/CN=Ann";

impl World {
    async fn enters(&self, server: usize, login: &str, subject: &str) -> Answer<Someone> {
        let who = Who {
            login: login.to_owned(),
            proof: Proof::Certificate {
                subject: subject.to_owned(),
                is_proxy: false,
                is_limited: false,
            },
            address: ([127, 0, 0, 1], 8822).into(),
            is_encrypted: true,
        };
        let service = Shared(Arc::clone(&self.servers[server]));
        service.login(who).await.map(Someone)
    }

    async fn ann(&self) -> Someone {
        let ann = self.enters(1, "", ANN).await;
        ann.unwrap_or_else(|refusal| panic!("{}: {refusal}", self.name))
    }

    /// Return how many transactions the second server has begun.
    fn transactions(&self) -> u64 {
        self.servers[1].store.state()[0].leased
    }
}

/// Return worlds in which Ann's certificate is known to the second server.
async fn worlds_with_ann() -> Vec<(World, Someone)> {
    let mut found = Vec::new();
    for world in worlds().await {
        let mut root = world.person(0, "root").await;
        root.does(&[
            "createdir /d plain",
            "addattr /d n int",
            "acl_add /d system:anyuser rwx",
            "addentry /d/a n 1",
            "user_create ann",
            &format!("user_subject_add ann '{ANN}'"),
        ])
        .await;
        world.ann().await.does(&["getattr /d/a n"]).await;
        found.push((world, root));
    }
    found
}

#[tokio::test]
async fn a_known_certificate_costs_no_statement() {
    for (world, _) in worlds_with_ann().await {
        let before = world.transactions();
        for _ in 0..20 {
            let mut ann = world.ann().await;
            ann.hears(&[
                ("transaction", "0"),
                ("getattr /d/a n", "0 2 | a | 1"),
                ("commit", "0"),
            ])
            .await;
        }
        assert_eq!(world.transactions() - before, 20, "{}", world.name);
        for _ in 0..20 {
            world.ann().await.does(&["find /d 'n = 1'"]).await;
        }
        assert_eq!(world.transactions() - before, 40, "{}", world.name);
        // A login alone is not one; the name in the login block has to be the person's.
        world.ann().await;
        assert_eq!(world.transactions() - before, 40, "{}", world.name);
        let other = world.enters(1, "root", ANN).await.err().unwrap();
        assert_eq!(other.code, Code::LoginRefused);
    }
}

/// Commands of each kind: with a statement that compares the epoch, and without one.
const FIRSTS: [&str; 12] = [
    "getattr /d/a n",
    "find /d",
    "find /missing",
    "addentry /d/b",
    "select n from /d",
    "dir /d",
    "pwd",
    "whoami",
    "user_list",
    "grp_create g",
    "upload /d n",
    "dump /d",
];

#[tokio::test]
async fn a_certificate_that_another_server_unmapped_does_nothing() {
    for (world, mut root) in worlds_with_ann().await {
        for first in FIRSTS {
            let mut direct = world.ann().await;
            let mut inside = world.ann().await;
            inside.does(&["transaction"]).await;
            root.does(&[&format!("user_subject_remove '{ANN}'")]).await;
            let mut later = world.ann().await;
            for someone in [&mut direct, &mut inside, &mut later] {
                // Silence is all that AMGA's clients bear after `upload`; the fault comes then.
                let said = someone.says(first).await;
                if first.starts_with("upload") {
                    someone.is_refused(&[("commit", 5)]).await;
                } else {
                    assert!(said.starts_with("5 "), "{}: {first}: {said}", world.name);
                }
                someone.is_refused(&[("getattr /d/a n", 5)]).await;
            }
            let refused = world.enters(1, "", ANN).await.err().unwrap();
            assert_eq!(refused.code, Code::LoginRefused);
            root.does(&[&format!("user_subject_add ann '{ANN}'")]).await;
            world.ann().await.does(&["getattr /d/a n"]).await;
        }
        root.hears(&[("find /d", "0 1 | a"), ("grp_list ann", "0 1")])
            .await;
    }
}

#[tokio::test]
async fn an_empty_transaction_gives_no_session_to_a_stranger() {
    for (world, mut root) in worlds_with_ann().await {
        let mut ann = world.ann().await;
        root.does(&[&format!("user_subject_remove '{ANN}'")]).await;
        ann.does(&["transaction"]).await;
        // After a command that succeeds outside of a transaction, a server may give out a session.
        ann.is_refused(&[("commit", 5), ("abort", 5)]).await;
    }
}

#[tokio::test]
async fn a_removed_user_does_nothing() {
    for (world, mut root) in worlds_with_ann().await {
        let (mut first, mut second) = (world.ann().await, world.ann().await);
        root.does(&["user_remove ann"]).await;
        first.is_refused(&[("getattr /d/a n", 5)]).await;
        // The server knows the new epoch by now.
        second.is_refused(&[("addentry /d/c", 5)]).await;
        let refused = world.enters(1, "", ANN).await.err().unwrap();
        assert_eq!(refused.code, Code::LoginRefused);
    }
}

#[tokio::test]
async fn a_certificate_of_another_person_has_that_persons_rights() {
    for (world, mut root) in worlds_with_ann().await {
        root.does(&[
            "user_subject_add root /CN=Admin",
            "createdir /secret plain",
            "addattr /secret n int",
            "addentry /secret/s n 7",
        ])
        .await;
        let mut admin = world.enters(1, "", "/CN=Admin").await.ok().unwrap();
        admin.does(&["getattr /secret/s n"]).await;
        let enter = async || world.enters(1, "", "/CN=Admin").await.ok().unwrap();
        let (mut one, mut other, mut third) = (enter().await, enter().await, enter().await);
        root.does(&[
            "user_subject_remove /CN=Admin",
            "user_subject_add ann /CN=Admin",
        ])
        .await;
        one.is_refused(&[("getattr /secret/s n", 4)]).await;
        one.hears(&[("whoami", "0 1 | ann")]).await;
        other.is_refused(&[("user_create eve", 4)]).await;
        third.does(&["addentry /d/mine"]).await;
        root.does(&[
            "grp_create readers",
            "acl_add /secret root:readers r",
            "grp_adduser readers ann",
        ])
        .await;
        let mut ann = world.ann().await;
        ann.hears(&[("getattr /secret/s n", "0 2 | s | 7")]).await;
        let mut ann = world.ann().await;
        root.does(&["grp_removeuser readers ann"]).await;
        ann.is_refused(&[("getattr /secret/s n", 4)]).await;
    }
}
