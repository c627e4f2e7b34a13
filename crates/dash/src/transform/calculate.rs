//! `calculateField`: a new field, computed row by row.
//!
//! What is null in, is null out, where Grafana counts null as 0 in arithmetic. Texts that are numbers
//! count as numbers, since attributes of spans often are.

use serde_json::Value as Json;

use super::options::{self, Options};
use super::{Outcome, join, window};
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Field, Frame, Kind, Value, parse_number};
use crate::reduce::{Nulls, Reducer, reduce_values};

/// All frames with their names, and which of them is computed.
#[derive(Clone, Copy)]
struct At<'a> {
    frames: &'a [Frame],
    names: &'a Names,
    frame: usize,
}

impl<'a> At<'a> {
    fn frame(self) -> &'a Frame {
        &self.frames[self.frame]
    }

    /// The field that people see under a name, or else the one that has it.
    fn named(self, name: &str) -> Option<&'a Field> {
        let seen = self.names.of_frame(self.frame);
        let place = seen.iter().position(|known| known == name);
        let own = || self.frame().fields.iter().position(|field| field.name == name);
        self.frame().fields.get(place.or_else(own)?)
    }

    /// The field of that name, or the first of numbers where no name is given.
    fn chosen(self, name: Option<&str>) -> Option<&'a Field> {
        match name {
            Some(name) => self.named(name),
            None => self.frame().first_of(Kind::Number),
        }
    }
}

pub(super) fn apply(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let mode = options.text("mode").unwrap_or("reduceRow");
    let right = options.within("binary").get("right");
    let fixed = if right.is_object() { right.get("fixed").unwrap_or(&Json::Null) } else { right };
    let fixed =
        mode == "binary" && (options::number(fixed).is_some() || fixed.as_str() == Some(""));
    let as_series = options.get("timeSeries").as_bool().unwrap_or(true);
    let joined = if as_series && !fixed { join::ensure_columns(frames)? } else { frames.to_vec() };
    let names = Names::new(&joined);
    let mut made = Vec::new();
    for (frame, source) in joined.iter().enumerate() {
        let at = At { frames: &joined, names: &names, frame };
        let replace = options.truth("replaceFields");
        let new = computed(mode, options, at)?;
        if new.is_empty() {
            // Nothing to compute from: the frame stays unless only the result was wanted.
            if !replace {
                made.push(source.clone());
            }
            continue;
        }
        let time = source.first_of(Kind::Time).filter(|_| as_series && mode != "index");
        let fields = match replace {
            true => time.cloned().into_iter().chain(new.into_iter().map(|new| new.field)).collect(),
            false => with_new(&source.fields, new),
        };
        made.push(source.with_fields(fields));
    }
    Ok(made)
}

/// A computed field, and the field that it stands behind, else it is last.
struct New {
    field: Field,
    behind: Option<usize>,
}

impl From<Field> for New {
    fn from(field: Field) -> Self {
        Self { field, behind: None }
    }
}

fn with_new(fields: &[Field], mut new: Vec<New>) -> Vec<Field> {
    let mut made = Vec::with_capacity(fields.len() + new.len());
    for (index, field) in fields.iter().enumerate() {
        made.push(field.clone());
        made.extend(new.extract_if(.., |new| new.behind == Some(index)).map(|new| new.field));
    }
    made.extend(new.into_iter().map(|new| new.field));
    made
}

fn computed(mode: &str, options: Options<'_>, at: At<'_>) -> Result<Vec<New>, String> {
    let values = match mode {
        "reduceRow" => reduce_row(options.within("reduce"), at)?,
        "binary" => return binary(options, at),
        "unary" => unary(options.within("unary"), at)?,
        "cumulativeFunctions" => cumulative(options.within("cumulative"), at)?,
        "windowFunctions" => {
            let settings = options.within("window");
            match at.chosen(settings.text("field")) {
                Some(field) => Some(window::moving(settings, field)?),
                None => None,
            }
        }
        "index" => return Ok(vec![index(options, at.frame()).into()]),
        other => return Err(format!("the mode \"{other}\" is not known")),
    };
    let field =
        |values| named(options, Field::new(default_name(mode, options), Kind::Number, values));
    Ok(values.map(field).map(New::from).into_iter().collect())
}

