//! Rendering: walks the tree of a template.
//!
//! Copies of texts count as work, as texts do that functions make: variables would otherwise hold
//! any number of long ones.

use std::borrow::Cow;

use super::functions::{Call, Function, Parameter};
use super::tree::{Branch, Command, Node, Operand, Pipe};
use super::value::{IntKind, Value};
use super::{Lookup, Template, TemplateError, builtins, print};
use crate::limits::{
    MAX_LINE_MADE_BYTES, MAX_TEMPLATE_CALLS, MAX_TEMPLATE_WORK, TEMPLATE_STEP_WORK,
};

/// Renders a template; takes back what was written if that fails.
pub(super) fn render(
    template: &Template,
    labels: &dyn Lookup,
    line: &str,
    time_nanos: i64,
    out: &mut String,
) -> Result<(), TemplateError> {
    let start = out.len();
    let surroundings = Surroundings { labels, line, time_nanos };
    let result = {
        let mut run = Run {
            template,
            around: &surroundings,
            out: &mut *out,
            start,
            variables: Vec::new(),
            work: 0,
            calls: 0,
        };
        run.template_body(&template.root, Value::Labels)
    };
    result.map_err(|message| {
        out.truncate(start);
        TemplateError::Render(message)
    })
}

/// What a template is rendered with.
pub(super) struct Surroundings<'a> {
    pub(super) labels: &'a dyn Lookup,
    pub(super) line: &'a str,
    pub(super) time_nanos: i64,
}

struct Run<'a> {
    template: &'a Template,
    around: &'a Surroundings<'a>,
    out: &'a mut String,
    /// Where in `out` this template started.
    start: usize,
    /// Those that can be seen, the innermost last.
    variables: Vec<(&'a str, Value<'a>)>,
    work: usize,
    /// The named templates that are being rendered within each other.
    calls: usize,
}

/// How the rest of a loop's body goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

type Outcome<T> = Result<T, String>;

impl<'a> Run<'a> {
    fn step(&mut self) -> Outcome<()> {
        spend(&mut self.work, TEMPLATE_STEP_WORK)
    }

    fn template_body(&mut self, nodes: &'a [Node], dot: Value<'a>) -> Outcome<()> {
        let root = copied(&dot, &mut self.work)?;
        let around = std::mem::take(&mut self.variables);
        self.variables.push(("", root));
        let result = self.list(nodes, &dot);
        self.variables = around;
        result.map(drop)
    }

