//! What a template is made of.

use regex::Regex;

use super::functions::Function;
use super::number::Number;

#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    /// A pipe whose value is written, unless it sets a variable.
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    /// A named template with the value that is its dot.
    Call(String, Option<Pipe>),
    Break,
    Continue,
}

#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) pipe: Pipe,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// Commands, each of which gets the value of the one before as its last argument.
#[derive(Debug, Clone)]
pub(super) struct Pipe {
    /// The variables that are set to its value; of a range two, for key and element.
    pub(super) variables: Vec<String>,
    /// Whether they are set anew with `=`, not declared with `:=`.
    pub(super) is_assignment: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug, Clone)]
pub(super) struct Command {
    /// What is called or simply is the value, then its arguments; never empty.
    pub(super) operands: Vec<Operand>,
    /// The regular expression of a call, if it is written in the template.
    pub(super) regex: Option<Result<Regex, String>>,
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(String),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a`; without a name it is `$`.
    Variable(String, Vec<String>),
    Function(&'static Function),
    /// In parentheses.
    Pipe(Box<Pipe>),
    /// `(...).a.b`
    Chain(Box<Operand>, Vec<String>),
}