/// The field under the alias that the options give, if they do.
fn named(options: Options<'_>, field: Field) -> Field {
    match options.text("alias") {
        Some(alias) => Field { name: alias.to_owned(), ..field }.with_config("displayName", alias),
        None => field,
    }
}

fn default_name(mode: &str, options: Options<'_>) -> String {
    let part = |key: &str, name: &str| options.within(key).text(name).unwrap_or_default();
    let of = |key: &str, name: &str| {
        options.within(key).text(name).map(|field| format!("({field})")).unwrap_or_default()
    };
    match mode {
        "cumulativeFunctions" => {
            format!("cumulative {}{}", part("cumulative", "reducer"), of("cumulative", "field"))
        }
        "windowFunctions" => format!(
            "{} moving {}{}",
            part("window", "windowAlignment"),
            part("window", "reducer"),
            of("window", "field")
        ),
        "unary" => format!("{}{}", part("unary", "operator"), of("unary", "fieldName")),
        "reduceRow" => {
            let id = options.within("reduce").text("reducer").unwrap_or("sum");
            Reducer::from_id(id).map_or_else(|| "math".to_owned(), Reducer::title)
        }
        _ => "math".to_owned(),
    }
}

fn reduce_row(options: Options<'_>, at: At<'_>) -> Result<Option<Vec<Value>>, String> {
    let id = options.text("reducer").unwrap_or("sum");
    let reducer = Reducer::from_id(id).ok_or(format!("the reducer \"{id}\" is not known"))?;
    let include = options.texts("include");
    let matcher = match include.is_empty() {
        true => FieldMatcher::Kinds(vec![Kind::Number]),
        false => FieldMatcher::Names(include.into_iter().map(str::to_owned).collect()),
    };
    let nulls = Nulls::from_name(options.text("nullValueMode").unwrap_or("null"));
    let fields = matcher.fields(at.frames, at.names, at.frame);
    let columns: Vec<&Field> = fields.iter().map(|&field| &at.frame().fields[field]).collect();
    let row = |row: usize| {
        let value = |field: &&Field| {
            let value = field.at(row);
            value.to_number().map_or_else(|| value.clone(), Value::Number)
        };
        let values: Vec<Value> = columns.iter().map(value).collect();
        reduce_values(&values, Kind::Number, nulls, &[reducer]).pop().unwrap_or_default()
    };
    Ok(Some((0..at.frame().rows()).map(row).collect()))
}

/// One side of a binary operation.
enum Operand<'a> {
    Column(&'a Field),
    Constant(f64),
}

impl<'a> Operand<'a> {
    fn find(side: &Json, at: At<'a>) -> Option<Self> {
        let text = operand_text(side)?;
        if !is_fixed(side)
            && let Some(field) = at.named(&text)
        {
            return Some(Self::Column(field));
        }
        parse_number(&text).map(Self::Constant)
    }

    fn at(&self, row: usize) -> Option<f64> {
        match self {
            Self::Column(field) => field.at(row).to_number(),
            Self::Constant(number) => Some(*number),
        }
    }
}

fn is_fixed(side: &Json) -> bool {
    side.is_number() || side.get("fixed").is_some() && side.get("matcher").is_none()
}