    fn list(&mut self, nodes: &'a [Node], dot: &Value<'a>) -> Outcome<Flow> {
        for node in nodes {
            self.step()?;
            let flow = match node {
                Node::Text(text) => {
                    self.out.push_str(text);
                    Flow::On
                }
                Node::Action(pipe) => {
                    let value = self.pipe(pipe, dot)?;
                    if pipe.variables.is_empty() {
                        self.write(&value);
                    }
                    Flow::On
                }
                Node::If(branch) => self.condition(branch, dot, false)?,
                Node::With(branch) => self.condition(branch, dot, true)?,
                Node::Range(branch) => self.range(branch, dot)?,
                Node::Call(name, pipe) => {
                    self.call_template(name, pipe.as_ref(), dot)?;
                    Flow::On
                }
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if self.out.len() - self.start > MAX_LINE_MADE_BYTES {
                return Err(format!(
                    "the template makes more than {MAX_LINE_MADE_BYTES} bytes of a line"
                ));
            }
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn write(&mut self, value: &Value<'a>) {
        match value {
            Value::Nil => self.out.push_str("<no value>"),
            Value::Text(text) => self.out.push_str(text),
            value => print::display(value, self.around.labels, self.out),
        }
    }

    fn condition(&mut self, branch: &'a Branch, dot: &Value<'a>, is_with: bool) -> Outcome<Flow> {
        let visible = self.variables.len();
        let value = self.pipe(&branch.pipe, dot)?;
        let flow = match value.is_true() {
            true if is_with => self.list(&branch.body, &value),
            true => self.list(&branch.body, dot),
            false => self.list(&branch.otherwise, dot),
        };
        self.variables.truncate(visible);
        flow
    }

    fn range(&mut self, branch: &'a Branch, dot: &Value<'a>) -> Outcome<Flow> {
        let visible = self.variables.len();
        let value = self.commands(&branch.pipe, dot)?;
        let mut turns = 0;
        let mut turn = |run: &mut Self, key: Value<'a>, item: Value<'a>| -> Outcome<bool> {
            turns += 1;
            run.step()?;
            let variables = branch.pipe.variables.as_slice();
            match variables {
                [item_name] => {
                    let item = copied(&item, &mut run.work)?;
                    run.set(&branch.pipe, item_name, item);
                }
                [key_name, item_name] => {
                    run.set(&branch.pipe, key_name, key);
                    let item = copied(&item, &mut run.work)?;
                    run.set(&branch.pipe, item_name, item);
                }
                _ => {}
            }
            let flow = run.list(&branch.body, &item)?;
            run.variables.truncate(visible);
            Ok(flow != Flow::Break)
        };
        match value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let item = copied(item, &mut self.work)?;
                    if !turn(self, Value::count(index), item)? {
                        break;
                    }
                }
            }
            Value::Map(fields) => {
                for (name, item) in fields.iter() {
                    spend(&mut self.work, name.len())?;
                    let item = copied(item, &mut self.work)?;
                    if !turn(self, Value::text(name.clone()), item)? {
                        break;
                    }
                }
            }
            Value::Labels => {
                let labels = builtins::sorted_labels(self.around.labels);
                let lengths = labels.iter().map(|(name, value)| name.len() + value.len());
                spend(&mut self.work, lengths.sum())?;
                for (name, item) in labels {
                    if !turn(self, Value::text(name), Value::text(item))? {
                        break;
                    }
                }
            }
            Value::Int(count, kind) => {
                for index in 0..count.max(0) {
                    if !turn(self, Value::Int(index, kind), Value::Int(index, kind))? {
                        break;
                    }
                }
            }
            Value::Nil => {}
            other => return Err(format!("range cannot go over a {}", other.type_name())),
        }
        let flow = if turns == 0 { self.list(&branch.otherwise, dot) } else { Ok(Flow::On) };
        self.variables.truncate(visible);
        flow
    }

    fn call_template(
        &mut self,
        name: &str,
        pipe: Option<&'a Pipe>,
        dot: &Value<'a>,
    ) -> Outcome<()> {
        let value = match pipe {
            Some(pipe) => self.pipe(pipe, dot)?,
            None => Value::Nil,
        };
        let template: &'a Template = self.template;
        let Some(body) = template.named.get(name) else {
            return Err(format!("template {name:?} is not defined"));
        };
        if self.calls == MAX_TEMPLATE_CALLS {
            return Err(format!("more than {MAX_TEMPLATE_CALLS} templates call each other"));
        }
        self.calls += 1;
        let result = self.template_body(body, value);
        self.calls -= 1;
        result
    }

