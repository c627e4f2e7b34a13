//! One directive of `printf`: its flags, and what its verb makes of a value.

use super::super::Lookup;
use super::super::value::Value;
use super::display;
use super::float::float;

#[derive(Debug, Clone, Default)]
pub(super) struct Format {
    pub(super) has_plus: bool,
    pub(super) is_left: bool,
    pub(super) is_sharp: bool,
    pub(super) has_space: bool,
    pub(super) is_zero: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

impl Format {
    /// Prints a value; if the verb is not for such values, says so in the text as Go does.
    pub(super) fn print(
        &self,
        value: &Value<'_>,
        verb: char,
        labels: &dyn Lookup,
        out: &mut String,
    ) {
        match (value, verb) {
            (_, 'T') => self.pad(value.type_name(), false, out),
            (Value::Nil, 'v') => self.pad("<nil>", false, out),
            (Value::Nil, verb) => out.push_str(&format!("%!{verb}(<nil>)")),
            (Value::Bool(value), 'v' | 't') => self.pad(&value.to_string(), false, out),
            (Value::Int(value, _), _) if self.int(*value, verb, out) => {}
            (Value::Float(value), 'v') => self.float(*value, 'g', self.precision, out),
            (Value::Float(value), 'e' | 'E' | 'f' | 'F') => {
                let verb = if verb == 'F' { 'f' } else { verb };
                self.float(*value, verb, Some(self.precision.unwrap_or(6)), out);
            }
            (Value::Float(value), 'g' | 'G') => self.float(*value, verb, self.precision, out),
            (Value::Text(text), _) if self.text(text, verb, out) => {}
            (Value::Time(_) | Value::Labels, 'v' | 's') => {
                let mut text = String::new();
                display(value, labels, &mut text);
                self.pad(&text, false, out);
            }
            (Value::List(items), _) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { " " } else { "" });
                    self.element(item, verb, labels, out);
                }
                out.push(']');
            }
            (Value::Map(fields), _) => {
                out.push_str("map[");
                for (index, (name, item)) in fields.iter().enumerate() {
                    out.push_str(if index > 0 { " " } else { "" });
                    self.element(&Value::text(name.as_str()), verb, labels, out);
                    out.push(':');
                    self.element(item, verb, labels, out);
                }
                out.push(']');
            }
            _ => self.wrong(value, verb, labels, out),
        }
    }

    /// A value within another: there nil is nil for every verb.
    fn element(&self, value: &Value<'_>, verb: char, labels: &dyn Lookup, out: &mut String) {
        match value {
            Value::Nil => self.pad("<nil>", false, out),
            value => self.print(value, verb, labels, out),
        }
    }

    fn wrong(&self, value: &Value<'_>, verb: char, labels: &dyn Lookup, out: &mut String) {
        out.push_str(&format!("%!{verb}({}=", value.type_name()));
        let plain =
            Self { precision: self.precision, ..Self { width: self.width, ..Self::default() } };
        plain.print(value, 'v', labels, out);
        out.push(')');
    }

    /// Whether the verb is for whole numbers.
    fn int(&self, value: i64, verb: char, out: &mut String) -> bool {
        let magnitude = value.unsigned_abs();
        let (digits, prefix) = match verb {
            'v' | 'd' => (magnitude.to_string(), ""),
            'b' => (format!("{magnitude:b}"), if self.is_sharp { "0b" } else { "" }),
            'o' => (format!("{magnitude:o}"), if self.is_sharp { "0" } else { "" }),
            'O' => (format!("{magnitude:o}"), "0o"),
            'x' => (format!("{magnitude:x}"), if self.is_sharp { "0x" } else { "" }),
            'X' => (format!("{magnitude:X}"), if self.is_sharp { "0X" } else { "" }),
            'c' | 'q' | 'U' => {
                self.character(value, verb, out);
                return true;
            }
            _ => return false,
        };
        let sign = if value < 0 {
            "-"
        } else if self.has_plus {
            "+"
        } else if self.has_space {
            " "
        } else {
            ""
        };
        let (digits, zero_pads) = match self.precision {
            Some(0) if value == 0 => (String::new(), false),
            Some(precision) => (format!("{digits:0>precision$}"), false),
            None => (digits, self.is_zero && !self.is_left),
        };
        let taken = sign.len() + prefix.len() + digits.len();
        let zeros = if zero_pads { self.width.saturating_sub(taken) } else { 0 };
        self.pad(&format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)), false, out);
        true
    }

    fn character(&self, value: i64, verb: char, out: &mut String) {
        let code = u32::try_from(value).ok();
        let c = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        match verb {
            'c' => self.pad(&c.to_string(), self.is_zero, out),
            'U' => self.pad(&format!("U+{:04X}", value), false, out),
            _ => self.pad(&quoted(&c.to_string(), '\'', self.has_plus), false, out),
        }
    }

    fn float(&self, value: f64, verb: char, precision: Option<usize>, out: &mut String) {
        let text = float(value, verb, precision);
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => (&text[..1], digits),
            None => ("", text.as_str()),
        };
        // Infinity has its sign only if it was asked for, or is the whole value.
        let sign = match sign {
            "-" => "-",
            _ if self.has_plus => "+",
            _ if self.has_space => " ",
            sign => sign,
        };
        let zero_pads = self.is_zero && !self.is_left && value.is_finite();
        let zeros =
            if zero_pads { self.width.saturating_sub(sign.len() + digits.len()) } else { 0 };
        self.pad(&format!("{sign}{}{digits}", "0".repeat(zeros)), false, out);
    }

    /// Whether the verb is for texts.
    fn text(&self, text: &str, verb: char, out: &mut String) -> bool {
        let cut: String = match self.precision {
            Some(count) => text.chars().take(count).collect(),
            None => text.to_owned(),
        };
        match verb {
            'v' if self.is_sharp => self.pad(&quoted(&cut, '"', false), false, out),
            'v' | 's' => self.pad(&cut, self.is_zero, out),
            'q' if self.is_sharp && !cut.contains(['`', '\n', '\r']) => {
                self.pad(&format!("`{cut}`"), false, out)
            }
            'q' => self.pad(&quoted(&cut, '"', self.has_plus), false, out),
            'x' | 'X' => {
                let bytes = text.bytes().take(self.precision.unwrap_or(usize::MAX));
                let prefix = match (self.is_sharp, verb) {
                    (false, _) => "",
                    (true, 'x') => "0x",
                    (true, _) => "0X",
                };
                let digits = bytes.map(|byte| match verb {
                    'x' => format!("{byte:02x}"),
                    _ => format!("{byte:02X}"),
                });
                let digits: Vec<String> = digits.collect();
                let text = match self.has_space {
                    true => digits
                        .iter()
                        .map(|digits| format!("{prefix}{digits}"))
                        .collect::<Vec<_>>()
                        .join(" "),
                    false if digits.is_empty() => String::new(),
                    false => format!("{prefix}{}", digits.concat()),
                };
                self.pad(&text, false, out);
            }
            _ => return false,
        }
        true
    }

    /// Appends a text with blanks up to the width, on the left with zeros if told so.
    fn pad(&self, text: &str, with_zeros: bool, out: &mut String) {
        let missing = self.width.saturating_sub(text.chars().count());
        let blank = if with_zeros && !self.is_left { '0' } else { ' ' };
        if !self.is_left {
            out.extend(std::iter::repeat_n(blank, missing));
        }
        out.push_str(text);
        if self.is_left {
            out.extend(std::iter::repeat_n(' ', missing));
        }
    }
}

/// A text in quotes, with what cannot be seen as escapes; all but ASCII if so wanted.
fn quoted(text: &str, quote: char, only_ascii: bool) -> String {
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)))
            }
            c if c.is_control() || (only_ascii && !c.is_ascii()) => match u32::from(c) {
                code @ 0..=0xFFFF => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}
