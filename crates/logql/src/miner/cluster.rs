//! Lines that are alike: what they share, and how often they came.

use std::collections::BTreeMap;

use super::tokens::Token;
use crate::limits::MAX_MINED_SAMPLE_BYTES;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Word(Box<str>),
    Gap(Box<str>),
    Variable,
}

impl Part {
    pub(super) fn of(token: Token<'_>) -> Self {
        match token {
            Token::Word(text) => Self::Word(text.into()),
            Token::Gap(text) => Self::Gap(text.into()),
            Token::Variable => Self::Variable,
        }
    }

    pub(super) fn as_token(&self) -> Token<'_> {
        match self {
            Self::Word(text) => Token::Word(text),
            Self::Gap(text) => Token::Gap(text),
            Self::Variable => Token::Variable,
        }
    }
}

/// What a pattern was counted as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    /// Lines by the start of the span of time that they are in.
    pub(super) counts: BTreeMap<i64, u64>,
    pub(super) first_seen_nanos: i64,
    pub(super) last_seen_nanos: i64,
    /// The first line, or its start.
    pub(super) sample: Box<str>,
}

impl Tally {
    /// Of one line that counts as `weight`.
    pub(super) fn of(line: &str, time_nanos: i64, bucket_nanos: i64, weight: u64) -> Self {
        let start = time_nanos.div_euclid(bucket_nanos).saturating_mul(bucket_nanos);
        let end = (0..=line.len().min(MAX_MINED_SAMPLE_BYTES))
            .rev()
            .find(|at| line.is_char_boundary(*at));
        Self {
            counts: BTreeMap::from([(start, weight)]),
            first_seen_nanos: time_nanos,
            last_seen_nanos: time_nanos,
            sample: line[..end.unwrap_or(0)].into(),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().fold(0, |total, count| total.saturating_add(*count))
    }

    /// Adds a line without a copy of it, unless it is the new first.
    pub(super) fn add(
        &mut self,
        line: &str,
        time_nanos: i64,
        bucket_nanos: i64,
        weight: u64,
        max_buckets: usize,
    ) {
        if time_nanos < self.first_seen_nanos {
            self.merge(Self::of(line, time_nanos, bucket_nanos, weight), max_buckets);
            return;
        }
        let start = time_nanos.div_euclid(bucket_nanos).saturating_mul(bucket_nanos);
        self.last_seen_nanos = self.last_seen_nanos.max(time_nanos);
        let count = self.counts.entry(start).or_default();
        *count = count.saturating_add(weight);
        self.bound(max_buckets);
    }

    pub(super) fn merge(&mut self, other: Self, max_buckets: usize) {
        let is_earlier =
            (other.first_seen_nanos, &other.sample) < (self.first_seen_nanos, &self.sample);
        if is_earlier {
            self.sample = other.sample;
        }
        self.first_seen_nanos = self.first_seen_nanos.min(other.first_seen_nanos);
        self.last_seen_nanos = self.last_seen_nanos.max(other.last_seen_nanos);
        for (start, weight) in other.counts {
            let count = self.counts.entry(start).or_default();
            *count = count.saturating_add(weight);
        }
        self.bound(max_buckets);
    }

    /// Of too many spans the oldest become one.
    fn bound(&mut self, max_buckets: usize) {
        while self.counts.len() > max_buckets.max(1) {
            let Some((_, oldest)) = self.counts.pop_first() else { return };
            if let Some(mut next) = self.counts.first_entry() {
                *next.get_mut() = next.get().saturating_add(oldest);
            }
        }
    }
}

/// A pattern with what was counted.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) parts: Vec<Part>,
    pub(super) tally: Tally,
    /// When it was last added to, by the miner's count of lines.
    pub(super) used: u64,
    /// The words that lead to it in the tree.
    pub(super) path: [Box<str>; 2],
}

impl Cluster {
    /// How much of a line of as many parts is as in the pattern, from 0 to 1. Gaps that are equal
    /// tell nothing; those that differ do.
    pub(super) fn similarity(&self, tokens: &[Token<'_>]) -> f64 {
        let (mut same, mut all) = (0_u32, 0_u32);
        for (part, token) in self.parts.iter().zip(tokens) {
            match (part, token) {
                (Part::Gap(a), Token::Gap(b)) if **a == **b => continue,
                (Part::Word(a), Token::Word(b)) if **a == **b => same += 1,
                (Part::Variable, Token::Variable) => same += 1,
                _ => {}
            }
            all += 1;
        }
        if all == 0 { 1.0 } else { f64::from(same) / f64::from(all) }
    }

    /// Makes variable what a line has otherwise.
    pub(super) fn generalise(&mut self, tokens: &[Token<'_>]) {
        for (part, token) in self.parts.iter_mut().zip(tokens) {
            if part.as_token() != *token {
                *part = Part::Variable;
            }
        }
    }

    /// The pattern's text, for people and for `|>`.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let mut was_variable = false;
        for part in &self.parts {
            match part {
                Part::Word(text) | Part::Gap(text) => out.push_str(text),
                Part::Variable if !was_variable => out.push_str("<_>"),
                Part::Variable => {}
            }
            was_variable = *part == Part::Variable;
        }
        out
    }
}
