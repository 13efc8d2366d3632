use super::*;
use crate::language::chance::Chance;
use crate::language::expression::{AttributeName, Literal};
use crate::language::lexer::MAX_BYTES;

/// Show a tree with all its parentheses.
fn shown(expression: &Expression) -> String {
    let all = |parts: &[Expression], between: &str| {
        format!(
            "({})",
            parts.iter().map(shown).collect::<Vec<_>>().join(between)
        )
    };
    match expression {
        Expression::Literal(Literal::Text(text)) => format!("{text:?}"),
        Expression::Literal(Literal::Integer(number)) => number.to_string(),
        Expression::Literal(literal) => format!("{literal:?}"),
        Expression::Attribute(AttributeName {
            directory: None,
            name,
        }) => name.clone(),
        Expression::Attribute(AttributeName {
            directory: Some(directory),
            name,
        }) => {
            format!("{directory}:{name}")
        }
        Expression::Negative(of) => format!("-{}", shown(of)),
        Expression::Binary(operator, left, right) => {
            format!("({} {operator:?} {})", shown(left), shown(right))
        }
        Expression::Compare(comparison, left, right) => {
            format!("({} {comparison:?} {})", shown(left), shown(right))
        }
        Expression::IsNull(of) => format!("null({})", shown(of)),
        Expression::In(parts) => format!("in{}", all(parts, ", ")),
        Expression::Between(parts) => format!("between{}", all(&parts[..], ", ")),
        Expression::Like(of, pattern) => format!("like({}, {:?})", shown(of), pattern.literal()),
        Expression::Not(of) => format!("not({})", shown(of)),
        Expression::All(parts) => all(parts, " and "),
        Expression::Any(parts) => all(parts, " or "),
        Expression::Call(function, parts) => format!("{function:?}{}", all(parts, ", ")),
    }
}

