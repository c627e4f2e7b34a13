//! What of a dashboard works here: each panel and variable is full, partial or unsupported, with reasons
//! in words. Nothing is asked of the store.
//!
//! | module | what it looks at |
//! |---|---|
//! | `options` | options of panels that are not heeded |
//! | `patterns` | regular expressions that cannot be read |

mod options;
mod patterns;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::interpolate::{Context, Held, Style};
use crate::migrate::{Migrated, NotADashboard, Note, migrate};
use crate::model::panel::DRAWN;
use crate::model::read::{self, Object};
use crate::model::source::{Answerer, Language, SourceRef, answerer};
use crate::model::variable::VariableKind;
use crate::model::{Dashboard, Panel, Target, Variable};

/// Matchers of overrides that are understood.
const MATCHERS: [&str; 14] = [
    "byName",
    "byNames",
    "byRegexp",
    "byRegexpOrNames",
    "byType",
    "byTypes",
    "byFrameRefID",
    "byValue",
    "numeric",
    "time",
    "first",
    "firstTimeField",
    "readOnly",
    "anyMatch",
];

/// How much of something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All.
    Full,
    /// Some of it.
    Partial,
    /// Nothing: it is shown as a table, or not at all.
    Unsupported,
}

/// What of a dashboard works here.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// Its id, as it is written.
    pub uid: String,
    /// Panels that work fully, partly, not.
    pub counts: Counts,
    /// What is to be said of the whole.
    pub notes: Vec<Note>,
    /// By panel, without rows.
    pub panels: Vec<PanelReport>,
    /// By variable.
    pub variables: Vec<VariableReport>,
}

/// How many panels are what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Of which all works.
    pub full: usize,
    /// Of which some works.
    pub partial: usize,
    /// Of which nothing works.
    pub unsupported: usize,
}

/// What of a panel works.
#[derive(Debug, Clone, Serialize)]
pub struct PanelReport {
    /// Its id.
    pub id: i64,
    /// Its title, as it is written.
    pub title: String,
    /// What it is drawn as.
    #[serde(rename = "type")]
    pub kind: String,
    /// How much works.
    pub status: Status,
    /// Why not all.
    pub reasons: Vec<String>,
    /// What is different but not lost.
    pub changes: Vec<String>,
}

/// What of a variable works.
#[derive(Debug, Clone, Serialize)]
pub struct VariableReport {
    /// Its name.
    pub name: String,
    /// Its kind, as it is written.
    #[serde(rename = "type")]
    pub kind: String,
    /// How much works.
    pub status: Status,
    /// Why not all.
    pub reasons: Vec<String>,
}

/// A dashboard that was looked at.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// It, brought up to date.
    pub migrated: Migrated,
    /// It, as this crate understands it.
    pub dashboard: Dashboard,
    /// What of it works.
    pub report: Report,
}

/// Looks at a dashboard.
pub fn report(original: &Value) -> Result<Inspected, NotADashboard> {
    let migrated = migrate(original)?;
    let dashboard = Dashboard::read(&migrated.json);
    let context = sources_of(&dashboard);
    let panels: Vec<PanelReport> =
        dashboard.panels().map(|panel| panel_report(panel, &migrated, &context)).collect();
    let mut counts = Counts::default();
    for panel in &panels {
        match panel.status {
            Status::Full => counts.full += 1,
            Status::Partial => counts.partial += 1,
            Status::Unsupported => counts.unsupported += 1,
        }
    }
    let mut notes = migrated.general.0.clone();
    notes.extend(annotation_notes(&dashboard, &context));
    let report = Report {
        title: dashboard.title.clone(),
        uid: dashboard.uid.clone(),
        counts,
        notes,
        panels,
        variables: dashboard.variables.iter().map(|v| variable_report(v, &context)).collect(),
    };
    Ok(Inspected { migrated, dashboard, report })
}

/// Variables that name data sources, with ours for them: what queries refer to.
pub fn sources_of(dashboard: &Dashboard) -> Context {
    let mut context = Context::default();
    for variable in dashboard.variables.iter().filter(|v| v.kind == VariableKind::Datasource) {
        let kind = variable.query_text();
        let uid = Language::of_kind(kind).map(|language| language.source().uid);
        // What is not ours keeps its kind, so that the reason can name it.
        let value = uid.map_or_else(|| format!("type {kind}"), str::to_owned);
        context.variables.insert(variable.name.clone(), Held::one(value));
    }
    context
}

