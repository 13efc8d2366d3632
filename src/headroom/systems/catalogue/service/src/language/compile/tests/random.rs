//! Random expressions: trees that know their text.

use crate::language::chance::Chance;

/// An expression as the tests build it; the parser never sees it.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A column of numbers or texts, by its place in the row.
    Column(usize),
    Whole(i64),
    /// Digits, and how many of them stand after the point.
    Point(i64, u8),
    Real(f64),
    Text(String),
    Negative(Box<Tree>),
    /// `+ - * / %` and `|` for texts.
    Binary(char, Box<Tree>, Box<Tree>),
    Call(&'static str, Vec<Tree>),
    Compare(&'static str, Box<Tree>, Box<Tree>),
    Between(Box<[Tree; 3]>),
    In(Box<Tree>, Vec<Tree>),
    IsNull(Box<Tree>),
    Like(Box<Tree>, String),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
}

/// Names of the columns: numbers first, then texts.
pub const COLUMNS: [&str; 7] = ["n", "m", "p", "q", "f", "s", "v"];
/// How many of them are numbers.
pub const NUMBERS: usize = 5;

/// Return a number.
pub fn number(chance: &mut Chance, depth: usize) -> Tree {
    let leaf = depth == 0 || chance.below(4) == 0;
    if leaf {
        return match chance.below(6) {
            0 => Tree::Whole(*chance.one_of(&[0, 1, 2, 3, 10, 4_000_000_000, i64::MAX])),
            1 => Tree::Point(*chance.one_of(&[0, 5, 25, 150, 999_999]), 2),
            2 => Tree::Real(*chance.one_of(&[0.0, 0.5, 2.5, 1e3, 1e200])),
            _ => Tree::Column(chance.below(NUMBERS)),
        };
    }
    let next = depth - 1;
    match chance.below(12) {
        0 => Tree::Negative(number(chance, next).into()),
        1 => Tree::Call("abs", vec![number(chance, next)]),
        2 => Tree::Call("round", vec![number(chance, next)]),
        3 => Tree::Call("floor", vec![number(chance, next)]),
        4 => Tree::Call("ceil", vec![number(chance, next)]),
        5 => Tree::Call("length", vec![text(chance, next)]),
        6 => Tree::Call("coalesce", vec![number(chance, next), number(chance, next)]),
        7 => Tree::Call("sqrt", vec![number(chance, next)]),
        _ => {
            let sign = *chance.one_of(&['+', '-', '*', '/', '%']);
            Tree::Binary(
                sign,
                number(chance, next).into(),
                number(chance, next).into(),
            )
        }
    }
}

/// Return a text.
pub fn text(chance: &mut Chance, depth: usize) -> Tree {
    if depth == 0 || chance.below(3) == 0 {
        return match chance.below(2) {
            0 => Tree::Text(chance.text("abAB'\"\\é%", 3)),
            _ => Tree::Column(NUMBERS + chance.below(COLUMNS.len() - NUMBERS)),
        };
    }
    let next = depth - 1;
    match chance.below(3) {
        0 => Tree::Call("lower", vec![text(chance, next)]),
        1 => Tree::Call("upper", vec![text(chance, next)]),
        _ => Tree::Binary('|', text(chance, next).into(), text(chance, next).into()),
    }
}

/// Return a condition.
pub fn truth(chance: &mut Chance, depth: usize) -> Tree {
    let next = depth.saturating_sub(1);
    let kinds = if depth == 0 { 6 } else { 10 };
    match chance.below(kinds) {
        0 => {
            let sign = comparison(chance);
            Tree::Compare(sign, text(chance, next).into(), text(chance, next).into())
        }
        1 => Tree::Between(Box::new([
            number(chance, next),
            number(chance, 0),
            number(chance, 0),
        ])),
        2 => {
            let others = (0..=chance.below(3)).map(|_| number(chance, 0)).collect();
            Tree::In(number(chance, next).into(), others)
        }
        3 => Tree::IsNull(number(chance, next).into()),
        4 => Tree::Like(text(chance, next).into(), chance.text("abA%_é", 4)),
        6 => Tree::Not(truth(chance, next).into()),
        7 => Tree::All(
            (0..=1 + chance.below(2))
                .map(|_| truth(chance, next))
                .collect(),
        ),
        8 => Tree::Any(
            (0..=1 + chance.below(2))
                .map(|_| truth(chance, next))
                .collect(),
        ),
        _ => {
            let sign = comparison(chance);
            Tree::Compare(
                sign,
                number(chance, next).into(),
                number(chance, next).into(),
            )
        }
    }
}

fn comparison(chance: &mut Chance) -> &'static str {
    chance.one_of::<&str>(&["=", "<>", "<", "<=", ">", ">="])
}

impl Tree {
    /// Return the text, with as few parentheses as the parser needs.
    pub fn text(&self) -> String {
        match self {
            Self::Column(at) => COLUMNS[*at].to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Point(number, scale) => {
                let unit = 10_i64.pow(u32::from(*scale));
                format!(
                    "{}.{:0width$}",
                    number / unit,
                    number % unit,
                    width = usize::from(*scale)
                )
            }
            Self::Real(number) => format!("{number:e}"),
            Self::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\"")),
            Self::Negative(of) => format!("- {}", of.above(7)),
            Self::Binary('|', left, right) => format!("{} || {}", left.above(4), right.above(5)),
            Self::Binary(sign, left, right) => {
                let strength = self.strength();
                format!(
                    "{}{sign}{}",
                    left.above(strength),
                    right.above(strength + 1)
                )
            }
            Self::Call(name, arguments) => format!("{name}({})", joined(arguments, ", ", 0)),
            Self::Compare(sign, left, right) => {
                format!("{}{sign}{}", left.above(4), right.above(4))
            }
            Self::Between(parts) => {
                let [of, low, high] = &**parts;
                format!(
                    "{} between {} and {}",
                    of.above(4),
                    low.above(4),
                    high.above(4)
                )
            }
            Self::In(of, others) => format!("{} in ({})", of.above(4), joined(others, ",", 0)),
            Self::IsNull(of) => format!("{} is null", of.above(4)),
            Self::Like(of, pattern) => format!("{} like \"{pattern}\"", of.above(4)),
            Self::Not(of) => format!("not {}", of.above(2)),
            Self::All(parts) => joined(parts, " and ", 2),
            Self::Any(parts) => joined(parts, " or ", 1),
        }
    }

    fn above(&self, strength: u8) -> String {
        if self.strength() < strength {
            format!("({})", self.text())
        } else {
            self.text()
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Any(_) => 0,
            Self::All(_) => 1,
            Self::Not(_) => 2,
            Self::Compare(..)
            | Self::Between(_)
            | Self::In(..)
            | Self::IsNull(_)
            | Self::Like(..) => 3,
            Self::Binary('|', ..) => 4,
            Self::Binary('+' | '-', ..) => 5,
            Self::Binary(..) => 6,
            Self::Negative(_) => 7,
            _ => 8,
        }
    }
}

fn joined(parts: &[Tree], between: &str, strength: u8) -> String {
    parts
        .iter()
        .map(|part| part.above(strength))
        .collect::<Vec<_>>()
        .join(between)
}
