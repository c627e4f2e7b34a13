//! `print`, `println`, `printf`: values as Go writes them.

mod float;
mod verb;

use std::fmt::Write;

use super::Lookup;
use super::builtins::sorted_labels;
use super::functions::Call;
use super::value::Value;
use crate::limits::MAX_PRINTF_WIDTH;
use float::shortest;
use verb::Format;

/// Writes a value as `%v` does.
pub(super) fn display(value: &Value<'_>, labels: &dyn Lookup, out: &mut String) {
    // Writing to a text does not fail.
    let _ = match value {
        Value::Nil => out.write_str("<nil>"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(value, _) => write!(out, "{value}"),
        Value::Float(value) => out.write_str(&shortest(*value)),
        Value::Text(text) => out.write_str(text),
        Value::Time(moment) => out.write_str(&moment.to_text().unwrap_or_default()),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                display(item, labels, out);
            }
            out.write_str("]")
        }
        Value::Map(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                out.push_str(name);
                out.push(':');
                display(value, labels, out);
            }
            out.write_str("]")
        }
        Value::Labels => {
            let pairs = sorted_labels(labels);
            let pairs: Vec<String> =
                pairs.iter().map(|(name, value)| format!("{name}:{value}")).collect();
            write!(out, "map[{}]", pairs.join(" "))
        }
    };
}

/// Values after each other, with a blank between two of which neither is text.
pub(super) fn joined(values: &[Value<'_>], labels: &dyn Lookup) -> String {
    let mut out = String::new();
    let mut was_text = true;
    for (index, value) in values.iter().enumerate() {
        let is_text = matches!(value, Value::Text(_));
        if index > 0 && !was_text && !is_text {
            out.push(' ');
        }
        was_text = is_text;
        display(value, labels, &mut out);
    }
    out
}

pub(super) fn print<'a>(
    call: &mut Call<'a, '_>,
    values: Vec<Value<'a>>,
) -> Result<Value<'a>, String> {
    Ok(Value::text(joined(&values, call.around.labels)))
}

pub(super) fn println<'a>(
    call: &mut Call<'a, '_>,
    values: Vec<Value<'a>>,
) -> Result<Value<'a>, String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        out.push_str(if index > 0 { " " } else { "" });
        display(value, call.around.labels, &mut out);
    }
    out.push('\n');
    Ok(Value::text(out))
}

pub(super) fn printf<'a>(
    call: &mut Call<'a, '_>,
    values: Vec<Value<'a>>,
) -> Result<Value<'a>, String> {
    let Some((Value::Text(format), arguments)) = values.split_first() else {
        return Err("expected a format".to_owned());
    };
    let mut printer = Printer {
        arguments,
        next: 0,
        is_reordered: false,
        labels: call.around.labels,
        out: String::with_capacity(format.len()),
    };
    let mut rest = format.as_ref();
    while let Some((literal, after)) = rest.split_once('%') {
        printer.out.push_str(literal);
        let before = printer.out.len();
        rest = printer.directive(after);
        call.spend(printer.out.len() - before)?;
    }
    printer.out.push_str(rest);
    printer.extra();
    Ok(Value::text(printer.out))
}

struct Printer<'v, 'a> {
    arguments: &'v [Value<'a>],
    /// The argument that the next verb prints.
    next: usize,
    /// Whether arguments were chosen by number; then some may be left.
    is_reordered: bool,
    labels: &'v dyn Lookup,
    out: String,
}

/// A number in a directive: written, or that of an argument.
enum Size {
    None,
    Of(usize),
    Bad,
}

impl Printer<'_, '_> {
    /// Prints what follows a percent sign; gives what follows that.
    fn directive<'f>(&mut self, text: &'f str) -> &'f str {
        let mut format = Format::default();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match c {
                '+' => format.has_plus = true,
                '-' => format.is_left = true,
                '#' => format.is_sharp = true,
                ' ' => format.has_space = true,
                '0' => format.is_zero = true,
                _ => break,
            }
            rest = &rest[1..];
        }
        rest = self.choose(rest);
        let (width, after) = self.size(rest, &mut format.is_left);
        rest = after;
        match width {
            Size::None => {}
            Size::Of(width) => format.width = width,
            Size::Bad => self.out.push_str("%!(BADWIDTH)"),
        }
        if let Some(after) = rest.strip_prefix('.') {
            let chosen = self.choose(after);
            let (precision, after) = self.size(chosen, &mut false);
            rest = after;
            match precision {
                Size::None => format.precision = Some(0),
                Size::Of(precision) => format.precision = Some(precision),
                Size::Bad => self.out.push_str("%!(BADPREC)"),
            }
        }
        rest = self.choose(rest);
        let Some(verb) = rest.chars().next() else {
            self.out.push_str("%!(NOVERB)");
            return rest;
        };
        rest = &rest[verb.len_utf8()..];
        if verb == '%' {
            self.out.push('%');
            return rest;
        }
        match self.arguments.get(self.next) {
            None if self.is_reordered => self.out.push_str(&format!("%!{verb}(BADINDEX)")),
            None => self.out.push_str(&format!("%!{verb}(MISSING)")),
            Some(value) => {
                self.next += 1;
                format.print(value, verb, self.labels, &mut self.out);
            }
        }
        rest
    }

    /// `[2]` chooses the argument that comes next.
    fn choose<'f>(&mut self, text: &'f str) -> &'f str {
        let Some((number, after)) =
            text.strip_prefix('[').and_then(|inside| inside.split_once(']'))
        else {
            return text;
        };
        self.is_reordered = true;
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        // One that is not there is told when it is to be printed.
        self.next = index.filter(|index| *index < self.arguments.len()).unwrap_or(usize::MAX);
        after
    }

    /// A width or precision: digits, or `*` for the next argument. One below zero is to the left.
    fn size<'f>(&mut self, text: &'f str, is_left: &mut bool) -> (Size, &'f str) {
        if let Some(after) = text.strip_prefix('*') {
            let value = self.arguments.get(self.next);
            self.next = self.next.saturating_add(1);
            let size = match value {
                Some(Value::Int(size, _)) => {
                    *is_left |= *size < 0;
                    usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX)
                }
                _ => usize::MAX,
            };
            let is_bad = size > MAX_PRINTF_WIDTH;
            return (if is_bad { Size::Bad } else { Size::Of(size) }, self.choose(after));
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = text.split_at(digits);
        match number.parse::<usize>() {
            _ if digits == 0 => (Size::None, after),
            Ok(size) if size <= MAX_PRINTF_WIDTH => (Size::Of(size), after),
            _ => (Size::Bad, after),
        }
    }

    /// Tells of arguments that were not printed.
    fn extra(&mut self) {
        if self.is_reordered || self.next >= self.arguments.len() {
            return;
        }
        let described = self.arguments[self.next..].iter().map(|value| match value {
            Value::Nil => "<nil>".to_owned(),
            value => {
                let mut text = format!("{}=", value.type_name());
                display(value, self.labels, &mut text);
                text
            }
        });
        let described: Vec<String> = described.collect();
        self.out.push_str(&format!("%!(EXTRA {})", described.join(", ")));
    }
}
