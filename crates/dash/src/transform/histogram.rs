//! Counts in buckets: `histogram` of values, `heatmap` of values over time.

use std::collections::BTreeMap;

use serde_json::json;

use super::options::Options;
use super::{Outcome, check_cells};
use crate::frame::{Field, Frame, Kind, Value, write_number};
use crate::limits;

/// Buckets that are aimed at where no number is given.
const DEFAULT_BUCKETS: f64 = 30.0;

pub(super) fn histogram(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let sources: Vec<(&Field, Vec<f64>)> = frames
        .iter()
        .flat_map(|frame| &frame.fields)
        .filter(|field| field.kind == Kind::Number)
        .map(|field| (field, numbers(field)))
        .collect();
    if sources.is_empty() {
        return Ok(frames.to_vec());
    }
    let all: Vec<f64> = sources.iter().flat_map(|(_, numbers)| numbers.iter().copied()).collect();
    let count = options.number("bucketCount").filter(|count| *count > 0.0);
    let size = options.number("bucketSize").filter(|size| *size > 0.0);
    let size = size.unwrap_or_else(|| bucket_size(all, count.unwrap_or(DEFAULT_BUCKETS)));
    let offset = options.number("bucketOffset").unwrap_or(0.0);
    let mut counts: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for (index, (_, numbers)) in sources.iter().enumerate() {
        for number in numbers {
            let bucket = round(((number - offset) / size).floor() * size + offset, 9);
            counts.entry(Key(bucket)).or_insert_with(|| vec![0.0; sources.len()])[index] += 1.0;
            // Each bucket has a count for every source: both are bounded while they are made.
            if counts.len() > limits::MAX_BUCKETS {
                return Err(format!("it would make more than {} buckets", limits::MAX_BUCKETS));
            }
            check_cells((sources.len() + 2) * counts.len())?;
        }
    }
    let unit = sources.iter().find(|(field, _)| field.config_text("unit").is_some());
    let decimals = write_number(size).split_once('.').map_or(0, |(_, digits)| digits.len());
    let edge = |name: &str, add: f64| {
        let values = counts.keys().map(|key| Value::Number(key.0 + add)).collect();
        let mut field = Field::new(name, Kind::Number, values);
        field.config = unit.map(|(field, _)| field.config.clone()).unwrap_or_default();
        if decimals > 0 {
            field.config.insert("decimals".to_owned(), decimals.into());
        }
        field
    };
    let mut fields = vec![edge("xMin", 0.0), edge("xMax", size)];
    if options.truth("combine") {
        let total = counts.values().map(|counts| Value::Number(counts.iter().sum()));
        fields.push(counted(sources[0].0, "count", total.collect()));
    } else {
        for (index, (field, _)) in sources.iter().enumerate() {
            let values = counts.values().map(|counts| Value::Number(counts[index])).collect();
            fields.push(counted(field, &field.name, values));
        }
    }
    let mut made = Frame::new(fields).with_ref_id("histogram");
    made.meta.insert("type".to_owned(), "histogram".into());
    Ok(vec![made])
}

fn counted(source: &Field, name: &str, values: Vec<Value>) -> Field {
    let mut field = source.with_values(values);
    field.name = name.to_owned();
    if field.config_text("unit") != Some("short") {
        field.config.remove("unit");
    }
    field
}

/// The numbers of a field; nulls count as `noValue` where that is one.
fn numbers(field: &Field) -> Vec<f64> {
    let missing = field.config.get("noValue").map(Value::from_json);
    let missing = missing.and_then(|value| value.to_number());
    let number = |value: &Value| value.as_number().filter(|n| n.is_finite()).or(missing);
    field.values.iter().filter_map(number).collect()
}

/// A number that can be a key: those that are not finite are left out before.
#[derive(PartialEq)]
struct Key(f64);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

fn round(number: f64, digits: i32) -> f64 {
    let factor = 10f64.powi(digits);
    let scaled = number * factor;
    // Beyond this, every double is whole already.
    if scaled.abs() < 9e15 { (scaled + 0.5).floor() / factor } else { number }
}

