//! Everything that a template can call.

mod decimal;
mod encode;
mod numbers;
mod text;
mod times;

use std::fmt;

use regex::Regex;

use super::run::Surroundings;
use super::value::Value;
use super::{builtins, print};

/// What a function gets beside its arguments.
pub(super) struct Call<'a, 'w> {
    pub(super) around: &'a Surroundings<'a>,
    /// Its regular expression, if that is written in the template.
    pub(super) regex: Option<&'a Result<Regex, String>>,
    pub(super) work: &'w mut usize,
}

type Body = for<'a, 'w> fn(&mut Call<'a, 'w>, Vec<Value<'a>>) -> Result<Value<'a>, String>;

/// The type of a parameter. Only values of the very type are taken, as Go converts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Any,
    Text,
    Int,
    Float,
    Time,
}

impl Parameter {
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Text => "string",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Time => "time.Time",
        }
    }
}

/// A function. Its body is called with as many arguments as it has parameters, of their types; of
/// `rest` there may be any number after them.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) rest: Option<Parameter>,
    pub(super) body: Body,
}

impl Function {
    /// The type of the argument at an index.
    pub(super) fn parameter(&self, index: usize) -> Parameter {
        self.parameters.get(index).copied().or(self.rest).unwrap_or(Parameter::Any)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A function by its name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Whether the first argument of a function is a regular expression.
pub(super) fn takes_pattern_first(function: &Function) -> bool {
    matches!(function.name, "regexReplaceAll" | "regexReplaceAllLiteral" | "count")
}

const fn fixed(name: &'static str, parameters: &'static [Parameter], body: Body) -> Function {
    Function { name, parameters, rest: None, body }
}

const fn variadic(name: &'static str, parameters: &'static [Parameter], body: Body) -> Function {
    Function { name, parameters, rest: Some(Parameter::Any), body }
}

const ANY: Parameter = Parameter::Any;
const TEXT: Parameter = Parameter::Text;
const INT: Parameter = Parameter::Int;
const FLOAT: Parameter = Parameter::Float;
const TIME: Parameter = Parameter::Time;

static FUNCTIONS: [Function; 85] = [
    fixed("__line__", &[], text::line),
    fixed("__timestamp__", &[], times::timestamp),
    // Of Go's templates. `and` and `or` are not called: their arguments are looked at one by one.
    variadic("and", &[ANY], builtins::not),
    variadic("or", &[ANY], builtins::not),
    fixed("not", &[ANY], builtins::not),
    variadic("eq", &[ANY], builtins::eq),
    fixed("ne", &[ANY, ANY], builtins::ne),
    fixed("lt", &[ANY, ANY], builtins::lt),
    fixed("le", &[ANY, ANY], builtins::le),
    fixed("gt", &[ANY, ANY], builtins::gt),
    fixed("ge", &[ANY, ANY], builtins::ge),
    variadic("index", &[ANY], builtins::index),
    variadic("slice", &[ANY], builtins::slice),
    fixed("len", &[ANY], builtins::len),
    variadic("print", &[], print::print),
    variadic("printf", &[TEXT], print::printf),
    variadic("println", &[], print::println),
    variadic("html", &[], encode::html),
    variadic("js", &[], encode::js),
    variadic("urlquery", &[], encode::urlquery),
    // Texts.
    fixed("lower", &[TEXT], text::lower),
    fixed("upper", &[TEXT], text::upper),
    fixed("title", &[TEXT], text::title),
    fixed("trunc", &[INT, TEXT], text::trunc),
    fixed("substr", &[INT, INT, TEXT], text::substr),
    fixed("contains", &[TEXT, TEXT], text::contains),
    fixed("hasPrefix", &[TEXT, TEXT], text::has_prefix),
    fixed("hasSuffix", &[TEXT, TEXT], text::has_suffix),
    fixed("indent", &[INT, TEXT], text::indent),
    fixed("nindent", &[INT, TEXT], text::nindent),
    fixed("replace", &[TEXT, TEXT, TEXT], text::replace),
    fixed("repeat", &[INT, TEXT], text::repeat),
    fixed("trim", &[TEXT], text::trim_space),
    fixed("trimAll", &[TEXT, TEXT], text::trim_all),
    fixed("trimSuffix", &[TEXT, TEXT], text::trim_suffix),
    fixed("trimPrefix", &[TEXT, TEXT], text::trim_prefix),
    fixed("alignLeft", &[INT, TEXT], text::align_left),
    fixed("alignRight", &[INT, TEXT], text::align_right),
    variadic("default", &[ANY], text::default),
    fixed("regexReplaceAll", &[TEXT, TEXT, TEXT], text::regex_replace_all),
    fixed("regexReplaceAllLiteral", &[TEXT, TEXT, TEXT], text::regex_replace_all_literal),
    fixed("count", &[TEXT, TEXT], text::count),
    // Their older names, with other orders of arguments.
    fixed("ToLower", &[TEXT], text::lower),
    fixed("ToUpper", &[TEXT], text::upper),
    fixed("Replace", &[TEXT, TEXT, TEXT, INT], text::replace_some),
    fixed("Trim", &[TEXT, TEXT], text::trim_set),
    fixed("TrimLeft", &[TEXT, TEXT], text::trim_set_left),
    fixed("TrimRight", &[TEXT, TEXT], text::trim_set_right),
    fixed("TrimPrefix", &[TEXT, TEXT], text::without_prefix),
    fixed("TrimSuffix", &[TEXT, TEXT], text::without_suffix),
    fixed("TrimSpace", &[TEXT], text::trim_space),
    // Notations.
    fixed("urlencode", &[TEXT], encode::urlencode),
    fixed("urldecode", &[TEXT], encode::urldecode),
    fixed("b64enc", &[TEXT], encode::base64_encode),
    fixed("b64dec", &[TEXT], encode::base64_decode),
    fixed("fromJson", &[TEXT], encode::from_json),
    fixed("bytes", &[TEXT], encode::bytes),
    fixed("duration", &[TEXT], encode::duration),
    fixed("duration_seconds", &[TEXT], encode::duration),
    // Numbers.
    fixed("int", &[ANY], numbers::int),
    fixed("float64", &[ANY], numbers::float64),
    variadic("add", &[], numbers::add),
    fixed("sub", &[ANY, ANY], numbers::sub),
    variadic("mul", &[ANY], numbers::mul),
    fixed("div", &[ANY, ANY], numbers::div),
    fixed("mod", &[ANY, ANY], numbers::modulo),
    variadic("addf", &[], numbers::addf),
    variadic("subf", &[ANY], numbers::subf),
    variadic("mulf", &[ANY], numbers::mulf),
    variadic("divf", &[ANY], numbers::divf),
    variadic("max", &[ANY], numbers::max),
    variadic("min", &[ANY], numbers::min),
    variadic("maxf", &[ANY], numbers::maxf),
    variadic("minf", &[ANY], numbers::minf),
    fixed("ceil", &[ANY], numbers::ceil),
    fixed("floor", &[ANY], numbers::floor),
    Function { name: "round", parameters: &[ANY, INT], rest: Some(FLOAT), body: numbers::round },
    // Times.
    fixed("date", &[TEXT, ANY], times::date),
    fixed("toDate", &[TEXT, TEXT], times::to_date),
    fixed("toDateInZone", &[TEXT, TEXT, TEXT], times::to_date_in_zone),
    fixed("now", &[], times::now),
    fixed("unixEpoch", &[TIME], times::unix_epoch),
    fixed("unixEpochMillis", &[TIME], times::unix_epoch_millis),
    fixed("unixEpochNanos", &[TIME], times::unix_epoch_nanos),
    fixed("unixToTime", &[TEXT], times::unix_to_time),
];
