//! What is true of every entry that passes, as it is stored: stages read forwards.
//!
//! A condition on the line counts as long as no stage before it changes the line. A condition on
//! labels counts if no stage before it could have made or removed one of its labels: behind a
//! parser, `| a="x"` may mean what the parser finds.

use std::collections::BTreeSet;

use super::needs::each_name;
use crate::ast::{Chosen, LabelFilter, LineFilter, LineMatch, LineOp, Stage};
use crate::extract::{PatternFilter, PatternParser, RegexpParser};
use crate::labels::{ERROR, ERROR_DETAILS, EXTRACTED};
use crate::selection::{Condition, Test};

/// Conditions, and the stages that need not be run if they were tested.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pushdown {
    pub(crate) conditions: Vec<Condition>,
    /// For each stage whether a condition says all of it.
    pub(crate) is_exact: Vec<bool>,
    /// The stages that no condition says.
    stages_left: Vec<usize>,
}

/// What stages before may have done.
struct Before {
    is_line_changed: bool,
    /// Labels that may have been made or removed; none if any label may.
    touched: Option<BTreeSet<String>>,
}

impl Pushdown {
    pub(crate) fn new(stages: &[Stage]) -> Self {
        let mut before = Before { is_line_changed: false, touched: Some(BTreeSet::new()) };
        let mut found = Self::default();
        for (nth, stage) in stages.iter().enumerate() {
            let is_exact = match stage {
                Stage::Line(filter) if !before.is_line_changed => {
                    line_conditions(filter, &mut found.conditions)
                }
                Stage::Labels(filter) if before.leaves(filter) => {
                    let is_exact = !has_numbers(filter);
                    let test = Test::Labels(filter.clone());
                    found.conditions.push(Condition { test, is_exact });
                    is_exact
                }
                _ => false,
            };
            found.is_exact.push(is_exact);
            if !is_exact {
                found.stages_left.push(nth);
            }
            before.pass(stage);
        }
        found
    }

    /// Whether entries that fulfil all conditions pass, with the labels of these names as they
    /// are stored.
    pub(crate) fn leaves_only(&self, stages: &[Stage], names: &[String]) -> bool {
        let is_kept = |name: &String| name != ERROR && name != ERROR_DETAILS;
        names.iter().all(|name| is_kept(name) && !name.ends_with(EXTRACTED))
            && self.stages_left.iter().all(|nth| match stages.get(*nth) {
                Some(Stage::Drop(chosen)) => {
                    chosen.iter().all(|chosen| !names.iter().any(|name| name == chosen.name()))
                }
                Some(Stage::Keep(chosen)) => names.iter().all(|name| {
                    chosen.iter().any(|kept| matches!(kept, Chosen::Name(kept) if kept == name))
                }),
                _ => false,
            })
    }
}

impl Before {
    /// Whether the labels of a condition are those of the entry.
    fn leaves(&self, filter: &LabelFilter) -> bool {
        let Some(touched) = &self.touched else { return false };
        let mut is_left = true;
        // In a row with an error, which a comparison before may have left, addresses are not
        // compared.
        if has_addresses(filter) {
            return false;
        }
        each_name(filter, &mut |name| {
            let is_special = name == ERROR || name == ERROR_DETAILS || name.ends_with(EXTRACTED);
            is_left &= !is_special && !touched.contains(name);
        });
        is_left
    }

    fn touch<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        if let Some(touched) = &mut self.touched {
            touched.extend(names.into_iter().map(str::to_owned));
        }
    }

    fn pass(&mut self, stage: &Stage) {
        match stage {
            Stage::Line(_) | Stage::Labels(_) => {}
            Stage::LineFormat(_) | Stage::Decolorize => self.is_line_changed = true,
            Stage::Unpack => {
                self.is_line_changed = true;
                self.touched = None;
            }
            Stage::Json => self.touched = None,
            Stage::Logfmt(logfmt) if logfmt.extractions.is_empty() => self.touched = None,
            Stage::Logfmt(logfmt) => {
                self.touch(logfmt.extractions.iter().map(|path| path.name.as_str()));
            }
            Stage::JsonPaths(paths) => self.touch(paths.iter().map(|path| path.name.as_str())),
            Stage::Regexp(pattern) => match RegexpParser::new(pattern) {
                Ok(parser) => self.touch(parser.names()),
                Err(_) => self.touched = None,
            },
            Stage::Pattern(pattern) => match PatternParser::new(pattern) {
                Ok(parser) => self.touch(parser.names()),
                Err(_) => self.touched = None,
            },
            Stage::LabelFormat(formats) => {
                for format in formats {
                    self.touch([format.target()]);
                    if let crate::ast::LabelFormat::Rename { from, .. } = format {
                        self.touch([from.as_str()]);
                    }
                }
            }
            Stage::Drop(chosen) => self.touch(chosen.iter().map(Chosen::name)),
            Stage::Keep(_) => self.touched = None,
        }
    }
}

