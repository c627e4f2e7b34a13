//! Variables of a dashboard with what they offer and what is chosen, found out in the order in which
//! they need each other. One that fails keeps the value that is stored, and says why.

use std::time::Instant;

use kymo_dash::effort;
use kymo_dash::interpolate::{Held, Style};
use kymo_dash::model::variable::ALL;
use kymo_dash::model::{Answerer, Choice, Language, SourceRef, Variable, VariableKind};
use kymo_dash::report::{answerer_of, is_known_form};
use kymo_dash::variables::lists::{AUTO, auto_interval, members, options};
use kymo_dash::variables::shape::shape;
use kymo_dash::variables::{Filter, Order, Question, adhoc, choose, order, question};
use serde::Serialize;

use super::answers::answer;
use super::asked::About;
use super::limits::VARIABLES_WITHIN;
use super::targets::filled_sql;
use crate::Page;
use crate::answer::Failed;

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
    /// Whether links leave it out.
    #[serde(rename = "skipUrlSync")]
    skips_url: bool,
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

/// Finds variables out and puts them into the context. What texts and answers are made to is made on the
/// engine's threads, not on those that acknowledge, and only for so long.
pub(super) async fn resolve(
    page: &Page,
    about: About,
    wanted: Options,
) -> Result<(About, Vec<Resolved>), Failed> {
    let mut resolving = page.engine.blocking(move || Resolving::new(about, wanted)).await?;
    let (mut left, mut answered) = (VARIABLES_WITHIN, None);
    loop {
        let work = move || {
            let begun = Instant::now();
            let asked = effort::within(left, || resolving.go_on(answered));
            (resolving, asked, left.saturating_sub(begun.elapsed()))
        };
        let asked;
        (resolving, asked, left) = page.engine.blocking(work).await?;
        let Some(Asked { question, is_within }) = asked else { return Ok(resolving.done()) };
        let about = &resolving.about;
        let time = about.context.time;
        answered = Some(answer(page, &about.tenants, &question, time, is_within).await);
    }
}

/// What has to be asked to go on.
struct Asked {
    question: Question,
    /// Whether only of the time that is shown.
    is_within: bool,
}

/// Variables while they are found out, one after the other.
struct Resolving {
    about: About,
    wanted: Options,
    variables: Vec<Variable>,
    order: Order,
    /// How many of the order are done.
    done: usize,
    resolved: Vec<Option<Resolved>>,
}

impl Resolving {
    fn new(about: About, wanted: Options) -> Self {
        let variables = about.inspected.dashboard.variables.clone();
        let order = order(&variables);
        let resolved = variables.iter().map(|_| None).collect();
        Self { about, wanted, variables, order, done: 0, resolved }
    }

    /// Goes on until something has to be asked, with the answer to what was asked before; to the end if
    /// nothing has.
    fn go_on(&mut self, mut answered: Option<Result<Vec<Choice>, String>>) -> Option<Asked> {
        while let Some(place) = self.order.places.get(self.done).copied() {
            let (about, variable) = (&mut self.about, &self.variables[place]);
            let chosen = about.chosen.get(&variable.name).map(|values| values.as_slice().to_vec());
            let failed = |why| Offered { error: Some(why), ..stored(variable) };
            let offered = if self.order.circular.contains(&place) {
                failed("it needs its own value".to_owned())
            } else if self.wanted == Options::AsNeeded && is_said(variable, chosen.as_deref()) {
                stored(variable)
            } else if effort::is_over() {
                failed("the variables before it took too long".to_owned())
            } else if let Some(found) = answered.take() {
                shaped(about, variable, found).unwrap_or_else(failed)
            } else {
                match known(about, variable) {
                    Some(offered) => offered.unwrap_or_else(failed),
                    None => match asked(about, variable) {
                        Ok(asked) => return Some(asked),
                        Err(why) => failed(why),
                    },
                }
            };
            self.resolved[place] = Some(one(about, variable, chosen.as_deref(), offered));
            self.done += 1;
        }
        None
    }

    fn done(self) -> (About, Vec<Resolved>) {
        (self.about, self.resolved.into_iter().flatten().collect())
    }
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
    let has_others = variable.raw.contains_key("staticOptions");
    is_named || has_others || sql.contains("__text")
}

fn stored(variable: &Variable) -> Offered {
    let mut choices = variable.options.clone();
    choices.retain(|choice| choice.value != ALL);
    if choices.is_empty() {
        choices = variable.current.iter().filter(|choice| choice.value != ALL).cloned().collect();
    }
    Offered { choices, error: None, is_cut: false }
}

/// What a variable offers if nothing has to be asked for it.
fn known(about: &About, variable: &Variable) -> Option<Result<Offered, String>> {
    if let Some(listed) = options(variable, &about.context) {
        return Some(listed.map(|choices| Offered { choices, error: None, is_cut: false }));
    }
    // A query that is never asked again has its values with it.
    let is_kept = variable.refresh == 0
        && !stored(variable).choices.is_empty()
        && !variable.options.is_empty();
    (variable.kind != VariableKind::Query || is_kept).then(|| Ok(stored(variable)))
}

/// What a variable asks.
fn asked(about: &About, variable: &Variable) -> Result<Asked, String> {
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
    Ok(Asked { question, is_within: variable.refresh == 2 })
}

/// What a variable offers of what was answered.
fn shaped(
    about: &About,
    variable: &Variable,
    found: Result<Vec<Choice>, String>,
) -> Result<Offered, String> {
    let regex = about.context.fill(&variable.regex, Style::Regex);
    let shaped = shape(variable, &regex, found?)?;
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
        skips_url: variable.skips_url,
        options: offered.choices,
        current,
        missing: chosen.missing,
        filters,
        datasource,
        error: offered.error,
        warning,
    }
}

/// A duration that fits the time is one that fits this time, and a list may say more of its values.
fn held_of(about: &About, variable: &Variable, mut held: Held) -> Held {
    let time = about.context.time;
    if variable.kind == VariableKind::Interval {
        for choice in &mut held.values {
            if choice.value.starts_with(AUTO) || choice.value == "$__auto" {
                choice.value = auto_interval(variable, time.to_millis - time.from_millis);
            }
        }
    }
    held.members = members(variable, &about.context).into();
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
