//! What has to be known of an entry: stages read backwards.
//!
//! From what the result needs, each stage says what it needs itself. Where a query asks for no
//! label at all, parsers are not run and so cannot fail, as in Loki:
//! `sum(count_over_time({…} | json [5m]))` counts lines, and behind `unpack` lines stay packed. If
//! it asks for one, be it of the stream, a line that a parser cannot read is noticed.

use std::collections::BTreeSet;

use crate::ast::{Chosen, Extraction, LabelFilter, LabelFormat, Stage, Unwrap};
use crate::labels::EXTRACTED;
use crate::selection::{Names, Needs};
use crate::template::Template;

/// What is needed behind a stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Behind {
    /// Labels, in whatever way they come to be.
    pub(crate) labels: Names,
    pub(crate) line: bool,
}

impl Behind {
    /// Whether a parser has to be run, in a query that asks for these labels.
    pub(crate) fn runs_parser(&self, stage: &Stage, asked: &Names) -> bool {
        let is_wanted = |extraction: &Extraction| {
            let name = &extraction.name;
            self.labels.has(name) || self.labels.has(&format!("{name}{EXTRACTED}"))
        };
        match stage {
            // The line too stays packed where no label is asked for.
            Stage::Unpack | Stage::Json | Stage::JsonPaths(_) => !asked.is_empty(),
            Stage::Logfmt(logfmt) if logfmt.is_strict => !asked.is_empty(),
            // The others do not fail.
            Stage::Logfmt(logfmt) if !logfmt.extractions.is_empty() => {
                logfmt.extractions.iter().any(is_wanted)
            }
            Stage::Logfmt(_) | Stage::Regexp(_) | Stage::Pattern(_) => !self.labels.is_empty(),
            _ => true,
        }
    }
}

/// What is needed behind each stage, and before the first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needed {
    /// One more than there are stages; the first is what is needed of the entry.
    behind: Vec<Behind>,
    /// What any stage or the result asks for.
    asked: Names,
}

impl Needed {
    /// Reads stages backwards. Stages that are tested elsewhere need nothing.
    pub(crate) fn new(stages: &[Stage], result: Behind, is_tested: impl Fn(usize) -> bool) -> Self {
        let asked = asked(stages, &result);
        let mut behind = vec![result];
        for (nth, stage) in stages.iter().enumerate().rev() {
            let mut needed = behind.last().cloned().unwrap_or_default();
            if !is_tested(nth) {
                before(stage, &mut needed, &asked);
            }
            behind.push(needed);
        }
        behind.reverse();
        Self { behind, asked }
    }

    /// What any stage or the result asks for.
    pub(crate) fn asked(&self) -> &Names {
        &self.asked
    }

    /// What is needed behind a stage.
    pub(crate) fn behind(&self, nth: usize) -> &Behind {
        const NOTHING: &Behind = &Behind { labels: Names::Only(BTreeSet::new()), line: false };
        self.behind.get(nth + 1).unwrap_or(NOTHING)
    }

    /// What is needed of an entry. What a parser finds under a name that the entry has is called
    /// otherwise, so that the name itself has to be known too.
    pub(crate) fn of_entry(&self) -> Needs {
        let Some(Behind { labels, line }) = self.behind.first() else { return Needs::default() };
        let mut labels = labels.clone();
        if let Names::Only(names) = &mut labels {
            let plain: Vec<String> = names
                .iter()
                .filter_map(|name| name.strip_suffix(EXTRACTED))
                .map(str::to_owned)
                .collect();
            names.extend(plain);
        }
        Needs { labels, line: *line }
    }
}

/// The labels that the result or any stage asks for, wherever they come from.
fn asked(stages: &[Stage], result: &Behind) -> Names {
    let mut all = result.clone();
    for stage in stages {
        match stage {
            Stage::Labels(filter) => add_filter(filter, &mut all.labels),
            Stage::LineFormat(template) => add_template(template, &mut all),
            Stage::LabelFormat(formats) => add_formats(formats, &mut all),
            _ => {}
        }
    }
    all.labels
}

/// Turns what is needed behind a stage into what is needed before it.
fn before(stage: &Stage, needed: &mut Behind, asked: &Names) {
    match stage {
        Stage::Line(_) => needed.line = true,
        Stage::Json
        | Stage::JsonPaths(_)
        | Stage::Logfmt(_)
        | Stage::Regexp(_)
        | Stage::Pattern(_)
        | Stage::Unpack => needed.line |= needed.runs_parser(stage, asked),
        Stage::Labels(filter) => add_filter(filter, &mut needed.labels),
        // If it fails the line before stays, so that it is needed as much as the new one.
        Stage::LineFormat(template) => add_template(template, needed),
        Stage::LabelFormat(formats) => add_formats(formats, needed),
        Stage::Decolorize => {}
        Stage::Drop(chosen) => {
            for chosen in chosen {
                // Whether one with a matcher goes depends on its own value only.
                if let Chosen::Name(name) = chosen {
                    needed.labels.remove(name);
                }
            }
        }
        Stage::Keep(chosen) => {
            let kept = chosen.iter().map(|chosen| chosen.name().to_owned());
            let kept: BTreeSet<String> = kept.filter(|name| needed.labels.has(name)).collect();
            needed.labels = Names::Only(kept);
        }
    }
}

