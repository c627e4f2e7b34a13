//! `POST /api/dashboards/query`: data of panels, one line of JSON for each as it is ready.
//!
//! Each panel's queries run one after the other, a few panels at a time. A panel that fails says so in
//! its line and fails no other. Who hangs up ends what runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use futures::{StreamExt, stream};
use http::StatusCode;
use kymo_dash::effort;
use kymo_dash::fields;
use kymo_dash::fields::units::Clock;
use kymo_dash::frame::{self, Frame, Kind, Notice};
use kymo_dash::interpolate::{Context, Style, TimeRange};
use kymo_dash::layout::{Scope, panel_of};
use kymo_dash::limits::MAX_CELLS;
use kymo_dash::model::read;
use kymo_dash::model::{Answerer, Choice, Language, Panel, Target};
use kymo_dash::reduce::shown::{self, Shown};
use kymo_dash::report::answerer_of;
use kymo_dash::transform;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::asked::{self, About};
use super::layout::{filled_time, scoped};
use super::limits::{MAX_PANELS_ASKED, PANELS_AT_ONCE, SHAPED_WITHIN};
use super::range::{self, Calendar};
use super::resolve::{Options, filters, resolve};
use super::targets::{EXEMPLARS, Given, Question, Wrong, points};
use crate::answer::{Failed, Who, Whose, typed};
use crate::{Page, times};

/// What is asked of panels beside what all questions have.
#[derive(Deserialize)]
struct AskedPanels {
    panels: Vec<AskedPanel>,
}

/// A panel that is asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedPanel {
    /// As the layout names it.
    key: String,
    /// As the layout says it: values that hold for this copy.
    #[serde(default)]
    scope: BTreeMap<String, Scoped>,
    max_data_points: Option<i64>,
}

/// A value, or a value with what is shown for it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scoped {
    Value(String),
    Choice { text: String, value: String },
}

impl AskedPanel {
    fn scope(&self) -> Scope {
        let choice = |scoped: &Scoped| match scoped {
            Scoped::Value(value) => Choice::plain(value.as_str()),
            Scoped::Choice { text, value } => Choice { text: text.clone(), value: value.clone() },
        };
        self.scope.iter().map(|(name, scoped)| (name.clone(), choice(scoped))).collect()
    }
}

pub(super) async fn query(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let (asked, AskedPanels { panels }) = asked::read(&page, body).await?;
    if panels.len() > MAX_PANELS_ASKED {
        return Err(Failed::Invalid(format!(
            "at most {MAX_PANELS_ASKED} panels are asked at once"
        )));
    }
    let about = asked.about(&page, tenants, &by).await?;
    let (about, _) = resolve(&page, about, Options::AsNeeded).await?;
    let about = Arc::new(about);
    let lines = stream::iter(panels)
        .map(move |panel| line(page.clone(), about.clone(), panel))
        .buffer_unordered(PANELS_AT_ONCE);
    let body = Body::from_stream(lines.map(Ok::<_, std::convert::Infallible>).fuse());
    Ok(typed(StatusCode::OK, "application/x-ndjson", body))
}

/// The line of a panel.
async fn line(page: Page, about: Arc<About>, asked: AskedPanel) -> String {
    let key = asked.key.clone();
    let answered = answered(&page, &about, &asked).await;
    // Many numbers become text on the engine's threads, not on those that acknowledge.
    let written = page.engine.blocking(move || match answered {
        Ok(done) => serde_json::to_string(&Line {
            panel: &key,
            frames: &done.frames,
            notices: &done.notices,
            queries: &done.queries,
            shown: &done.shown,
            error: done.wrong.first(),
            errors: &done.wrong,
        })
        .unwrap_or_else(|error| failed(&key, &error.to_string(), 500)),
        Err(why) => failed(&key, &why, 404),
    });
    let text = written.await.unwrap_or_else(|error| failed(&asked.key, &error.to_string(), 503));
    text + "\n"
}

/// A line as it is written.
#[derive(Serialize)]
struct Line<'a> {
    panel: &'a str,
    frames: &'a [Frame],
    notices: &'a [Notice],
    queries: &'a [Value],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    shown: &'a [Shown],
    /// The first of the errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Wrong>,
    /// Those of all queries that failed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [Wrong],
}

/// The line of a panel that could not be asked.
fn failed(key: &str, why: &str, status: u16) -> String {
    json!({
        "panel": key, "frames": [], "notices": [],
        "error": {"message": why, "query": "", "status": status},
    })
    .to_string()
}

/// What a panel shows.
#[derive(Default)]
struct Done {
    frames: Vec<Frame>,
    /// The single values of a panel that shows such.
    shown: Vec<Shown>,
    notices: Vec<Notice>,
    wrong: Vec<Wrong>,
    /// What was asked, with variables put in.
    queries: Vec<Value>,
}

