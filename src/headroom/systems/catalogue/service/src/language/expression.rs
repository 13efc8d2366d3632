//! The tree of an expression.

use super::pattern::Pattern;

/// The name of an attribute: `/jobs:events`, `.:n`, `n` or `FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeName {
    /// The directory as written, or the name of a table in native SQL.
    pub directory: Option<String>,
    /// The attribute.
    pub name: String,
}

/// A value in the text of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Truth(bool),
    /// `42`.
    Integer(i64),
    /// `1.50`: exact, as the number of the last digit.
    Decimal {
        /// All digits.
        unscaled: i64,
        /// Digits after the point.
        scale: u8,
    },
    /// `1e3`, or more digits than a `numeric` holds.
    Real(f64),
    /// `"CERN"`.
    Text(String),
}

/// An operator with two operands that gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `||`
    Concatenate,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>` or `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Without sign.
    Abs,
    /// Mean of the entries.
    Avg,
    /// Least whole number that is not less.
    Ceil,
    /// First argument that is not null.
    Coalesce,
    /// All texts, one after the other.
    Concat,
    /// Number of entries, or of values that are not null.
    Count,
    /// Greatest whole number that is not more.
    Floor,
    /// Number of characters.
    Length,
    /// With small ASCII letters.
    Lower,
    /// Greatest of the entries.
    Max,
    /// Least of the entries.
    Min,
    /// The time when the expression is compiled.
    Now,
    /// Null if both arguments are equal, else the first one.
    NullIf,
    /// Nearest number with this number of digits after the point.
    Round,
    /// Square root.
    Sqrt,
    /// Part of a text.
    Substr,
    /// Sum of the entries.
    Sum,
    /// With large ASCII letters.
    Upper,
}

impl Function {
    /// Return the function of this name, in any case of letters.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "abs" => Self::Abs,
            "avg" => Self::Avg,
            "ceil" | "ceiling" => Self::Ceil,
            "coalesce" => Self::Coalesce,
            "concat" => Self::Concat,
            "count" => Self::Count,
            "floor" => Self::Floor,
            "length" | "char_length" => Self::Length,
            "lower" => Self::Lower,
            "max" => Self::Max,
            "min" => Self::Min,
            "now" => Self::Now,
            "nullif" => Self::NullIf,
            "round" => Self::Round,
            "sqrt" => Self::Sqrt,
            "substr" | "substring" => Self::Substr,
            "sum" => Self::Sum,
            "upper" => Self::Upper,
            _ => return None,
        })
    }

    /// Return the least and the greatest number of arguments. `count(*)` has none.
    pub fn argument_counts(self) -> (usize, usize) {
        match self {
            Self::Now => (0, 0),
            Self::Count => (0, 1),
            Self::NullIf => (2, 2),
            Self::Round => (1, 2),
            Self::Substr => (2, 3),
            Self::Coalesce | Self::Concat => (1, usize::MAX),
            _ => (1, 1),
        }
    }

    /// Return whether it makes one value of those of many entries.
    pub fn is_aggregate(self) -> bool {
        matches!(
            self,
            Self::Avg | Self::Count | Self::Max | Self::Min | Self::Sum
        )
    }
}

/// An expression: a value or a condition; which of them, the compiler finds out.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A value in the text.
    Literal(Literal),
    /// A value of an entry.
    Attribute(AttributeName),
    /// `-x`.
    Negative(Box<Expression>),
    /// `x + y`.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `x < y`.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// `x is null`.
    IsNull(Box<Expression>),
    /// `x in (y, z)`: the operand comes first.
    In(Vec<Expression>),
    /// `x between y and z`: the operand comes first.
    Between(Box<[Expression; 3]>),
    /// `x like "y%"`.
    Like(Box<Expression>, Pattern),
    /// `not x`.
    Not(Box<Expression>),
    /// `x and y and z`.
    All(Vec<Expression>),
    /// `x or y or z`.
    Any(Vec<Expression>),
    /// `f(x, y)`.
    Call(Function, Vec<Expression>),
}

impl Expression {
    /// Return all names, in the order of the text, each as often as it is there.
    pub fn names(&self) -> Vec<&AttributeName> {
        let mut found = Vec::new();
        self.collect_names(true, &mut found);
        found
    }

    /// Return the names outside aggregates: with an aggregate, they must be grouped.
    pub fn bare_names(&self) -> Vec<&AttributeName> {
        let mut found = Vec::new();
        self.collect_names(false, &mut found);
        found
    }

    /// Return whether a function in it makes one value of those of many entries.
    pub fn has_aggregate(&self) -> bool {
        matches!(self, Self::Call(function, _) if function.is_aggregate())
            || self.children().into_iter().any(Self::has_aggregate)
    }

    /// Return whether its evaluation may end in an error that depends on values: an overflow, a division
    /// by zero. Comparisons have none.
    pub fn can_fail(&self) -> bool {
        matches!(self, Self::Negative(_) | Self::Binary(..) | Self::Call(..))
            || self.children().into_iter().any(Self::can_fail)
    }

    /// Return how many levels the tree has.
    pub(super) fn height(&self) -> usize {
        let heights = self.children().into_iter().map(Self::height);
        1 + heights.max().unwrap_or(0)
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Attribute(_) => Vec::new(),
            Self::Negative(of) | Self::IsNull(of) | Self::Like(of, _) | Self::Not(of) => vec![of],
            Self::Binary(_, left, right) | Self::Compare(_, left, right) => vec![left, right],
            Self::Between(parts) => parts.iter().collect(),
            Self::In(parts) | Self::All(parts) | Self::Any(parts) | Self::Call(_, parts) => {
                parts.iter().collect()
            }
        }
    }

    fn collect_names<'a>(&'a self, with_aggregates: bool, found: &mut Vec<&'a AttributeName>) {
        match self {
            Self::Attribute(name) => found.push(name),
            Self::Call(function, _) if function.is_aggregate() && !with_aggregates => {}
            _ => {
                for child in self.children() {
                    child.collect_names(with_aggregates, found);
                }
            }
        }
    }
}
