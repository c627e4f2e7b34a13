//! Whether the texts within a stage compile.

use std::collections::BTreeSet;

use crate::ast::{LabelFilter, LabelFormat, LineFilter, LineMatch, LineOp, LogfmtStage, Stage};
use crate::extract::{JsonPaths, PatternFilter, PatternParser, RegexpParser};
use crate::ip::IpMatcher;
use crate::labels::ERROR;
use crate::template::Template;

/// What is wrong with a stage, if anything is. Regular expressions are compiled to at most so many
/// bytes.
pub(super) fn check(stage: &Stage, pattern_bytes: usize) -> Result<(), String> {
    match stage {
        Stage::Line(filter) => check_line_filter(filter, pattern_bytes),
        Stage::JsonPaths(paths) => {
            let pairs: Vec<(&str, &str)> =
                paths.iter().map(|path| (path.name.as_str(), path.path.as_str())).collect();
            JsonPaths::parse(&pairs).map(drop).map_err(|error| error.to_string())
        }
        Stage::Logfmt(logfmt) => check_logfmt(logfmt),
        Stage::Regexp(pattern) => {
            kymo_pattern::search(pattern, pattern_bytes)?;
            RegexpParser::new(pattern).map(drop).map_err(|error| error.to_string())
        }
        Stage::Pattern(pattern) => {
            PatternParser::new(pattern).map(drop).map_err(|error| error.to_string())
        }
        Stage::Labels(filter) => check_label_filter(filter),
        Stage::LineFormat(template) => check_template(template),
        Stage::LabelFormat(formats) => check_label_formats(formats),
        Stage::Json | Stage::Unpack | Stage::Decolorize | Stage::Drop(_) | Stage::Keep(_) => Ok(()),
    }
}

fn check_line_filter(filter: &LineFilter, pattern_bytes: usize) -> Result<(), String> {
    for alternative in &filter.alternatives {
        match alternative {
            LineMatch::Text(text) => match filter.op {
                LineOp::Contains | LineOp::Lacks => {}
                LineOp::Matches | LineOp::NotMatches => {
                    kymo_pattern::search(text, pattern_bytes)?;
                }
                LineOp::Pattern | LineOp::NotPattern => {
                    PatternFilter::new(text).map_err(|error| error.to_string())?;
                }
            },
            LineMatch::Ip(_) if !matches!(filter.op, LineOp::Contains | LineOp::Lacks) => {
                return Err(format!(
                    "ip(...) goes with |= and !=, not with {}",
                    filter.op.symbol()
                ));
            }
            LineMatch::Ip(addresses) => check_ip(addresses)?,
        }
    }
    Ok(())
}

/// What is wrong with a condition on labels, if anything is.
pub(super) fn check_label_filter(filter: &LabelFilter) -> Result<(), String> {
    match filter {
        LabelFilter::Ip(ip) => check_ip(&ip.addresses),
        LabelFilter::And(left, right) | LabelFilter::Or(left, right) => {
            check_label_filter(left)?;
            check_label_filter(right)
        }
        // Matchers were compiled as they were read.
        LabelFilter::Text(_)
        | LabelFilter::Number(_)
        | LabelFilter::Duration(_)
        | LabelFilter::Bytes(_) => Ok(()),
    }
}

fn check_ip(addresses: &str) -> Result<(), String> {
    IpMatcher::new(addresses).map(drop).map_err(|error| error.to_string())
}

fn check_template(template: &str) -> Result<(), String> {
    Template::parse(template).map(drop).map_err(|error| error.to_string())
}

fn check_logfmt(logfmt: &LogfmtStage) -> Result<(), String> {
    for extraction in &logfmt.extractions {
        let key = &extraction.path;
        let is_wrong = |letter: char| letter <= ' ' || letter == '=' || letter == '"';
        if key.is_empty() || key.contains(is_wrong) {
            return Err(format!("{key:?} cannot be a key of logfmt"));
        }
    }
    Ok(())
}

fn check_label_formats(formats: &[LabelFormat]) -> Result<(), String> {
    let mut targets = BTreeSet::new();
    for format in formats {
        let to = format.target();
        if to == ERROR {
            return Err(format!("{ERROR} cannot be formatted"));
        }
        if !targets.insert(to) {
            return Err(format!("label {to} is formatted twice in one stage"));
        }
        if let LabelFormat::Template { template, .. } = format {
            check_template(template)?;
        }
    }
    Ok(())
}
