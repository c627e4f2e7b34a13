//! Variables of a dashboard with what they offer and what is chosen, found out in the order in which
//! they need each other. One that fails keeps the value that is stored, and says why.

use kymo_dash::interpolate::{Held, Style};
use kymo_dash::model::variable::ALL;
use kymo_dash::model::{Answerer, Choice, Language, SourceRef, Variable, VariableKind};
use kymo_dash::report::{answerer_of, is_known_form};
use kymo_dash::variables::lists::{AUTO, auto_interval, options};
use kymo_dash::variables::shape::shape;
use kymo_dash::variables::{Filter, Question, adhoc, choose, order, question};
use serde::Serialize;

use super::answers::answer;
use super::asked::About;
use super::targets::filled_sql;
use crate::Page;

/// A variable as the page shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resolved {
    name: String,
    label: String,
    description: String,
    #[serde(rename = "type")]
    kind: VariableKind,
    hide: i64,
    multi: bool,
    include_all: bool,
    allow_custom: bool,
    options: Vec<Choice>,
    /// What is chosen; `$__all` if all are.
    current: Vec<Choice>,
    /// Values that are chosen but not offered, which may be outside of the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Conditions, of variables that are such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<Filter>,
    /// The data source of ours that conditions are about, of variables that are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    datasource: Option<SourceRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// What is found out of one variable.
struct Offered {
    choices: Vec<Choice>,
    error: Option<String>,
    is_cut: bool,
}

/// Whether what is not chosen is found out too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Options {
    /// For people who choose.
    Wanted,
    /// For queries, which need only what is chosen.
    AsNeeded,
}

/// Finds variables out and puts them into the context.
pub(super) async fn resolve(page: &Page, about: &mut About, wanted: Options) -> Vec<Resolved> {
    let variables = about.inspected.dashboard.variables.clone();
    let order = order(&variables);
    let mut resolved: Vec<Option<Resolved>> = variables.iter().map(|_| None).collect();
    for place in order.places {
        let variable = &variables[place];
        let chosen = about.chosen.get(&variable.name).map(|values| values.as_slice().to_vec());
        let offered = if order.circular.contains(&place) {
            Offered { error: Some("it needs its own value".to_owned()), ..stored(variable) }
        } else if wanted == Options::AsNeeded && is_said(variable, chosen.as_deref()) {
            stored(variable)
        } else {
            offered(page, about, variable).await
        };
        resolved[place] = Some(one(about, variable, chosen.as_deref(), offered));
    }
    resolved.into_iter().flatten().collect()
}

/// Whether the values that are put in are said by the question itself.
fn is_said(variable: &Variable, chosen: Option<&[String]>) -> bool {
    let is_asked = matches!(variable.kind, VariableKind::Query | VariableKind::Groupby);
    let Some(chosen) = chosen else { return false };
    let is_all = variable.includes_all && chosen.iter().any(|value| value == ALL || value == "All");
    is_asked && !has_texts(variable) && (!is_all || variable.all_value.is_some())
}

/// Whether its values have other texts, which only the answer to its query says.
fn has_texts(variable: &Variable) -> bool {
    let query = variable.query_text();
    let is_named = ["(?<text>", "(?P<text>"].iter().any(|group| variable.regex.contains(group));
    let sql = variable.query.get("rawSql").and_then(serde_json::Value::as_str).unwrap_or(query);
    is_named || sql.contains("__text")
}

fn stored(variable: &Variable) -> Offered {
    let mut choices = variable.options.clone();
    choices.retain(|choice| choice.value != ALL);
    if choices.is_empty() {
        choices = variable.current.iter().filter(|choice| choice.value != ALL).cloned().collect();
    }
    Offered { choices, error: None, is_cut: false }
}

async fn offered(page: &Page, about: &About, variable: &Variable) -> Offered {
    if let Some(listed) = options(variable, &about.context) {
        return match listed {
            Ok(choices) => Offered { choices, error: None, is_cut: false },
            Err(why) => Offered { error: Some(why), ..stored(variable) },
        };
    }
    if variable.kind != VariableKind::Query {
        return stored(variable);
    }
    // A query that is never asked again has its values with it.
    if variable.refresh == 0 && !stored(variable).choices.is_empty() && !variable.options.is_empty()
    {
        return stored(variable);
    }
    match ask(page, about, variable).await {
        Ok(offered) => offered,
        Err(why) => Offered { error: Some(why), ..stored(variable) },
    }
}

