//! Running a template.
//!
//! A template runs to its end or to an error. If it asks a query that is not answered yet, it
//! stops and says which; whoever runs it answers the query and runs it again. Nothing else that a
//! template does can be seen from outside, so running it twice does no harm.

use super::functions::{CallError, Surroundings, call};
use super::tree::{Branch, Command, Node, NodeKind, Operand, OperandKind, Pipeline, Tree};
use super::value::Value;
use super::{TemplateError, clock};
use crate::limits::{MAX_TEMPLATE_DEPTH, MAX_TEMPLATE_OUTPUT_BYTES, MAX_TEMPLATE_STEPS};

/// Why a template did not run to its end.
#[derive(Debug)]
pub(super) enum Stopped {
    Failed(TemplateError),
    /// A query has to be answered first.
    Asks(String),
}

/// How a list of nodes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

type Result<T> = std::result::Result<T, Stopped>;

/// Runs a template over `data`.
pub(super) fn run(
    name: &str,
    text: &str,
    tree: &Tree,
    data: Value,
    around: &Surroundings<'_>,
) -> Result<String> {
    let variables = vec![("$".to_owned(), data.clone())];
    let mut run =
        Run { name, text, tree, around, variables, out: String::new(), steps: 0, depth: 0 };
    run.list(&tree.main, &data)?;
    Ok(run.out)
}

struct Run<'a> {
    name: &'a str,
    text: &'a str,
    tree: &'a Tree,
    around: &'a Surroundings<'a>,
    variables: Vec<(String, Value)>,
    out: String,
    steps: usize,
    /// Lists of nodes within each other.
    depth: usize,
}

impl<'a> Run<'a> {
    fn fail<T>(&self, start: usize, end: usize, message: &str) -> Result<T> {
        let at = self.text.get(start..end).unwrap_or_default();
        Err(Stopped::Failed(TemplateError::executing(self.name, self.text, start, at, message)))
    }