    /// The value of a pipe; its variables are set to it.
    fn pipe(&mut self, pipe: &'a Pipe, dot: &Value<'a>) -> Outcome<Value<'a>> {
        let value = self.commands(pipe, dot)?;
        for name in &pipe.variables {
            let value = copied(&value, &mut self.work)?;
            self.set(pipe, name, value);
        }
        Ok(value)
    }

    fn set(&mut self, pipe: &'a Pipe, name: &'a str, value: Value<'a>) {
        match self
            .variables
            .iter_mut()
            .rev()
            .find(|(known, _)| pipe.is_assignment && *known == name)
        {
            Some((_, known)) => *known = value,
            None => self.variables.push((name, value)),
        }
    }

    fn commands(&mut self, pipe: &'a Pipe, dot: &Value<'a>) -> Outcome<Value<'a>> {
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(command, dot, value)?);
        }
        Ok(value.unwrap_or(Value::Nil))
    }

    /// `piped` is the value of the command before, which becomes the last argument.
    fn command(
        &mut self,
        command: &'a Command,
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        self.step()?;
        let Some((first, arguments)) = command.operands.split_first() else {
            return Ok(Value::Nil);
        };
        match first {
            Operand::Function(function) => self.function(function, command, arguments, dot, piped),
            Operand::Field(names) => self.fields(dot.clone(), names, arguments, dot, piped),
            Operand::Variable(name, names) if !names.is_empty() => {
                let value = self.variable(name)?;
                self.fields(value, names, arguments, dot, piped)
            }
            Operand::Chain(base, names) => {
                let value = self.operand(base, dot)?;
                self.fields(value, names, arguments, dot, piped)
            }
            Operand::Nil => Err("nil is not a command".to_owned()),
            _ if !arguments.is_empty() || piped.is_some() => {
                Err("what is not a function cannot have arguments".to_owned())
            }
            other => self.operand(other, dot),
        }
    }

    /// The value of an operand that gets no arguments.
    fn operand(&mut self, operand: &'a Operand, dot: &Value<'a>) -> Outcome<Value<'a>> {
        self.step()?;
        match operand {
            Operand::Dot => copied(dot, &mut self.work),
            Operand::Nil => Ok(Value::Nil),
            Operand::Bool(value) => Ok(Value::Bool(*value)),
            Operand::Text(text) => Ok(Value::text(text.as_str())),
            Operand::Number(number) if number.is_float => Ok(Value::Float(number.float)),
            Operand::Number(number) => {
                number.int.map(Value::int).ok_or_else(|| format!("{} is too large", number.text))
            }
            Operand::Field(names) => self.fields(dot.clone(), names, &[], dot, None),
            Operand::Variable(name, names) => {
                let value = self.variable(name)?;
                self.fields(value, names, &[], dot, None)
            }
            Operand::Function(function) => {
                let mut call = Call { around: self.around, regex: None, work: &mut self.work };
                check_count(function, 0)?;
                finish(function, (function.body)(&mut call, Vec::new()), &mut self.work)
            }
            Operand::Pipe(pipe) => self.pipe(pipe, dot),
            Operand::Chain(base, names) => {
                let value = self.operand(base, dot)?;
                self.fields(value, names, &[], dot, None)
            }
        }
    }

    fn variable(&mut self, name: &str) -> Outcome<Value<'a>> {
        let known = self.variables.iter().rev().find(|(known, _)| *known == name);
        // The parser has refused templates with other variables.
        known.map_or(Ok(Value::Nil), |(_, value)| copied(value, &mut self.work))
    }

    /// The field of a field of a value. The last may be a method, which alone takes arguments.
    fn fields(
        &mut self,
        value: Value<'a>,
        names: &'a [String],
        arguments: &'a [Operand],
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let mut value = value;
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            value = match (&value, is_last) {
                (Value::Time(moment), true) => {
                    let mut values = Vec::new();
                    for argument in arguments {
                        values.push(self.operand(argument, dot)?);
                    }
                    values.extend(piped);
                    return builtins::time_method(moment, name, &values);
                }
                (Value::Time(moment), false) => builtins::time_method(moment, name, &[])?,
                (_, true) if !arguments.is_empty() || piped.is_some() => {
                    return Err(format!("{name} is not a method but has arguments"));
                }
                _ => {
                    let field = builtins::field(&value, name, self.around.labels)?;
                    spend_copy(&field, &mut self.work)?;
                    field
                }
            };
        }
        Ok(value)
    }

    fn function(
        &mut self,
        function: &'static Function,
        command: &'a Command,
        arguments: &'a [Operand],
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        check_count(function, arguments.len() + usize::from(piped.is_some()))?;
        if matches!(function.name, "and" | "or") {
            return self.junction(function.name == "and", arguments, dot, piped);
        }
        let mut values = Vec::with_capacity(arguments.len() + 1);
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = function.parameter(index);
            values.push(self.argument(argument, parameter, dot)?);
        }
        if let Some(value) = piped {
            values.push(typed(value, function.parameter(arguments.len()))?);
        }
        let regex = command.regex.as_ref();
        let mut call = Call { around: self.around, regex, work: &mut self.work };
        let result = (function.body)(&mut call, values);
        finish(function, result, &mut self.work)
    }

    /// `and` gives the first value that is false, or the last; it does not look at those after.
    fn junction(
        &mut self,
        is_and: bool,
        arguments: &'a [Operand],
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let mut value = Value::Nil;
        for argument in arguments {
            value = self.argument(argument, Parameter::Any, dot)?;
            if value.is_true() != is_and {
                return Ok(value);
            }
        }
        Ok(piped.unwrap_or(value))
    }

    fn argument(
        &mut self,
        argument: &'a Operand,
        parameter: Parameter,
        dot: &Value<'a>,
    ) -> Outcome<Value<'a>> {
        let expected =
            |found: &str| Err(format!("expected {}; found {found}", parameter.type_name()));
        match (parameter, argument) {
            (Parameter::Int, Operand::Number(number)) => match number.int {
                Some(int) => Ok(Value::int(int)),
                None => expected(&number.text),
            },
            (Parameter::Float, Operand::Number(number)) => Ok(Value::Float(number.float)),
            (Parameter::Text | Parameter::Time, Operand::Number(number)) => expected(&number.text),
            (Parameter::Any, Operand::Nil) => Ok(Value::Nil),
            (_, Operand::Nil) => expected("nil"),
            _ => {
                let value = self.operand(argument, dot)?;
                typed(value, parameter)
            }
        }
    }
}

