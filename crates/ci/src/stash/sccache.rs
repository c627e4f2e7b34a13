//! Statistics of sccache: how many compilations were served by the cache, by language and compiler.
//!
//! sccache prints them in three forms ([`text`] reads two, [`json`] the third), which have changed
//! from version to version. All become the same attributes of the build:
//!
//! | attribute | what it is |
//! |---|---|
//! | `sccache.<file>.requests` | compilations asked for, cacheable or not |
//! | `sccache.<file>.hits`, `.misses`, `.errors` | what became of those that were looked up |
//! | `sccache.<file>.hit_rate`, `.miss_rate` | of hits and misses together |
//! | `sccache.<file>.error_rate` | of hits, misses and errors together |
//! | `sccache.<file>.<language>.…` | the same of a language; its requests are hits, misses and errors |
//! | `sccache.<file>.<language>.<compiler>.…` | the same of a compiler, where the form tells it |
//! | `sccache.<file>.non_cacheable_calls`, `.compile_failures`, `.cache_size_bytes`, `.version` | as sccache has them |
//! | `sccache.<file>.average_compiler_seconds`, `.average_cache_read_hit_seconds` | likewise |
//!
//! Rates are always doubles. There is none where it would be of nothing: a build that asked for
//! nothing has no hit rate, neither a good one nor a bad one. Requests are not what rates are of,
//! since links and calls that cannot be cached are requests too.

mod json;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use super::folder::StashFile;
use super::limits::{MAX_NAME_BYTES, MAX_SCCACHE_FILES, MAX_SCCACHE_LABELS};
use super::text::{free_name, word_key};
use crate::attributes::Attributes;
use crate::warnings::Warnings;

/// The start of the names of its files.
pub(super) const FILE_PREFIX: &str = "sccache-stats";

/// The ends of the names of its files.
const EXTENSIONS: [&str; 2] = ["txt", "json"];

/// What the main statistics are called, those whose file has no name of its own.
pub(super) const MAIN_KEY: &str = "main_process";

/// Languages that are not spelled in lower case, as sccache spells them and dashboards ask for them.
const MIXED_CASE_LANGUAGES: [&str; 7] = [
    "cHeader",
    "c++Header",
    "cPreprocessed",
    "c++Preprocessed",
    "objcPreprocessed",
    "objc++Preprocessed",
    "assemblerToPreprocess",
];

/// What became of a compilation that was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Hit,
    Miss,
    Error,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    hits: u64,
    misses: u64,
    errors: u64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome, count: u64) {
        let sum = match outcome {
            Outcome::Hit => &mut self.hits,
            Outcome::Miss => &mut self.misses,
            Outcome::Error => &mut self.errors,
        };
        *sum = sum.saturating_add(count);
    }

    fn add_all(&mut self, other: Self) {
        self.add(Outcome::Hit, other.hits);
        self.add(Outcome::Miss, other.misses);
        self.add(Outcome::Error, other.errors);
    }

    fn looked_up(self) -> u64 {
        self.hits.saturating_add(self.misses)
    }

    fn all(self) -> u64 {
        self.looked_up().saturating_add(self.errors)
    }

    fn set(self, prefix: &str, attributes: &mut Attributes) {
        attributes.set(format!("{prefix}.hits"), self.hits);
        attributes.set(format!("{prefix}.misses"), self.misses);
        attributes.set(format!("{prefix}.errors"), self.errors);
        let hit_rate = rate(self.hits, self.looked_up());
        attributes.set_some(&format!("{prefix}.hit_rate"), hit_rate);
    }

    fn set_other_rates(self, prefix: &str, attributes: &mut Attributes) {
        let miss_rate = rate(self.misses, self.looked_up());
        attributes.set_some(&format!("{prefix}.miss_rate"), miss_rate);
        attributes.set_some(&format!("{prefix}.error_rate"), rate(self.errors, self.all()));
    }
}

