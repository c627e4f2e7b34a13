//! ninja's log: which targets were built, how long each took, and what the build waited for.
//!
//! | attribute of the build | what it is |
//! |---|---|
//! | `ninja.targets` | targets that were built |
//! | `ninja.total_seconds` | the sum of what they took |
//! | `ninja.wall_seconds` | from the start of the first to the end of the last |
//! | `ninja.parallelism` | the one by the other: how many were built at once, on average |
//! | `ninja.critical_seconds` | what the targets took that the build waited for, one after another |
//! | `ninja.slowest_target` | the path of the slowest |
//!
//! The slowest targets are spans, with `ninja.target` (the path) and `ninja.is_critical`. Of a stash
//! with several logs those attributes begin with `ninja.<name>.`, by the file's name or directory.
//! How a log is read, and what it cannot tell, is said in [`log`].

mod log;

use std::cmp::Reverse;

use self::log::{Build, Target};
use super::folder::StashFile;
use super::limits::{MAX_NINJA_LOGS, MAX_TARGET_SPANS};
use super::text::{bounded_name, free_name, word_key};
use super::{Child, ChildStatus, Start};
use crate::attributes::Attributes;
use crate::warnings::Warnings;

/// What all files of ninja have in their names; `.ninja_log` is the one that it writes itself.
const FILE_NAME: &str = "ninja_log";

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What the logs of a stash tell.
#[derive(Debug, Default)]
pub(super) struct Ninja {
    pub(super) attributes: Attributes,
    pub(super) targets: Vec<Child>,
}

/// Whether a file is a log of ninja, by its name.
pub(super) fn is_file_name(name: &str) -> bool {
    name.contains(FILE_NAME)
}

/// The attributes and spans of all logs, for the build.
pub(super) fn read(files: &[&StashFile], warnings: &mut Warnings) -> Ninja {
    let mut ninja = Ninja::default();
    let mut taken: Vec<String> = Vec::new();
    for file in files {
        if taken.len() == MAX_NINJA_LOGS {
            warnings.add(format!("{}: left out, there are many logs of ninja", file.shown()));
            continue;
        }
        let Some(text) = file.text(warnings) else { continue };
        let Some(build) = log::parse(&text, &file.shown(), warnings) else { continue };
        let is_taken = |name: &str| taken.iter().any(|known| known == name);
        let wanted = match prefix_of(&file.relative) {
            _ if files.len() == 1 => String::new(),
            empty if empty.is_empty() && is_taken("") => word_key(&file.relative),
            prefix => prefix,
        };
        let prefix = free_name(&wanted, is_taken);
        set(&build, &prefix, &mut ninja.attributes);
        ninja.targets.extend(slowest(&build));
        taken.push(prefix);
    }
    ninja
}

/// What tells one log from another: all that is in its path besides `ninja_log`.
fn prefix_of(relative: &str) -> String {
    let path = relative.strip_suffix(".txt").or_else(|| relative.strip_suffix(".log"));
    let (before, after) = path.unwrap_or(relative).rsplit_once(FILE_NAME).unwrap_or((relative, ""));
    word_key(&format!("{before}/{after}"))
}

fn set(build: &Build<'_>, prefix: &str, attributes: &mut Attributes) {
    let name = |last: &str| match prefix {
        "" => format!("ninja.{last}"),
        _ => format!("ninja.{prefix}.{last}"),
    };
    attributes.set(name("targets"), build.targets.len() as u64);
    let Some(slowest) = build.targets.iter().min_by_key(|target| Reverse(target.millis())) else {
        return;
    };

    let first_start = build.targets.iter().map(|target| target.start_millis).min();
    let last_end = build.targets.iter().map(|target| target.end_millis).max();
    let wall_millis = last_end.unwrap_or(0).saturating_sub(first_start.unwrap_or(0));
    let total_millis: u64 = build.targets.iter().map(Target::millis).sum();
    let critical_millis: u64 =
        build.targets.iter().filter(|target| target.is_critical).map(Target::millis).sum();

    attributes.set(name("total_seconds"), seconds(total_millis));
    attributes.set(name("wall_seconds"), seconds(wall_millis));
    attributes.set(name("critical_seconds"), seconds(critical_millis));
    if wall_millis > 0 {
        attributes.set(name("parallelism"), total_millis as f64 / wall_millis as f64);
    }
    attributes.set(name("slowest_target"), bounded_name(slowest.output));
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1e3
}

/// The slowest targets as spans, in the order in which they began.
fn slowest(build: &Build<'_>) -> Vec<Child> {
    let mut targets: Vec<&Target<'_>> = build.targets.iter().collect();
    targets.sort_by_key(|target| Reverse(target.millis()));
    targets.truncate(MAX_TARGET_SPANS);
    targets.sort_by_key(|target| (target.start_millis, target.end_millis));
    targets.into_iter().map(|target| span(target, build.start_nanos)).collect()
}

