//! sccache's statistics as RAPIDS' `send_trace.py` has them, for those whose dashboards are made for
//! what it sends. Its mistakes are part of that, and are kept here alone; the right numbers are
//! those of the module `sccache`:
//!
//! - the name of a language ends at the first character that is no word, so `c++ [gcc]` is `c`;
//! - a second line of a language replaces the first, where they should be added;
//! - rates of a file are of all requests for compilation, cacheable or not;
//! - a rate of nothing is the integer 0, every other rate is a double.
//!
//! One thing is not kept. A language that the script does not know, such as `C/C++` of the plain
//! form, ends it, and the trace of the whole workflow with it. Here that line is left out, with a
//! warning.

use std::path::Path;

use super::folder::{StashFile, files_as_listed};
use super::sccache::{FILE_PREFIX, MAIN_KEY, key_of};
use super::text::{BadLines, is_word, numbered_lines};
use crate::attributes::{Attributes, Value};
use crate::warnings::Warnings;

/// The languages that the script knows, all of which are sent always, in this order.
const LANGUAGES: [&str; 12] = [
    "c",
    "cHeader",
    "c++",
    "c++Header",
    "c/c++",
    "objc",
    "objc++",
    "cuda",
    "ptx",
    "cubin",
    "rust",
    "hip",
];

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    hits: u64,
    misses: u64,
    errors: u64,
}

impl Counts {
    fn all(self) -> u64 {
        self.hits.saturating_add(self.misses).saturating_add(self.errors)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            hits: self.hits.saturating_add(other.hits),
            misses: self.misses.saturating_add(other.misses),
            errors: self.errors.saturating_add(other.errors),
        }
    }

    /// The four attributes of a file or of a language.
    fn set(self, prefix: &str, requests: u64, attributes: &mut Attributes) {
        let parts = [("hit", self.hits), ("miss", self.misses), ("error", self.errors)];
        for (name, part) in parts {
            let rate = match requests {
                0 => Value::Int(0),
                _ => Value::Double(part as f64 / requests as f64),
            };
            attributes.set(format!("{prefix}.{name}_rate"), rate);
        }
        attributes.set(format!("{prefix}.requests"), requests);
    }
}

/// What one file tells.
#[derive(Debug, Default)]
struct Stats {
    requests: u64,
    languages: [Counts; LANGUAGES.len()],
}

