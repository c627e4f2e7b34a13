//! Any list of transformations with any options over any frames keeps its promises: no panic, all
//! fields of a frame equally long, nothing beyond the limits.
//!
//! Frames and options are made by a seeded generator; a failure names the seed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use chrono_tz::Tz;
use kymo_dash::fields::units::Clock;
use kymo_dash::fields::{Context as FieldContext, add_calcs, of_kind, resolve};
use kymo_dash::frame::{Field, Frame, Kind, Labels, Value};
use kymo_dash::limits;
use kymo_dash::reduce::shown::shown;
use kymo_dash::transform::{Context, apply};
use serde_json::{Map, Value as Json, json};

/// A generator of numbers that is the same everywhere (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "a", "b", "Value", "Time", "time", "host", "", "a (mean)", "é ü", "Field", "Metric", "{",
];

#[rustfmt::skip]
const IDS: &[&str] = &[
    "filterByValue", "groupBy", "groupToNestedTable", "convertFieldType", "calculateField",
    "organize", "order", "rename", "renameByRegex", "filterFieldsByName", "filterFields",
    "filterByRefId", "filterFrames", "sortBy", "limit", "merge", "joinByField",
    "seriesToColumns", "joinByLabels", "ensureColumns", "reduce", "labelsToFields",
    "seriesToRows", "prepareTimeSeries", "timeSeriesTable", "concatenate", "append",
    "rowsToFields", "configFromData", "extractFields", "groupingToMatrix", "transpose",
    "formatTime", "formatString", "partitionByValues", "histogram", "heatmap", "noop",
    "fieldLookup", "nonsense",
];

/// Words that options know, and some that they do not.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "a", "b", "Value", "Time", "host", "A", "/a/", "/(/", "(.*)", "$1", "${v}", "sum", "mean",
    "lastNotNull", "p95", "allValues", "reduceRow", "binary", "unary", "cumulativeFunctions",
    "windowFunctions", "index", "number", "string", "time", "boolean", "enum", "other", "inner",
    "outer", "outerTabular", "rows", "columns", "multi", "wide", "long", "reduceFields",
    "groupby", "aggregate", "regex", "isNull", "greater", "between", "equal", "substring",
    "json", "kvp", "auto", "delimiter", "regexp", "size", "count", "10", "-3", "1e308", "5m",
    "+", "/", "abs", "percent", "Substring", "Title Case", "YYYY-MM-DD", "UTC", "centered",
    "fixed", "label", "drop", "max", "field.name", "field.value", "mappings.value",
    "threshold1", "null", "zero", "empty",
];

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "filters", "fieldName", "config", "id", "options", "value", "type", "match", "fields",
    "operation", "aggregations", "conversions", "targetField", "destinationType", "dateFormat",
    "enumConfig", "text", "mode", "binary", "left", "right", "operator", "fixed", "matcher",
    "reduce", "reducer", "include", "exclude", "alias", "replaceFields", "window", "windowSize",
    "windowSizeMode", "windowAlignment", "cumulative", "field", "unary", "index",
    "asPercentile", "excludeByName", "includeByName", "indexByName", "renameByName",
    "orderByMode", "orderBy", "names", "pattern", "regex", "renamePattern", "sort", "desc",
    "limitField", "byField", "reducers", "labelsToFields", "keepLabels", "valueLabel", "format",
    "frameNameMode", "mappings", "handlerKey", "configRefId", "applyTo", "source", "replace",
    "keepTime", "delimiter", "regExp", "jsonPaths", "path", "columnField", "rowField",
    "valueField", "emptyValue", "timeField", "outputFormat", "stringField", "substringStart",
    "substringEnd", "naming", "asLabels", "bucketSize", "bucketCount", "bucketOffset",
    "combine", "xBuckets", "yBuckets", "join", "rules", "timezone", "A", "a", "b", "Value",
    "host", "stat", "sources", "from", "to", "rule",
];

fn number(random: &mut Random) -> f64 {
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e300, 1e-300, f64::MAX, 1.7e12, 59.9];
    match random.below(8) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3..=5 => special[random.below(special.len())],
        _ => random.below(2000) as f64 - 1000.0,
    }
}

fn value(random: &mut Random, kind: Kind) -> Value {
    if random.below(6) == 0 {
        return Value::Null;
    }
    // Now and then a cell is of another kind than its column.
    let kind = if random.below(12) == 0 { Kind::Other } else { kind };
    match kind {
        Kind::Time => Value::Number(random.below(10) as f64 * 60e3),
        Kind::Number => Value::Number(number(random)),
        Kind::String => match random.below(5) {
            0 => r#"{"x": 1, "y": {"z": [1, 2]}}"#.into(),
            1 => "k=v, l:'m n'".into(),
            2 => number(random).to_string().into(),
            _ => random.pick(WORDS).into(),
        },
        Kind::Boolean => (random.below(2) == 0).into(),
        Kind::Enum => random.below(4).into(),
        Kind::Frame | Kind::Other => match random.below(3) {
            0 => Value::from_json(&json!({"a": [1, null]})),
            1 => Value::from_json(&json!([1, "a", null])),
            _ => random.pick(WORDS).into(),
        },
    }
}

