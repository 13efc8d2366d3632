//! The parser of expressions.
//!
//! From the weakest to the strongest: `or` `|`; `and` `&` `&&`; `not` `!`; comparisons, `is null`,
//! `in`, `between`, `like`; `||`; `+ -`; `* / %`; a sign. Words of the language are known in any
//! case of letters. Recursion is limited by the depth, memory by the number of parts.

use super::expression::{AttributeName, Comparison, Expression, Function, Literal, Operator};
use super::lexer::{Lexer, is_in_word};
use super::pattern::Pattern;
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

    fn operand(&mut self) -> Answer<Expression> {
        if self.lexer.symbol("(") {
            let found = self.deeper(Self::any)?;
            self.lexer.expect(")")?;
            return Ok(found);
        }
        if let Some(text) = self.lexer.quoted()? {
            return self.after_quoted(text);
        }
        if self.is_at_number() {
            let number = self.lexer.number(false)?;
            return self.part(Expression::Literal(number));
        }
        if self.lexer.rest().starts_with(['/', '.']) {
            return self.path();
        }
        self.word()
    }

    fn is_at_number(&self) -> bool {
        let rest = self.lexer.rest();
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Return a text, or an attribute of a directory in quotes.
    fn after_quoted(&mut self, text: String) -> Answer<Expression> {
        if self.is_before_name(&[':', '.']) {
            return self.attribute_of(text);
        }
        self.part(Expression::Literal(Literal::Text(text)))
    }

    fn path(&mut self) -> Answer<Expression> {
        let directory = self.lexer.take_while(is_in_path);
        if self.is_before_name(&[':']) {
            return self.attribute_of(directory.to_owned());
        }
        let message = format!("`{directory}` needs an attribute: write `{directory}:name`");
        Err(Refusal::new(Code::IllegalQuery, message))
    }

    fn word(&mut self) -> Answer<Expression> {
        let word = self.lexer.peek_word();
        if word.is_empty() {
            return Err(self.lexer.unexpected("a value"));
        }
        let lower = word.to_ascii_lowercase();
        let after = self.lexer.rest()[word.len()..].trim_start();
        if after.starts_with('(') && (lower == "like" || !self.is_reserved(word)) {
            self.lexer.take(word.len());
            self.lexer.expect("(")?;
            return self.call(&lower);
        }
        let is_qualified = after.len() == self.lexer.rest().len() - word.len()
            && (after.starts_with(':') || (self.is_native && after.starts_with('.')));
        if !is_qualified && self.is_reserved(word) {
            return Err(self.lexer.unexpected("a value"));
        }
        self.lexer.take(word.len());
        if is_qualified {
            return self.attribute_of(word.to_owned());
        }
        let literal = match lower.as_str() {
            "null" => Literal::Null,
            "true" => Literal::Truth(true),
            "false" => Literal::Truth(false),
            _ => {
                let name = word.to_owned();
                let directory = None;
                return self.part(Expression::Attribute(AttributeName { directory, name }));
            }
        };
        self.part(Expression::Literal(literal))
    }

    fn is_before_name(&self, signs: &[char]) -> bool {
        let mut rest = self.lexer.rest().chars();
        rest.next()
            .is_some_and(|c| signs.contains(&c) && (c == ':' || self.is_native))
            && rest.next().is_some_and(is_in_word)
    }

    /// Return the attribute behind the sign that follows.
    fn attribute_of(&mut self, directory: String) -> Answer<Expression> {
        self.lexer.take(1);
        let name = self.lexer.take_while(is_in_word).to_owned();
        if name.is_empty() {
            return Err(self.lexer.unexpected("the name of an attribute"));
        }
        let directory = Some(directory);
        self.part(Expression::Attribute(AttributeName { directory, name }))
    }

    /// Return a call whose opening parenthesis was read.
    fn call(&mut self, name: &str) -> Answer<Expression> {
        if name == "like" {
            return self.call_of_like();
        }
        let function = Function::find(name).ok_or_else(|| {
            Refusal::new(Code::IllegalQuery, format!("there is no function `{name}`"))
        })?;
        let mut arguments = Vec::new();
        if function == Function::Count && self.lexer.symbol("*") {
            self.lexer.expect(")")?;
        } else if !self.lexer.symbol(")") {
            self.arguments(&mut arguments)?;
            if function == Function::Count && arguments.len() != 1 {
                return Err(wrong_count(name));
            }
        } else if function == Function::Count {
            return Err(wrong_count(name));
        }
        let (least, most) = function.argument_counts();
        if !(least..=most).contains(&arguments.len()) {
            return Err(wrong_count(name));
        }
        self.part(Expression::Call(function, arguments))
    }

    fn call_of_like(&mut self) -> Answer<Expression> {
        let operand = self.deeper(Self::any)?;
        self.lexer.expect(",")?;
        let pattern = self.pattern()?;
        self.lexer.expect(")")?;
        self.part(Expression::Like(operand.into(), pattern))
    }

    fn pattern(&mut self) -> Answer<Pattern> {
        match self.lexer.quoted()? {
            Some(text) => Pattern::parse_like(&text),
            None => Err(self.lexer.unexpected("a pattern in quotes")),
        }
    }

    /// Append expressions up to a closing parenthesis.
    fn arguments(&mut self, into: &mut Vec<Expression>) -> Answer<()> {
        loop {
            into.push(self.deeper(Self::any)?);
            if self.lexer.symbol(")") {
                return Ok(());
            }
            self.lexer.expect(",")?;
        }
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

fn wrong_count(name: &str) -> Refusal {
    Refusal::new(
        Code::IllegalQuery,
        format!("wrong number of arguments of `{name}`"),
    )
}

fn too_deep() -> Refusal {
    let message = format!("an expression has at most {MAX_DEPTH} levels");
    Refusal::new(Code::IllegalQuery, message)
}

#[cfg(test)]
mod tests;
