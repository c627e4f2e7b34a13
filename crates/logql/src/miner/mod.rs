//! Which patterns the lines of a log are written after.
//!
//! Lines become words and gaps; those of as many parts with the same first word and severity are
//! compared, and a line joins the pattern that it resembles most, or starts one of its own. What differs
//! within a pattern becomes `<_>`. This is the way of Drain (He et al., 2017), with numbers, ids,
//! addresses and times known as variable from the start.
//!
//! The text of a pattern is a filter pattern (`|> "..."`) that matches every line it was made of,
//! as long as a line does not have blanks where another has none. Memory is bounded: of too many
//! patterns the one that was seen longest ago is forgotten, and counted as such. The same lines in
//! the same order give the same patterns; miners of parts of a log can be merged.

mod cluster;
mod tokens;
mod tree;

use std::collections::BTreeMap;

use cluster::{Cluster, Part, Tally};
use tokens::Token;
use tree::Tree;

use crate::limits::{MAX_MINED_BUCKETS, MAX_MINED_PATTERNS, MAX_MINED_SIBLINGS};

/// How much a miner keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinerLimits {
    /// The patterns held at a time, at least one.
    pub max_patterns: usize,
    /// The spans of time that each is counted in; of more, the oldest are counted as one.
    pub max_buckets: usize,
    /// The length of such a span, above zero.
    pub bucket_nanos: i64,
}

impl Default for MinerLimits {
    fn default() -> Self {
        Self {
            max_patterns: MAX_MINED_PATTERNS,
            max_buckets: MAX_MINED_BUCKETS,
            bucket_nanos: 10_000_000_000,
        }
    }
}

/// How lines are written, and when they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The pattern, with `<_>` for what differs.
    pub text: String,
    /// Lines by the start of their span of time, in nanoseconds, in order.
    pub counts: Vec<(i64, u64)>,
    /// The time of its earliest line.
    pub first_seen_nanos: i64,
    /// The time of its latest line.
    pub last_seen_nanos: i64,
    /// Its earliest line, or the start of it.
    pub sample: String,
}

impl Pattern {
    /// All its lines.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |total, (_, count)| total.saturating_add(*count))
    }
}

/// A line joins a pattern if so much of it is the same.
const MIN_SIMILARITY: f64 = 0.5;

/// Finds the patterns of lines.
#[derive(Debug, Clone)]
pub struct Miner {
    limits: MinerLimits,
    tree: Tree,
    clusters: BTreeMap<u64, Cluster>,
    /// The number of the next pattern.
    next_id: u64,
    /// Counts lines, to tell which pattern was seen longest ago.
    clock: u64,
    evicted_patterns: u64,
    evicted_lines: u64,
}

impl Miner {
    /// A miner that has seen nothing.
    pub fn new(limits: MinerLimits) -> Self {
        let limits = MinerLimits {
            max_patterns: limits.max_patterns.max(1),
            max_buckets: limits.max_buckets.max(1),
            bucket_nanos: limits.bucket_nanos.max(1),
        };
        Self {
            limits,
            tree: Tree::default(),
            clusters: BTreeMap::new(),
            next_id: 0,
            clock: 0,
            evicted_patterns: 0,
            evicted_lines: 0,
        }
    }

    /// Adds a line that stands for `weight` lines.
    pub fn add(&mut self, line: &str, time_nanos: i64, weight: u64) {
        let tokens = tokens::tokens(line);
        let MinerLimits { bucket_nanos, max_buckets, .. } = self.limits;
        match self.find(&tokens) {
            Some(cluster) => {
                cluster.generalise(&tokens);
                cluster.tally.add(line, time_nanos, bucket_nanos, weight, max_buckets);
            }
            None => self.start(&tokens, Tally::of(line, time_nanos, bucket_nanos, weight)),
        }
    }

