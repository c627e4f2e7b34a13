//! Matchers: which fields an override, a transformation or a panel means, and which frames.
//!
//! A matcher is `{"id", "options"}`. Names are compared with both the name that people see and the
//! field's own. What cannot be read is an error with a sentence for the panel's reader.

use serde_json::Value as Json;

use super::name::{Names, VALUE};
use super::pattern::{self, Pattern};
use crate::frame::{Field, Frame, Kind, Value};
use crate::limits;
use crate::reduce::Reducer;

/// A field among its frames, as matchers look at it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// All frames.
    pub frames: &'a [Frame],
    /// What their names are.
    pub names: &'a Names,
    /// Which frame.
    pub frame: usize,
    /// Which field of it.
    pub field: usize,
}

impl<'a> Place<'a> {
    fn frame(&self) -> Option<&'a Frame> {
        self.frames.get(self.frame)
    }

    fn field(&self) -> Option<&'a Field> {
        self.frame().and_then(|frame| frame.fields.get(self.field))
    }

    /// The name that people see.
    pub fn name(&self) -> &'a str {
        self.names.of(self.frame, self.field)
    }
}

/// Which fields are meant.
#[derive(Debug)]
pub enum FieldMatcher {
    /// Those with one of the names.
    Names(Vec<String>),
    /// Those whose seen name matches.
    Pattern(Pattern),
    /// Those of one of the kinds.
    Kinds(Vec<Kind>),
    /// Those that a query gave.
    RefId(String),
    /// Those whose values reduce to what compares so.
    Value(Reducer, Comparison, Json),
    /// The first field of each frame.
    First,
    /// The first field of times of each frame.
    FirstTime,
    /// Those that any of the matchers means.
    Any(Vec<FieldMatcher>),
    /// Those that all of the matchers mean.
    All(Vec<FieldMatcher>),
    /// Those that the matcher does not mean.
    Not(Box<FieldMatcher>),
}

/// How a reduced value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Both read the same as texts.
    Equal,
    /// Both do not.
    NotEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
}

impl Comparison {
    fn from_id(id: &str) -> Option<Self> {
        Some(match id {
            "eq" => Self::Equal,
            "neq" => Self::NotEqual,
            "gt" => Self::Greater,
            "gte" => Self::GreaterOrEqual,
            "lt" => Self::Less,
            "lte" => Self::LessOrEqual,
            _ => return None,
        })
    }

    fn holds(self, left: &Value, right: &Json) -> bool {
        let right = Value::from_json(right);
        let text = |value: &Value| if value.is_null() { "null".into() } else { value.to_text() };
        let equal = || text(left) == text(&right);
        let missing = left.is_null() || right.is_null();
        let order = || left.to_number()?.partial_cmp(&right.to_number()?);
        match self {
            Self::Equal => equal(),
            Self::NotEqual => !equal(),
            Self::GreaterOrEqual | Self::LessOrEqual if missing => equal(),
            Self::Greater => order().is_some_and(|order| order.is_gt()),
            Self::GreaterOrEqual => order().is_some_and(|order| order.is_ge()),
            Self::Less => order().is_some_and(|order| order.is_lt()),
            Self::LessOrEqual => order().is_some_and(|order| order.is_le()),
        }
    }
}

impl FieldMatcher {
    /// All fields.
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// All fields but those of times.
    pub fn not_time() -> Self {
        Self::Not(Box::new(Self::Kinds(vec![Kind::Time])))
    }

    /// The matcher that a configuration describes.
    pub fn read(json: &Json) -> Result<Self, String> {
        Self::read_at(json, 0)
    }

    fn read_at(json: &Json, depth: usize) -> Result<Self, String> {
        if depth > limits::MAX_MATCHER_DEPTH {
            return Err("matchers within matchers are too deep".to_owned());
        }
        let id = json.get("id").and_then(Json::as_str).unwrap_or_default();
        let options = json.get("options").unwrap_or(&Json::Null);
        let text = || options.as_str().unwrap_or_default();
        Ok(match id {
            "byName" => Self::Names(vec![text().to_owned()]),
            "byNames" => by_names(options),
            "byRegexp" => Self::Pattern(pattern::compile(text())?),
            "byRegexpOrNames" => by_pattern_or_names(options)?,
            "byType" => Self::Kinds(Kind::from_name(text()).into_iter().collect()),
            "byTypes" => Self::Kinds(texts(options).filter_map(Kind::from_name).collect()),
            "numeric" => Self::Kinds(vec![Kind::Number]),
            "time" => Self::Kinds(vec![Kind::Time]),
            "byFrameRefID" => Self::RefId(text().to_owned()),
            "byValue" => by_value(options),
            "first" => Self::First,
            "firstTimeField" => Self::FirstTime,
            "alwaysMatch" => Self::everything(),
            "neverMatch" => Self::Any(Vec::new()),
            "anyMatch" | "anyMatcher" => Self::Any(Self::read_list(options, depth)?),
            "allMatch" | "allMatcher" => Self::All(Self::read_list(options, depth)?),
            "invertMatch" => Self::Not(Box::new(Self::read_at(options, depth + 1)?)),
            "" => return Err("a matcher has no id".to_owned()),
            other => return Err(format!("the matcher \"{other}\" is not known")),
        })
    }

