use super::*;
use crate::language::chance::Chance;
use crate::language::sqlite::Database;
use crate::store::sql::Dialect;

/// Match in the slowest and plainest way.
fn brute_force(parts: &[Part], text: &[char]) -> bool {
    match parts.split_first() {
        None => text.is_empty(),
        Some((Part::Any, rest)) => (0..=text.len()).any(|at| brute_force(rest, &text[at..])),
        Some((part, rest)) => text.split_first().is_some_and(|(first, after)| {
            (*part == Part::One || *part == Part::Character(*first)) && brute_force(rest, after)
        }),
    }
}

#[test]
fn a_text_matches_as_brute_force_says_and_as_sqlite_says() {
    let database = Database::open();
    let mut chance = Chance::new(2);
    for _ in 0..4_000 {
        let like = chance.below(2) == 0;
        let text = chance.text(r"ab*?%_[]|^-\A", 7).replace('\\', r"\\");
        let pattern = if like {
            Pattern::parse_like(&text)
        } else {
            Pattern::parse(&text)
        }
        .unwrap();
        let subject = chance.text(r"aabb*?%_[]|^-\A", 7);
        let characters: Vec<char> = subject.chars().collect();
        let expected = brute_force(&pattern.parts, &characters);
        assert_eq!(
            pattern.matches(&subject),
            expected,
            "`{text}` of `{subject}`"
        );
        let operand = text_value(subject.clone());
        for condition in [pattern.condition(&operand), pattern.matching(&operand)] {
            assert_eq!(
                database.truth(condition).unwrap(),
                Some(expected),
                "`{text}` of `{subject}`"
            );
        }
    }
}

#[test]
fn many_gaps_do_not_take_long() {
    let pattern = Pattern::parse(&"*a".repeat(MAX_GAPS)).unwrap();
    assert!(!pattern.matches(&"a".repeat(20_000).replace("aaaa", "aaab")));
}

#[test]
fn a_backslash_makes_the_next_character_literal() {
    let pattern = Pattern::parse(r"\*\?\a\\").unwrap();
    assert_eq!(pattern.literal().unwrap(), r"*?a\");
    assert!(Pattern::parse_like(r"50\%").unwrap().matches("50%"));
    assert!(!Pattern::parse_like(r"50\%").unwrap().matches("500"));
    assert!(Pattern::parse(r"a\").is_err());
    assert_eq!(Pattern::parse("a*").unwrap().literal(), None);
    assert_eq!(Pattern::parse("").unwrap().literal().unwrap(), "");
}

#[test]
fn patterns_are_limited() {
    assert!(Pattern::parse(&"x".repeat(MAX_CHARACTERS)).is_ok());
    assert!(Pattern::parse(&"x".repeat(MAX_CHARACTERS + 1)).is_err());
    assert!(Pattern::parse(&"*".repeat(10_000)).is_ok());
    assert!(Pattern::parse(&"*x".repeat(MAX_GAPS + 1)).is_err());
}

#[test]
fn the_range_of_a_prefix_ends_before_the_next_one() {
    for (prefix, end) in [
        ("ab", Some("ac")),
        ("a\u{7f}", Some("a\u{80}")),
        ("\u{d7ff}", Some("\u{e000}")),
        ("a\u{10ffff}", Some("b")),
        ("\u{10ffff}", None),
    ] {
        assert_eq!(after_prefix(prefix).as_deref(), end);
    }
}

#[test]
fn a_pattern_is_bound_and_never_pasted() {
    let mut operand = Sql::default();
    operand.text("name");
    let condition = Pattern::parse("x' OR '1'='1*").unwrap().condition(&operand);
    for (dialect, text) in [
        (
            Dialect::Sqlite,
            "(name >= ? AND name < ? AND (name GLOB ?))",
        ),
        (
            Dialect::Postgres,
            "(name >= (CAST($1 AS text) COLLATE \"C\") AND name < (CAST($2 AS text) COLLATE \"C\") \
             AND (name LIKE CAST($3 AS text) ESCAPE '|'))",
        ),
        (
            Dialect::Mysql,
            "(name >= (? COLLATE utf8mb4_nopad_bin) AND name < (? COLLATE utf8mb4_nopad_bin) \
             AND (name LIKE ? COLLATE utf8mb4_nopad_bin ESCAPE '|'))",
        ),
    ] {
        let (found, values) = condition.render(dialect);
        assert_eq!(found, text);
        assert_eq!(values.len(), 3);
    }
}