    /// Adds all that another miner has found. Both have to count in spans of the same length, or
    /// spans are counted as the other had them.
    pub fn merge(&mut self, other: Self) {
        self.evicted_patterns += other.evicted_patterns;
        self.evicted_lines = self.evicted_lines.saturating_add(other.evicted_lines);
        let mut clusters: Vec<Cluster> = other.clusters.into_values().collect();
        // Those seen longest ago first, as their lines came.
        clusters.sort_by_key(|cluster| cluster.used);
        for cluster in clusters {
            let tokens: Vec<Token<'_>> = cluster.parts.iter().map(Part::as_token).collect();
            let max_buckets = self.limits.max_buckets;
            match self.find(&tokens) {
                Some(known) => {
                    known.generalise(&tokens);
                    known.tally.merge(cluster.tally, max_buckets);
                }
                None => self.start(&tokens, cluster.tally),
            }
        }
    }

    /// The patterns found, those of most lines first.
    pub fn patterns(&self) -> Vec<Pattern> {
        // Patterns that differed only in parts that have become variable read the same.
        let mut by_text: BTreeMap<String, Tally> = BTreeMap::new();
        for cluster in self.clusters.values() {
            match by_text.entry(cluster.text()) {
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    known.get_mut().merge(cluster.tally.clone(), self.limits.max_buckets);
                }
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(cluster.tally.clone());
                }
            }
        }
        let mut patterns: Vec<(u64, Pattern)> = by_text
            .into_iter()
            .map(|(text, tally)| {
                let total = tally.total();
                let pattern = Pattern {
                    text,
                    counts: tally.counts.into_iter().collect(),
                    first_seen_nanos: tally.first_seen_nanos,
                    last_seen_nanos: tally.last_seen_nanos,
                    sample: tally.sample.into(),
                };
                (total, pattern)
            })
            .collect();
        patterns.sort_by(|(a_total, a), (b_total, b)| {
            b_total.cmp(a_total).then_with(|| a.text.cmp(&b.text))
        });
        patterns.into_iter().map(|(_, pattern)| pattern).collect()
    }

    /// The patterns that were forgotten for want of room, and how many lines they stood for.
    pub fn evicted(&self) -> (u64, u64) {
        (self.evicted_patterns, self.evicted_lines)
    }

    /// The pattern that a line resembles most, if it does enough; of two the older.
    fn find(&mut self, tokens: &[Token<'_>]) -> Option<&mut Cluster> {
        self.clock += 1;
        let path = tree::path(tokens);
        let mut best: Option<(u64, f64)> = None;
        for id in self.tree.leaf(tokens.len(), path)? {
            let similarity =
                self.clusters.get(id).map_or(0.0, |cluster| cluster.similarity(tokens));
            if similarity >= MIN_SIMILARITY && best.is_none_or(|(_, known)| similarity > known) {
                best = Some((*id, similarity));
                if similarity == 1.0 {
                    break;
                }
            }
        }
        let cluster = self.clusters.get_mut(&best?.0)?;
        cluster.used = self.clock;
        Some(cluster)
    }

    /// Starts a pattern; forgets another if there is no room.
    fn start(&mut self, tokens: &[Token<'_>], tally: Tally) {
        if self.clusters.len() >= self.limits.max_patterns {
            self.evict_oldest(self.clusters.keys().copied().collect());
        }
        let path = self.tree.open(tokens.len(), tree::path(tokens));
        let words = [path[0].as_ref(), path[1].as_ref()];
        if let Some(siblings) =
            self.tree.leaf(tokens.len(), words).filter(|ids| ids.len() >= MAX_MINED_SIBLINGS)
        {
            self.evict_oldest(siblings.to_vec());
        }
        let id = self.next_id;
        self.next_id += 1;
        self.tree.insert(tokens.len(), &path, id);
        let parts = tokens.iter().copied().map(Part::of).collect();
        self.clusters.insert(id, Cluster { parts, tally, used: self.clock, path });
    }

    fn evict_oldest(&mut self, among: Vec<u64>) {
        let used = |id: &u64| self.clusters.get(id).map_or(0, |cluster| cluster.used);
        let Some(oldest) = among.into_iter().min_by_key(used) else { return };
        if let Some(cluster) = self.clusters.remove(&oldest) {
            self.tree.remove(cluster.parts.len(), &cluster.path, oldest);
            self.evicted_patterns += 1;
            self.evicted_lines = self.evicted_lines.saturating_add(cluster.tally.total());
        }
    }
}

#[cfg(test)]
mod tests;