    fn read_list(options: &Json, depth: usize) -> Result<Vec<Self>, String> {
        let list = options.as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(|matcher| Self::read_at(matcher, depth + 1)).collect()
    }

    /// Whether a field is meant.
    pub fn matches(&self, place: &Place<'_>) -> bool {
        let (Some(frame), Some(field)) = (place.frame(), place.field()) else { return false };
        let is_first_time = |candidate: &Field| candidate.kind == Kind::Time;
        match self {
            Self::Names(names) => has_name(names, place, frame, field),
            Self::Pattern(regex) => regex.is_match(place.name()),
            Self::Kinds(kinds) => kinds.contains(&field.kind),
            Self::RefId(ref_id) => frame.ref_id.as_ref() == Some(ref_id),
            Self::Value(reducer, comparison, value) => {
                compares(field, *reducer, *comparison, value)
            }
            Self::First => place.field == 0,
            Self::FirstTime => frame.fields.iter().position(is_first_time) == Some(place.field),
            Self::Any(matchers) => matchers.iter().any(|matcher| matcher.matches(place)),
            Self::All(matchers) => matchers.iter().all(|matcher| matcher.matches(place)),
            Self::Not(matcher) => !matcher.matches(place),
        }
    }

    /// The places of the fields of a frame that are meant.
    pub fn fields(&self, frames: &[Frame], names: &Names, frame: usize) -> Vec<usize> {
        let count = frames.get(frame).map_or(0, |frame| frame.fields.len());
        let meant = |field: &usize| self.matches(&Place { frames, names, frame, field: *field });
        (0..count).filter(meant).collect()
    }
}

fn has_name(names: &[String], place: &Place<'_>, frame: &Frame, field: &Field) -> bool {
    let has = |name: &str| names.iter().any(|known| known == name);
    if has(&field.name) || has(place.name()) {
        return true;
    }
    // Older dashboards say "Value" and "Time" for fields that have their own names by now.
    if has(VALUE) {
        field.labels.get("__name__") == Some(&field.name)
    } else if has("Time") || has("time") {
        field.kind == Kind::Time && !frame.meta.contains_key("typeVersion")
    } else {
        false
    }
}

fn compares(field: &Field, reducer: Reducer, comparison: Comparison, value: &Json) -> bool {
    match (reducer, reducer.reduce(field)) {
        (Reducer::AllIsNull | Reducer::AllIsZero, result) => result == Value::Boolean(true),
        (_, result) => comparison.holds(&result, value),
    }
}

fn texts(json: &Json) -> impl Iterator<Item = &str> {
    json.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Json::as_str)
}

fn by_names(options: &Json) -> FieldMatcher {
    let names = options.get("names").unwrap_or(&Json::Null);
    let names = FieldMatcher::Names(texts(names).map(str::to_owned).collect());
    let excludes = options.get("mode").and_then(Json::as_str) == Some("exclude");
    if excludes { FieldMatcher::Not(Box::new(names)) } else { names }
}

fn by_pattern_or_names(options: &Json) -> Result<FieldMatcher, String> {
    let mut matchers = vec![by_names(options)];
    let pattern = options.get("pattern").and_then(Json::as_str).filter(|text| !text.is_empty());
    if let Some(pattern) = pattern {
        matchers.push(FieldMatcher::Pattern(pattern::compile(pattern)?));
    }
    Ok(FieldMatcher::Any(matchers))
}

fn by_value(options: &Json) -> FieldMatcher {
    let text = |key: &str| options.get(key).and_then(Json::as_str).unwrap_or_default();
    let Some(reducer) = Reducer::from_id(text("reducer")) else {
        return FieldMatcher::Any(Vec::new());
    };
    let comparison = Comparison::from_id(text("op")).unwrap_or(Comparison::Equal);
    FieldMatcher::Value(reducer, comparison, options.get("value").cloned().unwrap_or_default())
}

/// Which frames are meant.
#[derive(Debug)]
pub enum FrameMatcher {
    /// Those whose name matches.
    Name(Pattern),
    /// Those whose query matches.
    RefIdPattern(Pattern),
    /// Those of one of the queries.
    RefIds(Vec<String>),
    /// The one at that place.
    Index(u64),
    /// All, or none.
    Constant(bool),
}

