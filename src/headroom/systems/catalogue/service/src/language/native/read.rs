//! The parser of native SQL: the clauses of each statement.

use super::{Column, Delete, Insert, Order, Select, Table, Update};
use crate::language::expression::{Expression, Literal};
use crate::language::lexer::{is_in_word, is_word_start};
use crate::language::parser::{Parser, is_in_path};
use crate::refusal::{Answer, Code, Refusal};

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Answer<Select> {
        let is_distinct = self.lexer.keyword("distinct");
        let columns = if self.lexer.symbol("*") {
            Vec::new()
        } else {
            self.listed(Self::column)?
        };
        self.lexer.expect_keyword("from")?;
        let tables = self.tables()?;
        let condition = self.after_keyword("where")?;
        let groups = self.after_by("group", Self::expression)?;
        let group_condition = self.after_keyword("having")?;
        let order = self.after_by("order", Self::order)?;
        Ok(Select {
            is_distinct,
            columns,
            tables,
            condition,
            groups,
            group_condition,
            order,
            limit: self.count_after("limit")?,
            offset: self.count_after("offset")?,
        })
    }

    pub(super) fn insert(&mut self) -> Answer<Insert> {
        self.lexer.expect_keyword("into")?;
        let directory = self.directory()?;
        self.lexer.expect("(")?;
        let attributes = self.listed(Self::name)?;
        self.lexer.expect(")")?;
        self.lexer.expect_keyword("values")?;
        let rows = self.listed(Self::row)?;
        if let Some(row) = rows.iter().find(|row| row.len() != attributes.len()) {
            let message = format!(
                "a row has {} values for {} attributes",
                row.len(),
                attributes.len()
            );
            return Err(Refusal::new(Code::IllegalQuery, message));
        }
        Ok(Insert {
            directory,
            attributes,
            rows,
        })
    }

    pub(super) fn update(&mut self) -> Answer<Update> {
        let table = self.table()?;
        self.lexer.expect_keyword("set")?;
        Ok(Update {
            table,
            changes: self.listed(Self::change)?,
            condition: self.after_keyword("where")?,
        })
    }

    pub(super) fn delete(&mut self) -> Answer<Delete> {
        self.lexer.expect_keyword("from")?;
        Ok(Delete {
            table: self.table()?,
            condition: self.after_keyword("where")?,
        })
    }

    fn column(&mut self) -> Answer<Column> {
        let value = self.expression()?;
        let alias = self.alias()?;
        Ok(Column { value, alias })
    }

    fn tables(&mut self) -> Answer<Vec<Table>> {
        let mut found = vec![self.table()?];
        loop {
            let is_crossed = self.lexer.symbol(",") || self.crossed()?;
            let is_joined = !is_crossed && self.joined()?;
            if !is_crossed && !is_joined {
                return Ok(found);
            }
            let mut table = self.table()?;
            if is_joined {
                self.lexer.expect_keyword("on")?;
                table.condition = Some(self.expression()?);
            }
            found.push(table);
        }
    }

    fn crossed(&mut self) -> Answer<bool> {
        let is_here = self.lexer.keyword("cross");
        if is_here {
            self.lexer.expect_keyword("join")?;
        }
        Ok(is_here)
    }

    fn joined(&mut self) -> Answer<bool> {
        if self.lexer.keyword("inner") {
            self.lexer.expect_keyword("join")?;
            return Ok(true);
        }
        Ok(self.lexer.keyword("join"))
    }

    fn table(&mut self) -> Answer<Table> {
        let directory = self.directory()?;
        let alias = self.alias()?;
        Ok(Table {
            directory,
            alias,
            condition: None,
        })
    }

    fn directory(&mut self) -> Answer<String> {
        let path = match self.lexer.quoted()? {
            Some(path) => path,
            None => self.lexer.take_while(is_in_path).to_owned(),
        };
        if path.is_empty() {
            return Err(self.lexer.unexpected("a directory"));
        }
        Ok(path)
    }

    /// Return the name after `AS`, or without it a word that is not reserved.
    fn alias(&mut self) -> Answer<Option<String>> {
        let is_stated = self.lexer.keyword("as");
        let word = self.lexer.peek_word();
        if !is_stated && (word.is_empty() || self.is_reserved(word)) {
            return Ok(None);
        }
        self.name().map(Some)
    }

    fn name(&mut self) -> Answer<String> {
        let word = self.lexer.peek_word();
        if !word.starts_with(is_word_start) || self.is_reserved(word) {
            return Err(self.lexer.unexpected("a name"));
        }
        Ok(self.lexer.take_while(is_in_word).to_owned())
    }

    fn row(&mut self) -> Answer<Vec<Expression>> {
        self.lexer.expect("(")?;
        let values = self.listed(Self::expression)?;
        self.lexer.expect(")")?;
        Ok(values)
    }

    fn change(&mut self) -> Answer<(String, Expression)> {
        let name = self.name()?;
        self.lexer.expect("=")?;
        Ok((name, self.expression()?))
    }

    fn order(&mut self) -> Answer<Order> {
        let value = self.expression()?;
        let is_descending = self.lexer.keyword("desc");
        if !is_descending {
            self.lexer.keyword("asc");
        }
        Ok(Order {
            value,
            is_descending,
        })
    }

    fn listed<T>(&mut self, read: fn(&mut Self) -> Answer<T>) -> Answer<Vec<T>> {
        let mut found = vec![read(self)?];
        while self.lexer.symbol(",") {
            found.push(read(self)?);
        }
        Ok(found)
    }

    fn after_keyword(&mut self, keyword: &str) -> Answer<Option<Expression>> {
        self.lexer
            .keyword(keyword)
            .then(|| self.expression())
            .transpose()
    }

    fn after_by<T>(&mut self, keyword: &str, read: fn(&mut Self) -> Answer<T>) -> Answer<Vec<T>> {
        if !self.lexer.keyword(keyword) {
            return Ok(Vec::new());
        }
        self.lexer.expect_keyword("by")?;
        self.listed(read)
    }

    fn count_after(&mut self, keyword: &str) -> Answer<Option<u64>> {
        if !self.lexer.keyword(keyword) {
            return Ok(None);
        }
        match self.expression()? {
            Expression::Literal(Literal::Integer(count)) if count >= 0 => {
                Ok(Some(count.unsigned_abs()))
            }
            _ => Err(self.lexer.unexpected("a number of rows before this")),
        }
    }
}