fn span(target: &Target<'_>, build_start_nanos: Option<u64>) -> Child {
    let name = bounded_name(target.output);
    let after_nanos = target.start_millis * NANOS_PER_MILLI;
    let mut attributes = Attributes::new();
    attributes.set("ninja.target", name.as_str());
    attributes.set("ninja.is_critical", target.is_critical);
    Child {
        name,
        start: match build_start_nanos {
            Some(start_nanos) => Start::At(start_nanos.saturating_add(after_nanos)),
            None => Start::AfterParent(after_nanos),
        },
        duration_nanos: target.millis() * NANOS_PER_MILLI,
        // ninja writes down only what succeeded.
        status: ChildStatus::Ok,
        attributes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Value;

    const SECOND: u64 = 1_000_000_000;

    /// Written by ninja 1.12 and later: the third column is the moment when a command began.
    const LOG: &str = "# ninja log v6\n\
        0\t1000\t1700000000000000000\told.o\t1\n\
        10\t510\t1800000000010000000\tb.o\t2\n\
        0\t2000\t1800000000000000000\ta.o\t3\n\
        2000\t2500\t1800000002000000000\tlib.so\t4\n\
        2000\t2500\t1800000002000000000\tlib.map\t4\n\
        2600\t3000\t1800000002600000000\tapp\t5\n";

    fn read_files(files: &[(&str, &str)]) -> (Ninja, Warnings) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut warnings = Warnings::new();
        let files = super::super::folder::files(folder.path(), &mut warnings);
        (read(&files.iter().collect::<Vec<_>>(), &mut warnings), warnings)
    }

    #[test]
    fn the_last_build_is_summed_up() {
        let (ninja, warnings) = read_files(&[("x.ninja_log", LOG)]);
        let value = |name: &str| ninja.attributes.get(&format!("ninja.{name}")).cloned();
        assert_eq!(value("targets"), Some(Value::Int(4)));
        assert_eq!(value("total_seconds"), Some(Value::Double(3.4)));
        assert_eq!(value("wall_seconds"), Some(Value::Double(3.0)));
        assert_eq!(value("critical_seconds"), Some(Value::Double(2.9)));
        assert_eq!(value("parallelism"), Some(Value::Double(3400.0 / 3000.0)));
        assert_eq!(value("slowest_target"), Some("a.o".into()));
        assert!(warnings.all().is_empty(), "{warnings:?}");
    }

    #[test]
    fn the_slowest_targets_are_spans_at_the_time_they_ran() {
        let (ninja, _) = read_files(&[(".ninja_log", LOG)]);
        let spans: Vec<_> = ninja
            .targets
            .iter()
            .map(|span| (span.name.as_str(), span.start, span.duration_nanos))
            .collect();
        let at = |millis: u64| Start::At(1_800_000_000 * SECOND + millis * NANOS_PER_MILLI);
        let expected = [
            ("a.o", at(0), 2 * SECOND),
            ("b.o", at(10), SECOND / 2),
            ("lib.so", at(2000), SECOND / 2),
            ("app", at(2600), 400 * NANOS_PER_MILLI),
        ];
        assert_eq!(spans, expected);
        let critical: Vec<_> = ninja
            .targets
            .iter()
            .map(|span| span.attributes.get("ninja.is_critical") == Some(&true.into()))
            .collect();
        assert_eq!(critical, [true, false, true, true]);
        assert_eq!(ninja.targets[0].attributes.text("ninja.target"), Some("a.o"));
    }

    #[test]
    fn no_more_than_the_slowest_become_spans() {
        let mut log = "# ninja log v5\n".to_owned();
        for number in 1..=30 {
            log += &format!("0\t{number}\t0\to{number}\t{number:x}\n");
        }
        let (ninja, _) = read_files(&[("ninja_log", &log)]);
        assert_eq!(ninja.targets.len(), MAX_TARGET_SPANS);
        assert!(ninja.targets.iter().all(|span| span.duration_nanos > 20 * NANOS_PER_MILLI));
        assert_eq!(ninja.targets[0].start, Start::AfterParent(0));
    }

    #[test]
    fn several_logs_are_told_apart_by_name_or_directory() {
        let names = [".ninja_log", "cpp/.ninja_log", "ninja_log-tests.txt", "py.ninja_log"];
        let (ninja, _) = read_files(&names.map(|name| (name, LOG)));
        let mut found: Vec<_> =
            ninja.attributes.iter().filter_map(|(name, _)| name.strip_suffix("targets")).collect();
        found.sort_unstable();
        assert_eq!(found, ["ninja.", "ninja.cpp.", "ninja.py.", "ninja.tests."]);
        let (ninja, _) = read_files(&[(".ninja_log", LOG), ("ninja_log.txt", LOG)]);
        assert!(ninja.attributes.get("ninja.ninja_log_txt.targets").is_some());
        let (ninja, _) = read_files(&[("cpp/build.ninja_log", LOG)]);
        assert!(ninja.attributes.get("ninja.targets").is_some());
    }

    #[test]
    fn a_log_of_nothing_says_so() {
        let (ninja, warnings) = read_files(&[(".ninja_log", "# ninja log v7\n")]);
        assert_eq!(ninja.attributes.iter().collect::<Vec<_>>(), [("ninja.targets", &0_i64.into())]);
        assert!(ninja.targets.is_empty() && warnings.all().is_empty());
    }

    #[test]
    fn nothing_that_a_file_holds_makes_the_parser_panic() {
        super::super::tests::mutations(LOG, |bytes| {
            let text = crate::text::decode(&bytes);
            if let Some(build) = log::parse(&text, "f", &mut Warnings::new()) {
                set(&build, "", &mut Attributes::new());
                slowest(&build);
            }
        });
    }
}