fn add_formats(formats: &[LabelFormat], needed: &mut Behind) {
    for format in formats {
        match format {
            LabelFormat::Rename { from, .. } => needed.labels.add(from),
            LabelFormat::Template { template, .. } => add_template(template, needed),
        }
    }
}

fn add_template(template: &str, needed: &mut Behind) {
    let Ok(template) = Template::parse(template) else { return };
    needed.line |= template.reads_line();
    match template.names() {
        Some(names) => names.iter().for_each(|name| needed.labels.add(name)),
        None => needed.labels = Names::All,
    }
}

/// Adds what a condition on labels looks at.
fn add_filter(filter: &LabelFilter, labels: &mut Names) {
    each_name(filter, &mut |name| labels.add(name));
}

/// Adds what is looked at behind the stages of a range.
pub(crate) fn add_unwrap(unwrap: &Unwrap, labels: &mut Names) {
    labels.add(&unwrap.name);
    unwrap.filters.iter().for_each(|filter| add_filter(filter, labels));
}

/// Gives every name that a condition looks at.
pub(crate) fn each_name<'a>(filter: &'a LabelFilter, give: &mut dyn FnMut(&'a str)) {
    match filter {
        LabelFilter::Text(matcher) => give(&matcher.name),
        LabelFilter::Number(comparison) => give(&comparison.name),
        LabelFilter::Duration(comparison) => give(&comparison.name),
        LabelFilter::Bytes(comparison) => give(&comparison.name),
        LabelFilter::Ip(ip) => give(&ip.name),
        LabelFilter::And(left, right) | LabelFilter::Or(left, right) => {
            each_name(left, give);
            each_name(right, give);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_log;

    /// What an entry needs, for a result that needs some labels and no line.
    fn needs(query: &str, result: &[&str]) -> String {
        let log = parse_log(query).unwrap();
        let labels = Names::Only(result.iter().map(|name| (*name).to_owned()).collect());
        let needed = Needed::new(&log.stages, Behind { labels, line: false }, |_| false).of_entry();
        let labels = match needed.labels {
            Names::All => "all".to_owned(),
            Names::Only(names) => names.into_iter().collect::<Vec<_>>().join(" "),
        };
        format!("{labels}{}", if needed.line { " + line" } else { "" })
    }

    #[test]
    fn only_what_is_used_is_needed() {
        for (query, result, expected) in [
            (r#"{a="b"}"#, &["x"][..], "x"),
            (r#"{a="b"} |= "x""#, &[], " + line"),
            (r#"{a="b"} | json"#, &[], ""),
            (r#"{a="b"} | json"#, &["x"], "x + line"),
            (r#"{a="b"} | json"#, &["x_extracted"], "x x_extracted + line"),
            (r#"{a="b"} | json y="z""#, &["x"], "x + line"),
            (r#"{a="b"} | json y="z""#, &[], ""),
            (r#"{a="b"} | y="1" | json"#, &[], "y + line"),
            (r#"{a="b"} | y="1" | logfmt"#, &[], "y"),
            (r#"{a="b"} | y="1" | logfmt --strict"#, &[], "y + line"),
            (r#"{a="b"} | logfmt x="z""#, &["x"], "x + line"),
            (r#"{a="b"} | y > 5 or z="1""#, &["x"], "x y z"),
            (r#"{a="b"} | decolorize | unpack"#, &[], ""),
            (r#"{a="b"} | unpack |= "x""#, &[], " + line"),
            (r#"{a="b"} | drop x"#, &["x", "y"], "y"),
            (r#"{a="b"} | drop x="1""#, &["x", "y"], "x y"),
            (r#"{a="b"} | keep x, z"#, &["x", "y"], "x"),
            (r#"{a="b"} | label_format x=y"#, &["x"], "x y"),
            (r#"{a="b"} | line_format "{{.y}}""#, &[], "y"),
            (r#"{a="b"} | line_format "{{.y}} {{__line__}}""#, &[], "y + line"),
            (r#"{a="b"} | line_format "{{.}}""#, &[], "all"),
        ] {
            assert_eq!(needs(query, result), expected, "{query} for {result:?}");
        }
    }
}
