//! The keys of a rule file, as YAML gives them. Nothing is checked here but what is a key and what
//! type its value has.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

type Texts = Option<Spanned<BTreeMap<String, String>>>;

/// A whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) groups: Option<Vec<Spanned<Group>>>,
}

/// An entry of `groups`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: Option<String>,
    pub(super) interval: Option<Spanned<String>>,
    pub(super) query_offset: Option<Spanned<String>>,
    pub(super) limit: Option<i64>,
    pub(super) labels: Texts,
    pub(super) rules: Option<Vec<Spanned<Rule>>>,
}

/// An entry of `rules`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) record: Option<Spanned<String>>,
    pub(super) alert: Option<Spanned<String>>,
    pub(super) expr: Option<Spanned<String>>,
    pub(super) traceql: Option<Spanned<String>>,
    #[serde(rename = "for")]
    pub(super) hold: Option<Spanned<String>>,
    pub(super) keep_firing_for: Option<Spanned<String>>,
    pub(super) labels: Texts,
    pub(super) annotations: Texts,
}