fn rate(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// What one file tells.
#[derive(Debug, Default, PartialEq)]
struct Stats {
    requests: Option<u64>,
    /// What the lines without a language say: all there is before sccache 0.2.9.
    plain: Counts,
    /// The sum of what is said of languages.
    listed: Counts,
    /// By what stands in parentheses in the text: `C/C++`, `c++ [gcc]`.
    labels: BTreeMap<String, Counts>,
    non_cacheable_calls: Option<u64>,
    compile_failures: Option<u64>,
    cache_size_bytes: Option<u64>,
    version: Option<String>,
    average_compiler_seconds: Option<f64>,
    average_cache_read_hit_seconds: Option<f64>,
}

impl Stats {
    fn add_plain(&mut self, outcome: Outcome, count: u64) {
        self.plain.add(outcome, count);
    }

    fn add_labelled(&mut self, outcome: Outcome, label: &str, count: u64) {
        self.listed.add(outcome, count);
        let is_known = self.labels.contains_key(label);
        let has_room = self.labels.len() < MAX_SCCACHE_LABELS && label.len() <= MAX_NAME_BYTES;
        if is_known || has_room {
            self.labels.entry(label.to_owned()).or_default().add(outcome, count);
        }
    }

    fn total(&self) -> Counts {
        if self.labels.is_empty() { self.plain } else { self.listed }
    }

    fn set(&self, prefix: &str, attributes: &mut Attributes) {
        attributes.set_some(&format!("{prefix}.requests"), self.requests);
        self.total().set(prefix, attributes);
        self.total().set_other_rates(prefix, attributes);
        let counts = [
            ("non_cacheable_calls", self.non_cacheable_calls),
            ("compile_failures", self.compile_failures),
            ("cache_size_bytes", self.cache_size_bytes),
        ];
        for (name, count) in counts {
            attributes.set_some(&format!("{prefix}.{name}"), count);
        }
        let averages = [
            ("average_compiler_seconds", self.average_compiler_seconds),
            ("average_cache_read_hit_seconds", self.average_cache_read_hit_seconds),
        ];
        for (name, seconds) in averages {
            attributes.set_some(&format!("{prefix}.{name}"), seconds);
        }
        attributes.set_some(&format!("{prefix}.version"), self.version.as_deref());
        self.set_languages(prefix, attributes);
    }

    fn set_languages(&self, prefix: &str, attributes: &mut Attributes) {
        let mut languages: BTreeMap<String, (Counts, BTreeMap<String, Counts>)> = BTreeMap::new();
        for (label, counts) in &self.labels {
            let (language, compiler) = language_and_compiler(label);
            let (sum, compilers) = languages.entry(language).or_default();
            sum.add_all(*counts);
            if let Some(compiler) = compiler {
                compilers.entry(compiler).or_default().add_all(*counts);
            }
        }
        for (language, (counts, compilers)) in languages {
            let prefix = format!("{prefix}.{language}");
            attributes.set(format!("{prefix}.requests"), counts.all());
            counts.set(&prefix, attributes);
            counts.set_other_rates(&prefix, attributes);
            for (compiler, counts) in compilers {
                let prefix = format!("{prefix}.{compiler}");
                attributes.set(format!("{prefix}.requests"), counts.all());
                counts.set(&prefix, attributes);
            }
        }
    }
}

/// What a label is called in attributes: `c++ [gcc]` is `c++` and `gcc`, `C/C++` is `c/c++` alone.
fn language_and_compiler(label: &str) -> (String, Option<String>) {
    let (language, compiler) = match label.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((language, compiler)) => (language.trim(), Some(compiler)),
        None => (label, None),
    };
    let lower_case = |name: &str| name.to_lowercase().replace(char::is_whitespace, "_");
    let language = match language {
        "CUDA (Device code)" => "cuda_device".to_owned(),
        mixed if MIXED_CASE_LANGUAGES.contains(&mixed) => mixed.to_owned(),
        other => lower_case(other),
    };
    (language, compiler.map(lower_case))
}

/// Whether a file is of sccache, by its name.
pub(super) fn is_file_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    name.starts_with(FILE_PREFIX) && extension.is_some_and(|end| EXTENSIONS.contains(&end))
}

/// The attributes of all its files, for the build.
pub(super) fn read(files: &[&StashFile], warnings: &mut Warnings) -> Attributes {
    let mut attributes = Attributes::new();
    let mut taken = BTreeSet::new();
    let mut files = files.to_vec();
    // Those that are called after the main process for want of a name must not take its place.
    files.sort_by_key(|file| !has_own_key(file.name()));
    for file in files {
        let Some(text) = file.text(warnings) else { continue };
        // Whoever redirects the output of `--stats-format=json` need not call the file so.
        let stats = json::parse(&text).or_else(|| text::parse(&text));
        let Some(stats) = stats else {
            warnings.add(format!("{}: these are not statistics of sccache", file.shown()));
            continue;
        };
        if taken.len() == MAX_SCCACHE_FILES {
            warnings.add(format!("{}: left out, there are many of sccache", file.shown()));
            continue;
        }
        let key = free_key(file, &taken);
        stats.set(&format!("sccache.{key}"), &mut attributes);
        taken.insert(key);
    }
    attributes
}

fn has_own_key(name: &str) -> bool {
    stem(name) == FILE_PREFIX || key_of(name, &EXTENSIONS).is_some()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// What the statistics of a file are called. A second file of the same name keeps the first as it
/// is, and is called after all of its own name.
fn free_key(file: &StashFile, taken: &BTreeSet<String>) -> String {
    let name = file.name();
    let key = key_of(name, &EXTENSIONS).unwrap_or(MAIN_KEY);
    if !taken.contains(key) {
        return key.to_owned();
    }
    free_name(&word_key(stem(name)), |name| taken.contains(name))
}

/// The word in a file's name, by the rule that existing dashboards lean on: the regular expression
/// `sccache-stats[-]?(\w+).txt`, whose full stop is any character. So `sccache-stats-tests.txt` is
/// `tests`, and `sccache-stats-a-b.txt` has no name.
pub(super) fn key_of<'a>(name: &'a str, extensions: &[&str]) -> Option<&'a str> {
    name.match_indices(FILE_PREFIX).find_map(|(start, prefix)| {
        let rest = name.get(start + prefix.len()..)?;
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let word_end = rest.find(|c| !super::text::is_word(c)).unwrap_or(rest.len());
        // The longest word after which there is a character and the extension.
        rest.get(..word_end)?.char_indices().rev().find_map(|(index, last)| {
            let (word, after) = rest.split_at_checked(index + last.len_utf8())?;
            let mut after = after.chars();
            after.next()?;
            let has_extension = extensions.iter().any(|end| after.as_str().starts_with(end));
            has_extension.then_some(word)
        })
    })
}

#[cfg(test)]
mod tests;
