mod databases;
mod evaluator;
mod oracle;
mod random;

use super::*;
use crate::language::parser::parse_expression;
use crate::language::sqlite::Database;
use crate::store::functions::is_unfit;
use crate::store::sql::Dialect;

/// Attributes of one table, with a value each.
pub const TABLE: &str = "CREATE TABLE entry (n INTEGER, m INTEGER, p INTEGER, q INTEGER, f REAL, \
                         s TEXT, v TEXT, d INTEGER)";

/// Knows the columns of `TABLE`.
struct Columns;

impl Names for Columns {
    fn find(&self, name: &AttributeName) -> Answer<Meaning> {
        let (sql, of) = match name.name.as_str() {
            "n" => ("e.n", Type::Int),
            "m" => ("e.m", Type::Int),
            "p" => ("e.p", numeric(2)),
            "q" => ("e.q", numeric(6)),
            "f" => ("e.f", Type::Float),
            "s" => ("e.s", Type::Text),
            "v" => ("e.v", Type::Varchar(4)),
            "d" => ("e.d", Type::Timestamp),
            other => return Err(Refusal::new(Code::NoSuchAttribute, format!("no `{other}`"))),
        };
        Ok(Meaning {
            sql: Sql::new(sql),
            of,
        })
    }
}

fn numeric(scale: u8) -> Type {
    Type::Numeric {
        precision: 18,
        scale,
    }
}