impl FrameMatcher {
    /// The matcher that a configuration describes.
    pub fn read(json: &Json) -> Result<Self, String> {
        let options = json.get("options").unwrap_or(&Json::Null);
        let text = options.as_str().unwrap_or_default();
        match json.get("id").and_then(Json::as_str).unwrap_or_default() {
            "byRefId" => Self::by_ref_id(text),
            "byName" => Ok(Self::Name(pattern::compile(text)?)),
            "byIndex" => Ok(Self::Index(options.as_u64().unwrap_or(0))),
            "alwaysMatch" => Ok(Self::Constant(true)),
            "neverMatch" => Ok(Self::Constant(false)),
            other => Err(format!("the frame matcher \"{other}\" is not known")),
        }
    }

    /// The frames of a query: its letter, several as `A|B`, or `/pattern/`.
    pub fn by_ref_id(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self::RefIdPattern(pattern::compile(text)?));
        }
        Ok(Self::RefIds(text.split('|').map(str::to_owned).collect()))
    }

    /// Whether a frame is meant.
    pub fn matches(&self, frame: &Frame, index: usize) -> bool {
        let ref_id = frame.ref_id.as_deref().unwrap_or_default();
        match self {
            Self::Name(regex) => regex.is_match(&frame.name),
            Self::RefIdPattern(regex) => regex.is_match(ref_id),
            Self::RefIds(ids) => ids.iter().any(|id| id == ref_id),
            Self::Index(wanted) => *wanted == index as u64,
            Self::Constant(always) => *always,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::new(vec![
                Field::time("Time", [1.0, 2.0]),
                Field::number("cpu", [Some(0.0), Some(0.0)]),
                Field::number("raw", [Some(5.0), None]).with_config("displayName", "Memory used"),
                Field::text("host", [Some("a"), Some("b")]),
            ])
            .with_ref_id("A"),
        ]
    }

    fn meant(matcher: Json) -> Vec<usize> {
        let frames = frames();
        let names = Names::new(&frames);
        FieldMatcher::read(&matcher).unwrap().fields(&frames, &names, 0)
    }

    #[test]
    fn names_are_the_seen_or_the_own() {
        assert_eq!(meant(json!({"id": "byName", "options": "Memory used"})), [2]);
        assert_eq!(meant(json!({"id": "byName", "options": "raw"})), [2]);
        assert_eq!(meant(json!({"id": "byName", "options": "time"})), [0]);
        let names = json!({"names": ["cpu", "host"], "mode": "exclude"});
        assert_eq!(meant(json!({"id": "byNames", "options": names})), [0, 2]);
    }

    #[test]
    fn patterns_look_at_the_seen_name() {
        assert_eq!(meant(json!({"id": "byRegexp", "options": "/mem|cpu/i"})), [1, 2]);
        assert_eq!(meant(json!({"id": "byRegexp", "options": "raw"})), [] as [usize; 0]);
        let options = json!({"pattern": "/^Mem/", "names": ["host"]});
        assert_eq!(meant(json!({"id": "byRegexpOrNames", "options": options})), [2, 3]);
    }

    #[test]
    fn kinds_places_and_values_match() {
        assert_eq!(meant(json!({"id": "numeric"})), [1, 2]);
        assert_eq!(meant(json!({"id": "byType", "options": "string"})), [3]);
        assert_eq!(meant(json!({"id": "byTypes", "options": ["string", "time"]})), [0, 3]);
        assert_eq!(meant(json!({"id": "first"})), [0]);
        assert_eq!(meant(json!({"id": "firstTimeField"})), [0]);
        assert_eq!(meant(json!({"id": "byFrameRefID", "options": "A"})), [0, 1, 2, 3]);
        let zero = json!({"reducer": "allIsZero", "op": "gte", "value": 0});
        assert_eq!(meant(json!({"id": "byValue", "options": zero})), [1]);
        let large = json!({"reducer": "max", "op": "gt", "value": 4});
        let both = json!([{"id": "numeric"}, {"id": "byValue", "options": large}]);
        assert_eq!(meant(json!({"id": "allMatch", "options": both})), [2]);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(FieldMatcher::read(&json!({"id": "byMagic"})).is_err());
        let mut deep = json!({"id": "numeric"});
        for _ in 0..20 {
            deep = json!({"id": "invertMatch", "options": deep});
        }
        assert!(FieldMatcher::read(&deep).is_err());
    }

    #[test]
    fn frames_are_matched_by_query() {
        let frame = &frames()[0];
        for (text, matches) in [("A", true), ("B|A", true), ("/a/i", true), ("B", false)] {
            assert_eq!(FrameMatcher::by_ref_id(text).unwrap().matches(frame, 0), matches, "{text}");
        }
    }
}
