//! Which labels a template may read, told from its tree.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Branch, Command, Node, Operand, Pipe};

/// What a template may read.
pub(super) struct Usage {
    /// The labels; none if it may be any.
    pub(super) names: Option<BTreeSet<String>>,
    pub(super) reads_line: bool,
}

/// What a template and those that it defines may read.
pub(super) fn usage(root: &[Node], named: &BTreeMap<String, Vec<Node>>) -> Usage {
    let mut finder = Finder { names: BTreeSet::new(), reads_all: false, reads_line: false };
    finder.list(root, true);
    for body in named.values() {
        // Its dot is what it is called with, and who calls it with all labels has been noticed.
        finder.list(body, false);
    }
    let names = (!finder.reads_all).then_some(finder.names);
    Usage { names, reads_line: finder.reads_line }
}

struct Finder {
    names: BTreeSet<String>,
    reads_all: bool,
    reads_line: bool,
}

impl Finder {
    /// `is_root`: whether the dot is all labels.
    fn list(&mut self, nodes: &[Node], is_root: bool) {
        for node in nodes {
            match node {
                Node::Text(_) | Node::Break | Node::Continue => {}
                Node::Action(pipe) => self.pipe(pipe, is_root),
                Node::If(branch) => self.branch(branch, is_root, is_root),
                Node::With(branch) | Node::Range(branch) => self.branch(branch, is_root, false),
                Node::Call(_, pipe) => {
                    if let Some(pipe) = pipe {
                        self.pipe(pipe, is_root);
                    }
                }
            }
        }
    }

    fn branch(&mut self, branch: &Branch, is_root: bool, body_is_root: bool) {
        self.pipe(&branch.pipe, is_root);
        self.list(&branch.body, body_is_root);
        self.list(&branch.otherwise, is_root);
    }

    fn pipe(&mut self, pipe: &Pipe, is_root: bool) {
        for command in &pipe.commands {
            self.command(command, is_root);
        }
    }

    fn command(&mut self, command: &Command, is_root: bool) {
        // `index . "name"` is how names are read that no field can have.
        if let [Operand::Function(function), labels, Operand::Text(name)] =
            command.operands.as_slice()
            && function.name == "index"
        {
            let is_dot = is_root && matches!(labels, Operand::Dot);
            let is_all = matches!(labels, Operand::Variable(variable, fields) if variable.is_empty() && fields.is_empty());
            if is_dot || is_all {
                self.names.insert(name.clone());
                return;
            }
        }
        for operand in &command.operands {
            self.operand(operand, is_root);
        }
    }

    fn operand(&mut self, operand: &Operand, is_root: bool) {
        match operand {
            Operand::Dot => self.reads_all |= is_root,
            // Where the dot is something else the name is no label; to take it for one does no harm.
            Operand::Field(names) => self.names.extend(names.first().cloned()),
            Operand::Variable(variable, fields) if variable.is_empty() => match fields.first() {
                Some(name) => drop(self.names.insert(name.clone())),
                None => self.reads_all = true,
            },
            Operand::Function(function) => self.reads_line |= function.name == "__line__",
            Operand::Pipe(pipe) => self.pipe(pipe, is_root),
            Operand::Chain(base, _) => self.operand(base, is_root),
            Operand::Nil
            | Operand::Bool(_)
            | Operand::Number(_)
            | Operand::Text(_)
            | Operand::Variable(..) => {}
        }
    }
}
