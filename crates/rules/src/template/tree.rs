//! What a template is made of, after parsing.

use std::collections::HashMap;

/// A template and those that it defines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    pub(super) main: Vec<Node>,
    pub(super) defined: HashMap<String, Vec<Node>>,
}

/// A part of a template, and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeKind {
    /// What is written as it is.
    Text(String),
    /// `{{ pipeline }}`.
    Action(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    /// `{{ template "name" pipeline }}`.
    Call {
        name: String,
        argument: Option<Pipeline>,
    },
    Break,
    Continue,
}

/// A condition and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Branch {
    pub(super) pipeline: Pipeline,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// `$a, $b := command | command`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pipeline {
    pub(super) variables: Vec<String>,
    /// Whether the variables are there already.
    pub(super) is_assignment: bool,
    pub(super) commands: Vec<Command>,
}

/// A function or a value, and arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Command {
    pub(super) operands: Vec<Operand>,
}

/// A value, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operand {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: OperandKind,
    /// `.a.b` behind it.
    pub(super) fields: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum OperandKind {
    /// `.`, or the beginning of `.field`.
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// With its dollar.
    Variable(String),
    Function(String),
    Pipeline(Box<Pipeline>),
}
