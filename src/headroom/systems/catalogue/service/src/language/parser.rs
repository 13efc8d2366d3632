//! The parser of expressions.
//!
//! From the weakest to the strongest: `or` `|`; `and` `&` `&&`; `not` `!`; comparisons, `is null`,
//! `in`, `between`, `like`; `||`; `+ -`; `* / %`; a sign. Words of the language are known in any
//! case of letters. Recursion is limited by the depth, memory by the number of parts.

mod operand;

use super::expression::{Comparison, Expression, Operator};
use super::lexer::Lexer;
use crate::refusal::{Answer, Code, Refusal};

/// Levels of an expression.
pub const MAX_DEPTH: usize = 64;
/// Values, names and operators of an expression.
pub const MAX_PARTS: usize = 4000;

/// Words that are never the name of an attribute without a directory.
const RESERVED: [&str; 7] = ["and", "between", "in", "is", "like", "not", "or"];
/// More of them in native SQL.
const RESERVED_NATIVE: [&str; 19] = [
    "as", "asc", "by", "cross", "desc", "distinct", "from", "group", "having", "inner", "join",
    "left", "limit", "offset", "on", "order", "select", "set", "where",
];

/// Return the tree of an expression.
///
/// ```
/// use headroom_catalogue::language::parser::parse_expression;
///
/// let condition = parse_expression(r#"/jobs:events > 10 and like(FILE, "t%")"#)?;
/// assert_eq!(condition.names().len(), 2);
/// assert!(!condition.has_aggregate());
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
///
/// # Errors
///
/// The text is no expression, or is too long or too deep.
pub fn parse_expression(text: &str) -> Answer<Expression> {
    let mut parser = Parser::new(text)?;
    let found = parser.expression()?;
    parser.end()?;
    Ok(found)
}

