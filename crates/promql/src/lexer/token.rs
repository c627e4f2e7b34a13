//! The tokens, and how errors name them.

use crate::ast::{AggregateOp, BinaryOp, Span};
use crate::names::quoted;

/// What of a long token is told in an error.
const MAX_TOLD_CHARS: usize = 10;

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Identifier,
    /// A name with colons.
    MetricIdentifier,
    Number,
    Duration,
    Text,
    Operator(BinaryOp),
    Aggregator(AggregateOp),
    Keyword(Keyword),
    Preprocessor(Preprocessor),
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Comma,
    Colon,
    At,
    /// `=`
    Assign,
    /// `=~`
    Matches,
    /// `!~`
    NotMatches,
    /// No token; the reason is told beside the tokens.
    Bad,
    End,
}

/// Words that modify something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Anchored,
    Bool,
    By,
    Fill,
    FillLeft,
    FillRight,
    GroupLeft,
    GroupRight,
    Ignoring,
    Offset,
    On,
    Smoothed,
    Without,
}

/// Functions that also stand where only times or durations may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preprocessor {
    Start,
    End,
    Step,
    Range,
    MaxOf,
    MinOf,
}

impl TokenKind {
    /// What a word means besides being a name, in any case.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        // No keyword is longer, and most words are no keywords.
        if word.len() > 12 {
            return None;
        }
        let word = word.to_ascii_lowercase();
        if let Some(op) = AggregateOp::find(&word) {
            return Some(Self::Aggregator(op));
        }
        Some(match &*word {
            "and" => Self::Operator(BinaryOp::And),
            "or" => Self::Operator(BinaryOp::Or),
            "unless" => Self::Operator(BinaryOp::Unless),
            "atan2" => Self::Operator(BinaryOp::Atan2),
            "anchored" => Self::Keyword(Keyword::Anchored),
            "bool" => Self::Keyword(Keyword::Bool),
            "by" => Self::Keyword(Keyword::By),
            "fill" => Self::Keyword(Keyword::Fill),
            "fill_left" => Self::Keyword(Keyword::FillLeft),
            "fill_right" => Self::Keyword(Keyword::FillRight),
            "group_left" => Self::Keyword(Keyword::GroupLeft),
            "group_right" => Self::Keyword(Keyword::GroupRight),
            "ignoring" => Self::Keyword(Keyword::Ignoring),
            "offset" => Self::Keyword(Keyword::Offset),
            "on" => Self::Keyword(Keyword::On),
            "smoothed" => Self::Keyword(Keyword::Smoothed),
            "without" => Self::Keyword(Keyword::Without),
            "start" => Self::Preprocessor(Preprocessor::Start),
            "end" => Self::Preprocessor(Preprocessor::End),
            "step" => Self::Preprocessor(Preprocessor::Step),
            "range" => Self::Preprocessor(Preprocessor::Range),
            "max_of" => Self::Preprocessor(Preprocessor::MaxOf),
            "min_of" => Self::Preprocessor(Preprocessor::MinOf),
            "inf" | "nan" => Self::Number,
            _ => return None,
        })
    }

    pub(crate) fn is_fill(self) -> bool {
        matches!(self, Self::Keyword(Keyword::Fill | Keyword::FillLeft | Keyword::FillRight))
    }

    /// Whether it may be the name of a metric.
    pub(crate) fn is_metric_name(self) -> bool {
        match self {
            Self::Identifier | Self::MetricIdentifier => true,
            Self::Aggregator(_) | Self::Preprocessor(_) => true,
            Self::Operator(op) => op.is_set(),
            Self::Keyword(keyword) => !matches!(
                keyword,
                Keyword::Bool
                    | Keyword::GroupLeft
                    | Keyword::GroupRight
                    | Keyword::Ignoring
                    | Keyword::On
            ),
            _ => false,
        }
    }

    /// Whether it may be the name of a label to group by.
    pub(crate) fn is_label_name(self) -> bool {
        match self {
            Self::Identifier | Self::MetricIdentifier => true,
            Self::Aggregator(_) | Self::Preprocessor(_) => true,
            Self::Operator(op) => op.is_set() || op == BinaryOp::Atan2,
            Self::Keyword(keyword) => keyword != Keyword::Without,
            _ => false,
        }
    }

    /// Whether an expression may begin with it.
    pub(crate) fn begins_expression(self) -> bool {
        let is_sign = matches!(self, Self::Operator(BinaryOp::Add | BinaryOp::Sub));
        let is_literal = matches!(self, Self::Number | Self::Duration | Self::Text);
        let is_open = matches!(self, Self::LeftParen | Self::LeftBrace);
        is_sign || is_literal || is_open || self.is_metric_name()
    }
}

impl Token {
    /// How errors name it.
    pub(crate) fn description(self, text: &str) -> String {
        let told = self.span.of(text);
        match self.kind {
            TokenKind::End => "end of input".to_owned(),
            TokenKind::Identifier => format!("identifier {}", quoted(told)),
            TokenKind::MetricIdentifier => format!("metric identifier {}", quoted(told)),
            TokenKind::Number => format!("number {}", quoted_shortly(told)),
            TokenKind::Duration => format!("duration {}", quoted_shortly(told)),
            TokenKind::Text => format!("string {}", quoted_shortly(told)),
            TokenKind::Keyword(_) => format!("<{told}>"),
            TokenKind::Aggregator(_) => format!("<aggr:{told}>"),
            TokenKind::Operator(_) | TokenKind::At => format!("<op:{told}>"),
            TokenKind::Matches | TokenKind::NotMatches => format!("<op:{told}>"),
            _ => quoted_shortly(told),
        }
    }
}

fn quoted_shortly(text: &str) -> String {
    if text.len() <= MAX_TOLD_CHARS {
        return quoted(text);
    }
    let beginning: String = text.chars().take(MAX_TOLD_CHARS).collect();
    format!("{}...", quoted(&beginning))
}

/// A character in quotes as Go writes it; what is missing is written like what is no character.
pub(crate) fn go_char(letter: Option<char>) -> String {
    let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
    match letter {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        '\\' => r"'\\'".to_owned(),
        letter if letter.is_ascii_control() => {
            let quoted = quoted(letter.encode_utf8(&mut [0; 4]));
            format!("'{}'", quoted.trim_matches('"'))
        }
        letter if !is_printable(letter) && (letter as u32) < 0x1_0000 => {
            format!("'\\u{:04x}'", letter as u32)
        }
        letter if !is_printable(letter) => format!("'\\U{:08x}'", letter as u32),
        letter => format!("'{letter}'"),
    }
}

/// Whether a character is shown as it is.
pub(super) fn is_printable(letter: char) -> bool {
    // Spaces other than the common one are not told apart when shown.
    (letter == ' ' || !letter.is_whitespace())
        && !letter.escape_debug().to_string().starts_with("\\u")
}