/// Return the shown value of an expression, an error or the refusal.
fn shown(database: &Database, text: &str) -> String {
    let compiled = match parse_expression(text).and_then(|tree| compile(&tree, &Columns)) {
        Ok(compiled) => compiled,
        Err(refusal) => return format!("refused: {refusal}"),
    };
    match database.value(compiled.sql, " FROM entry e") {
        Ok(value) => compiled.of.decode(&value),
        Err(error) if is_unfit(&error) => "unfit".into(),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn truth(database: &Database, text: &str) -> String {
    let condition = match parse_expression(text).and_then(|tree| condition(&tree, &Columns)) {
        Ok(condition) => condition,
        Err(refusal) => return format!("refused: {refusal}"),
    };
    match database.value(condition, " FROM entry e") {
        Ok(value) => format!("{value:?}"),
        Err(error) if is_unfit(&error) => "unfit".into(),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn one_entry() -> Database {
    let database = Database::open();
    database.run(TABLE);
    database.run("INSERT INTO entry VALUES (7, -2, 150, 2500001, 0.5, 'Äpfel [x]', '', 1000000)");
    database
}

#[test]
fn values_are_computed_and_shown_by_their_type() {
    let database = one_entry();
    for (text, value) in [
        ("n", "7"),
        ("p", "1.50"),
        ("d", "1970-01-01 00:00:01"),
        ("n / 2", "3"),
        ("m / 3", "0"),
        ("n % -4", "3"),
        ("m % 3", "-2"),
        ("n + p", "8.50"),
        ("n * p", "10.50"),
        ("p * p", "2.2500"),
        ("p * q", "3.75000150"),
        ("q * q", "6.250005000001001"),
        ("p / 2", "0.75"),
        ("n / 2.0", "3.5"),
        ("q - p", "1.000001"),
        ("q % p", "1.000001"),
        ("n + f", "7.5"),
        ("-n", "-7"),
        ("-f", "-0.5"),
        ("- -9223372036854775807", "9223372036854775807"),
        ("d + 1.5", "1970-01-01 00:00:02.5"),
        ("0.25 + d", "1970-01-01 00:00:01.25"),
        ("d - f", "1970-01-01 00:00:00.5"),
        ("d - \"1970-01-01\"", "1.000000"),
        ("\"1970-01-02\" - d", "86399.000000"),
        ("s || \"!\" || v", "Äpfel [x]!"),
        ("upper(s) || lower(s)", "ÄPFEL [X]Äpfel [x]"),
        ("length(s)", "9"),
        ("substr(s, 2, 4)", "pfel"),
        ("substr(s, 7)", "[x]"),
        ("substr(s, 20)", ""),
        ("abs(m)", "2"),
        ("round(p)", "2"),
        ("round(-p)", "-2"),
        ("round(q, 1)", "2.5"),
        ("round(q, 6)", "2.500001"),
        ("round(n, 3)", "7"),
        ("round(f)", "0"),
        ("round(f + 1)", "2"),
        ("floor(-p)", "-2"),
        ("ceil(p)", "2"),
        ("ceil(-p)", "-1"),
        ("floor(f)", "0"),
        ("ceiling(f)", "1"),
        ("sqrt(n + 2)", "3"),
        ("coalesce(null, p, n)", "1.50"),
        ("nullif(n, 7)", ""),
        ("nullif(n, 7.5)", "7.0"),
        ("null", ""),
        ("1.5", "1.5"),
        ("\"a\"", "a"),
        ("null + n", ""),
        ("count(*) + sum(n)", "8"),
        ("avg(p)", "1.5"),
        ("max(d)", "1970-01-01 00:00:01"),
        ("min(v)", ""),
        ("sum(f)", "0.5"),
        ("avg(f) / 2", "0.25"),
    ] {
        assert_eq!(shown(&database, text), value, "{text}");
    }
}

#[test]
fn results_that_cannot_be_stored_are_errors() {
    let database = one_entry();
    for text in [
        "9223372036854775807 + n",
        "-9223372036854775807 - n",
        "9223372036854775807 * n",
        "- (-9223372036854775807 - 1)",
        "abs(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) / (n - 8)",
        "n / (n - 7)",
        "n % (n - 7)",
        "n / 0",
        "f / 0",
        "f / (f - 0.5)",
        "f * 1e308 * 1e308",
        "9223372036854775807 + p",
        "sqrt(m)",
        "sum(n * 1317624576693539401 * 1)  + 1",
    ] {
        assert_eq!(shown(&database, text), "unfit", "{text}");
    }
}

#[test]
fn conditions_are_true_false_or_unknown() {
    let database = one_entry();
    let (yes, no, unknown) = ("Integer(1)", "Integer(0)", "Null");
    for (text, expected) in [
        ("n = 7", yes),
        ("7 = n", yes),
        ("8 > n", yes),
        ("n = 7.0", yes),
        ("n < 7.5", yes),
        ("n >= 7.5", no),
        ("n = 7.5", no),
        ("n <> 7.5", yes),
        ("p > 1.499", yes),
        ("p = 1.5", yes),
        ("p = 1.501", no),
        ("p < 999999999999999999", yes),
        ("-999999999999999999 > p", no),
        ("p <> 999999999999999999", yes),
        ("f = 0.5", yes),
        ("n > f", yes),
        ("p < q", yes),
        ("n = \"7\"", yes),
        ("p = \"1.5\"", yes),
        ("d = \"1970-01-01 00:00:01\"", yes),
        ("d < \"1970-01-02\" and \"1970-01-01\" < d", yes),
        ("d < now()", yes),
        ("s > \"A\" and s < \"a\"", no),
        ("\"a\" = \"A\"", no),
        ("v = \"\"", yes),
        ("s like \"%pfel [x]\"", yes),
        ("s like \"äpfel%\"", no),
        ("like(s, \"_pfel%\")", yes),
        ("s not like \"Ä%\"", no),
        ("lower(s) like \"%[x]\"", yes),
        ("s || v like \"%]\"", yes),
        ("n in (1, 7)", yes),
        ("n in (1.5, 7.0)", yes),
        ("n in (7.5)", no),
        ("n in (p, q)", no),
        ("n in (m, 7 + 0)", yes),
        ("s in (\"a\", v)", no),
        ("n not in (1, 7)", no),
        ("d in (\"1970-01-01 00:00:01\")", yes),
        ("n between 1 and 7.5", yes),
        ("p not between 1 and 1.4", yes),
        ("nullif(n, 7) is null", yes),
        ("nullif(n, 7) = 1", unknown),
        ("nullif(n, 7) = 1.5", unknown),
        ("nullif(n, 7) <> 999999999999999999.5", unknown),
        ("not nullif(n, 7) = 1", unknown),
        ("nullif(n, 7) = 1 or n = 7", yes),
        ("nullif(n, 7) in (1)", unknown),
        ("true and not false", yes),
    ] {
        assert_eq!(truth(&database, text), expected, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let database = one_entry();
    for text in [
        "n = s",
        "s = 7",
        "n = \"seven\"",
        "d = 7",
        "d = \"yesterday\"",
        "d = s",
        "n = null",
        "n in (null)",
        "n",
        "s",
        "not n",
        "n and true",
        "(n = 1) = true",
        "(n = 1) is null",
        "n like \"7%\"",
        "count(*) > 1",
        "sum(n) = 7",
        "x = 1",
        "n between \"a\" and 2",
    ] {
        assert!(truth(&database, text).starts_with("refused"), "{text}");
    }
    for text in [
        "n = 7",
        "true",
        "n + s",
        "s + s",
        "n + \"7\"",
        "n || s",
        "d + d",
        "n - d",
        "d * 2",
        "d + s",
        "-s",
        "f % 2",
        "round(f, 2)",
        "round(p, n)",
        "round(p, -1)",
        "substr(s, n)",
        "substr(s, 0)",
        "substr(s, -1)",
        "substr(s, 1, -1)",
        "substr(s, 99999999999)",
        "lower(n)",
        "sqrt(s)",
        "sum(s)",
        "sum(d)",
        "avg(v)",
        "sum(sum(n))",
        "max(count(*))",
        "count(n = 1)",
        "coalesce(null)",
        "coalesce(n, s)",
        "nullif(null, null)",
        "null + null",
    ] {
        assert!(shown(&database, text).starts_with("refused"), "{text}");
    }
}

/// Return the value of a column of this type after an assignment, as a query shows it.
fn assigned(database: &Database, text: &str, target: &Type) -> String {
    let tree = parse_expression(text).unwrap();
    match assign(&tree, &Columns, target) {
        Err(_) => "refused".into(),
        Ok(sql) => match database.value(sql, " FROM entry e") {
            Ok(value) => target.decode(&value),
            Err(error) if is_unfit(&error) => "unfit".into(),
            Err(error) => panic!("{text}: {error}"),
        },
    }
}

#[test]
fn assigned_values_are_scaled_rounded_and_checked() {
    let database = one_entry();
    let small = Type::Numeric {
        precision: 3,
        scale: 1,
    };
    for (text, target, value) in [
        ("n + 1", Type::Int, "8"),
        ("p", Type::Int, "2"),
        ("q", Type::Int, "3"),
        ("f", Type::Int, "0"),
        ("f + 1", Type::Int, "2"),
        ("\"12\"", Type::Int, "12"),
        ("\"\"", Type::Int, ""),
        ("null", Type::Int, ""),
        ("1e19", Type::Int, "unfit"),
        ("-9223372036854775808e0", Type::Int, "-9223372036854775808"),
        ("9223372036854775808e0", Type::Int, "unfit"),
        ("s", Type::Int, "refused"),
        ("d", Type::Int, "refused"),
        ("n = 7", Type::Int, "refused"),
        ("sum(n)", Type::Int, "refused"),
        ("\"x\"", Type::Int, "refused"),
        ("n", small.clone(), "7.0"),
        ("q", small.clone(), "2.5"),
        ("f * 3", small.clone(), "1.5"),
        ("99.94", small.clone(), "99.9"),
        ("99.95", small.clone(), "unfit"),
        ("n * 100", small.clone(), "unfit"),
        ("n * -100", small.clone(), "unfit"),
        ("f * 1e300", small.clone(), "unfit"),
        ("nullif(n, 7)", small, ""),
        ("n", Type::Float, "7"),
        ("p", Type::Float, "1.5"),
        ("d + 1", Type::Timestamp, "1970-01-01 00:00:02"),
        ("\"2000-01-01\"", Type::Timestamp, "2000-01-01 00:00:00"),
        ("n", Type::Timestamp, "refused"),
        ("s", Type::Text, "Äpfel [x]"),
        ("v", Type::Varchar(4), ""),
        ("v", Type::Varchar(9), ""),
        ("s", Type::Varchar(9), "Äpfel [x]"),
        ("s", Type::Varchar(8), "unfit"),
        ("\"abcde\"", Type::Varchar(4), "refused"),
        ("7", Type::Text, "refused"),
    ] {
        assert_eq!(
            assigned(&database, text, &target),
            value,
            "{text} to {target}"
        );
    }
}

#[test]
fn nothing_of_a_text_gets_into_a_statement() {
    let nasty = [
        "'; DROP TABLE entry; --",
        "\\' OR 1=1 --",
        "x\" OR \"1\"=\"1",
        "$1 ? :a %s",
        "é\u{1}",
    ];
    let database = one_entry();
    for text in nasty {
        let literal = text.replace('\\', "\\\\").replace('"', "\\\"");
        assert_eq!(shown(&database, &format!("\"{literal}\"")), text);
        let trees = [
            format!("s = \"{literal}\" or s in (\"{literal}\", v)"),
            format!(
                "like(s || v, \"{}%\")",
                literal.replace('\\', "\\\\").replace("\\\\\"", "\\\"")
            ),
        ];
        for tree in trees {
            let condition = condition(&parse_expression(&tree).unwrap(), &Columns).unwrap();
            for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
                let (rendered, values) = condition.render(dialect);
                assert!(
                    !rendered.contains("DROP") && !rendered.contains("1=1"),
                    "{rendered}"
                );
                assert!(!values.is_empty());
            }
        }
    }
}

#[test]
fn the_size_of_a_statement_is_limited() {
    let mut text = "n".to_owned();
    for _ in 0..20 {
        text = format!("n / ({text})");
    }
    let refusal = compile(&parse_expression(&text).unwrap(), &Columns).unwrap_err();
    assert_eq!(refusal.message, "the expression is too large");
    let text = vec!["s = \"x\""; 1000].join(" or ");
    let database = one_entry();
    assert_eq!(truth(&database, &text), "Integer(0)");
    let text = format!("n in ({})", vec!["1"; 3900].join(","));
    assert_eq!(truth(&database, &text), "Integer(0)");
}

#[test]
fn sums_over_many_entries_are_exact() {
    let database = Database::open();
    database.run(TABLE);
    assert_eq!(shown(&database, "count(n)"), "0");
    assert_eq!(shown(&database, "sum(n)"), "");
    assert_eq!(shown(&database, "avg(n)"), "");
    database.run("INSERT INTO entry (n, p) VALUES (9223372036854775807, 1), (1, 2), (-3, null)");
    assert_eq!(shown(&database, "sum(n)"), "9223372036854775805");
    assert_eq!(shown(&database, "sum(p)"), "0.03");
    assert_eq!(shown(&database, "avg(p)"), "0.015");
    assert_eq!(shown(&database, "count(*) - count(p)"), "1");
    database.run("INSERT INTO entry (n) VALUES (9)");
    assert_eq!(shown(&database, "sum(n)"), "unfit");
}

#[test]
fn having_knows_groups() {
    let tree = parse_expression("sum(n) > 6.5 and max(s) like \"Ä%\"").unwrap();
    let condition = group_condition(&tree, &Columns).unwrap();
    assert_eq!(
        one_entry().value(condition, " FROM entry e").unwrap(),
        Value::Integer(1)
    );
}

#[test]
fn no_text_makes_the_compiler_panic() {
    let pieces = [
        "n",
        "p",
        "q",
        "f",
        "s",
        "v",
        "d",
        "null",
        "1",
        "0.001",
        "1e300",
        "\"a\"",
        "\"7\"",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "=",
        "<",
        " and ",
        " not ",
        " in (",
        " between ",
        " is null",
        "round(",
        "sum(",
        "coalesce(",
        "substr(",
        "like(",
        ",",
        "999999999999999999",
        "now()",
    ];
    let targets = [
        Type::Int,
        Type::Float,
        Type::Varchar(2),
        Type::Timestamp,
        numeric(18),
    ];
    let mut chance = crate::language::chance::Chance::new(5);
    let mut compiled_count = 0;
    for _ in 0..100_000 {
        let text: String = (0..chance.below(9))
            .map(|_| *chance.one_of(&pieces))
            .collect();
        let Ok(tree) = parse_expression(&text) else {
            continue;
        };
        let _ = condition(&tree, &Columns);
        let _ = assign(&tree, &Columns, chance.one_of(&targets));
        compiled_count += usize::from(compile(&tree, &Columns).is_ok());
    }
    assert!(compiled_count > 1000, "only {compiled_count} texts compile");
}
