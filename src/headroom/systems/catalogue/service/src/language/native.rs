//! Native SQL over directories: `SELECT`, `INSERT`, `UPDATE` and `DELETE` with directories as tables.
//!
//! A directory stands bare or in double quotes: `FROM /jobs j JOIN "/my files" f ON j.FILE = f.job`.
//! An attribute is `j.name`, `/jobs:name` or `name`; a text in an expression stands in quotes of
//! either kind. The statement is only read here: the caller finds directories and checks rights.

use super::expression::{Expression, Literal};
use super::lexer::{is_in_word, is_word_start};
use super::parser::{Parser, is_in_path};
use crate::refusal::{Answer, Code, Refusal};

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `SELECT … FROM …`
    Select(Select),
    /// `INSERT INTO directory (…) VALUES (…), (…)`
    Insert(Insert),
    /// `UPDATE directory SET … WHERE …`
    Update(Update),
    /// `DELETE FROM directory WHERE …`
    Delete(Delete),
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Whether each row appears once.
    pub is_distinct: bool,
    /// The columns; none for `*`.
    pub columns: Vec<Column>,
    /// The directories: every one is joined with those before it.
    pub tables: Vec<Table>,
    /// `WHERE`.
    pub condition: Option<Expression>,
    /// `GROUP BY`.
    pub groups: Vec<Expression>,
    /// `HAVING`.
    pub group_condition: Option<Expression>,
    /// `ORDER BY`.
    pub order: Vec<Order>,
    /// `LIMIT`.
    pub limit: Option<u64>,
    /// `OFFSET`.
    pub offset: Option<u64>,
}

/// A column of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The value.
    pub value: Expression,
    /// `AS name`.
    pub alias: Option<String>,
}

/// A directory of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The path as written.
    pub directory: String,
    /// The name by which expressions know it.
    pub alias: Option<String>,
    /// `ON`.
    pub condition: Option<Expression>,
}

/// A place in the order of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The value; a whole number is the place of a column.
    pub value: Expression,
    /// `DESC`.
    pub is_descending: bool,
}

/// New entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The path as written.
    pub directory: String,
    /// The attributes, `FILE` among them.
    pub attributes: Vec<String>,
    /// Values of each entry, as many as attributes.
    pub rows: Vec<Vec<Expression>>,
}

/// A change of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The directory.
    pub table: Table,
    /// Attributes and their new values.
    pub changes: Vec<(String, Expression)>,
    /// `WHERE`.
    pub condition: Option<Expression>,
}

/// A removal of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The directory.
    pub table: Table,
    /// `WHERE`.
    pub condition: Option<Expression>,
}

/// Return the tree of a statement.
///
/// ```
/// use headroom_catalogue::language::native::{Statement, parse};
///
/// let found = parse("SELECT FILE, events FROM /jobs WHERE events > 10 ORDER BY events DESC")?;
/// assert!(matches!(found, Statement::Select(select) if select.tables[0].directory == "/jobs"));
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
///
/// # Errors
///
/// The text is no such statement, or is too long or too deep.
pub fn parse(text: &str) -> Answer<Statement> {
    let mut parser = Parser::of_native(text)?;
    let found = if parser.lexer.keyword("select") {
        Statement::Select(parser.select()?)
    } else if parser.lexer.keyword("insert") {
        Statement::Insert(parser.insert()?)
    } else if parser.lexer.keyword("update") {
        Statement::Update(parser.update()?)
    } else if parser.lexer.keyword("delete") {
        Statement::Delete(parser.delete()?)
    } else {
        return Err(parser.lexer.unexpected("SELECT, INSERT, UPDATE or DELETE"));
    };
    parser.lexer.symbol(";");
    parser.end()?;
    Ok(found)
}

impl Parser<'_> {
    fn select(&mut self) -> Answer<Select> {
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

    fn insert(&mut self) -> Answer<Insert> {
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

    fn update(&mut self) -> Answer<Update> {
        let table = self.table()?;
        self.lexer.expect_keyword("set")?;
        Ok(Update {
            table,
            changes: self.listed(Self::change)?,
            condition: self.after_keyword("where")?,
        })
    }

    fn delete(&mut self) -> Answer<Delete> {
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

#[cfg(test)]
mod tests {
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
}
