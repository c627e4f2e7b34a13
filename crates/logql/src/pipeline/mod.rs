//! Stages, compiled and run.
//!
//! A pipeline is made for what is asked of it: parsers read only the labels that later stages and
//! the result need, and stages that nothing depends on are left out ([`needs`]). What is true of
//! every entry that passes, before any of it is read, is found by [`pushdown`].

pub(crate) mod filter;
mod format;
pub(crate) mod needs;
mod parsers;
pub(crate) mod pushdown;
pub(crate) mod row;

use filter::{LabelTest, LineTest};
use format::FormatStep;
use needs::{Behind, Needed};
use parsers::{ParserKind, ParserStep, Wanted};
use row::Row;

use crate::ast::{Chosen, Stage};
use crate::entry::Entry;
use crate::extract::{PatternParser, RegexpParser};
use crate::selection::Names;
use crate::template::Template;

/// Stages in order.
#[derive(Debug)]
pub(crate) struct Pipeline {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Line(LineTest),
    Parser(ParserStep),
    Labels(LabelTest),
    LineFormat(Template),
    LabelFormat(Vec<FormatStep>),
    Decolorize,
    Drop(Vec<Chosen>),
    Keep(Vec<Chosen>),
}

impl Pipeline {
    /// Compiles stages; those that are tested elsewhere are left out.
    pub(crate) fn new(
        stages: &[Stage],
        needed: &Needed,
        is_tested: impl Fn(usize) -> bool,
    ) -> Result<Self, String> {
        let mut steps = Vec::with_capacity(stages.len());
        for (nth, stage) in stages.iter().enumerate() {
            if is_tested(nth) {
                continue;
            }
            if let Some(step) = Step::new(stage, needed.behind(nth), needed.asked())? {
                steps.push(step);
            }
        }
        Ok(Self { steps })
    }

    /// Takes an entry through all stages; false if it is dropped.
    #[inline]
    pub(crate) fn run(&self, entry: &Entry<'_>, row: &mut Row) -> bool {
        row.begin(entry);
        self.steps.iter().all(|step| step.run(entry, row))
    }
}

impl Step {
    /// None if the stage does nothing that is wanted.
    fn new(stage: &Stage, wanted: &Behind, asked: &Names) -> Result<Option<Self>, String> {
        let kind = match stage {
            Stage::Line(filter) => return Ok(Some(Self::Line(LineTest::new(filter)?))),
            Stage::Labels(filter) => return Ok(Some(Self::Labels(LabelTest::new(filter)?))),
            Stage::LineFormat(template) => {
                let template = Template::parse(template).map_err(|error| error.to_string())?;
                return Ok(Some(Self::LineFormat(template)));
            }
            Stage::LabelFormat(formats) => {
                let steps = formats.iter().map(FormatStep::new).collect::<Result<_, _>>()?;
                return Ok(Some(Self::LabelFormat(steps)));
            }
            Stage::Decolorize => return Ok(wanted.line.then_some(Self::Decolorize)),
            Stage::Drop(chosen) => return Ok(Some(Self::Drop(chosen.clone()))),
            Stage::Keep(chosen) => return Ok(Some(Self::Keep(chosen.clone()))),
            Stage::Json => ParserKind::Json,
            Stage::JsonPaths(paths) => ParserKind::json_paths(paths)?,
            Stage::Logfmt(logfmt) => ParserKind::logfmt(logfmt),
            Stage::Regexp(pattern) => {
                ParserKind::Regexp(RegexpParser::new(pattern).map_err(|error| error.to_string())?)
            }
            Stage::Pattern(pattern) => {
                ParserKind::Pattern(PatternParser::new(pattern).map_err(|error| error.to_string())?)
            }
            Stage::Unpack => ParserKind::Unpack,
        };
        Ok(wanted.runs_parser(stage, asked).then(|| {
            let (wanted, asked) = (Wanted::new(&wanted.labels), Wanted::new(asked));
            Self::Parser(ParserStep { kind, wanted, asked })
        }))
    }

    #[inline]
    fn run(&self, entry: &Entry<'_>, row: &mut Row) -> bool {
        match self {
            Self::Line(test) => return test.passes(row.line(entry)),
            Self::Labels(test) => return test.passes(entry, &mut row.labels),
            Self::Parser(parser) => parser.run(entry, row),
            Self::LineFormat(template) => format::format_line(template, entry, row),
            Self::LabelFormat(steps) => format::format_labels(steps, entry, row),
            Self::Decolorize => format::remove_colors(entry, row),
            Self::Drop(chosen) => format::drop_labels(chosen, entry, &mut row.labels),
            Self::Keep(chosen) => format::keep_labels(chosen, entry, &mut row.labels),
        }
        true
    }
}
