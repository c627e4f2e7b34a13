//! Single values that panels show: stat, gauge, bar gauge, pie chart.
//!
//! `reduceOptions` says which: `{values, calcs, fields, limit}`. With `values` every row of the
//! meant fields is shown, as many as `limit` says, else each field reduced, whatever `limit` says. What
//! is left out is said, unless the panel's own limit left it out. Where the options say neither and a
//! frame has no times, all rows of its first field of numbers are shown: a table reduced to its last row
//! is never what was meant.

use serde::Serialize;
use serde_json::Value as Json;

use super::{Reducer, reduce};
use crate::fields::links::{self, Link};
use crate::fields::scope::Prepared;
use crate::fields::{
    Context, Display, Displayer, FieldConfig, FieldMatcher, Names, display, pattern, scope,
    scope_of,
};
use crate::frame::{Config, Field, Frame, Kind, Notice, Value};
use crate::{effort, limits, size};

/// A value with its title.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// What it is a value of.
    pub title: String,
    /// The value.
    #[serde(flatten)]
    pub display: Display,
    /// The frame that it comes from; its series is the sparkline.
    pub frame: usize,
    /// The field of that frame.
    pub field: usize,
    /// The row, where it is a value and not reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<usize>,
    /// The reducer, where it is reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calc: Option<String>,
    /// The place for colours of a palette.
    pub series_index: usize,
    /// The ends of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// By how many percent the last value differs from the first, for a stat that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_change: Option<f64>,
    /// Where a click leads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The resolved configuration of the field.
    pub config: Config,
}

/// Kinds of panels that show single values.
pub(crate) const KINDS: [&str; 4] = ["stat", "gauge", "bargauge", "piechart"];

/// All values that a panel shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllShown {
    /// The values.
    pub values: Vec<Shown>,
    /// That some are left out.
    pub notice: Option<Notice>,
}

/// The values of a panel of that kind and with those options, none where it shows no single values.
pub fn of_panel(
    kind: &str,
    options: &Json,
    field_config: &FieldConfig<'_>,
    frames: &[Frame],
    context: &Context<'_>,
) -> AllShown {
    if !KINDS.contains(&kind) {
        return AllShown::default();
    }
    let options = options.get("reduceOptions").unwrap_or(&Json::Null);
    shown(options, field_config.json(), frames, context)
}

/// The values of a panel, at most as many as its limit. The frames are resolved before.
pub fn shown(
    reduce_options: &Json,
    field_config: &Json,
    frames: &[Frame],
    context: &Context<'_>,
) -> AllShown {
    let panel = Panel::read(reduce_options, field_config, frames, context);
    let mut made = Made { values: Vec::new(), left_out: 0, left_bytes: limits::MAX_SHOWN_BYTES };
    for frame in 0..frames.len() {
        panel.add_frame(frame, &mut made);
    }
    if made.values.is_empty() {
        made.values.extend(nothing(field_config, context));
    }
    let notice = (made.left_out > 0).then(|| {
        let (count, all) = (made.values.len(), made.values.len().saturating_add(made.left_out));
        Notice::warning(format!("truncated: {count} of {all} values are shown"))
    });
    AllShown { values: made.values, notice }
}

/// Values as they are found.
struct Made {
    values: Vec<Shown>,
    /// How many there was no room for.
    left_out: usize,
    left_bytes: usize,
}

impl Made {
    /// Whether there is room for one more. What there is none for is counted.
    fn has_room(&mut self, limit: usize) -> bool {
        let has_room = self.values.len() < limit && self.left_bytes > 0 && !effort::is_over();
        self.left_out += usize::from(!has_room);
        has_room
    }

    /// Adds a value, which takes room for its texts and its copy of the configuration.
    fn add(&mut self, shown: Shown) {
        let texts = shown.title.len() + shown.display.text.len();
        let bytes = size::config_bytes(&shown.config) + texts;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.values.push(shown);
    }
}

/// What is asked for, and of what.
struct Panel<'a> {
    matcher: Option<FieldMatcher>,
    every_row: Option<bool>,
    calcs: Vec<(String, Reducer)>,
    /// The most rows that the panel itself wants.
    wanted: Option<usize>,
    overrides: &'a [Json],
    frames: &'a [Frame],
    names: Names,
    prepared: Prepared<'a>,
    context: &'a Context<'a>,
}