fn spend(work: &mut usize, amount: usize) -> Outcome<()> {
    *work = work.saturating_add(amount);
    if *work > MAX_TEMPLATE_WORK {
        return Err("the template takes too much work".to_owned());
    }
    Ok(())
}

/// A value once more.
fn copied<'a>(value: &Value<'a>, work: &mut usize) -> Outcome<Value<'a>> {
    spend_copy(value, work)?;
    Ok(value.clone())
}

/// Counts what a copy of a value takes. Texts of the line, and all but texts, are shared.
fn spend_copy(value: &Value<'_>, work: &mut usize) -> Outcome<()> {
    match value {
        Value::Text(Cow::Owned(text)) => spend(work, text.len()),
        _ => Ok(()),
    }
}

impl Call<'_, '_> {
    /// Counts work, such as the bytes of a text before it is made.
    pub(super) fn spend(&mut self, amount: usize) -> Outcome<()> {
        spend(self.work, amount)
    }
}

fn check_count(function: &Function, found: usize) -> Outcome<()> {
    let fixed = function.parameters.len();
    let is_right = if function.rest.is_some() { found >= fixed } else { found == fixed };
    if is_right {
        return Ok(());
    }
    let at_least = if function.rest.is_some() { "at least " } else { "" };
    Err(format!(
        "wrong number of arguments for {}: expected {at_least}{fixed}, found {found}",
        function.name
    ))
}

/// A value as an argument; only a value of the very type will do.
fn typed<'a>(value: Value<'a>, parameter: Parameter) -> Outcome<Value<'a>> {
    let fits = match parameter {
        Parameter::Any => true,
        Parameter::Text => matches!(value, Value::Text(_)),
        Parameter::Int => matches!(value, Value::Int(_, IntKind::Int)),
        Parameter::Float => matches!(value, Value::Float(_)),
        Parameter::Time => matches!(value, Value::Time(_)),
    };
    match fits {
        true => Ok(value),
        false => Err(format!(
            "wrong type of an argument: expected {}, found {}",
            parameter.type_name(),
            value.type_name()
        )),
    }
}

fn finish<'a>(
    function: &Function,
    result: Outcome<Value<'a>>,
    work: &mut usize,
) -> Outcome<Value<'a>> {
    let value = result.map_err(|reason| format!("{}: {reason}", function.name))?;
    if let Value::Text(text) = &value {
        spend(work, text.len())?;
    }
    Ok(value)
}