/// Who answers a query, once variables are put into the name of its data source.
pub fn answerer_of(source: Option<&SourceRef>, query: &Object, context: &Context) -> Answerer {
    let filled = source.map(|source| SourceRef {
        kind: context.fill(&source.kind, Style::Glob),
        uid: context.fill(&source.uid, Style::Glob),
    });
    if let Some(kind) = filled.as_ref().and_then(|source| source.uid.strip_prefix("type ")) {
        return Answerer::Nobody(format!("the data source type `{kind}` is not supported"));
    }
    answerer(filled.as_ref(), query)
}

fn panel_report(panel: &Panel, migrated: &Migrated, context: &Context) -> PanelReport {
    let notes = migrated.notes.get(&panel.id).map_or(&[][..], Vec::as_slice);
    let mut reasons: Vec<String> =
        notes.iter().filter(|note| note.is_loss).map(|note| note.text.clone()).collect();
    let changes = notes.iter().filter(|note| !note.is_loss).map(|note| note.text.clone()).collect();
    let mut status = if reasons.is_empty() { Status::Full } else { Status::Partial };
    if panel.kind == "library-panel" {
        status = Status::Unsupported;
        reasons.push("it is a library panel that is not in the file".to_owned());
    } else if !DRAWN.contains(&panel.kind.as_str()) {
        status = Status::Unsupported;
        reasons.push(match panel.kind.as_str() {
            "" => "it has no panel type: its data is shown as a table".to_owned(),
            kind => {
                format!("the panel type `{kind}` is not supported: its data is shown as a table")
            }
        });
    }
    let mut lessen = |to: Status, why: String| {
        status = status.max(to);
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    };
    queries(panel, context, &mut lessen);
    for id in panel.transformations.iter().filter_map(|step| step.get("id")?.as_str()) {
        if !crate::transform::is_supported(id) {
            lessen(Status::Partial, format!("the transformation `{id}` is not supported"));
        }
    }
    for id in override_matchers(&panel.field_config) {
        if !MATCHERS.contains(&id) {
            lessen(Status::Partial, format!("overrides by `{id}` are not supported"));
        }
    }
    for why in patterns::of_panel(panel) {
        lessen(Status::Partial, why);
    }
    let unheeded = options::unheeded(&panel.kind, &panel.options, &panel.field_config);
    if !unheeded.is_empty() {
        let names: Vec<String> = unheeded.iter().map(|name| format!("`{name}`")).collect();
        lessen(Status::Partial, format!("options that are not heeded: {}", names.join(", ")));
    }
    if panel.kind == "dashlist" {
        dashboard_list(&panel.options, &mut lessen);
    }
    let (id, title, kind) = (panel.id, panel.title.clone(), panel.kind.clone());
    PanelReport { id, title, kind, status, reasons, changes }
}

/// What a list of dashboards is not chosen by.
fn dashboard_list(options: &Value, lessen: &mut dyn FnMut(Status, String)) {
    let is_true = |key: &str| options.get(key).and_then(Value::as_bool).unwrap_or(false);
    let is_set =
        |key: &str| options.get(key).and_then(read::text_of).is_some_and(|of| !of.is_empty());
    if is_true("showStarred") || is_true("showRecentlyViewed") {
        let why =
            "nobody keeps which dashboards are starred or were seen: it lists all with its tags";
        lessen(Status::Partial, why.to_owned());
    }
    if is_set("folderUID") || is_set("folderId") {
        lessen(Status::Partial, "it lists the dashboards of all folders".to_owned());
    }
    if is_true("keepTime") || is_true("includeVars") {
        let why = "its links keep neither time nor variables";
        lessen(Status::Partial, why.to_owned());
    }
}

fn override_matchers(config: &Value) -> impl Iterator<Item = &str> {
    let overrides = config.get("overrides").and_then(Value::as_array).into_iter().flatten();
    overrides.filter_map(|one| one.get("matcher")?.get("id")?.as_str())
}