#[test]
fn operators_bind_as_documented() {
    for (text, tree) in [
        ("1 + 2 * 3 - 4", "((1 Add (2 Multiply 3)) Subtract 4)"),
        ("(1 + 2) * -n % 3", "(((1 Add 2) Multiply -n) Remainder 3)"),
        (
            "a = 1 and b = 2 or not c = 3",
            "(((a Equal 1) and (b Equal 2)) or not((c Equal 3)))",
        ),
        (
            "a = 1 & b = 2 | !c = 3",
            "(((a Equal 1) and (b Equal 2)) or not((c Equal 3)))",
        ),
        (
            "a<1 AND b>=2 And c!=3",
            "((a Less 1) and (b AtLeast 2) and (c Unequal 3))",
        ),
        ("a == 1 && b <> 2", "((a Equal 1) and (b Unequal 2))"),
        ("s || \"x\" = t", "((s Concatenate \"x\") Equal t)"),
        ("a is null or b IS NOT NULL", "(null(a) or not(null(b)))"),
        (
            "a in (1, 2) and b not in (3)",
            "(in(a, 1, 2) and not(in(b, 3)))",
        ),
        (
            "a between 1 and 2 and b = 3",
            "(between(a, 1, 2) and (b Equal 3))",
        ),
        ("a not like \"x\"", "not(like(a, Some(\"x\")))"),
        ("like(a, 'x%')", "like(a, None)"),
        ("- - 5", "--5"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("count(*) + Count(n)", "(Count() Add Count(n))"),
        ("substr(s, 2, 3)", "Substr(s, 2, 3)"),
        ("now() - t", "(Now() Subtract t)"),
    ] {
        assert_eq!(shown(&parse_expression(text).unwrap()), tree, "{text}");
    }
}

#[test]
fn names_are_those_of_amga() {
    for (text, tree) in [
        ("/jobs:events", "/jobs:events"),
        (".:n/2", "(.:n Divide 2)"),
        ("../a-b.c/d:FILE", "../a-b.c/d:FILE"),
        ("jobs:n-1", "(jobs:n Subtract 1)"),
        ("a /b:n", "(a Divide b:n)"),
        ("a/ /b:n", "(a Divide /b:n)"),
        ("\"/my jobs\":n", "/my jobs:n"),
        (".:in = .:like", "(.:in Equal .:like)"),
        ("order = limit", "(order Equal limit)"),
        ("größe", "größe"),
    ] {
        assert_eq!(shown(&parse_expression(text).unwrap()), tree, "{text}");
    }
    let found = parse_expression("/a:x + sum(y) + .:z").unwrap();
    let names = |names: Vec<&AttributeName>| {
        names
            .into_iter()
            .map(|name| name.name.clone())
            .collect::<String>()
    };
    assert_eq!(names(found.names()), "xyz");
    assert_eq!(names(found.bare_names()), "xz");
    assert!(found.has_aggregate());
}

#[test]
fn literals_keep_their_digits() {
    for (text, literal) in [
        (
            "1.50",
            Literal::Decimal {
                unscaled: 150,
                scale: 2,
            },
        ),
        (
            "-.5",
            Literal::Decimal {
                unscaled: -5,
                scale: 1,
            },
        ),
        (
            "5.",
            Literal::Decimal {
                unscaled: 5,
                scale: 0,
            },
        ),
        ("1e3", Literal::Real(1000.0)),
        ("-2.5E-1", Literal::Real(-0.25)),
        (
            "0.1234567890123456789",
            Literal::Real(0.123_456_789_012_345_68),
        ),
        (r#""a\"b""c\\d\%'""#, Literal::Text(r#"a"b"c\d\%'"#.into())),
        (r#"'it''s \ "x"'"#, Literal::Text(r#"it's \ "x""#.into())),
        ("\"\"", Literal::Text(String::new())),
        ("NULL", Literal::Null),
        ("true", Literal::Truth(true)),
    ] {
        assert_eq!(
            parse_expression(text).unwrap(),
            Expression::Literal(literal),
            "{text}"
        );
    }
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "",
        " ",
        "(",
        ")",
        "1 +",
        "a b",
        "a = = b",
        "1 2",
        "12abc",
        "99999999999999999999",
        "1e999",
        "\"open",
        "'open",
        "/jobs",
        "/jobs:",
        ".",
        "..:",
        "f(1)",
        "count()",
        "count(*, 1)",
        "sum()",
        "abs(1, 2)",
        "substr(s)",
        "a in ()",
        "a in (1",
        "a in 1",
        "a between 1",
        "a between 1 or 2",
        "a like b",
        "like(a)",
        "a is 1",
        "a not 1",
        "not",
        "and",
        "a and",
        "a;",
        "a -- b --",
        "a\0b",
        "a = 1; drop table entry",
        "a # b",
        "coalesce()",
        "1..2",
        "\u{4}",
    ] {
        let refusal = parse_expression(text).expect_err(text);
        assert_eq!(refusal.code, Code::IllegalQuery, "{text}");
        assert!(!refusal.message.contains('\n'));
    }
}

#[test]
fn a_refusal_names_the_place() {
    let refusal = parse_expression("é = ) 1").unwrap_err();
    assert_eq!(
        refusal.message,
        "expected a value at character 5, found `)`"
    );
}

#[test]
fn depth_and_length_are_limited() {
    let nested = |depth| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse_expression(&nested(MAX_DEPTH)).is_ok());
    assert!(parse_expression(&nested(MAX_DEPTH + 1)).is_err());
    for opening in [
        "(",
        "-",
        "- ",
        "not ",
        "!",
        "abs(",
        "a in (",
        "like(",
        "coalesce(1,",
        "1+(2*",
    ] {
        let text = opening.repeat(MAX_BYTES / opening.len());
        assert!(parse_expression(&text).is_err(), "{opening}");
    }
    assert!(parse_expression(&vec!["a"; MAX_DEPTH].join(" + ")).is_ok());
    assert!(parse_expression(&vec!["a"; MAX_DEPTH + 1].join(" + ")).is_err());
    assert!(parse_expression(&vec!["a"; 30_000].join("+")).is_err());
    assert!(parse_expression(&vec!["a=1"; 1000].join(" or ")).is_ok());
    assert!(parse_expression(&vec!["a=1"; 10_000].join(" or ")).is_err());
    assert!(parse_expression(&" ".repeat(MAX_BYTES + 1)).is_err());
}

/// Chains inside parentheses inside chains: each is short, the tree would be deep.
#[test]
fn a_deep_tree_of_short_chains_is_refused() {
    let mut text = "a".to_owned();
    for _ in 0..MAX_DEPTH / 2 {
        text = format!("({text} + 1 + 1 + 1)");
    }
    assert!(parse_expression(&text).is_err());
}

#[test]
fn no_text_makes_the_parser_panic() {
    let seeds = [
        r#"/jobs:events > 10 and like(FILE, "t%") or not (.:n in (1, 2.5e3, -3) & s || 'x' = "y")"#,
        "sum(n) / count(*) between 1 and coalesce(round(p, 2), null) | a is not null",
        "SELECT a.b AS c FROM \"/d e\" a JOIN /f:g ON a.x = b.y WHERE 1 = 1 GROUP BY c LIMIT 1",
    ];
    let pieces = [
        "(",
        ")",
        "\"",
        "'",
        "\\",
        ",",
        ".",
        "/",
        ":",
        "*",
        "%",
        "|",
        "&",
        "!",
        "=",
        "<",
        "-",
        " not ",
        " in ",
        " is ",
        "null",
        "é",
        "\u{10ffff}",
        "0",
        "1e",
        "\t",
        "like(",
        " between ",
        "@",
        "\0",
    ];
    let mut chance = Chance::new(3);
    for _ in 0..20_000 {
        let mut text: Vec<char> = chance.one_of(&seeds).chars().collect();
        for _ in 0..=chance.below(4) {
            let at = chance.below(text.len() + 1);
            let end = (at + chance.below(6)).min(text.len());
            text.splice(at..end, chance.one_of(&pieces).chars());
        }
        let text: String = text.into_iter().collect();
        let _ = parse_expression(&text);
        let _ = crate::language::native::parse(&text);
        let _ = crate::language::words::words(&text);
    }
    for _ in 0..20_000 {
        let text: String = (0..chance.below(12))
            .map(|_| *chance.one_of(&pieces))
            .collect();
        let _ = parse_expression(&text);
    }
}