impl<'a> Panel<'a> {
    fn read(
        options: &Json,
        field_config: &'a Json,
        frames: &'a [Frame],
        context: &'a Context<'a>,
    ) -> Self {
        let fields = options.get("fields").and_then(Json::as_str).filter(|text| !text.is_empty());
        let matcher = fields.map(|text| match text.starts_with('/') {
            true => pattern::compile(text)
                .map_or_else(|_| FieldMatcher::Any(Vec::new()), FieldMatcher::Pattern),
            false => FieldMatcher::Names(vec![text.to_owned()]),
        });
        let calcs = options.get("calcs").and_then(Json::as_array).into_iter().flatten();
        let calcs =
            calcs.filter_map(|id| Some((id.as_str()?.to_owned(), Reducer::from_id(id.as_str()?)?)));
        let mut calcs: Vec<(String, Reducer)> = calcs.collect();
        if calcs.is_empty() {
            calcs.push(("lastNotNull".to_owned(), Reducer::LastNotNull));
        }
        let wanted = options.get("limit").and_then(Json::as_u64).filter(|limit| *limit > 0);
        let overrides = field_config.get("overrides").and_then(Json::as_array);
        Self {
            matcher,
            every_row: options.get("values").and_then(Json::as_bool),
            calcs,
            wanted: wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX)),
            overrides: overrides.map_or(&[], Vec::as_slice),
            frames,
            names: Names::new(frames),
            prepared: Prepared::new(frames, &context.clock),
            context,
        }
    }

    fn add_frame(&self, frame: usize, made: &mut Made) {
        let source = &self.frames[frame];
        let is_table = source.first_of(Kind::Time).is_none() && source.rows() > 1;
        let every_row = self.every_row.unwrap_or(is_table);
        let numbers = FieldMatcher::Kinds(vec![Kind::Number]);
        let matcher = self.matcher.as_ref().unwrap_or(&numbers);
        let mut fields = matcher.fields(self.frames, &self.names, frame);
        if self.every_row.is_none() && every_row && self.matcher.is_none() {
            fields.truncate(1);
        }
        for field in fields {
            let displayer = &self.prepared.displayers[frame][field];
            match every_row {
                true => self.add_rows(frame, field, displayer, made),
                false => self.add_calcs(frame, field, displayer, made),
            }
        }
    }

    fn add_rows(&self, frame: usize, field: usize, displayer: &Displayer<'_>, made: &mut Made) {
        let column = &self.frames[frame].fields[field];
        let limit = self.wanted.unwrap_or(limits::DEFAULT_SHOWN_VALUES);
        for (row, value) in column.values.iter().enumerate() {
            // What the panel itself does not want is not missed.
            if self.wanted.is_some_and(|wanted| made.values.len() >= wanted) {
                return;
            }
            if !made.has_room(limit.min(limits::MAX_SHOWN_VALUES)) {
                continue;
            }
            let title = size::cut(self.row_title(frame, field, row), limits::MAX_NAME_BYTES);
            let mut display = displayer.show(value);
            display.color = self.row_color(&title).or(display.color);
            let scope = scope_of(&self.prepared, frame, field, Some(row), self.context);
            let links = column.config.get("links").unwrap_or(&Json::Null);
            made.add(Shown {
                row: Some(row),
                series_index: made.values.len(),
                links: links::links(links, &scope, self.context.interpolate),
                ..self.plain(frame, field, title, display)
            });
        }
    }

    fn add_calcs(&self, frame: usize, field: usize, displayer: &Displayer<'_>, made: &mut Made) {
        let source = &self.frames[frame];
        let column = &source.fields[field];
        if made.values.len() >= limits::MAX_SHOWN_SERIES {
            made.left_out = made.left_out.saturating_add(self.calcs.len());
            return;
        }
        let reducers: Vec<Reducer> = self.calcs.iter().map(|(_, reducer)| *reducer).collect();
        let change = Reducer::DiffPercent.reduce(column).as_number().filter(|c| c.is_finite());
        for ((id, reducer), value) in self.calcs.iter().zip(reduce(column, &reducers)) {
            if !made.has_room(limits::MAX_SHOWN_SERIES) {
                continue;
            }
            let row = (source.rows() == 1).then_some(0);
            let mut scope = scope_of(&self.prepared, frame, field, row, self.context);
            scope.calculated = Some((id, &value));
            let title = match column.config_text("displayName").filter(|name| name.contains('$')) {
                Some(template) => {
                    let resolve = |name: &str, _: Option<&str>, _: usize| scope.resolve(name);
                    scope::expand(template, &resolve, self.context.interpolate)
                }
                None => self.prepared.name(frame, field).to_owned(),
            };
            let title = size::cut(title, limits::MAX_NAME_BYTES);
            let display = match reducer.keeps_unit() {
                true => displayer.show(&value),
                false => display(&without_unit(column), &value, &self.context.clock),
            };
            let links = column.config.get("links").unwrap_or(&Json::Null);
            made.add(Shown {
                calc: Some(id.clone()),
                percent_change: change,
                links: links::links(links, &scope, self.context.interpolate),
                ..self.plain(frame, field, title, display)
            });
        }
    }

    fn plain(&self, frame: usize, field: usize, title: String, display: Display) -> Shown {
        let column = &self.frames[frame].fields[field];
        let state = column.state.as_ref();
        Shown {
            title,
            display,
            frame,
            field,
            row: None,
            calc: None,
            series_index: state.and_then(|state| state.series_index).unwrap_or(field),
            range: state.and_then(|state| state.range),
            percent_change: None,
            links: Vec::new(),
            config: column.config.clone(),
        }
    }

    /// A row is named by its texts, and by its field where there are other numbers.
    fn row_title(&self, frame: usize, field: usize, row: usize) -> String {
        let source = &self.frames[frame];
        let column = &source.fields[field];
        if let Some(template) = column.config_text("displayName").filter(|name| name.contains('$'))
        {
            let scope = scope_of(&self.prepared, frame, field, Some(row), self.context);
            let resolve = |name: &str, _: Option<&str>, _: usize| scope.resolve(name);
            return scope::expand(template, &resolve, self.context.interpolate);
        }
        let others = || source.fields.iter().enumerate().filter(|(other, _)| *other != field);
        let text = |(at, other): (usize, &Field)| match other.kind {
            Kind::String | Kind::Enum => Some(self.prepared.text(frame, at, other.at(row))),
            _ => None,
        };
        let mut parts: Vec<String> =
            others().filter_map(text).filter(|text| !text.is_empty()).collect();
        if parts.is_empty() || others().any(|(_, other)| other.kind == Kind::Number) {
            parts.push(self.prepared.name(frame, field).to_owned());
        }
        parts.join(" ")
    }

    /// The colour that an override gives to a row by its title.
    fn row_color(&self, title: &str) -> Option<String> {
        let is_row = |rule: &&Json| {
            let matcher = rule.get("matcher");
            let text = |key: &str| matcher.and_then(|m| m.get(key)).and_then(Json::as_str);
            text("id") == Some("byName") && text("options") == Some(title)
        };
        let rule = self.overrides.iter().find(is_row)?;
        let properties = rule.get("properties")?.as_array()?;
        let color =
            properties.iter().find(|property| property.get("id") == Some(&"color".into()))?;
        color.get("value")?.get("fixedColor")?.as_str().map(str::to_owned)
    }
}

/// The field for a result that has not its unit, such as a count.
fn without_unit(field: &Field) -> Field {
    let mut plain = field.with_values(Vec::new());
    plain.state.clone_from(&field.state);
    plain.kind = Kind::Number;
    plain.config.remove("unit");
    plain
}

/// What a panel without data shows, where its configuration has a text for that.
fn nothing(field_config: &Json, context: &Context<'_>) -> Option<Shown> {
    let mut field = Field::new("No data", Kind::Other, Vec::new());
    field.config = field_config.get("defaults").and_then(Json::as_object).cloned()?;
    let display = display(&field, &Value::Null, &context.clock);
    if display.text.is_empty() {
        return None;
    }
    Some(Shown { display, config: field.config, ..Shown::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_room_for_their_texts() {
        let mut made = Made { values: Vec::new(), left_out: 0, left_bytes: 10 };
        let shown = Shown { title: "12345".to_owned(), ..Shown::default() };
        for _ in 0..4 {
            if made.has_room(10) {
                made.add(shown.clone());
            }
        }
        assert_eq!((made.values.len(), made.left_out), (2, 2));
    }
}