async fn answered(page: &Page, about: &Arc<About>, asked: &AskedPanel) -> Result<Done, String> {
    let find = |id: i64| about.inspected.dashboard.panels().find(|panel| panel.id == id);
    let panel = panel_of(&asked.key).and_then(find);
    let panel = panel.ok_or_else(|| format!("there is no panel {}", asked.key))?;
    let mut context = scoped(&about.context, &asked.scope());
    let (time, notices) = own_time(panel, &context, about.calendar);
    context.time = time;
    let mut done = targets(page, about, panel, &context, asked.max_data_points).await;
    done.notices.splice(..0, notices);
    context.interval_millis = kymo_dash::interpolate::interval::interval(
        context.time.to_millis - context.time.from_millis,
        points(panel, asked.max_data_points),
        1,
    );
    let (frames, about_, panel_id) = (std::mem::take(&mut done.frames), about.clone(), panel.id);
    // What is made of many rows is made on the engine's threads.
    let shaping = move || {
        let panel = about_.inspected.dashboard.panels().find(|panel| panel.id == panel_id);
        let shape = |panel| shaped(panel, steps_before(&about_, panel, &context), frames, &context);
        effort::within(SHAPED_WITHIN, || panel.map(shape))
    };
    let shaped = page.engine.blocking(shaping).await.map_err(|error| error.to_string())?;
    let shaped = shaped.ok_or("the panel is gone")?;
    done.frames = shaped.frames;
    done.shown = shaped.shown;
    done.notices.extend(shaped.notices);
    Ok(done)
}

/// The panel's own time, if it has one, and what of it is not understood.
fn own_time(panel: &Panel, context: &Context, calendar: Calendar) -> (TimeRange, Vec<Notice>) {
    let mut time = context.time;
    let mut notices = Vec::new();
    if let Some(text) = filled_time(panel.time_from.as_deref(), context) {
        match range::own(time, &text, calendar) {
            Some(own) => time = own,
            None => notices.push(Notice::warning(format!(
                "the panel's own time {text:?} is not understood: expected 6h, now-1d/d or now/d"
            ))),
        }
    }
    if let Some(text) = filled_time(panel.time_shift.as_deref(), context) {
        match range::shifted(time, &text, calendar) {
            Some(shifted) => time = shifted,
            None => notices.push(Notice::warning(format!(
                "the panel's time shift {text:?} is not understood: expected 6h or 1d/d"
            ))),
        }
    }
    (time, notices)
}

/// The queries of a panel, those of the panel that it takes its data from included.
fn queries<'a>(
    about: &'a About,
    panel: &'a Panel,
    context: &Context,
    notices: &mut Vec<Notice>,
) -> Vec<(&'a Panel, &'a Target, Language)> {
    let mut found = Vec::new();
    for target in shown(panel) {
        match answerer_of(panel.source_of(target), &target.query, context) {
            Answerer::Ours(language) => found.push((panel, target, language)),
            Answerer::Nobody(why) if panel.shows_data() => {
                notices.push(Notice::warning(format!("query {}: {why}", target.ref_id)));
            }
            Answerer::Nobody(_) => {}
            Answerer::Panel(id) => {
                let Some(other) = about.inspected.dashboard.panels().find(|p| p.id == id) else {
                    let why = format!("there is no panel {id} to take data from");
                    notices.push(Notice::warning(why));
                    continue;
                };
                if transforms_before(target) && shown(panel).nth(1).is_some() {
                    notices.push(Notice::warning(format!(
                        "query {}: the data of panel {id} is not transformed as it is there, since \
                         there are other queries beside it",
                        target.ref_id
                    )));
                }
                for target in shown(other) {
                    match answerer_of(other.source_of(target), &target.query, context) {
                        Answerer::Ours(language) => found.push((other, target, language)),
                        Answerer::Nobody(why) => notices.push(Notice::warning(why)),
                        Answerer::Panel(_) => notices.push(Notice::warning(
                            "it takes data from a panel that takes data from another",
                        )),
                    }
                }
            }
        }
    }
    found
}

fn shown(panel: &Panel) -> impl Iterator<Item = &Target> {
    panel.targets.iter().filter(|target| !target.is_hidden)
}

/// Whether a query wants another panel's data as it is transformed there.
fn transforms_before(target: &Target) -> bool {
    read::is_true(&target.query, "withTransforms")
}

