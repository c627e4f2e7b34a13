//! `POST /api/dashboards/annotations`: what a dashboard's annotation queries give, as marks over its
//! panels. It is a request of its own, so that panels are laid out before they answer.
//!
//! A query is asked as one of a panel is. Of numbers, points of at least 1 are marks, and points that
//! follow each other at the query's step are one mark that lasts; of lines and tables, each row is a
//! mark. What fails or takes too long is said, and keeps no panel from being shown.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use futures::future::join_all;
use kymo_dash::frame::{Field, Frame, Kind, Labels, Value};
use kymo_dash::interpolate::Style;
use kymo_dash::model::{Annotation, Answerer, Dashboard, Language, Panel, PanelFilter, Target};
use kymo_dash::report::answerer_of;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::asked::{self, About};
use super::limits::{ANNOTATIONS_WITHIN_SECS, MAX_ANNOTATIONS, MAX_MARKS};
use super::resolve::{Options, filters, resolve};
use super::targets::{Question, points, with_labels};
use crate::Page;
use crate::answer::{Failed, Who, Whose, json as answer};

/// The step of a query that says none, as Grafana has it.
const USUAL_STEP: &str = "60s";

/// What is asked of annotations beside what all questions have.
#[derive(Deserialize)]
struct AskedAnnotations {
    /// Which are switched on or off, by name; the others are as the dashboard says.
    #[serde(default)]
    annotations: BTreeMap<String, bool>,
}

pub(super) async fn annotations(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let (asked, AskedAnnotations { annotations: switches }) = asked::read(&page, body).await?;
    let about = asked.about(&page, tenants, &by).await?;
    let (about, _) = resolve(&page, about, Options::AsNeeded).await?;
    let marked = marks(&page, &about, &switches).await;
    answer(&json!({"annotations": marked.marks, "notices": marked.notices}))
}