impl Stats {
    fn take_line(&mut self, line: &str) -> Result<(), &'static str> {
        if let Some(requests) = compile_requests(line) {
            self.requests = requests;
        } else if let Some((outcome, language, count)) = outcome_of_language(line) {
            let known = LANGUAGES.iter().zip(&mut self.languages);
            let found = known.into_iter().find(|(name, _)| **name == language);
            let (_, counts) = found.ok_or("has a language that send_trace.py does not know")?;
            match outcome {
                "hits" => counts.hits = count,
                "misses" => counts.misses = count,
                "errors" => counts.errors = count,
                // The script sets them where nobody looks.
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&self, key: &str, attributes: &mut Attributes) {
        let prefix = format!("sccache.{key}");
        let total = self.languages.iter().copied().fold(Counts::default(), Counts::plus);
        total.set(&prefix, self.requests, attributes);
        for (language, counts) in LANGUAGES.iter().zip(self.languages) {
            counts.set(&format!("{prefix}.{language}"), counts.all(), attributes);
        }
    }
}

/// `^Compile\srequests\s+(\d+)`, in any case.
fn compile_requests(line: &str) -> Option<u64> {
    let (first, rest) = line.split_at_checked("compile".len())?;
    let (second, rest) = space(rest)?.split_at_checked("requests".len())?;
    let is_it = first.eq_ignore_ascii_case("compile") && second.eq_ignore_ascii_case("requests");
    if is_it { number(space(rest)?.trim_start()) } else { None }
}

/// `Cache (\w+) \((\w+)[^)]*\)\s*(\d+)`.
fn outcome_of_language(line: &str) -> Option<(&str, &str, u64)> {
    let (outcome, rest) = word(line.strip_prefix("Cache ")?)?;
    let (language, rest) = word(rest.strip_prefix(" (")?)?;
    let (_, rest) = rest.split_once(')')?;
    Some((outcome, language, number(rest.trim_start())?))
}

/// What is behind one white space.
fn space(text: &str) -> Option<&str> {
    text.strip_prefix(char::is_whitespace)
}

/// The word at the start of a text, and what is behind it.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character| !is_word(character)).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

/// The number at the start of a text. Python's have no end; one too large for us is the largest.
fn number(text: &str) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let digits = text.get(..end).filter(|digits| !digits.is_empty())?;
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// The attributes that the script sets on a build step: 52 for each `sccache-stats*.txt` in a
/// directory. Files are in the order in which the directory lists them, as Python's `glob` has it;
/// of two with the same key the later one counts.
pub fn rapids(folder: &Path, warnings: &mut Warnings) -> Attributes {
    let mut attributes = Attributes::new();
    for file in files_as_listed(folder, warnings) {
        let name = file.name();
        if !name.starts_with(FILE_PREFIX) || !name.ends_with(".txt") {
            continue;
        }
        if let Some(stats) = read(&file, warnings) {
            stats.set(key_of(name, &["txt"]).unwrap_or(MAIN_KEY), &mut attributes);
        }
    }
    attributes
}

fn read(file: &StashFile, warnings: &mut Warnings) -> Option<Stats> {
    let text = file.text(warnings)?;
    let shown = file.shown();
    let mut bad = BadLines::new(&shown, warnings);
    let mut stats = Stats::default();
    for (line_number, line) in numbered_lines(&text) {
        if let Err(what) = stats.take_line(line) {
            bad.add(line_number, what);
        }
    }
    bad.finish();
    Some(stats)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVANCED: &str = "\
Compile requests                     20
Compile requests executed            18
Cache hits                            7
Cache hits (c [gcc])                  4
Cache hits (c++ [gcc])                3
Cache misses                          4
Cache misses (c++ [clang])            1
Cache misses (c++ [gcc])              2
Cache misses (cuda [nvcc])            1
Cache hits rate (c [gcc])         50.00 %
";

    fn rapids_of(files: &[(&str, &str)], warnings: &mut Warnings) -> Attributes {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        rapids(folder.path(), warnings)
    }

    #[test]
    fn every_mistake_of_the_script_is_made() {
        let mut warnings = Warnings::new();
        let attributes = rapids_of(&[("sccache-stats-x.txt", ADVANCED)], &mut warnings);
        assert_eq!(attributes.len(), 52);
        let value = |name: &str| attributes.get(&format!("sccache.x.{name}")).cloned().unwrap();
        assert_eq!(value("requests"), Value::Int(20));
        assert_eq!(value("c.requests"), Value::Int(5));
        assert_eq!(value("c.hit_rate"), Value::Double(0.6));
        assert_eq!(value("c++.requests"), Value::Int(0));
        assert_eq!(value("c++.hit_rate"), Value::Int(0));
        assert_eq!(value("hit_rate"), Value::Double(0.15));
        assert_eq!(value("miss_rate"), Value::Double(0.15));
        assert_eq!(value("error_rate"), Value::Double(0.0));
        assert_eq!(value("cuda.miss_rate"), Value::Double(1.0));
        let names: Vec<_> = attributes.iter().map(|(name, _)| name).collect();
        assert_eq!(names[0], "sccache.x.hit_rate");
        assert_eq!(
            names[3..6],
            ["sccache.x.requests", "sccache.x.c.hit_rate", "sccache.x.c.miss_rate"]
        );
        assert_eq!(names[51], "sccache.x.hip.requests");
        assert!(warnings.all().is_empty());
    }

    #[test]
    fn a_line_that_would_end_the_script_is_left_out_by_name_and_number() {
        let text = "Compile requests 2\r\nCache hits (C/C++)  1\r\nCache hits (rust)   1\r\n";
        let mut warnings = Warnings::new();
        let attributes = rapids_of(&[("sccache-stats.txt", text)], &mut warnings);
        let rate = attributes.get("sccache.main_process.hit_rate");
        assert_eq!(rate, Some(&Value::Double(0.5)));
        assert_eq!(warnings.all().len(), 1);
        assert!(warnings.all()[0].contains("sccache-stats.txt: line 2 "), "{warnings:?}");
    }

    #[test]
    fn two_files_of_one_key_are_one_and_others_are_not_read() {
        let files = [
            ("sccache-stats.txt", ADVANCED),
            ("sccache-stats-a-b.txt", ADVANCED),
            ("sccache-stats.json", ADVANCED),
            ("other.txt", ADVANCED),
        ];
        assert_eq!(rapids_of(&files, &mut Warnings::new()).len(), 52);
    }

    #[test]
    fn lines_are_found_as_the_regular_expressions_find_them() {
        assert_eq!(compile_requests("compile\tREQUESTS   12x"), Some(12));
        assert_eq!(compile_requests("Compile requests executed 18"), None);
        assert_eq!(compile_requests(" Compile requests 18"), None);
        assert_eq!(outcome_of_language("Cache hits (c [x])7"), Some(("hits", "c", 7)));
        assert_eq!(outcome_of_language("Cache hits (CUDA (Device code))  7"), None);
        assert_eq!(outcome_of_language("Cache hits rate (c [gcc])  50.00 %"), None);
        assert_eq!(outcome_of_language("Cache hits  7"), None);
        let most = "Cache hits (c) 99999999999999999999";
        assert_eq!(outcome_of_language(most), Some(("hits", "c", u64::MAX)));
    }

    #[test]
    fn the_attributes_are_those_that_the_script_sent() {
        let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
            eprintln!("left out: what send_trace.py sent (KYMO_TEST_DATA names no directory)");
            return;
        };
        let data = Path::new(&data).join("gha");
        let golden = std::fs::read_to_string(data.join("golden/edge.spans.json")).unwrap();
        let spans: Vec<serde_json::Value> = serde_json::from_str(&golden).unwrap();
        let build = spans.iter().find(|span| span["name"] == "C++ build").unwrap();
        let folder = data.join("edge_telemetry-artifacts/telemetry-tools-artifacts-102");
        let mut warnings = Warnings::new();
        let sent: serde_json::Map<_, _> = rapids(&folder, &mut warnings)
            .iter()
            .map(|(name, value)| match value {
                Value::Int(number) => (name.to_owned(), number.to_string().into()),
                other => (name.to_owned(), other.as_number().unwrap().into()),
            })
            .collect();
        assert_eq!(sent.len(), 104);
        assert_eq!(serde_json::Value::Object(sent), build["attributes"]);
        assert!(warnings.all().is_empty(), "{warnings:?}");
    }

    #[test]
    fn nothing_that_a_file_holds_makes_the_parser_panic() {
        super::super::tests::mutations(ADVANCED, |bytes| {
            let text = crate::text::decode(&bytes);
            let mut stats = Stats::default();
            for (_, line) in numbered_lines(&text) {
                let _ = stats.take_line(line);
            }
            stats.set("x", &mut Attributes::new());
        });
    }
}
