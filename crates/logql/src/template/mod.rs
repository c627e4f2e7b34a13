//! `line_format` and `label_format`: the templates of Go, as Loki has them.
//!
//! A template is text with actions in `{{ }}`: labels (`.name`), functions, pipes, `if`, `range`,
//! `with`, variables, named templates. It is read once and rendered for every line; a label that
//! is missing is empty. Values have the types they have in Go, so `trunc .n "x"` fails as it does
//! there, and numbers are written as Go writes them.
//!
//! Rendering is bounded in its work and in the text that it makes. What fails while it is rendered
//! is a [`TemplateError::Render`], and what was written by then is taken back.
//!
//! The parts: `lex` and `parse` make the tree of `tree`; `run` walks it with the values of `value`;
//! `builtins` and `functions` are what can be called; `print` is `printf`; `moment` and `layout` are
//! times and how they are written.

mod builtins;
mod functions;
mod layout;
mod layout_parse;
mod lex;
mod moment;
mod names;
mod number;
mod parse;
mod print;
mod run;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tree::Node;

/// Why a template cannot be read or rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is no template.
    #[error("template line {line}: {message}")]
    Syntax {
        /// The line of the template, from 1.
        line: usize,
        /// What was found, and what was expected.
        message: String,
    },
    /// It cannot be rendered with these labels.
    #[error("{0}")]
    Render(String),
}

/// The labels that a template reads.
pub trait Lookup {
    /// The value of a label, if it is there.
    fn get(&self, name: &str) -> Option<Cow<'_, str>>;
    /// Every label with its value, in any order.
    fn each(&self, give: &mut dyn FnMut(&str, &str));
}

/// A template, ready to be rendered.
#[derive(Debug, Clone)]
pub struct Template {
    root: Vec<Node>,
    named: BTreeMap<String, Vec<Node>>,
    names: Option<BTreeSet<String>>,
    reads_line: bool,
}

/// A time in UTC, written after a layout of Go: how 2006-01-02 15:04:05 would be written.
pub fn format_time(unix_nanos: i64, layout: &str) -> String {
    // Nanoseconds since 1970 do not reach beyond what has a date.
    moment::Moment::of_nanos(unix_nanos).format(layout).unwrap_or_default()
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (root, named) = parse::parse(text)?;
        let usage = names::usage(&root, &named);
        Ok(Self { root, named, names: usage.names, reads_line: usage.reads_line })
    }

    /// The labels that it may read; none if it may read all of them.
    pub fn names(&self) -> Option<&BTreeSet<String>> {
        self.names.as_ref()
    }

    /// Whether it may read the line.
    pub fn reads_line(&self) -> bool {
        self.reads_line
    }

    /// Appends what it makes of the labels, the line and its time. If that fails, nothing is
    /// appended.
    pub fn render(
        &self,
        labels: &dyn Lookup,
        line: &str,
        time_nanos: i64,
        out: &mut String,
    ) -> Result<(), TemplateError> {
        run::render(self, labels, line, time_nanos, out)
    }
}
