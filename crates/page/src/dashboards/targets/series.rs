//! Names of series as their legends say, and frames of them.

use std::collections::BTreeMap;

use kymo_dash::fields::name::write_labels;
use kymo_dash::frame::{Field, Frame, Labels, Value};
use serde_json::json;

use crate::dashboards::limits::{MAX_POINTS, MAX_SERIES};
use crate::times;

/// A series of numbers: milliseconds and values.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) points: Vec<(i64, f64)>,
}

/// The name of a series: its legend with `{{label}}` put in; `None` if it is to be found from all
/// series together.
pub(super) fn name(legend: &str, labels: &Labels, query: &str) -> Option<String> {
    if legend == "__auto" {
        return labels.is_empty().then(|| query.to_owned());
    }
    if !legend.is_empty() {
        return Some(filled(legend, labels));
    }
    let metric = labels.get("__name__").map_or("", String::as_str);
    let others: Labels = labels
        .iter()
        .filter(|(key, _)| *key != "__name__")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let name = format!("{metric}{}", write_labels(&others));
    Some(if name.is_empty() { query.to_owned() } else { name })
}

/// A legend with labels put in. What is not there is empty, as in Grafana.
pub(in crate::dashboards) fn filled(legend: &str, labels: &Labels) -> String {
    let mut text = String::new();
    let mut rest = legend;
    while let Some(start) = rest.find("{{") {
        let Some(end) = rest[start..].find("}}") else { break };
        text.push_str(&rest[..start]);
        let label = rest[start + 2..start + end].trim();
        text.push_str(labels.get(label).map_or("", String::as_str));
        rest = &rest[start + end + 2..];
    }
    text + rest
}

/// A frame for each series.
pub(super) fn frames(
    series: Vec<Series>,
    legend: &str,
    query: &str,
    step_millis: i64,
) -> Vec<Frame> {
    series.into_iter().map(|series| frame(series, legend, query, step_millis)).collect()
}

fn frame(series: Series, legend: &str, query: &str, step_millis: i64) -> Frame {
    let name = name(legend, &series.labels, query);
    let mut time = Field::time("Time", series.points.iter().map(|(time, _)| *time as f64));
    if step_millis > 0 {
        time = time.with_config("interval", step_millis);
    }
    let numbers = series.points.iter().map(|(_, value)| Some(*value));
    let mut value = Field::number("Value", numbers).with_labels(series.labels);
    if let Some(name) = &name {
        value = value.with_config("displayNameFromDS", json!(name));
    }
    Frame::new(vec![time, value]).with_name(name.unwrap_or_default())
}

/// One frame of the last point of each series: labels are columns.
pub(super) fn table(series: &[Series], value_name: &str) -> Frame {
    let mut keys: Vec<&String> = series.iter().flat_map(|series| series.labels.keys()).collect();
    keys.sort();
    keys.dedup();
    let rows: Vec<(&Series, (i64, f64))> = series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, *point)))
        .collect();
    let mut fields = vec![Field::time("Time", rows.iter().map(|(_, (time, _))| *time as f64))];
    for key in keys {
        let texts = rows.iter().map(|(series, _)| series.labels.get(key).map(String::as_str));
        fields.push(Field::text(key.clone(), texts).with_config("filterable", true));
    }
    fields.push(Field::number(value_name, rows.iter().map(|(_, (_, value))| Some(*value))));
    Frame::new(fields)
}

