//! Random expressions, evaluated by SQLite and by the plain evaluator.

use super::evaluator::{Failure, Found, Known, Row, scale};
use super::random::{COLUMNS, Tree, number, text, truth};
use super::{Columns, TABLE};
use crate::language::chance::Chance;
use crate::language::compile::term::Sort;
use crate::language::compile::{compile, condition};
use crate::language::parser::parse_expression;
use crate::language::sqlite::Database;
use crate::store::functions::is_unfit;
use crate::store::sql::Sql;
use crate::value::{Type, Value};

/// Return whether SQLite may leave parts of it out, an error among them.
fn is_lazy(tree: &Tree) -> bool {
    match tree {
        Tree::Call("coalesce", _)
        | Tree::All(_)
        | Tree::Any(_)
        | Tree::Between(_)
        | Tree::In(..) => true,
        Tree::Negative(of) | Tree::Not(of) | Tree::IsNull(of) | Tree::Like(of, _) => is_lazy(of),
        Tree::Binary(_, left, right) | Tree::Compare(_, left, right) => {
            is_lazy(left) || is_lazy(right)
        }
        Tree::Call(_, of) => of.iter().any(is_lazy),
        _ => false,
    }
}

/// Return the part of a statement, and the type of its value; None: the language refuses it.
pub fn compiled(tree: &Tree) -> Option<(Sql, Type)> {
    let text = tree.text();
    let parsed = parse_expression(&text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    match compile(&parsed, &Columns) {
        Ok(compiled) => Some((compiled.sql, compiled.of)),
        Err(_) => Some((condition(&parsed, &Columns).ok()?, Type::Int)),
    }
}

fn is_same(known: Option<&Known>, value: &Value, of: &Type) -> bool {
    match (known, value) {
        (None, Value::Null) => true,
        (Some(Known::Exact(number, scale)), Value::Integer(found)) => {
            number == found && Sort::of_type(of) == Sort::Exact(*scale)
        }
        (Some(Known::Real(number)), Value::Real(found)) => {
            (number - found).abs() <= number.abs() * 1e-12
        }
        (Some(Known::Text(text)), Value::Text(found)) => text == found,
        (Some(Known::Truth(is_true)), Value::Integer(found)) => i64::from(*is_true) == *found,
        _ => false,
    }
}

fn has_refused(tree: &Tree) -> bool {
    match tree {
        Tree::Binary('%', left, right) if scale(left).is_none() || scale(right).is_none() => true,
        Tree::Negative(of) | Tree::Not(of) | Tree::IsNull(of) | Tree::Like(of, _) => {
            has_refused(of)
        }
        Tree::Binary(_, left, right) | Tree::Compare(_, left, right) => {
            has_refused(left) || has_refused(right)
        }
        Tree::Between(parts) => parts.iter().any(has_refused),
        Tree::In(of, others) => has_refused(of) || others.iter().any(has_refused),
        Tree::Call(_, parts) | Tree::All(parts) | Tree::Any(parts) => parts.iter().any(has_refused),
        _ => false,
    }
}

pub fn random(chance: &mut Chance) -> Tree {
    let depth = 1 + chance.below(4);
    match chance.below(4) {
        0 | 1 => number(chance, depth),
        2 => text(chance, 3),
        _ => truth(chance, 3),
    }
}

/// Return whether a database may find this; None stands for an error about a value.
pub fn is_allowed(tree: &Tree, expected: &Found, found: Option<&Value>, of: &Type) -> bool {
    match (expected, found) {
        (Ok(known), Some(value)) => is_same(known.as_ref(), value, of),
        // A comparison of numbers with different digits after the point may be too large.
        (Ok(_), None) => has_comparison(tree),
        (Err(Failure::Unfit), Some(_)) => is_lazy(tree),
        (Err(failure), None) => *failure == Failure::Unfit,
        (Err(Failure::Refused), Some(_)) => false,
    }
}

#[test]
fn sqlite_computes_as_the_evaluator_does() {
    let database = Database::open();
    database.run(TABLE);
    let mut chance = Chance::new(4);
    let mut value_count = 0;
    for _ in 0..300 {
        let row = Row::random(&mut chance);
        store(&database, &row);
        for _ in 0..40 {
            let tree = random(&mut chance);
            let text = tree.text();
            let Some((sql, of)) = compiled(&tree) else {
                assert!(has_refused(&tree), "{text}");
                continue;
            };
            let found = match database.value(sql, " FROM entry e") {
                Ok(value) => Some(value),
                Err(error) if is_unfit(&error) => None,
                Err(error) => panic!("{text}: {error}"),
            };
            let expected = row.value(&tree);
            let is_fine = is_allowed(&tree, &expected, found.as_ref(), &of);
            assert!(is_fine, "{text} of {row:?}: {expected:?}, not {found:?}");
            value_count += usize::from(expected.is_ok());
        }
    }
    assert!(
        value_count > 6000,
        "only {value_count} expressions have a value"
    );
}

/// Return whether a condition compares numbers, perhaps with different digits after the point.
fn has_comparison(tree: &Tree) -> bool {
    !matches!(
        tree,
        Tree::Column(_) | Tree::Binary(..) | Tree::Negative(_) | Tree::Call(..)
    )
}

fn store(database: &Database, row: &Row) {
    database.run("DELETE FROM entry");
    let mut insert = Sql::new("INSERT INTO entry (");
    insert
        .join(COLUMNS.map(Sql::new), ", ")
        .text(") VALUES (")
        .join(row.bound(), ", ")
        .text(")");
    database.rows(&insert).expect("a row");
}
