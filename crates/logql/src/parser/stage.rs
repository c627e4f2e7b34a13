//! Stages of a pipeline.

use super::{Parser, Result, check};
use crate::ast::{BinaryOp, Chosen, Extraction, LabelFormat, LogfmtStage, Span, Stage};
use crate::error::ParseError;
use crate::lexer::{TokenKind, Word};
use crate::limits::MAX_STAGES;

/// What the stages are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A log query.
    Query,
    /// The range of a function.
    Range,
}

impl Parser<'_> {
    /// All stages that follow. `unwrap` is none: it ends those of a range.
    pub(super) fn stages(&mut self, place: Place) -> Result<Vec<Stage>> {
        let mut stages = Vec::new();
        loop {
            let start = self.span().start;
            self.stage_start = Some(start);
            let Some(stage) = self.stage(place)? else {
                self.stage_start = None;
                return Ok(stages);
            };
            if stages.len() >= MAX_STAGES {
                let message = format!("the query has too many stages: {MAX_STAGES} are read");
                return Err(self.error(self.last_span(), message));
            }
            let span = Span { start, end: self.last_span().end };
            check::check(&stage, self.pattern_bytes)
                .map_err(|message| self.error(span, message))?;
            self.stage_start = None;
            stages.push(stage);
        }
    }

    fn stage(&mut self, place: Place) -> Result<Option<Stage>> {
        if let Some(filter) = self.line_filter()? {
            return Ok(Some(Stage::Line(filter)));
        }
        if self.peek() != &TokenKind::Pipe {
            return Ok(None);
        }
        let word = match self.peek_behind(1) {
            TokenKind::Word(Word::Unwrap) if place == Place::Range => return Ok(None),
            TokenKind::Word(Word::Unwrap) => return Err(self.no_unwrap()),
            TokenKind::Word(word) => Some(*word),
            _ => None,
        };
        self.skip();
        let Some(word) = word else {
            let is_filter = matches!(self.peek(), TokenKind::Identifier | TokenKind::LeftParen);
            if !is_filter {
                return Err(self.unexpected("a parser, a format, or a condition on labels"));
            }
            return Ok(Some(Stage::Labels(self.label_filter()?)));
        };
        self.skip();
        Ok(Some(match word {
            Word::Json => match self.extractions()? {
                paths if paths.is_empty() => Stage::Json,
                paths => Stage::JsonPaths(paths),
            },
            Word::Logfmt => Stage::Logfmt(self.logfmt()?),
            Word::Regexp => Stage::Regexp(self.quoted("a text: the regular expression")?),
            Word::Pattern => Stage::Pattern(self.quoted("a text: the pattern")?),
            Word::Unpack => Stage::Unpack,
            Word::LineFormat => Stage::LineFormat(self.quoted("a text: the template")?),
            Word::LabelFormat => Stage::LabelFormat(self.label_formats()?),
            Word::Decolorize => Stage::Decolorize,
            Word::Drop => Stage::Drop(self.chosen()?),
            Word::Keep => Stage::Keep(self.chosen()?),
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a parser, a format, or a condition on labels"));
            }
        }))
    }

    fn no_unwrap(&mut self) -> ParseError {
        self.skip();
        let message = "unwrap stands only within a function over a range, such as \
                       sum_over_time({...} | unwrap a [5m])";
        self.error(self.span(), message)
    }

    fn logfmt(&mut self) -> Result<LogfmtStage> {
        let mut stage = LogfmtStage::default();
        while self.peek() == &TokenKind::Flag {
            match self.text_of(self.span()) {
                "--strict" => stage.is_strict = true,
                _ => stage.keeps_empty = true,
            }
            self.skip();
        }
        if self.peek() == &TokenKind::Operator(BinaryOp::Sub) {
            let message = "the flags of logfmt are --strict and --keep-empty";
            return Err(self.error(self.span(), message));
        }
        stage.extractions = self.extractions()?;
        Ok(stage)
    }

    /// `a="b", c`; may be none.
    fn extractions(&mut self) -> Result<Vec<Extraction>> {
        let mut extractions = Vec::new();
        if self.peek() != &TokenKind::Identifier {
            return Ok(extractions);
        }
        loop {
            let name = self.name("the name of a label")?;
            let path = match self.accept(&TokenKind::Assign) {
                true => self.quoted("a text: where the value is found")?,
                false => name.clone(),
            };
            extractions.push(Extraction { name, path });
            if !self.accept(&TokenKind::Comma) {
                return Ok(extractions);
            }
        }
    }

    fn label_formats(&mut self) -> Result<Vec<LabelFormat>> {
        let mut formats = Vec::new();
        loop {
            let to = self.name("the name of a label")?;
            self.expect(&TokenKind::Assign, "=")?;
            formats.push(match self.peek() {
                TokenKind::Text(template) => {
                    let template = template.clone();
                    self.skip();
                    LabelFormat::Template { to, template }
                }
                _ => LabelFormat::Rename { to, from: self.name("the name of a label or a text")? },
            });
            if !self.accept(&TokenKind::Comma) {
                return Ok(formats);
            }
        }
    }

    fn chosen(&mut self) -> Result<Vec<Chosen>> {
        let mut chosen = Vec::new();
        loop {
            let name = self.name("the name of a label")?;
            let has_matcher = matches!(
                self.peek(),
                TokenKind::Assign
                    | TokenKind::Matches
                    | TokenKind::NotMatches
                    | TokenKind::NotEqual
            );
            // A line filter may follow: `| drop a != "x"` is read as a matcher, as Loki does.
            chosen.push(match has_matcher {
                true => {
                    self.count_condition()?;
                    Chosen::Matcher(self.matcher(&name)?)
                }
                false => Chosen::Name(name),
            });
            if !self.accept(&TokenKind::Comma) {
                return Ok(chosen);
            }
        }
    }
}
