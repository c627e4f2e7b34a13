//! What the text of a query is split into.

use crate::ast::{BinaryOp, CompareOp, Conversion, RangeOp, Span, VectorOp};

/// A piece of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// What a piece of the text is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// The end of the text.
    End,
    Identifier,
    /// With its escapes read.
    Text(String),
    Number,
    /// Nanoseconds.
    Duration(i64),
    Bytes(u64),
    /// `[5m]`, nanoseconds.
    Range(i64),
    /// `--strict` or `--keep-empty`.
    Flag,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Comma,
    Pipe,
    /// `=`
    Assign,
    /// `=~`
    Matches,
    /// `!=`: a comparison, a matcher or a line filter.
    NotEqual,
    /// `!~`
    NotMatches,
    /// `!>`
    NotPattern,
    /// `|=`
    PipeContains,
    /// `|~`
    PipeMatches,
    /// `|>`
    PipePattern,
    /// All operators but `!=`.
    Operator(BinaryOp),
    Word(Word),
    RangeOp(RangeOp),
    VectorOp(VectorOp),
    Conversion(Conversion),
    ApproxTopk,
    Vector,
    LabelReplace,
    Ip,
}

/// Words that are no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Unwrap,
    By,
    Without,
    Bool,
    Offset,
    On,
    Ignoring,
    GroupLeft,
    GroupRight,
    Json,
    Regexp,
    Logfmt,
    Unpack,
    Pattern,
    LineFormat,
    LabelFormat,
    Decolorize,
    Drop,
    Keep,
}

impl TokenKind {
    /// A word that means something wherever it stands.
    pub(crate) fn of_word(lower: &str) -> Option<Self> {
        Some(Self::Word(match lower {
            "unwrap" => Word::Unwrap,
            "by" => Word::By,
            "without" => Word::Without,
            "bool" => Word::Bool,
            "offset" => Word::Offset,
            "on" => Word::On,
            "ignoring" => Word::Ignoring,
            "group_left" => Word::GroupLeft,
            "group_right" => Word::GroupRight,
            "json" => Word::Json,
            "regexp" => Word::Regexp,
            "logfmt" => Word::Logfmt,
            "unpack" => Word::Unpack,
            "pattern" => Word::Pattern,
            "line_format" => Word::LineFormat,
            "label_format" => Word::LabelFormat,
            "decolorize" => Word::Decolorize,
            "drop" => Word::Drop,
            "keep" => Word::Keep,
            "or" => return Some(Self::Operator(BinaryOp::Or)),
            "and" => return Some(Self::Operator(BinaryOp::And)),
            "unless" => return Some(Self::Operator(BinaryOp::Unless)),
            _ => return None,
        }))
    }

    /// A word that means something only if it is called: labels may be named like that.
    pub(crate) fn of_function(lower: &str) -> Option<Self> {
        if let Some(op) = RangeOp::ALL.into_iter().find(|op| op.name() == lower) {
            return Some(Self::RangeOp(op));
        }
        if let Some(op) = VectorOp::ALL.into_iter().find(|op| op.name() == lower) {
            return Some(Self::VectorOp(op));
        }
        Some(match lower {
            "bytes" => Self::Conversion(Conversion::Bytes),
            "duration" => Self::Conversion(Conversion::Duration),
            "duration_seconds" => Self::Conversion(Conversion::DurationSeconds),
            "vector" => Self::Vector,
            "label_replace" => Self::LabelReplace,
            "approx_topk" => Self::ApproxTopk,
            "ip" => Self::Ip,
            _ => return None,
        })
    }

    /// A sign of one or two characters, and how many it has.
    pub(crate) fn of_sign(rest: &str) -> Option<(Self, usize)> {
        let compare = |op| Self::Operator(BinaryOp::Compare(op));
        let two = match rest.get(..2) {
            Some("=~") => Some(Self::Matches),
            Some("==") => Some(compare(CompareOp::Equal)),
            Some("!=") => Some(Self::NotEqual),
            Some("!~") => Some(Self::NotMatches),
            Some("!>") => Some(Self::NotPattern),
            Some("|=") => Some(Self::PipeContains),
            Some("|~") => Some(Self::PipeMatches),
            Some("|>") => Some(Self::PipePattern),
            Some(">=") => Some(compare(CompareOp::GreaterOrEqual)),
            Some("<=") => Some(compare(CompareOp::LessOrEqual)),
            _ => None,
        };
        if let Some(kind) = two {
            return Some((kind, 2));
        }
        let one = match rest.chars().next()? {
            '{' => Self::LeftBrace,
            '}' => Self::RightBrace,
            '(' => Self::LeftParen,
            ')' => Self::RightParen,
            ',' => Self::Comma,
            '|' => Self::Pipe,
            '=' => Self::Assign,
            '>' => compare(CompareOp::Greater),
            '<' => compare(CompareOp::Less),
            '+' => Self::Operator(BinaryOp::Add),
            '-' => Self::Operator(BinaryOp::Sub),
            '*' => Self::Operator(BinaryOp::Mul),
            '/' => Self::Operator(BinaryOp::Div),
            '%' => Self::Operator(BinaryOp::Mod),
            '^' => Self::Operator(BinaryOp::Pow),
            _ => return None,
        };
        Some((one, 1))
    }
}

impl Token {
    /// How an error names it.
    pub(crate) fn description(&self, text: &str) -> String {
        let written = text.get(self.span.start..self.span.end).unwrap_or_default();
        match &self.kind {
            TokenKind::End => "end of the query".to_owned(),
            TokenKind::Identifier => format!("name {written}"),
            TokenKind::Text(_) => format!("text {written}"),
            TokenKind::Number => format!("number {written}"),
            TokenKind::Duration(_) => format!("duration {written}"),
            TokenKind::Bytes(_) => format!("size {written}"),
            TokenKind::Range(_) => format!("range {written}"),
            _ => written.to_owned(),
        }
    }
}
