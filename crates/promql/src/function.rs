//! The functions: their names, arguments and results.
//!
//! The table says what the parser must know to accept a call. What a function
//! computes is known to the evaluation only.

use crate::ast::ValueType;
use crate::ast::ValueType::{Matrix, Scalar, Text, Vector};

/// What is known of a function before it runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Types of its arguments. Arguments beyond them have the type of the last.
    pub args: &'static [ValueType],
    /// How the number of arguments may differ from `args`: 0 not at all; otherwise the last
    /// one may be left out, and with a positive number there may be so many from the last one
    /// on, with a negative one any number.
    pub variadic: i32,
    /// What it gives.
    pub returns: ValueType,
    /// Whether Prometheus has it behind a flag.
    pub is_experimental: bool,
}

impl Function {
    /// The function of that name. Names are case-sensitive.
    pub fn find(name: &str) -> Option<&'static Function> {
        let at = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
        FUNCTIONS.get(at)
    }

    /// All functions by name.
    pub fn all() -> &'static [Function] {
        &FUNCTIONS
    }

    const fn repeating(mut self, variadic: i32) -> Self {
        self.variadic = variadic;
        self
    }

    const fn experimental(mut self) -> Self {
        self.is_experimental = true;
        self
    }
}

const fn gives(returns: ValueType, name: &'static str, args: &'static [ValueType]) -> Function {
    Function { name, args, variadic: 0, returns, is_experimental: false }
}

/// A scalar of scalars.
const fn number(name: &'static str, args: &'static [ValueType]) -> Function {
    gives(Scalar, name, args)
}

/// A vector of a vector.
const fn each(name: &'static str) -> Function {
    gives(Vector, name, &[Vector])
}

/// A vector of a range.
const fn over(name: &'static str) -> Function {
    gives(Vector, name, &[Matrix])
}

/// A vector of a vector, or of the time if there is none.
const fn part_of_time(name: &'static str) -> Function {
    each(name).repeating(1)
}

/// A vector of several things.
const fn vector(name: &'static str, args: &'static [ValueType]) -> Function {
    gives(Vector, name, args)
}

/// In order of their names: they are searched by halves.
static FUNCTIONS: [Function; 90] = [
    each("abs"),
    each("absent"),
    over("absent_over_time"),
    each("acos"),
    each("acosh"),
    each("asin"),
    each("asinh"),
    each("atan"),
    each("atanh"),
    over("avg_over_time"),
    each("ceil"),
    over("changes"),
    vector("clamp", &[Vector, Scalar, Scalar]),
    vector("clamp_max", &[Vector, Scalar]),
    vector("clamp_min", &[Vector, Scalar]),
    each("cos"),
    each("cosh"),
    over("count_over_time"),
    part_of_time("day_of_month"),
    part_of_time("day_of_week"),
    part_of_time("day_of_year"),
    part_of_time("days_in_month"),
    each("deg"),
    over("delta"),
    over("deriv"),
    vector("double_exponential_smoothing", &[Matrix, Scalar, Scalar]).experimental(),
    number("end", &[]).experimental(),
    each("exp"),
    over("first_over_time"),
    each("floor"),
    each("histogram_avg"),
    each("histogram_count"),
    vector("histogram_fraction", &[Scalar, Scalar, Vector]),
    vector("histogram_quantile", &[Scalar, Vector]),
    vector("histogram_quantiles", &[Vector, Text, Scalar, Scalar]).repeating(9).experimental(),
    each("histogram_stddev"),
    each("histogram_stdvar"),
    each("histogram_sum"),
    part_of_time("hour"),
    over("idelta"),
    over("increase"),
    vector("info", &[Vector, Vector]).repeating(1).experimental(),
    over("irate"),
    vector("label_join", &[Vector, Text, Text, Text]).repeating(-1),
    vector("label_replace", &[Vector, Text, Text, Text, Text]),
    over("last_over_time"),
    each("ln"),
    each("log10"),
    each("log2"),
    over("mad_over_time").experimental(),
    number("max_of", &[Scalar, Scalar]).experimental(),
    over("max_over_time"),
    number("min_of", &[Scalar, Scalar]).experimental(),
    over("min_over_time"),
    part_of_time("minute"),
    part_of_time("month"),
    number("pi", &[]),
    vector("predict_linear", &[Matrix, Scalar]),
    over("present_over_time"),
    vector("quantile_over_time", &[Scalar, Matrix]),
    each("rad"),
    number("range", &[]).experimental(),
    over("rate"),
    over("resets"),
    vector("round", &[Vector, Scalar]).repeating(1),
    number("scalar", &[Vector]),
    each("sgn"),
    each("sin"),
    each("sinh"),
    each("sort"),
    vector("sort_by_label", &[Vector, Text]).repeating(-1).experimental(),
    vector("sort_by_label_desc", &[Vector, Text]).repeating(-1).experimental(),
    each("sort_desc"),
    each("sqrt"),
    number("start", &[]).experimental(),
    each("start_timestamp").experimental(),
    over("stddev_over_time"),
    over("stdvar_over_time"),
    number("step", &[]).experimental(),
    over("sum_over_time"),
    each("tan"),
    each("tanh"),
    number("time", &[]),
    each("timestamp"),
    over("ts_of_first_over_time").experimental(),
    over("ts_of_last_over_time").experimental(),
    over("ts_of_max_over_time").experimental(),
    over("ts_of_min_over_time").experimental(),
    vector("vector", &[Scalar]),
    part_of_time("year"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name() {
        for function in Function::all() {
            assert_eq!(Function::find(function.name), Some(function), "{}", function.name);
        }
        assert_eq!(Function::find("Rate"), None);
        assert_eq!(Function::find(""), None);
    }

    #[test]
    fn seventeen_functions_are_experimental() {
        let experimental = Function::all().iter().filter(|function| function.is_experimental);
        assert_eq!(experimental.count(), 17);
    }
}