    fn step(&mut self, at: usize) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_TEMPLATE_STEPS {
            return self.fail(at, at, &format!("takes more than {MAX_TEMPLATE_STEPS} steps"));
        }
        Ok(())
    }

    fn write(&mut self, at: usize, text: &str) -> Result<()> {
        if self.out.len() + text.len() > MAX_TEMPLATE_OUTPUT_BYTES {
            let message = format!("gives more than {MAX_TEMPLATE_OUTPUT_BYTES} bytes");
            return self.fail(at, at, &message);
        }
        self.out.push_str(text);
        Ok(())
    }

    fn list(&mut self, nodes: &'a [Node], dot: &Value) -> Result<Flow> {
        if self.depth == MAX_TEMPLATE_DEPTH {
            let at = nodes.first().map_or(0, |node| node.at);
            let message = format!("exceeded maximum template depth ({MAX_TEMPLATE_DEPTH})");
            return self.fail(at, at, &message);
        }
        self.depth += 1;
        let flow = self.nodes(nodes, dot);
        self.depth -= 1;
        flow
    }

    fn nodes(&mut self, nodes: &'a [Node], dot: &Value) -> Result<Flow> {
        for node in nodes {
            self.step(node.at)?;
            let flow = match &node.kind {
                NodeKind::Text(text) => {
                    self.write(node.at, text)?;
                    Flow::On
                }
                NodeKind::Action(pipeline) => {
                    let value = self.pipeline(pipeline, dot)?;
                    if pipeline.variables.is_empty() {
                        self.write(node.at, &value.show())?;
                    }
                    Flow::On
                }
                NodeKind::If(branch) => self.branch(branch, dot, false)?,
                NodeKind::With(branch) => self.branch(branch, dot, true)?,
                NodeKind::Range(branch) => self.range(node.at, branch, dot)?,
                NodeKind::Call { name, argument } => {
                    self.template(node.at, name, argument.as_ref(), dot)?;
                    Flow::On
                }
                NodeKind::Break => Flow::Break,
                NodeKind::Continue => Flow::Continue,
            };
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn branch(&mut self, branch: &'a Branch, dot: &Value, sets_dot: bool) -> Result<Flow> {
        let known = self.variables.len();
        let value = self.pipeline(&branch.pipeline, dot)?;
        let flow = match value.is_true() {
            true => self.list(&branch.body, if sets_dot { &value } else { dot }),
            false => self.list(&branch.otherwise, dot),
        };
        self.variables.truncate(known);
        flow
    }

    fn range(&mut self, at: usize, branch: &'a Branch, dot: &Value) -> Result<Flow> {
        let known = self.variables.len();
        let value = self.pipeline(&branch.pipeline, dot)?;
        let elements: Box<dyn Iterator<Item = (Value, Value)>> = match &value {
            Value::List(list) => {
                let list = list.clone();
                let count = list.len();
                Box::new((0..count).map(move |nth| (Value::Int(nth as i64), list[nth].clone())))
            }
            Value::Labels(labels) => {
                let pair =
                    |(name, value): (&String, &String)| (Value::text(name), Value::text(value));
                Box::new(labels.iter().map(pair).collect::<Vec<_>>().into_iter())
            }
            Value::Map(map) => {
                let pair = |(name, value): (&String, &Value)| (Value::text(name), value.clone());
                Box::new(map.by_name.iter().map(pair).collect::<Vec<_>>().into_iter())
            }
            Value::Int(count) => {
                Box::new((0..*count).map(|nth| (Value::Int(nth), Value::Int(nth))))
            }
            Value::Nil => Box::new(std::iter::empty()),
            other => {
                let message = format!("range can't iterate over {}", other.show());
                return self.fail(at, at, &message);
            }
        };
        let is_assignment = branch.pipeline.is_assignment;
        let names = &branch.pipeline.variables;
        let mut is_empty = true;
        for (key, element) in elements {
            is_empty = false;
            self.step(at)?;
            let inner = self.variables.len();
            let values = match names.as_slice() {
                [] => Vec::new(),
                [one] => vec![(one, element.clone())],
                [one, two, ..] => vec![(one, key), (two, element.clone())],
            };
            for (name, value) in values {
                self.set(name, value, is_assignment);
            }
            let flow = self.list(&branch.body, &element)?;
            self.variables.truncate(inner);
            if flow == Flow::Break {
                break;
            }
        }
        let flow = if is_empty { self.list(&branch.otherwise, dot)? } else { Flow::On };
        self.variables.truncate(known);
        Ok(flow)
    }

    fn template(
        &mut self,
        at: usize,
        name: &str,
        argument: Option<&'a Pipeline>,
        dot: &Value,
    ) -> Result<()> {
        let Some(nodes) = self.tree.defined.get(name) else {
            return self.fail(at, at, &format!("template {name:?} not defined"));
        };
        let data = match argument {
            Some(pipeline) => self.pipeline(pipeline, dot)?,
            None => Value::Nil,
        };
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), data.clone())]);
        self.list(nodes, &data)?;
        self.variables = outer;
        Ok(())
    }

    fn set(&mut self, name: &str, value: Value, is_assignment: bool) {
        if is_assignment {
            let found = self.variables.iter_mut().rev().find(|(known, _)| known == name);
            if let Some((_, known)) = found {
                *known = value;
            }
        } else {
            self.variables.push((name.to_owned(), value));
        }
    }

    /// The value of a pipeline. A loop sets its variables itself, element by element: what is set
    /// here is covered then.
    fn pipeline(&mut self, pipeline: &'a Pipeline, dot: &Value) -> Result<Value> {
        let mut value = None;
        for command in &pipeline.commands {
            value = Some(self.command(command, dot, value)?);
        }
        let value = value.unwrap_or(Value::Nil);
        if let [name] = pipeline.variables.as_slice() {
            self.set(name, value.clone(), pipeline.is_assignment);
        }
        Ok(value)
    }

    fn command(
        &mut self,
        command: &'a Command,
        dot: &Value,
        piped: Option<Value>,
    ) -> Result<Value> {
        let Some((first, rest)) = command.operands.split_first() else { return Ok(Value::Nil) };
        self.step(first.start)?;
        if let OperandKind::Function(name) = &first.kind {
            let value = self.function(name, first, rest, dot, piped)?;
            return self.fields(first, value, Vec::new());
        }
        if first.fields.is_empty() {
            if rest.is_empty() && piped.is_none() {
                return self.operand(first, dot);
            }
            let text = self.text.get(first.start..first.end).unwrap_or_default();
            let message = format!("can't give argument to non-function {text}");
            return self.fail(first.start, first.end, &message);
        }
        let mut arguments = Vec::new();
        for operand in rest {
            arguments.push(self.operand(operand, dot)?);
        }
        arguments.extend(piped);
        let base = self.base(first, dot)?;
        self.fields(first, base, arguments)
    }

    fn function(
        &mut self,
        name: &str,
        first: &Operand,
        rest: &'a [Operand],
        dot: &Value,
        piped: Option<Value>,
    ) -> Result<Value> {
        if matches!(name, "and" | "or") {
            return self.and_or(name, first, rest, dot, piped);
        }
        let mut arguments = Vec::new();
        for operand in rest {
            arguments.push(self.operand(operand, dot)?);
        }
        arguments.extend(piped);
        match call(name, &arguments, self.around) {
            Ok(Value::Text(text)) if text.len() > MAX_TEMPLATE_OUTPUT_BYTES => {
                let message = format!("gives more than {MAX_TEMPLATE_OUTPUT_BYTES} bytes");
                self.fail(first.start, first.end, &message)
            }
            Ok(value) => Ok(value),
            Err(CallError::Asks(query)) => Err(Stopped::Asks(query)),
            Err(CallError::Failed(message)) => self.fail(first.start, first.end, &message),
        }
    }

    /// The first argument that decides, or the last. What is behind it is not looked at.
    fn and_or(
        &mut self,
        name: &str,
        first: &Operand,
        rest: &'a [Operand],
        dot: &Value,
        piped: Option<Value>,
    ) -> Result<Value> {
        let mut last = None;
        for operand in rest {
            let value = self.operand(operand, dot)?;
            if value.is_true() == (name == "or") {
                return Ok(value);
            }
            last = Some(value);
        }
        match piped.or(last) {
            Some(value) => Ok(value),
            None => {
                let message = format!("wrong number of args for {name}: want at least 1 got 0");
                self.fail(first.start, first.end, &message)
            }
        }
    }

    fn operand(&mut self, operand: &'a Operand, dot: &Value) -> Result<Value> {
        if let OperandKind::Function(name) = &operand.kind {
            let value = self.function(name, operand, &[], dot, None)?;
            return self.fields(operand, value, Vec::new());
        }
        let base = self.base(operand, dot)?;
        self.fields(operand, base, Vec::new())
    }

    /// The operand without its fields.
    fn base(&mut self, operand: &'a Operand, dot: &Value) -> Result<Value> {
        Ok(match &operand.kind {
            OperandKind::Dot => dot.clone(),
            OperandKind::Nil | OperandKind::Function(_) => Value::Nil,
            OperandKind::Bool(value) => Value::Bool(*value),
            OperandKind::Int(value) => Value::Int(*value),
            OperandKind::Float(value) => Value::Float(*value),
            OperandKind::Text(value) => Value::text(value),
            OperandKind::Variable(name) => {
                let found = self.variables.iter().rev().find(|(known, _)| known == name);
                found.map_or(Value::Nil, |(_, value)| value.clone())
            }
            OperandKind::Pipeline(pipeline) => {
                let known = self.variables.len();
                let value = self.pipeline(pipeline, dot)?;
                self.variables.truncate(known);
                value
            }
        })
    }

    /// Follows the fields; the last one is given the arguments.
    fn fields(&self, operand: &Operand, base: Value, arguments: Vec<Value>) -> Result<Value> {
        let mut value = base;
        let last = operand.fields.len();
        for (nth, name) in operand.fields.iter().enumerate() {
            let given: &[Value] = if nth + 1 == last { &arguments } else { &[] };
            let method = match &value {
                Value::Time(nanos) => clock::method(*nanos, name, given),
                Value::Duration(nanos) if name == "Seconds" && given.is_empty() => {
                    Some(Value::Float(*nanos as f64 / 1e9))
                }
                _ => None,
            };
            let found = match method {
                Some(found) => Ok(found),
                None if !given.is_empty() => {
                    Err(format!("{name} is not a method but has arguments"))
                }
                None => value.field(name),
            };
            value = match found {
                Ok(found) => found,
                Err(message) => return self.fail(operand.start, operand.end, &message),
            };
        }
        Ok(value)
    }
}
