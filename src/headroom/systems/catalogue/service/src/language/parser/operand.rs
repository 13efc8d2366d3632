//! The parser of operands: values, names and calls.

use super::{Parser, is_in_path};
use crate::language::expression::{AttributeName, Expression, Function, Literal};
use crate::language::lexer::is_in_word;
use crate::language::pattern::Pattern;
use crate::refusal::{Answer, Code, Refusal};

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Answer<Expression> {
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

    pub(super) fn is_at_number(&self) -> bool {
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

    pub(super) fn pattern(&mut self) -> Answer<Pattern> {
        match self.lexer.quoted()? {
            Some(text) => Pattern::parse_like(&text),
            None => Err(self.lexer.unexpected("a pattern in quotes")),
        }
    }

    /// Append expressions up to a closing parenthesis.
    pub(super) fn arguments(&mut self, into: &mut Vec<Expression>) -> Answer<()> {
        loop {
            into.push(self.deeper(Self::any)?);
            if self.lexer.symbol(")") {
                return Ok(());
            }
            self.lexer.expect(",")?;
        }
    }
}

fn wrong_count(name: &str) -> Refusal {
    Refusal::new(
        Code::IllegalQuery,
        format!("wrong number of arguments of `{name}`"),
    )
}
