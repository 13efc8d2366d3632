use super::*;

fn select(text: &str) -> Select {
    match parse(text).unwrap() {
        Statement::Select(select) => select,
        other => panic!("{other:?}"),
    }
}

fn expression(text: &str) -> Expression {
    crate::language::parser::parse_expression(text).unwrap()
}

#[test]
fn a_query_has_all_its_parts() {
    let found = select(
        "select distinct j.FILE as name, sum(f.size) total from /jobs j \
         inner join \"/my files\" as f on j.FILE = f.job, ../x \
         where j.n > 1 and f.s <> 'a' group by j.FILE, 1 having sum(f.size) > 10 \
         order by 2 desc, name asc, total limit 10 offset 5;",
    );
    assert!(found.is_distinct);
    let aliases: Vec<_> = found
        .columns
        .iter()
        .map(|column| column.alias.as_deref())
        .collect();
    assert_eq!(aliases, [Some("name"), Some("total")]);
    let tables: Vec<_> = found
        .tables
        .iter()
        .map(|table| (table.directory.as_str(), table.alias.as_deref()))
        .collect();
    assert_eq!(
        tables,
        [
            ("/jobs", Some("j")),
            ("/my files", Some("f")),
            ("../x", None)
        ]
    );
    assert_eq!(
        found.tables[1].condition,
        Some(expression("j:FILE = f:job"))
    );
    assert_eq!(
        found.condition,
        Some(expression("j:n > 1 and f:s <> \"a\""))
    );
    assert_eq!(found.groups, [expression("j:FILE"), expression("1")]);
    assert_eq!(found.group_condition, Some(expression("sum(f:size) > 10")));
    let order: Vec<_> = found
        .order
        .iter()
        .map(|order| order.is_descending)
        .collect();
    assert_eq!(order, [true, false, false]);
    assert_eq!((found.limit, found.offset), (Some(10), Some(5)));
}

#[test]
fn a_short_query_has_the_rest_empty() {
    let found = select("SELECT * FROM /jobs");
    assert!(found.columns.is_empty() && found.order.is_empty() && found.groups.is_empty());
    assert_eq!(
        (found.condition, found.limit, found.offset),
        (None, None, None)
    );
    let found = select("SELECT count(*), n * 2 FROM \"jobs\" CROSS JOIN /b");
    assert_eq!(found.columns.len(), 2);
    assert_eq!(found.tables[1].directory, "/b");
}

#[test]
fn entries_are_inserted_changed_and_removed() {
    assert_eq!(
        parse("INSERT INTO /jobs (FILE, n) VALUES ('a', 1), (\"b\", 1 + 1)").unwrap(),
        Statement::Insert(Insert {
            directory: "/jobs".into(),
            attributes: vec!["FILE".into(), "n".into()],
            rows: vec![
                vec![expression("\"a\""), expression("1")],
                vec![expression("\"b\""), expression("1 + 1")],
            ],
        })
    );
    let table = |alias: Option<&str>| Table {
        directory: "/jobs".into(),
        alias: alias.map(Into::into),
        condition: None,
    };
    assert_eq!(
        parse("update /jobs j set n = j.n + 1, s = null where FILE like 'a%'").unwrap(),
        Statement::Update(Update {
            table: table(Some("j")),
            changes: vec![
                ("n".into(), expression("j:n + 1")),
                ("s".into(), expression("null")),
            ],
            condition: Some(expression("FILE like \"a%\"")),
        })
    );
    assert_eq!(
        parse("delete from \"/jobs\"").unwrap(),
        Statement::Delete(Delete {
            table: table(None),
            condition: None,
        })
    );
}

#[test]
fn other_statements_are_refused() {
    for text in [
        "",
        "DROP TABLE entry",
        "SELECT",
        "SELECT FROM /a",
        "SELECT a",
        "SELECT a FROM",
        "SELECT a FROM WHERE a = 1",
        "SELECT a, FROM /a",
        "SELECT a FROM /a JOIN /b",
        "SELECT a FROM /a LEFT JOIN /b ON a = b",
        "SELECT a FROM /a WHERE",
        "SELECT a FROM /a ORDER a",
        "SELECT a FROM /a LIMIT x",
        "SELECT a FROM /a LIMIT -1",
        "SELECT a FROM /a; SELECT b FROM /b",
        "SELECT a FROM /a UNION SELECT b FROM /b x y",
        "INSERT INTO /a VALUES (1)",
        "INSERT INTO /a (x) VALUES (1, 2)",
        "INSERT INTO /a (x) VALUES ()",
        "UPDATE /a n = 1",
        "UPDATE /a SET n + 1",
        "DELETE /a",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}