async fn ask(page: &Page, about: &About, variable: &Variable) -> Result<Offered, String> {
    let query = variable.query.as_object().cloned().unwrap_or_default();
    let language = match answerer_of(variable.source.as_ref(), &query, &about.context) {
        Answerer::Ours(language) => language,
        // An old dashboard relies on its default data source.
        _ if is_known_form(variable) => Language::Promql,
        Answerer::Panel(_) => return Err("its data source is another panel".to_owned()),
        Answerer::Nobody(why) => return Err(why),
    };
    let question = match question(variable, language, &about.context)? {
        Question::Sql { query } => Question::Sql { query: filled_sql(&query, &about.context)? },
        question => question,
    };
    let is_within = variable.refresh == 2;
    let found = answer(page, &about.tenants, &question, about.context.time, is_within).await?;
    let regex = about.context.fill(&variable.regex, Style::Glob);
    let shaped = shape(variable, &regex, found)?;
    Ok(Offered { choices: shaped.choices, error: None, is_cut: shaped.is_cut })
}

/// Chooses, and tells the context.
fn one(
    about: &mut About,
    variable: &Variable,
    asked: Option<&[String]>,
    offered: Offered,
) -> Resolved {
    let mut chosen = choose(variable, &offered.choices, asked);
    if offered.error.is_some() && asked.is_none() && !variable.current.is_empty() {
        // What was chosen when it was saved is the best that is known.
        let stored =
            variable.current.iter().filter(|choice| choice.value != ALL).cloned().collect();
        if !chosen.held.is_all {
            chosen.held.values = stored;
        }
    }
    let (filters, datasource) = match variable.kind {
        VariableKind::Adhoc => {
            let source = language_of(about, variable).source();
            let source = SourceRef { kind: source.kind.to_owned(), uid: source.uid.to_owned() };
            (adhoc::filters(variable, asked), Some(source))
        }
        _ => (Vec::new(), None),
    };
    let current = match chosen.held.is_all {
        true => vec![Choice { text: "All".to_owned(), value: ALL.to_owned() }],
        false => chosen.held.values.clone(),
    };
    let held = held_of(about, variable, chosen.held);
    about.context.variables.insert(variable.name.clone(), held);
    let warning = match (chosen.missing.as_slice(), offered.is_cut) {
        ([], false) => None,
        ([], true) => Some("there are too many values: not all are offered".to_owned()),
        (missing, _) => Some(format!("not in range: {}", missing.join(", "))),
    };
    Resolved {
        name: variable.name.clone(),
        label: variable.label.clone(),
        description: variable.description.clone(),
        kind: variable.kind,
        hide: variable.hide,
        multi: variable.is_multi,
        include_all: variable.includes_all,
        allow_custom: variable.allows_custom,
        options: offered.choices,
        current,
        missing: chosen.missing,
        filters,
        datasource,
        error: offered.error,
        warning,
    }
}

/// A duration that fits the time is one that fits this time.
fn held_of(about: &About, variable: &Variable, mut held: Held) -> Held {
    let time = about.context.time;
    if variable.kind == VariableKind::Interval {
        for choice in &mut held.values {
            if choice.value.starts_with(AUTO) || choice.value == "$__auto" {
                choice.value = auto_interval(variable, time.to_millis - time.from_millis);
            }
        }
    }
    held
}

/// The language that conditions of a variable are added in.
fn language_of(about: &About, variable: &Variable) -> Language {
    match answerer_of(variable.source.as_ref(), &Default::default(), &about.context) {
        Answerer::Ours(language) => language,
        // An old dashboard relies on its default data source.
        _ => Language::Promql,
    }
}

/// The conditions that hold for a data source.
pub(super) fn filters(about: &About, language: Language) -> Vec<Filter> {
    let mut found = Vec::new();
    let variables = &about.inspected.dashboard.variables;
    for variable in variables.iter().filter(|v| v.kind == VariableKind::Adhoc) {
        if language_of(about, variable) == language {
            let asked = about.chosen.get(&variable.name).map(|values| values.as_slice());
            found.extend(adhoc::filters(variable, asked));
        }
    }
    // A condition that is not finished yet says nothing.
    found.retain(|filter| !filter.key.is_empty());
    found
}