fn frame(random: &mut Random) -> Frame {
    let kinds = [
        Kind::Time,
        Kind::Number,
        Kind::Number,
        Kind::String,
        Kind::Boolean,
        Kind::Enum,
        Kind::Other,
    ];
    let rows = random.below(12);
    let mut fields = Vec::new();
    for _ in 0..random.below(6) {
        let kind = kinds[random.below(kinds.len())];
        // Some columns are too short or too long.
        let length = if random.below(8) == 0 { random.below(14) } else { rows };
        let values = (0..length).map(|_| value(random, kind)).collect();
        let mut field = Field::new(random.pick(NAMES), kind, values);
        for _ in 0..random.below(3) {
            field.labels.insert(random.pick(NAMES).to_owned(), random.pick(WORDS).to_owned());
        }
        if random.below(3) == 0 {
            field.config = json(random, 2).as_object().cloned().unwrap_or_default();
        }
        fields.push(field);
    }
    let mut frame = Frame::new(fields).with_ref_id(random.pick(&["A", "B", ""]));
    if random.below(2) == 0 {
        frame.name = random.pick(NAMES).to_owned();
    }
    frame
}

/// Any JSON, of keys and words that options have.
fn json(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => Json::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(40) as i64 - 5),
        3 | 4 => json!(random.pick(WORDS)),
        5 => (0..random.below(4)).map(|_| json(random, depth - 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..random.below(9) {
                map.insert(random.pick(KEYS).to_owned(), json(random, depth - 1));
            }
            Json::Object(map)
        }
    }
}

/// Options that mostly have the shape that a transformation expects.
fn options(random: &mut Random) -> Json {
    let mut map = json(random, 3).as_object().cloned().unwrap_or_default();
    let word = |random: &mut Random| json!(random.pick(WORDS));
    let name = |random: &mut Random| json!(random.pick(NAMES));
    let names = |random: &mut Random| json!([random.pick(NAMES), random.pick(NAMES)]);
    for _ in 0..random.below(6) {
        let (key, value) = match random.below(16) {
            0 => (
                "filters",
                json!([{"fieldName": name(random), "config": {"id": word(random), "options": {"value": word(random)}}}]),
            ),
            1 => (
                "fields",
                json!({random.pick(NAMES): {"operation": "groupby"}, random.pick(NAMES): {"operation": "aggregate", "aggregations": [word(random)]}}),
            ),
            2 => (
                "conversions",
                json!([{"targetField": name(random), "destinationType": word(random), "enumConfig": {"text": names(random)}}]),
            ),
            3 => (
                "binary",
                json!({"left": name(random), "operator": word(random), "right": word(random)}),
            ),
            4 => ("mode", word(random)),
            5 => ("byField", name(random)),
            6 => ("reducers", json!([word(random)])),
            7 => (
                "window",
                json!({"reducer": "variance", "windowSize": number(random), "windowSizeMode": word(random), "windowAlignment": word(random)}),
            ),
            8 => ("columnField", name(random)),
            9 => ("rowField", name(random)),
            10 => ("valueField", name(random)),
            11 => ("source", name(random)),
            12 => ("format", word(random)),
            13 => ("value", name(random)),
            14 => ("sort", json!([{"field": name(random), "desc": true}])),
            _ => ("fields", names(random)),
        };
        map.insert(key.to_owned(), value);
    }
    Json::Object(map)
}

fn check(frames: &[Frame], seed: u64) {
    assert!(frames.len() <= limits::MAX_FRAMES, "seed {seed}");
    for frame in frames {
        let rows = frame.rows();
        assert!(frame.fields.iter().all(|field| field.values.len() == rows), "seed {seed}");
        assert!(frame.fields.len() <= limits::MAX_FIELDS, "seed {seed}");
    }
    serde_json::to_string(frames).unwrap();
}

#[test]
fn random_transformations_keep_columns_equally_long() {
    let interpolate = |text: &str| text.replace("${v}", "a|b");
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    let seeds = std::env::var("KYMO_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 1..=seeds.unwrap_or(3000u64) {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let frames: Vec<Frame> = (0..random.below(4)).map(|_| frame(&mut random)).collect();
        let list: Vec<Json> = (0..1 + random.below(5))
            .map(|_| {
                let filter = match random.below(6) {
                    0 => json!({"id": "byRefId", "options": random.pick(WORDS)}),
                    _ => Json::Null,
                };
                json!({"id": random.pick(IDS), "options": options(&mut random), "filter": filter})
            })
            .collect();
        let made = apply(&list, frames, &context);
        check(&made.frames, seed);
        let mut frames = made.frames;
        let config = json!({"defaults": json(&mut random, 3), "overrides": [
            {"matcher": {"id": "byRegexp", "options": "/.*/"}, "properties": json(&mut random, 3)}]});
        let context =
            FieldContext { interpolate: &interpolate, url_time_range: "", clock: Clock::default() };
        let kind = random.pick(&["table", "stat", "timeseries"]);
        resolve(&of_kind(&config, kind), &mut frames, &context);
        add_calcs(&mut frames, &["mean", "p99", "uniqueValues"]);
        check(&frames, seed);
        let values = shown(&json(&mut random, 2), &config, &frames, &context).values;
        assert!(values.len() <= limits::MAX_SHOWN_VALUES, "seed {seed}");
        serde_json::to_string(&values).unwrap();
    }
}

#[test]
fn labels_alone_do_not_make_a_series() {
    // A frame without fields goes through everything.
    let empty = Frame { fields: Vec::new(), ..Frame::default() };
    let labelled = Frame::new(vec![Field::number("v", []).with_labels(Labels::new())]);
    let context = Context { interpolate: &str::to_owned, zone: Tz::UTC };
    for id in IDS {
        let list = [json!({"id": id, "options": {}})];
        check(&apply(&list, vec![empty.clone(), labelled.clone()], &context).frames, 0);
    }
}