/// A round size that gives about so many buckets and is not below the resolution of the values.
fn bucket_size(mut all: Vec<f64>, count: f64) -> f64 {
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(greatest)) = (all.first(), all.last()) else { return 1.0 };
    let deltas = all.windows(2).map(|pair| pair[1] - pair[0]).filter(|delta| *delta > 0.0);
    let resolution = deltas.fold(f64::INFINITY, f64::min);
    let resolution = if resolution.is_finite() { resolution } else { 1.0 };
    let target = (greatest - least) / count;
    let sizes = (-9..=18).flat_map(|exponent| {
        // There is no 2.5 among whole numbers below ten.
        let digits = [1.0, 2.0, 2.5, 4.0, 5.0].into_iter();
        let digits = digits.filter(move |digit| *digit != 2.5 || exponent != 0);
        digits.map(move |digit| {
            if exponent < 0 { digit / 10f64.powi(-exponent) } else { digit * 10f64.powi(exponent) }
        })
    });
    let mut sizes = sizes.skip_while(|size| !(target < *size && *size >= resolution));
    sizes.next().unwrap_or_else(|| (greatest - least).max(1.0))
}

/// Cells of time and value with the count of samples in each.
pub(super) fn heatmap(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut unit = None;
    for frame in frames {
        let Some(time) = frame.first_of(Kind::Time) else { continue };
        for field in frame.fields.iter().filter(|field| field.kind == Kind::Number) {
            unit = unit.or(field.config_text("unit"));
            let pairs = time.values.iter().zip(&field.values);
            let pairs =
                pairs.filter_map(|(time, value)| Some((time.as_number()?, value.as_number()?)));
            points.extend(pairs.filter(|(time, value)| time.is_finite() && value.is_finite()));
        }
    }
    if points.is_empty() {
        return Ok(frames.to_vec());
    }
    let x_size = axis(options.within("xBuckets"), points.iter().map(|point| point.0), 30.0)?;
    let y_size = axis(options.within("yBuckets"), points.iter().map(|point| point.1), 20.0)?;
    let range = |pick: fn(&(f64, f64)) -> f64, size: f64| {
        let places = points.iter().map(|point| (pick(point) / size).floor());
        let (least, greatest) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)));
        (least, (greatest - least + 1.0) as usize)
    };
    let (x_least, x_count) = range(|point| point.0, x_size);
    let (y_least, y_count) = range(|point| point.1, y_size);
    // Buckets that are small beyond measure have no places that can be counted.
    let is_countable = x_least.is_finite() && y_least.is_finite();
    if !is_countable || x_count.saturating_mul(y_count) > limits::MAX_CELLS / 4 {
        return Err("it would make too many cells; choose larger buckets".to_owned());
    }
    let mut counts = vec![0.0; x_count * y_count];
    for (x, y) in &points {
        let x = ((x / x_size).floor() - x_least) as usize;
        let y = ((y / y_size).floor() - y_least) as usize;
        counts[x * y_count + y] += 1.0;
    }
    let cell = |index: usize| (index / y_count, index % y_count);
    let xs = (0..counts.len()).map(|index| (x_least + cell(index).0 as f64) * x_size);
    let ys = (0..counts.len()).map(|index| round((y_least + cell(index).1 as f64) * y_size, 9));
    let mut y_field = Field::number("yMin", ys.map(Some));
    if let Some(unit) = unit {
        y_field = y_field.with_config("unit", unit);
    }
    let count =
        Field::number("Count", counts.iter().copied().map(Some)).with_config("unit", "short");
    let mut made = Frame::new(vec![Field::time("xMin", xs), y_field, count]);
    made.ref_id.clone_from(&frames[0].ref_id);
    made.meta.insert("type".to_owned(), "heatmap-cells".into());
    let custom = json!({"xBucketSize": x_size, "yBucketSize": y_size, "yBucketCount": y_count});
    made.meta.insert("custom".to_owned(), custom);
    Ok(vec![made])
}

/// The size of the buckets of one axis: given, or found from the number of buckets.
fn axis(
    options: Options<'_>,
    values: impl Iterator<Item = f64>,
    count: f64,
) -> Result<f64, String> {
    if options.within("scale").text("type").is_some_and(|scale| scale != "linear") {
        return Err("only linear buckets are supported".to_owned());
    }
    let by_size = options.text("mode") == Some("size");
    let value = match options.text("value") {
        Some(text) if by_size => interval_millis(text).or(options.number("value")),
        _ => options.number("value"),
    };
    match value.filter(|value| *value > 0.0) {
        Some(size) if by_size => Ok(size),
        wanted => Ok(bucket_size(values.collect(), wanted.unwrap_or(count))),
    }
}

/// A length of time such as `30s` in milliseconds.
fn interval_millis(text: &str) -> Option<f64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    };
    Some(number * factor)
}
