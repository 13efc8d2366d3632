//! Expressions over the attributes of a job and the state of the model.
//!
//! An expression is compiled to a list of steps over a small stack (postfix notation). True is 1
//! and false is 0. Only the four operations and rounding are used, so results have the same bits on
//! every machine.

use serde::Deserialize;

use crate::simulation::kernel::random::distribution::Distribution;

/// One step of an expression, as the model states it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Term {
    /// Push a number.
    Number(f64),
    /// Push the value of an attribute.
    Attribute(String),
    /// Push a draw (time units).
    Draw {
        /// Distribution.
        law: Distribution,
        /// Stream key.
        stream: u64,
    },
    /// Push the number of jobs at a station.
    Jobs(String),
    /// Push the number of free tokens of a pool.
    Free(String),
    /// Push the number of servers of a station.
    Servers(String),
    /// Push the number of tokens of a pool.
    Tokens(String),
    /// Push the total time (time units) that servers of a station have worked so far.
    BusyTime(String),
    /// Push the time (time units).
    Now,
    /// Replace the arguments on top by what a function of a mechanism returns for them.
    Call {
        /// Name of the mechanism.
        mechanism: String,
        /// Name of the function.
        function: String,
        /// Number of its arguments.
        arguments: u32,
    },
    /// Replace the top one or two numbers.
    Apply(Operator),
}

/// The operation on the top of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Minimum,
    Maximum,
    Floor,
    Negate,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Not,
}

/// One step of a compiled expression; numbers are indices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Push a number.
    Number(f64),
    /// Push the value of an attribute.
    Attribute(u32),
    /// Push a draw of a source, in time units.
    Draw(u32),
    /// Push the number of jobs at a station.
    Jobs(u32),
    /// Push the number of free tokens of a pool.
    Free(u32),
    /// Push the number of servers of a station.
    Servers(u32),
    /// Push the number of tokens of a pool.
    Tokens(u32),
    /// Push the total time, in time units, that servers of a station have worked so far.
    BusyTime(u32),
    /// Push the time, in time units.
    Now,
    /// Replace the arguments on top by what a function returns for them.
    Call {
        /// Index of the function among those of the plan.
        call: u32,
        /// Number of its arguments.
        arguments: u32,
    },
    /// Replace the top one or two numbers.
    Apply(Operator),
}

/// A compiled expression.
pub type Code = Box<[Op]>;

impl Operator {
    /// Return whether it takes one number rather than two.
    pub const fn is_unary(self) -> bool {
        matches!(self, Self::Floor | Self::Negate | Self::Not)
    }

    /// Return the result of `a` and `b`; a unary operator uses `b` alone.
    #[allow(
        clippy::float_cmp,
        reason = "the model asks whether two numbers are the same"
    )]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Modulo => a - b * libm::floor(a / b),
            Self::Minimum => a.min(b),
            Self::Maximum => a.max(b),
            Self::Floor => libm::floor(b),
            Self::Negate => -b,
            Self::Less => truth(a < b),
            Self::LessEqual => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::GreaterEqual => truth(a >= b),
            Self::Equal => truth(a == b),
            Self::NotEqual => truth(a != b),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Or => truth(a != 0.0 || b != 0.0),
            Self::Not => truth(b == 0.0),
        }
    }
}

/// Evaluate `code`; `look_up` gives the numbers that are not in the code itself, and `call` what
/// functions of mechanisms return.
///
/// Operands are computed from left to right, each of them always: a function is called whenever
/// the job comes to its expression. `call` remembers a failure, and the caller checks for it at
/// once afterwards: a result here would cost every step of every expression, and nearly none of
/// them calls anything. The value returned then means nothing.
pub fn evaluate(
    code: &[Op],
    stack: &mut Vec<f64>,
    mut look_up: impl FnMut(Op) -> f64,
    mut call: impl FnMut(u32, &[f64]) -> f64,
) -> f64 {
    stack.clear();
    for &op in code {
        let value = match op {
            Op::Number(value) => value,
            Op::Call {
                call: function,
                arguments,
            } => {
                let first = stack.len().saturating_sub(arguments as usize);
                let value = call(function, &stack[first..]);
                stack.truncate(first);
                value
            }
            Op::Apply(operator) => {
                let b = stack.pop().unwrap_or(f64::NAN);
                let a = if operator.is_unary() {
                    0.0
                } else {
                    stack.pop().unwrap_or(f64::NAN)
                };
                operator.apply(a, b)
            }
            other => look_up(other),
        };
        stack.push(value);
    }
    stack.pop().unwrap_or(f64::NAN)
}

/// Return why `code` is no expression, if it is none.
pub fn flaw(code: &[Op]) -> Option<&'static str> {
    let mut depth = 0_usize;
    for op in code {
        let taken = match op {
            Op::Apply(operator) if operator.is_unary() => 1,
            Op::Apply(_) => 2,
            Op::Call { arguments, .. } => *arguments as usize,
            _ => 0,
        };
        if depth < taken {
            return Some("an expression applies an operator or a function to too few numbers");
        }
        depth = depth - taken + 1;
    }
    (depth != 1).then_some("an expression does not leave one number")
}

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(code: &[Op]) -> f64 {
        assert_eq!(flaw(code), None);
        let sum = |_, arguments: &[f64]| arguments.iter().sum();
        evaluate(code, &mut Vec::new(), |_| 7.0, sum)
    }

    #[test]
    fn operators_take_their_operands_in_order() {
        let two = |operator| value(&[Op::Number(7.5), Op::Number(2.0), Op::Apply(operator)]);
        let expected = [
            (Operator::Subtract, 5.5),
            (Operator::Divide, 3.75),
            (Operator::Modulo, 1.5),
            (Operator::Minimum, 2.0),
            (Operator::Less, 0.0),
            (Operator::GreaterEqual, 1.0),
            (Operator::And, 1.0),
        ];
        for (operator, result) in expected {
            assert!((two(operator) - result).abs() < 1e-15, "{operator:?}");
        }
        let floor = value(&[
            Op::Jobs(0),
            Op::Number(0.5),
            Op::Apply(Operator::Add),
            Op::Apply(Operator::Floor),
        ]);
        assert!((floor - 7.0).abs() < 1e-15);
    }

    #[test]
    fn a_function_takes_its_arguments_off_the_stack() {
        let call = |arguments| Op::Call { call: 0, arguments };
        let code = [
            Op::Number(1.0),
            Op::Number(2.0),
            Op::Jobs(0),
            call(2),
            call(0),
            Op::Apply(Operator::Add),
            Op::Apply(Operator::Subtract),
        ];
        assert!((value(&code) - (1.0 - 9.0)).abs() < 1e-15);
        assert!(flaw(&[Op::Now, call(2)]).is_some());
        assert!(flaw(&[Op::Now, Op::Now, call(1)]).is_some());
    }

    #[test]
    fn what_is_no_expression_is_told() {
        assert!(flaw(&[]).is_some());
        assert!(flaw(&[Op::Now, Op::Now]).is_some());
        assert!(flaw(&[Op::Now, Op::Apply(Operator::Add)]).is_some());
    }
}