/// Cumulative buckets as rows of a heat map: one field for each bound, each without what is in the
/// ones below it.
pub(super) fn heat_map(mut series: Vec<Series>) -> Frame {
    let bound = |series: &Series| -> f64 {
        let le = series.labels.get("le").map_or("", String::as_str);
        if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap_or(f64::NAN) }
    };
    series.retain(|series| !bound(series).is_nan());
    series.sort_by(|left, right| bound(left).total_cmp(&bound(right)));
    let mut times: Vec<i64> =
        series.iter().flat_map(|s| s.points.iter().map(|(t, _)| *t)).collect();
    times.sort_unstable();
    times.dedup();
    let mut below = vec![0.0; times.len()];
    let mut fields = vec![Field::time("Time", times.iter().map(|time| *time as f64))];
    for series in series {
        let name = series.labels.get("le").cloned().unwrap_or_default();
        let mut cells = vec![None; times.len()];
        for (time, value) in &series.points {
            if let Ok(place) = times.binary_search(time) {
                // Rounding may let a bucket seem smaller than the one below.
                cells[place] = Some((value - below[place]).max(0.0));
                below[place] = *value;
            }
        }
        fields.push(Field::number(name, cells).with_labels(series.labels));
    }
    let mut frame = Frame::new(fields);
    frame.meta.insert("type".to_owned(), json!("heatmap-rows"));
    frame
}

/// Cuts what nobody can tell apart, and what a panel has no room for, and says so.
pub(super) fn cut(series: &mut Vec<Series>) -> Option<String> {
    let count = series.len();
    let mut points = 0;
    let fitting = series.iter().take(MAX_SERIES).take_while(|series| {
        points += series.points.len();
        points <= MAX_POINTS
    });
    // One series alone always fits: it has as many points as may be asked for.
    let shown = fitting.count().max(1);
    if count <= shown {
        return None;
    }
    series.truncate(shown);
    Some(format!("truncated: {shown} of {count} series are shown"))
}

/// A number as a cell, nanoseconds as milliseconds.
pub(super) fn millis(nanos: i64) -> Value {
    Value::Number(times::millis(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn legends_are_filled_and_names_found() {
        let one = labels(&[("__name__", "up"), ("gpu", "0")]);
        let named = |legend: &str| name(legend, &one, "q").unwrap();
        assert_eq!(named("GPU {{gpu}}/{{ gpu }} {{none}}!"), "GPU 0/0 !");
        assert_eq!(named("{{gpu"), "{{gpu");
        assert_eq!(named(""), "up{gpu=\"0\"}");
        assert_eq!(name("__auto", &one, "q"), None);
        assert_eq!(name("__auto", &labels(&[]), "q").unwrap(), "q");
        assert_eq!(name("", &labels(&[]), "sum(x)").unwrap(), "sum(x)");
    }

    #[test]
    fn a_panel_gets_as_many_series_as_it_has_room_for() {
        let series = |points: usize| Series { points: vec![(0, 0.0); points], ..Series::default() };
        let mut few = vec![series(10), series(10)];
        assert_eq!((cut(&mut few), few.len()), (None, 2));
        let mut many: Vec<Series> = (0..MAX_SERIES + 1).map(|_| series(1)).collect();
        assert_eq!(cut(&mut many).unwrap(), "truncated: 5000 of 5001 series are shown");
        let mut long: Vec<Series> = (0..3).map(|_| series(MAX_POINTS / 2)).collect();
        assert_eq!(cut(&mut long).unwrap(), "truncated: 2 of 3 series are shown");
        assert_eq!(cut(&mut vec![series(MAX_POINTS + 1)]), None);
        assert_eq!(cut(&mut Vec::new()), None);
    }

    #[test]
    fn buckets_of_a_heat_map_are_not_cumulative() {
        let series = |le: &str, values: [f64; 2]| Series {
            labels: labels(&[("le", le)]),
            points: vec![(1, values[0]), (2, values[1])],
        };
        let frame = heat_map(vec![
            series("+Inf", [9.0, 9.0]),
            series("0.5", [1.0, 2.0]),
            series("10", [4.0, 1.0]),
        ]);
        let shown: Vec<(String, Vec<f64>)> = frame.fields[1..]
            .iter()
            .map(|field| {
                (field.name.clone(), field.values.iter().filter_map(Value::as_number).collect())
            })
            .collect();
        let expected = [("0.5", [1.0, 2.0]), ("10", [3.0, 0.0]), ("+Inf", [5.0, 8.0])];
        assert_eq!(shown, expected.map(|(name, values)| (name.to_owned(), values.to_vec())));
    }
}
