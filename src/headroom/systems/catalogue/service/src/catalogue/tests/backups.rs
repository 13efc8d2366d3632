//! A dump of one kind of database makes the same catalogue in another kind.

use super::{Someone, worlds};

impl Someone {
    /// Run the commands of a dump, as [`Someone::says`] returned it.
    pub(super) async fn restores(&mut self, dump: &str) {
        for line in dump.split(" | ").skip(1) {
            self.does(&[line]).await;
        }
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