/// What a side says: older dashboards have a plain text, newer ones `{fixed}` or `{matcher}`.
fn operand_text(side: &Json) -> Option<String> {
    let value = match side.as_object() {
        Some(side) => side
            .get("matcher")
            .and_then(|matcher| matcher.get("options"))
            .or_else(|| side.get("fixed"))?,
        None => side,
    };
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn binary(options: Options<'_>, at: At<'_>) -> Result<Vec<New>, String> {
    let binary = options.within("binary");
    let symbol = binary.text("operator").unwrap_or("+");
    let operation: fn(f64, f64) -> f64 = match symbol {
        "+" => |a, b| a + b,
        "-" => |a, b| a - b,
        "*" => |a, b| a * b,
        "/" => |a, b| a / b,
        "**" | "^" => f64::powf,
        "%" => |a, b| a % b,
        other => return Err(format!("the operator \"{other}\" is not known")),
    };
    let (left, right) = (binary.get("left"), binary.get("right"));
    let Some(right_side) = Operand::find(right, at) else { return Ok(Vec::new()) };
    let compute = |left: &Operand<'_>| -> Vec<Value> {
        let row = |row| Some(operation(left.at(row)?, right_side.at(row)?));
        (0..at.frame().rows()).map(|at| Value::from(row(at))).collect()
    };
    let right_text = operand_text(right).unwrap_or_default();
    let matcher = left.get("matcher").filter(|matcher| !has_id(matcher, "byName"));
    if let Some(matcher) = matcher {
        let fields = FieldMatcher::read(matcher)?.fields(at.frames, at.names, at.frame);
        let one = |place: usize| {
            let field = &at.frame().fields[place];
            let mut made = field.with_values(compute(&Operand::Column(field)));
            made.name = format!("{} {symbol} {right_text}", field.name);
            made.kind = Kind::Number;
            New { field: made, behind: Some(place) }
        };
        return Ok(fields.into_iter().map(one).collect());
    }
    let Some(left_side) = Operand::find(left, at) else { return Ok(Vec::new()) };
    let name = format!("{} {symbol} {right_text}", operand_text(left).unwrap_or_default());
    Ok(vec![named(options, Field::new(name, Kind::Number, compute(&left_side))).into()])
}

fn has_id(matcher: &Json, id: &str) -> bool {
    matcher.get("id").and_then(Json::as_str) == Some(id)
}

fn unary(options: Options<'_>, at: At<'_>) -> Result<Option<Vec<Value>>, String> {
    let field = at.named(options.text("fieldName").unwrap_or_default());
    let Some(field) = field.filter(|field| field.kind != Kind::Time) else { return Ok(None) };
    let numbers: Vec<Option<f64>> = field.values.iter().map(Value::to_number).collect();
    let total: f64 = numbers.iter().flatten().filter(|number| number.is_finite()).sum();
    let total = if total == 0.0 { 1.0 } else { total };
    let operation = |number: f64| match options.text("operator").unwrap_or("abs") {
        "abs" => Some(number.abs()),
        "exp" => Some(number.exp()),
        "ln" => Some(number.ln()),
        // Halves go up, as JavaScript rounds.
        "round" => Some((number + 0.5).floor()),
        "floor" => Some(number.floor()),
        "ceil" => Some(number.ceil()),
        "percent" => Some(number / total),
        _ => None,
    };
    if operation(0.0).is_none() {
        return Err("the operator is not known".to_owned());
    }
    Ok(Some(numbers.into_iter().map(|number| number.and_then(operation).into()).collect()))
}

fn cumulative(options: Options<'_>, at: At<'_>) -> Result<Option<Vec<Value>>, String> {
    let mean = match options.text("reducer").unwrap_or("sum") {
        "sum" => false,
        "mean" => true,
        other => return Err(format!("the reducer \"{other}\" cannot be cumulated")),
    };
    let Some(field) = at.chosen(options.text("field")) else { return Ok(None) };
    let mut total = 0.0;
    let add = |(row, value): (usize, &Value)| {
        total += value.to_number().unwrap_or(0.0);
        Value::Number(if mean { total / (row + 1) as f64 } else { total })
    };
    Ok(Some(field.values.iter().enumerate().map(add).collect()))
}

fn index(options: Options<'_>, frame: &Frame) -> Field {
    let rows = frame.rows();
    let percentile = options.within("index").truth("asPercentile");
    let value = |row: usize| if percentile { row as f64 / rows as f64 } else { row as f64 };
    let name = options.text("alias").unwrap_or("Row");
    let field = Field::new(name, Kind::Number, (0..rows).map(|row| value(row).into()).collect());
    if percentile { field.with_config("unit", "percentunit") } else { field }
}
