//! Files that a job left for the summary (its *stash*), as attributes and spans.
//!
//! | file | module | becomes |
//! |---|---|---|
//! | `attrs`, `telemetry-env-vars`, `traceparent` | here | attributes of the job's resource, the run's service, the job's span |
//! | `sccache-stats*.txt`, `sccache-stats*.json` | `sccache` | `sccache.*` of the build |
//! | `*ninja_log*` | `ninja` | `ninja.*` of the build, a span for each of the slowest targets |
//! | `*.xml` | `junit` | a span for each test, `test.*` |
//! | `*pytest*.txt`, `*pytest*.log` | `pytest` | the same, as far as pytest's output tells |
//! | `package-sizes*.txt`, packages themselves | `packages` | `package.*` |
//! | `*.attrs` | `lines` | attributes of the job: the way to add what is not listed here |
//!
//! The first three are looked for in the stash itself, the others in the directories below it too.
//! A file that cannot be understood is a warning that names it; the others are read all the same.
//! Where a pytest run left both a report (`*.xml`) and its output, the report counts alone.
//!
//! [`rapids()`] reads sccache's statistics once more, the way that RAPIDS' script does.

mod cases;
mod folder;
mod junit;
mod limits;
mod lines;
mod ninja;
mod packages;
mod pytest;
mod rapids;
mod sccache;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use self::rapids::rapids;

use self::cases::TestRun;
use self::folder::StashFile;
use self::limits::MAX_KEY_VALUES;
use self::text::{BadLines, bounded_name, numbered_lines};
use crate::attributes::Attributes;
use crate::warnings::Warnings;

/// The file with the variables of the run.
const VARIABLES: &str = "telemetry-env-vars";

/// What one job left.
#[derive(Debug, Clone, Default)]
pub struct Stash {
    /// Attributes of the job's resource: the lines of `attrs`.
    pub resource: Attributes,
    /// The trace that the job belongs to, in the form of the W3C: the text of `traceparent`.
    pub traceparent: Option<String>,
    /// Attributes for the job's span: what `*.attrs` say, and the sizes of packages.
    pub job: Attributes,
    /// Attributes for the span of the build step: `sccache.*` and `ninja.*`.
    pub build: Attributes,
    /// Attributes for the span of the test step: how many tests there were, `test.*`.
    pub test: Attributes,
    /// The slowest targets of the build, children of the build step.
    pub targets: Vec<Child>,
    /// The tests, children of the test step.
    pub tests: Vec<Child>,
}

/// Something that becomes a span of its own below a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// The name of the span.
    pub name: String,
    /// When it began.
    pub start: Start,
    /// How long it took.
    pub duration_nanos: u64,
    /// How it ended.
    pub status: ChildStatus,
    /// Its attributes.
    pub attributes: Attributes,
}

/// When something began. Not every file tells the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Nanoseconds since 1970.
    At(u64),
    /// Nanoseconds after the start of the step that it is a child of.
    AfterParent(u64),
}

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildStatus {
    /// It was skipped, or nobody says.
    Unset,
    /// Well.
    Ok,
    /// With an error, and what was said of it.
    Error(String),
}

/// What a file of a stash is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Resource,
    Traceparent,
    Sccache,
    Ninja,
    Junit,
    Pytest,
    Packages,
    Lines,
}

impl Kind {
    fn of(file: &StashFile) -> Option<Self> {
        let name = file.name();
        Some(match file.relative.as_str() {
            "attrs" => Self::Resource,
            "traceparent" => Self::Traceparent,
            _ if sccache::is_file_name(name) => Self::Sccache,
            _ if ninja::is_file_name(name) => Self::Ninja,
            _ if packages::is_file_name(name) => Self::Packages,
            _ if pytest::is_file_name(name) => Self::Pytest,
            _ if name.ends_with(".xml") => Self::Junit,
            _ if name.ends_with(".attrs") => Self::Lines,
            _ => return None,
        })
    }
}

/// What folders and artifacts with the stash of a job are named by, before the job's number.
pub const FOLDER: &str = "telemetry-tools-artifacts-";

/// Where the stash of a job is.
#[must_use]
pub fn folder_of(artifacts: &Path, job_id: u64) -> PathBuf {
    artifacts.join(format!("{FOLDER}{job_id}"))
}

/// The name of the run's service, as the variables say that one of the jobs left behind.
#[must_use]
pub fn service(artifacts: &Path) -> Option<String> {
    let entries = std::fs::read_dir(artifacts).ok()?.flatten().map(|entry| entry.path());
    let mut folders: Vec<_> = entries.chain([artifacts.to_owned()]).collect();
    folders.sort_unstable();
    folders.iter().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join(VARIABLES)).ok()?;
        // Whoever takes over the variables hears what is odd about them.
        let variables = key_values(&text, VARIABLES, &mut Warnings::new());
        variables.into_iter().find(|(name, _)| name == "OTEL_SERVICE_NAME").map(|(_, value)| value)
    })
}

/// Reads what is in a directory. A directory that is not there is an empty stash, without a warning.
pub fn read(folder: &Path, warnings: &mut Warnings) -> Stash {
    let files = folder::files(folder, warnings);
    let of = |kind: Kind| -> Vec<&StashFile> {
        files.iter().filter(|file| Kind::of(file) == Some(kind)).collect()
    };

    let mut stash = Stash::default();
    for file in of(Kind::Resource) {
        stash.resource = file_key_values(file, warnings).into_iter().collect();
    }
    for file in of(Kind::Traceparent) {
        let text = file.text(warnings).unwrap_or_default();
        stash.traceparent = Some(bounded_name(text.trim())).filter(|text| !text.is_empty());
    }

    stash.job = lines::read(&of(Kind::Lines), warnings);
    stash.job.extend(&packages::read(folder, &of(Kind::Packages), warnings));
    stash.build = sccache::read(&of(Kind::Sccache), warnings);
    let ninja = ninja::read(&of(Kind::Ninja), warnings);
    stash.build.extend(&ninja.attributes);
    stash.targets = ninja.targets;

    let mut run = TestRun::default();
    junit::read(&of(Kind::Junit), &mut run, warnings);
    if run.is_empty() {
        pytest::read(&of(Kind::Pytest), &mut run, warnings);
    }
    (stash.test, stash.tests) = run.finish(folder, warnings);
    stash
}

fn file_key_values(file: &StashFile, warnings: &mut Warnings) -> Vec<(String, String)> {
    let text = file.text(warnings).unwrap_or_default();
    key_values(&text, &file.shown(), warnings)
}

/// The `key=value` lines of `attrs`, which is called `file` in warnings.
///
/// The key is what stands before the first `=`, as it is. White space around the value is removed,
/// and then quotes at both of its ends. The last value of a key counts, in the first one's place.
pub fn key_values(text: &str, file: &str, warnings: &mut Warnings) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut bad = BadLines::new(file, warnings);
    for (number, line) in numbered_lines(text) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            bad.add(number, "has no '='");
            continue;
        };
        let value = value.trim_matches(is_python_space).trim_matches('"').to_owned();
        if key.is_empty() {
            bad.add(number, "has nothing before its '='");
        } else if let Some(place) = places.get(key) {
            if let Some((_, known)) = pairs.get_mut(*place) {
                *known = value;
            }
        } else if pairs.len() == MAX_KEY_VALUES {
            bad.add(number, "is one too many");
        } else {
            places.insert(key, pairs.len());
            pairs.push((key.to_owned(), value));
        }
    }
    bad.finish();
    pairs
}

/// What Python's `strip` removes: four separators besides what Unicode calls white space.
fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}