/// Whether somebody answers each query.
fn queries(panel: &Panel, context: &Context, lessen: &mut dyn FnMut(Status, String)) {
    let shown: Vec<&Target> = panel.targets.iter().filter(|target| !target.is_hidden).collect();
    let mut unanswered = Vec::new();
    for target in &shown {
        match answerer_of(panel.source_of(target), &target.query, context) {
            Answerer::Nobody(why) if panel.shows_data() => unanswered.push(why),
            Answerer::Ours(language) => {
                if let Some(why) = odd_query(language, &target.query) {
                    lessen(Status::Partial, why);
                }
            }
            _ => {}
        }
    }
    let status =
        if unanswered.len() == shown.len() { Status::Unsupported } else { Status::Partial };
    for why in unanswered {
        lessen(status, why);
    }
}

/// What of a query is not answered.
fn odd_query(language: Language, query: &Object) -> Option<String> {
    let kind = read::text(query, "queryType").unwrap_or_default();
    match (language, kind) {
        (Language::Traceql, "serviceMap" | "upload") => {
            Some(format!("Tempo's query type `{kind}` is not supported"))
        }
        (Language::Jaeger, "dependencyGraph" | "upload") => {
            Some(format!("Jaeger's query type `{kind}` is not supported"))
        }
        _ => None,
    }
}

fn variable_report(variable: &Variable, context: &Context) -> VariableReport {
    let mut reasons = Vec::new();
    let mut status = Status::Full;
    match variable.kind {
        VariableKind::Unknown => {
            status = Status::Unsupported;
            let kind = &variable.kind_name;
            reasons.push(format!("variables of the kind `{kind}` keep the value that is stored"));
        }
        VariableKind::Groupby => {
            status = Status::Partial;
            let name = &variable.name;
            reasons.push("queries are not grouped by it".to_owned());
            reasons.push("labels to choose from are not looked for".to_owned());
            reasons.push(format!("what it holds can be named in queries, as ${name}"));
        }
        VariableKind::Adhoc => {
            let answerer = answerer_of(variable.source.as_ref(), &Object::new(), context);
            if answerer == Answerer::Ours(Language::Sql) {
                status = Status::Unsupported;
                reasons.push("conditions are not added to SQL".to_owned());
            }
        }
        VariableKind::Query => {
            let query = variable.query.as_object().cloned().unwrap_or_default();
            if let Answerer::Nobody(why) = answerer_of(variable.source.as_ref(), &query, context)
                && !is_known_form(variable)
            {
                status = Status::Unsupported;
                reasons.push(why);
            }
        }
        VariableKind::Datasource => {
            let kind = variable.query_text();
            if Language::of_kind(kind).is_none() {
                status = Status::Unsupported;
                reasons.push(format!("the data source type `{kind}` is not supported"));
            }
        }
        _ => {}
    }
    if let Some(why) = patterns::of_variable(variable) {
        status = status.max(Status::Partial);
        reasons.push(why);
    }
    let (name, kind) = (variable.name.clone(), variable.kind_name.clone());
    VariableReport { name, kind, status, reasons }
}

/// Whether a query tells by itself that metrics are meant.
pub fn is_known_form(variable: &Variable) -> bool {
    let text = variable.query_text().trim_start();
    ["label_values(", "label_names(", "metrics(", "query_result("]
        .iter()
        .any(|f| text.starts_with(f))
}

/// Annotations that nobody answers.
fn annotation_notes(dashboard: &Dashboard, context: &Context) -> Vec<Note> {
    let mut notes = Vec::new();
    for annotation in dashboard.asking_annotations().filter(|annotation| annotation.is_enabled) {
        let name = match annotation.name.as_str() {
            "" => "without a name",
            name => name,
        };
        let why = match answerer_of(annotation.source.as_ref(), &annotation.query, context) {
            Answerer::Ours(language) => odd_query(language, &annotation.query),
            Answerer::Nobody(why) => Some(why),
            Answerer::Panel(_) => Some("its data source is another panel".to_owned()),
        };
        if let Some(why) = why {
            let text = format!("the annotation query `{name}` is not asked: {why}");
            notes.push(Note { is_loss: true, text });
        }
    }
    notes
}