/// Adds what a line filter says; true if that is all of it.
fn line_conditions(filter: &LineFilter, conditions: &mut Vec<Condition>) -> bool {
    let texts: Option<Vec<String>> = filter
        .alternatives
        .iter()
        .map(|found| match found {
            LineMatch::Text(text) => Some(text.clone()),
            LineMatch::Ip(_) => None,
        })
        .collect();
    // Addresses are written in many ways; nothing can be said of the text.
    let Some(texts) = texts else { return false };
    let regexes =
        |texts: &[String]| texts.iter().map(|text| kymo_pattern::unanchored(text)).collect();
    let test = match filter.op {
        LineOp::Contains => Test::ContainsAny(texts),
        LineOp::Lacks => Test::ContainsNone(texts),
        LineOp::Matches => Test::MatchesAny(regexes(&texts)),
        LineOp::NotMatches => Test::MatchesNone(regexes(&texts)),
        LineOp::Pattern => {
            if let [text] = texts.as_slice() {
                let literals = PatternFilter::new(text).ok();
                for literal in literals.iter().flat_map(PatternFilter::literals) {
                    let test = Test::ContainsAny(vec![literal.to_owned()]);
                    conditions.push(Condition { test, is_exact: false });
                }
            }
            return false;
        }
        LineOp::NotPattern => return false,
    };
    conditions.push(Condition { test, is_exact: true });
    true
}

/// Whether a condition compares numbers: it may leave an error behind.
fn has_numbers(filter: &LabelFilter) -> bool {
    match filter {
        LabelFilter::Text(_) | LabelFilter::Ip(_) => false,
        LabelFilter::Number(_) | LabelFilter::Duration(_) | LabelFilter::Bytes(_) => true,
        LabelFilter::And(left, right) | LabelFilter::Or(left, right) => {
            has_numbers(left) || has_numbers(right)
        }
    }
}

/// Whether a condition compares addresses.
fn has_addresses(filter: &LabelFilter) -> bool {
    match filter {
        LabelFilter::Ip(_) => true,
        LabelFilter::And(left, right) | LabelFilter::Or(left, right) => {
            has_addresses(left) || has_addresses(right)
        }
        LabelFilter::Text(_)
        | LabelFilter::Number(_)
        | LabelFilter::Duration(_)
        | LabelFilter::Bytes(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_log;

    /// The conditions of a query; a question mark where one is not exact.
    fn conditions(query: &str) -> String {
        let found = Pushdown::new(&parse_log(query).unwrap().stages);
        let shown = found.conditions.iter().map(|condition| {
            let test = match &condition.test {
                Test::ContainsAny(texts) => format!("has {}", texts.join("|")),
                Test::ContainsNone(texts) => format!("lacks {}", texts.join("|")),
                Test::MatchesAny(texts) => format!("matches {}", texts.join("|")),
                Test::MatchesNone(texts) => format!("differs {}", texts.join("|")),
                Test::Labels(filter) => filter.to_string(),
            };
            format!("{test}{}", if condition.is_exact { "" } else { "?" })
        });
        shown.collect::<Vec<_>>().join(" & ")
    }

    #[test]
    fn what_is_asked_of_the_stored_line_is_said() {
        for (query, expected) in [
            (r#"{a="b"} |= "x" or "y" != "z""#, "has x|y & lacks z"),
            (r#"{a="b"} |~ "x\\d" !~ "y""#, "matches x[0-9] & differs y"),
            (r#"{a="b"} |> "one <_> two""#, "has one ? & has  two?"),
            (r#"{a="b"} !> "one <_>""#, ""),
            (r#"{a="b"} |= ip("10.0.0.1") |= "x""#, "has x"),
            (r#"{a="b"} | json |= "x""#, "has x"),
            (r#"{a="b"} | decolorize |= "x""#, ""),
            (r#"{a="b"} |= "y" | line_format "z" |= "x""#, "has y"),
            (r#"{a="b"} | unpack |= "x""#, ""),
        ] {
            assert_eq!(conditions(query), expected, "{query}");
        }
    }

    #[test]
    fn what_is_asked_of_labels_is_said_unless_a_stage_made_them() {
        for (query, expected) in [
            (r#"{a="b"} | x="1" or y=~"2""#, r#"( x="1" or y=~"2" )"#),
            (r#"{a="b"} | x > 5"#, "x>5?"),
            (r#"{a="b"} | json | x="1""#, ""),
            (r#"{a="b"} | json y="z" | x="1" | y="2""#, r#"x="1""#),
            (r#"{a="b"} | pattern "<x> " | x="1" | y="2""#, r#"y="2""#),
            (r#"{a="b"} | label_format x=y | x="1" | y="1" | z="1""#, r#"z="1""#),
            (r#"{a="b"} | drop x | x="" | y="1""#, r#"y="1""#),
            (r#"{a="b"} | keep x | x="1""#, ""),
            (r#"{a="b"} | __error__="" | x_extracted="1""#, ""),
            (r#"{a="b"} | x=ip("10.0.0.1")"#, ""),
        ] {
            assert_eq!(conditions(query), expected, "{query}");
        }
    }

    #[test]
    fn counting_is_enough_where_stages_say_nothing_else() {
        for (query, is_enough) in [
            (r#"{a="b"} |= "x" | y="1""#, true),
            (r#"{a="b"} | drop __error__, z"#, true),
            (r#"{a="b"} | drop x"#, false),
            (r#"{a="b"} | keep x, y"#, true),
            (r#"{a="b"} | keep y"#, false),
            (r#"{a="b"} | y > 1"#, false),
            (r#"{a="b"} |> "x<_>""#, false),
            (r#"{a="b"} | json"#, false),
        ] {
            let stages = parse_log(query).unwrap().stages;
            let found = Pushdown::new(&stages).leaves_only(&stages, &["x".to_owned()]);
            assert_eq!(found, is_enough, "{query}");
        }
    }
}