/// Reads expressions from a text.
pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// Whether words of native SQL are reserved, and `table.attribute` is a name.
    is_native: bool,
    depth: usize,
    part_count: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Answer<Self> {
        Ok(Self {
            lexer: Lexer::new(text)?,
            is_native: false,
            depth: 0,
            part_count: 0,
        })
    }

    pub(super) fn of_native(text: &'a str) -> Answer<Self> {
        let parser = Self::new(text)?;
        Ok(Self {
            is_native: true,
            ..parser
        })
    }

    /// Return the expression that follows.
    pub(super) fn expression(&mut self) -> Answer<Expression> {
        let found = self.any()?;
        if found.height() > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(found)
    }

    /// Refuse a text that has more.
    pub(super) fn end(&mut self) -> Answer<()> {
        if self.lexer.is_at_end() {
            return Ok(());
        }
        Err(self.lexer.unexpected("an operator or the end"))
    }

    /// Return whether a word cannot be a name here.
    pub(super) fn is_reserved(&self, word: &str) -> bool {
        let is_in = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        is_in(&RESERVED) || (self.is_native && is_in(&RESERVED_NATIVE))
    }

    fn any(&mut self) -> Answer<Expression> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.lexer.keyword("or") || self.lexer.symbol("|") {
            parts.push(self.all()?);
        }
        self.one_or(parts, Expression::Any)
    }

    fn all(&mut self) -> Answer<Expression> {
        let first = self.negation()?;
        let mut parts = vec![first];
        while self.lexer.keyword("and") || self.lexer.symbol("&&") || self.lexer.symbol("&") {
            parts.push(self.negation()?);
        }
        self.one_or(parts, Expression::All)
    }

    fn negation(&mut self) -> Answer<Expression> {
        if self.lexer.keyword("not") || self.lexer.symbol("!") {
            let of = self.deeper(Self::negation)?;
            return self.part(Expression::Not(Box::new(of)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Answer<Expression> {
        let left = self.concatenation()?;
        if let Some(comparison) = self.comparison_sign() {
            let right = self.concatenation()?;
            return self.part(Expression::Compare(comparison, left.into(), right.into()));
        }
        if self.lexer.keyword("is") {
            let is_negated = self.lexer.keyword("not");
            self.lexer.expect_keyword("null")?;
            return self.part_or_not(Expression::IsNull(left.into()), is_negated);
        }
        let is_negated = self.lexer.keyword("not");
        let found = if self.lexer.keyword("like") {
            Expression::Like(left.into(), self.pattern()?)
        } else if self.lexer.keyword("in") {
            self.lexer.expect("(")?;
            let mut parts = vec![left];
            self.arguments(&mut parts)?;
            Expression::In(parts)
        } else if self.lexer.keyword("between") {
            let low = self.concatenation()?;
            self.lexer.expect_keyword("and")?;
            Expression::Between(Box::new([left, low, self.concatenation()?]))
        } else if is_negated {
            return Err(self.lexer.unexpected("`like`, `in` or `between`"));
        } else {
            return Ok(left);
        };
        self.part_or_not(found, is_negated)
    }

    fn comparison_sign(&mut self) -> Option<Comparison> {
        // A sign that begins like a longer one comes after it.
        let signs = [
            ("<>", Comparison::Unequal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("=", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.lexer.symbol(sign));
        found.map(|(_, comparison)| comparison)
    }

    fn concatenation(&mut self) -> Answer<Expression> {
        self.chain(&[("||", Operator::Concatenate)], Self::sum)
    }

    fn sum(&mut self) -> Answer<Expression> {
        self.chain(
            &[("+", Operator::Add), ("-", Operator::Subtract)],
            Self::product,
        )
    }

    fn product(&mut self) -> Answer<Expression> {
        let signs = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("%", Operator::Remainder),
        ];
        self.chain(&signs, Self::signed)
    }

    /// Return operands with operators of one strength between them, from left to right.
    fn chain(
        &mut self,
        signs: &[(&str, Operator)],
        operand: fn(&mut Self) -> Answer<Expression>,
    ) -> Answer<Expression> {
        let mut left = operand(self)?;
        let mut height = None;
        while let Some((_, operator)) = signs.iter().find(|(sign, _)| self.lexer.symbol(sign)) {
            let right = operand(self)?;
            // A chain such as `a + b + c` is deep without recursion of the parser.
            let both = height.unwrap_or_else(|| left.height()).max(right.height()) + 1;
            if both > MAX_DEPTH {
                return Err(too_deep());
            }
            height = Some(both);
            left = self.part(Expression::Binary(*operator, left.into(), right.into()))?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Answer<Expression> {
        if self.lexer.symbol("+") {
            return self.deeper(Self::signed);
        }
        if !self.lexer.symbol("-") {
            return self.operand();
        }
        self.lexer.skip_space();
        if self.is_at_number() {
            let number = self.lexer.number(true)?;
            return self.part(Expression::Literal(number));
        }
        let of = self.deeper(Self::signed)?;
        self.part(Expression::Negative(of.into()))
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Answer<Expression>) -> Answer<Expression> {
        if self.depth == MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn one_or(
        &mut self,
        mut parts: Vec<Expression>,
        all: fn(Vec<Expression>) -> Expression,
    ) -> Answer<Expression> {
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                self.part(all(parts))
            }
        }
    }

    fn part_or_not(&mut self, found: Expression, is_negated: bool) -> Answer<Expression> {
        let found = self.part(found)?;
        if is_negated {
            return self.part(Expression::Not(found.into()));
        }
        Ok(found)
    }

    fn part(&mut self, found: Expression) -> Answer<Expression> {
        self.part_count += 1;
        if self.part_count > MAX_PARTS {
            let message = format!("an expression has at most {MAX_PARTS} parts");
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(found)
    }
}

/// Return whether a path without quotes may have this.
pub(super) fn is_in_path(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"\"'`(),;:=<>!&|*?%".contains(c)
}

fn too_deep() -> Refusal {
    let message = format!("an expression has at most {MAX_DEPTH} levels");
    Refusal::new(Code::IllegalQuery, message)
}

#[cfg(test)]
mod tests;