/// What a dashboard has, for the layout to list: what can be switched, and how it is as written.
pub(super) fn listed(dashboard: &Dashboard) -> Vec<Json> {
    let one = |annotation: Annotation| {
        json!({
            "name": annotation.name,
            "enable": annotation.is_enabled,
            "hide": annotation.is_hidden,
            "iconColor": annotation.color,
        })
    };
    dashboard.asking_annotations().map(one).collect()
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Mark {
    /// Milliseconds since 1970.
    time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_end: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<String>,
    /// The panels that it is meant for, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    panels: Option<PanelFilter>,
}

/// The marks of a dashboard, and what could not be found out.
#[derive(Debug, Default)]
struct Marks {
    marks: Vec<Mark>,
    notices: Vec<String>,
}

/// Asks all annotations that are switched on at once. The dashboard's variables are resolved before.
async fn marks(page: &Page, about: &About, switches: &BTreeMap<String, bool>) -> Marks {
    let is_on = |annotation: &Annotation| {
        switches.get(&annotation.name).copied().unwrap_or(annotation.is_enabled)
    };
    let mut asking: Vec<Annotation> =
        about.inspected.dashboard.asking_annotations().filter(is_on).collect();
    let is_cut = asking.len() > MAX_ANNOTATIONS;
    asking.truncate(MAX_ANNOTATIONS);
    let within = Duration::from_secs(ANNOTATIONS_WITHIN_SECS);
    let mut asked = Vec::new();
    for annotation in &asking {
        asked.push(tokio::time::timeout(within, ask(page, about, annotation)));
    }
    let answers = join_all(asked).await;
    let (mut all, mut is_more) = (Marks::default(), false);
    if is_cut {
        all.notices.push(format!("only the first {MAX_ANNOTATIONS} annotations are asked"));
    }
    for (annotation, answer) in asking.iter().zip(answers) {
        let name = &annotation.name;
        match answer {
            Ok(Ok((marks, is_cut))) => {
                all.marks.extend(marks);
                is_more |= is_cut;
            }
            Ok(Err(why)) => all.notices.push(format!("annotation `{name}`: {why}")),
            Err(_) => all.notices.push(format!(
                "annotation `{name}`: there was no answer within {ANNOTATIONS_WITHIN_SECS} s"
            )),
        }
    }
    if newest(&mut all.marks) || is_more {
        all.notices.push(format!("truncated: the newest {MAX_MARKS} marks are shown"));
    }
    all
}

/// Puts marks in order, and leaves the newest that are shown. Says whether there were more.
fn newest(marks: &mut Vec<Mark>) -> bool {
    marks.sort_by_key(|mark| mark.time);
    let left_out = marks.len().saturating_sub(MAX_MARKS);
    marks.drain(..left_out);
    left_out > 0
}

/// The newest marks of an annotation, and whether there are more.
async fn ask(
    page: &Page,
    about: &About,
    annotation: &Annotation,
) -> Result<(Vec<Mark>, bool), String> {
    let answerer = answerer_of(annotation.source.as_ref(), &annotation.query, &about.context);
    // The report says of the others that they are not asked.
    let Answerer::Ours(language) = answerer else { return Ok((Vec::new(), false)) };
    let (panel, target) = (Panel::default(), target(annotation, language));
    let filters = filters(about, language);
    let question = Question {
        page,
        tenants: &about.tenants,
        panel: &panel,
        target: &target,
        context: about.context.clone(),
        points: points(&panel, None),
        filters: &filters,
        is_one_of_several: false,
    };
    let given = question.ask(language).await.map_err(|wrong| wrong.message)?;
    let fill = |text: &str| about.context.fill(text, Style::Text);
    let words = Words {
        annotation: annotation.clone(),
        title: fill(&annotation.title_format),
        text: fill(&annotation.text_format),
    };
    // Thousands of series may have thousands of marks each: not on the threads that acknowledge, and no
    // more of them at once than those of one series beside the newest of all.
    let marking = move || {
        let (mut marks, mut is_more) = (Vec::new(), false);
        for frame in &given.frames {
            marks.extend(words.marks(frame, language));
            is_more |= newest(&mut marks);
        }
        (marks, is_more)
    };
    page.engine.blocking(marking).await.map_err(|error| error.to_string())
}

/// The query as one of a panel: over the time, and as a table where there is a choice.
fn target(annotation: &Annotation, language: Language) -> Target {
    let mut query = annotation.query.clone();
    if language == Language::Promql {
        let step = query.get("step").filter(|step| !step.is_null()).cloned();
        let step = step.unwrap_or_else(|| json!(USUAL_STEP));
        query.entry("interval").or_insert(step);
        query.extend([("instant".to_owned(), json!(false)), ("range".to_owned(), json!(true))]);
        query.remove("format");
    }
    if language == Language::Sql {
        query.insert("format".to_owned(), json!("table"));
    }
    Target { ref_id: "Anno".to_owned(), query, ..Target::default() }
}

/// What is said of marks.
struct Words {
    annotation: Annotation,
    /// With variables put in, but not labels.
    title: String,
    text: String,
}

impl Words {
    fn marks(&self, frame: &Frame, language: Language) -> Vec<Mark> {
        match frame.fields.as_slice() {
            [time, values]
                if language != Language::Sql
                    && time.kind == Kind::Time
                    && values.kind == Kind::Number =>
            {
                self.of_series(time, values)
            }
            _ => self.of_rows(frame),
        }
    }

    fn mark(&self, time: f64, labels: &Labels) -> Mark {
        let title = with_labels(&self.title, labels);
        let tags = self.annotation.tag_keys.iter().filter_map(|key| labels.get(key));
        Mark {
            time: time as i64,
            title: if title.is_empty() { self.annotation.name.clone() } else { title },
            text: with_labels(&self.text, labels),
            tags: tags.cloned().collect(),
            color: self.annotation.color.clone(),
            panels: self.annotation.panels.clone(),
            ..Mark::default()
        }
    }

    fn of_series(&self, time: &Field, values: &Field) -> Vec<Mark> {
        let step = time.config.get("interval").and_then(Json::as_f64).unwrap_or(0.0);
        let mut marks: Vec<Mark> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for (at, value) in time.values.iter().zip(&values.values) {
            let (Some(at), Some(value)) = (at.as_number(), value.as_number()) else { continue };
            if self.annotation.uses_value_for_time {
                marks.push(self.mark(value, &values.labels));
                continue;
            }
            if value.is_nan() || value < 1.0 {
                continue;
            }
            match marks.last_mut() {
                Some(mark) if at - last <= step => mark.time_end = Some(at as i64),
                _ => marks.push(self.mark(at, &values.labels)),
            }
            last = at;
        }
        marks
    }

    fn of_rows(&self, frame: &Frame) -> Vec<Mark> {
        let named = |names: &[&str]| {
            let is =
                |field: &&Field| names.iter().any(|name| field.name.eq_ignore_ascii_case(name));
            frame.fields.iter().find(is)
        };
        let Some(time) = named(&["time"]).or_else(|| frame.first_of(Kind::Time)) else {
            return Vec::new();
        };
        let end = named(&["timeEnd", "time_end"]);
        let (title, tags, labels) = (named(&["title"]), named(&["tags"]), named(&["labels"]));
        let text = named(&["text", "line", "traceName", "name"]);
        let text = text.or_else(|| frame.first_of(Kind::String));
        let cell =
            |field: Option<&Field>, row| field.map(|f| f.at(row).to_text()).unwrap_or_default();
        let mark = |row: usize| {
            let mut mark = self.mark(millis(time, row)?, &labels_in(labels, row));
            mark.time_end = end.and_then(|end| millis(end, row)).map(|end| end as i64);
            let (title, text) = (cell(title, row), cell(text, row));
            if self.title.is_empty() && !title.is_empty() {
                mark.title = title;
            }
            if self.text.is_empty() {
                mark.text = text;
            }
            let tags = cell(tags, row);
            let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
            mark.tags.extend(tags.map(str::to_owned));
            Some(mark)
        };
        (0..frame.rows()).filter_map(mark).collect()
    }
}

/// A time of a row. Numbers may be seconds, as old queries give.
fn millis(field: &Field, row: usize) -> Option<f64> {
    let at = field.at(row).to_number().filter(|at| at.is_finite())?;
    Some(if field.kind != Kind::Time && at < 1e11 { at * 1_000.0 } else { at })
}

/// The labels that stand beside a line.
fn labels_in(field: Option<&Field>, row: usize) -> Labels {
    let Some(Value::Object(json)) = field.map(|field| field.at(row)) else {
        return Labels::new();
    };
    let label = |(key, value): (&String, &Json)| Some((key.clone(), value.as_str()?.to_owned()));
    json.as_object().into_iter().flatten().filter_map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(annotation: &Annotation) -> Words {
        let (title, text) = (annotation.title_format.clone(), annotation.text_format.clone());
        Words { annotation: annotation.clone(), title, text }
    }

    #[test]
    fn points_that_follow_each_other_are_one_mark_that_lasts() {
        let annotation = Annotation {
            name: "Restarts".to_owned(),
            title_format: "{{host}} restarted".to_owned(),
            tag_keys: vec!["host".to_owned(), "none".to_owned()],
            ..Annotation::default()
        };
        let labels = Labels::from([("host".to_owned(), "a".to_owned())]);
        let times = [0.0, 60e3, 120e3, 300e3, 360e3];
        let values = [Some(0.0), Some(1.0), Some(2.0), Some(f64::NAN), Some(3.0)];
        let frame = Frame::new(vec![
            Field::time("Time", times).with_config("interval", 60_000),
            Field::number("Value", values).with_labels(labels),
        ]);
        let marks = words(&annotation).marks(&frame, Language::Promql);
        let shown: Vec<(i64, Option<i64>)> = marks.iter().map(|m| (m.time, m.time_end)).collect();
        assert_eq!(shown, [(60_000, Some(120_000)), (360_000, None)]);
        assert_eq!((marks[0].title.as_str(), marks[0].tags.len()), ("a restarted", 1));
    }

    #[test]
    fn the_newest_marks_are_left() {
        let mark = |time| Mark { time, ..Mark::default() };
        let mut marks: Vec<Mark> = (0..MAX_MARKS as i64 + 2).rev().map(mark).collect();
        assert!(newest(&mut marks));
        assert_eq!((marks.len(), marks[0].time), (MAX_MARKS, 2));
        assert!(!newest(&mut marks));
    }

    #[test]
    fn a_value_may_be_a_time() {
        let annotation = Annotation { uses_value_for_time: true, ..Annotation::default() };
        let frame =
            Frame::new(vec![Field::time("Time", [1.0]), Field::number("Value", [Some(5e12)])]);
        let marks = words(&annotation).marks(&frame, Language::Promql);
        assert_eq!(marks[0].time, 5_000_000_000_000);
    }

    #[test]
    fn each_row_of_a_table_is_a_mark() {
        let annotation = Annotation { name: "Deploys".to_owned(), ..Annotation::default() };
        let frame = Frame::new(vec![
            Field::number("time", [Some(1_700_000_000.0), None]),
            Field::number("timeend", [Some(1.0), None]),
            Field::text("text", [Some("v2"), Some("v3")]),
            Field::text("tags", [Some("a, b"), None]),
        ]);
        let marks = words(&annotation).marks(&frame, Language::Sql);
        assert_eq!(marks.len(), 1, "a row without a time is none");
        assert_eq!((marks[0].time, marks[0].time_end), (1_700_000_000_000, Some(1_000)));
        assert_eq!((marks[0].title.as_str(), marks[0].text.as_str()), ("Deploys", "v2"));
        assert_eq!(marks[0].tags, ["a", "b"]);
    }
}