/// Asks the queries of a panel, one after the other.
async fn targets(
    page: &Page,
    about: &About,
    panel: &Panel,
    context: &Context,
    asked_points: Option<i64>,
) -> Done {
    let mut done = Done::default();
    let queries = queries(about, panel, context, &mut done.notices);
    let is_one_of_several = queries.len() > 1;
    let mut left_cells = MAX_CELLS;
    for (of, target, language) in queries {
        let filters = filters(about, language);
        let mut context = context.clone();
        if of.id != panel.id {
            // What another panel shows is over its time, not over this one's.
            context.time = about.context.time;
            let (time, notices) = own_time(of, &context, about.calendar);
            context.time = time;
            let new = notices.into_iter().filter(|notice| !done.notices.contains(notice));
            let new: Vec<Notice> = new.collect();
            done.notices.extend(new);
        }
        let question = Question {
            page,
            tenants: &about.tenants,
            panel: of,
            target,
            context,
            points: points(of, asked_points),
            filters: &filters,
            is_one_of_several,
        };
        match question.ask(language).await {
            Ok(Given { frames, notices, query }) => {
                done.queries.push(asked_query(&target.ref_id, language, &query));
                done.notices.extend(notices);
                let count = frames.len();
                let fitting = frames.into_iter().take_while(|frame| takes(&mut left_cells, frame));
                let before = done.frames.len();
                done.frames.extend(fitting);
                let shown = done.frames.len() - before;
                if shown < count {
                    done.notices.push(Notice::warning(format!(
                        "truncated: {shown} of {count} frames of query {} are shown: a panel has room \
                         for {MAX_CELLS} cells",
                        target.ref_id
                    )));
                }
            }
            Err(wrong) => {
                done.queries.push(asked_query(&target.ref_id, language, &wrong.query));
                done.wrong.push(wrong);
            }
        }
    }
    done
}

/// Takes the room of a frame, if there is enough.
fn takes(left_cells: &mut usize, frame: &Frame) -> bool {
    let left = left_cells.checked_sub(cells(frame));
    *left_cells = left.unwrap_or(*left_cells);
    left.is_some()
}

/// The cells of a frame, those of tables within it included.
fn cells(frame: &Frame) -> usize {
    let within = |value: &frame::Value| match value {
        frame::Value::Frame(inner) => cells(inner),
        _ => 0,
    };
    let of_field = |field: &frame::Field| {
        let is_nested = field.kind == Kind::Frame;
        let nested = field.values.iter().filter(|_| is_nested).map(within);
        field.values.len() + nested.sum::<usize>()
    };
    frame.fields.iter().map(of_field).sum()
}

fn asked_query(ref_id: &str, language: Language, query: &str) -> Value {
    json!({"refId": ref_id, "language": language, "query": query})
}

/// What a panel draws.
struct Shaped {
    frames: Vec<Frame>,
    shown: Vec<Shown>,
    notices: Vec<Notice>,
}

/// The transformations of the panel that the data comes from, where they are wanted.
fn steps_before<'a>(about: &'a About, panel: &Panel, context: &Context) -> &'a [Value] {
    let mut targets = shown(panel);
    let (Some(target), None) = (targets.next(), targets.next()) else { return &[] };
    let answerer = answerer_of(panel.source_of(target), &target.query, context);
    let Answerer::Panel(id) = answerer else { return &[] };
    if !transforms_before(target) {
        return &[];
    }
    let other = about.inspected.dashboard.panels().find(|other| other.id == id);
    other.map_or(&[][..], |other| other.transformations.as_slice())
}

/// Frames after all transformations, those of where they come from first, and with the configuration of
/// their fields.
fn shaped(panel: &Panel, before: &[Value], frames: Vec<Frame>, context: &Context) -> Shaped {
    // Exemplars are beside the series, and no values of the panel's.
    let (mut exemplars, frames): (Vec<_>, Vec<_>) =
        frames.into_iter().partition(|frame| frame.name == EXEMPLARS);
    let fill = |text: &str| context.fill(text, Style::Glob);
    let with = transform::Context { interpolate: &fill, zone: context.zone };
    let earlier = transform::apply(before, frames, &with);
    let mut made = transform::apply(&panel.transformations, earlier.frames, &with);
    made.notices.splice(..0, earlier.notices);
    let url_time_range = context.fill("${__url_time_range}", Style::Glob);
    let clock = Clock { zone: context.zone, now_millis: times::millis(times::now_nanos()) };
    let with = fields::Context { interpolate: &fill, url_time_range: &url_time_range, clock };
    let field_config = fields::of_kind(&panel.field_config, &panel.kind);
    made.notices.extend(fields::resolve(&field_config, &mut made.frames, &with));
    let calcs = panel.options.get("legend").and_then(|legend| legend.get("calcs"));
    let calcs = calcs.and_then(Value::as_array).into_iter().flatten();
    let calcs: Vec<&str> = calcs.filter_map(Value::as_str).collect();
    fields::add_calcs(&mut made.frames, &calcs);
    let shown = shown::of_panel(&panel.kind, &panel.options, &field_config, &made.frames, &with);
    made.notices.extend(shown.notice);
    // What is wrong with the configuration is said of the series.
    fields::resolve(&field_config, &mut exemplars, &with);
    made.frames.extend(exemplars);
    if effort::is_over() {
        let seconds = SHAPED_WITHIN.as_secs();
        let why =
            format!("truncated: what the panel makes of its data takes more than {seconds} s");
        made.notices.push(Notice::warning(why));
    }
    Shaped { frames: made.frames, shown: shown.values, notices: made.notices }
}
