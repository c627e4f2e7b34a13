//! The format of ninja's log, and the build that is in it.
//!
//! ```text
//! # ninja log v6
//! <start ms> TAB <end ms> TAB <time of modification> TAB <output> TAB <hash of the command>
//! ```
//!
//! A line is written when a command ends, one for each output of it. Times are since the start of
//! ninja, and every run of ninja adds to the same file. So a new build begins where a line ends
//! before the one above it, or where an output comes a second time; the last build is read. When the
//! log grows large, ninja writes it anew in no order: what it had is then no build, but what the
//! next run adds is one again.
//!
//! The time of modification is in nanoseconds (in seconds before ninja 1.9, in other units on
//! Windows). Up to version 5 it is the output's, so when the command ended; since version 6 it is
//! the moment when the command began. Either way it gives the start of ninja, and of all targets
//! the middle one is taken: a command may leave its output as it was, or give it any time it likes.

use std::collections::HashSet;

use super::super::text::{BadLines, numbered_lines};
use super::NANOS_PER_MILLI;
use crate::warnings::Warnings;

const HEADER: &str = "# ninja log v";
const VERSIONS: std::ops::RangeInclusive<u32> = 5..=7;
/// The first version whose times are those when commands began.
const FIRST_WITH_START_TIMES: u32 = 6;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Between the starts of 2001 and 2100 a time of modification is believed.
const BELIEVED_SECONDS: std::ops::Range<u64> = 978_307_200..4_102_444_800;

/// A command of a build, by its first output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) output: &'a str,
    pub(super) start_millis: u64,
    pub(super) end_millis: u64,
    /// Whether the build waited for it, as far as the log tells.
    pub(super) is_critical: bool,
    modified: u64,
    hash: &'a str,
}

impl Target<'_> {
    pub(super) fn millis(&self) -> u64 {
        self.end_millis - self.start_millis
    }
}

/// The last build of a log.
#[derive(Debug, Default)]
pub(super) struct Build<'a> {
    /// In the order in which they ended.
    pub(super) targets: Vec<Target<'a>>,
    /// When ninja was started, since 1970.
    pub(super) start_nanos: Option<u64>,
}

/// The last build of a log, which is called `file` in warnings; none if it is no log.
pub(super) fn parse<'a>(text: &'a str, file: &str, warnings: &mut Warnings) -> Option<Build<'a>> {
    let mut lines = numbered_lines(text);
    let header = lines.next().map(|(_, line)| line).unwrap_or_default();
    let version = header.strip_prefix(HEADER).and_then(|version| version.trim().parse().ok());
    let Some(version) = version.filter(|version| VERSIONS.contains(version)) else {
        let (first, last) = (VERSIONS.start(), VERSIONS.end());
        warnings.add(format!("{file}: this is no log of ninja of version {first} to {last}"));
        return None;
    };

    let mut builds = Builds::default();
    let mut bad = BadLines::new(file, warnings);
    for (number, line) in lines {
        match target(line) {
            Some(target) => builds.add(target),
            None if line.is_empty() || line.starts_with('#') => {}
            None => bad.add(number, "is not of the form of ninja's log"),
        }
    }
    bad.finish();
    let mut targets = builds.targets;
    mark_critical(&mut targets);
    Some(Build { start_nanos: start_nanos(version, &targets), targets })
}

fn target(line: &str) -> Option<Target<'_>> {
    let mut fields = line.split('\t');
    // ninja's own numbers have 32 bits; larger ones would overflow as nanoseconds.
    let mut millis = || Some(u64::from(fields.next()?.parse::<u32>().ok()?));
    let (start_millis, end_millis) = (millis()?, millis()?);
    let modified = fields.next()?.parse::<i64>().ok()?;
    let (output, hash) = (fields.next()?, fields.next()?);
    let is_sound = start_millis <= end_millis && !output.is_empty();
    is_sound.then_some(Target {
        output,
        start_millis,
        end_millis,
        is_critical: false,
        // Below zero is what ninja writes for an output that is not there.
        modified: u64::try_from(modified).unwrap_or(0),
        hash,
    })
}

/// Reads builds one after another and keeps the last.
#[derive(Default)]
struct Builds<'a> {
    targets: Vec<Target<'a>>,
    outputs: HashSet<&'a str>,
    commands: HashSet<(u64, u64, &'a str)>,
    last_end_millis: u64,
}

impl<'a> Builds<'a> {
    fn add(&mut self, target: Target<'a>) {
        if target.end_millis < self.last_end_millis || self.outputs.contains(target.output) {
            *self = Self::default();
        }
        self.last_end_millis = target.end_millis;
        self.outputs.insert(target.output);
        // A command with several outputs has a line for each, and ran once.
        if self.commands.insert((target.start_millis, target.end_millis, target.hash)) {
            self.targets.push(target);
        }
    }
}

/// Marks the targets that the build waited for.
///
/// Which target needs which is not in the log. But a command is started as soon as what it needs is
/// there, so it most likely waited for the one that ended last before it began; and the build as a
/// whole waited for the target that ended last. Where all processors were busy this is the chain of
/// those that a free processor was waited for, which had to be shorter just as well.
fn mark_critical(targets: &mut [Target<'_>]) {
    let mut end = targets.len();
    while let Some(last) = targets.get_mut(..end).and_then(<[_]>::last_mut) {
        last.is_critical = true;
        let start_millis = last.start_millis;
        let before = targets.partition_point(|target| target.end_millis <= start_millis);
        // One that took no time ended at its own start, and must not be found again.
        end = before.min(end - 1);
    }
}

/// When ninja was started, by the times of modification.
fn start_nanos(version: u32, targets: &[Target<'_>]) -> Option<u64> {
    let mut starts: Vec<u64> = targets
        .iter()
        .filter_map(|target| {
            let modified_nanos = believed_nanos(target.modified)?;
            let millis = match version {
                FIRST_WITH_START_TIMES.. => target.start_millis,
                _ => target.end_millis,
            };
            modified_nanos.checked_sub(millis * NANOS_PER_MILLI)
        })
        .collect();
    let middle = starts.len() / 2;
    (!starts.is_empty()).then(|| *starts.select_nth_unstable(middle).1)
}

fn believed_nanos(modified: u64) -> Option<u64> {
    if BELIEVED_SECONDS.contains(&(modified / NANOS_PER_SECOND)) {
        return Some(modified);
    }
    BELIEVED_SECONDS.contains(&modified).then(|| modified * NANOS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn build(text: &str) -> Build<'_> {
        let mut warnings = Warnings::new();
        let build = parse(text, "f", &mut warnings);
        assert!(warnings.all().is_empty(), "{warnings:?}");
        build.unwrap()
    }

    fn outputs(text: &str) -> Vec<&str> {
        build(text).targets.iter().map(|target| target.output).collect()
    }

    #[test]
    fn a_build_begins_where_times_go_back_or_an_output_comes_again() {
        let log = "# ninja log v5\n0\t9\t0\ta\t1\n0\t5\t0\tb\t2\n1\t7\t0\tc\t3\n";
        assert_eq!(outputs(log), ["b", "c"]);
        let log = "# ninja log v5\r\n0\t5\t0\ta\t1\r\n0\t7\t0\tb\t2\r\n0\t9\t0\ta\t1\r\n";
        assert_eq!(outputs(log), ["a"]);
    }

    #[test]
    fn outputs_of_one_command_are_one_target() {
        let log = "# ninja log v7\n0\t5\t0\ta\tf\n0\t5\t0\tb\tf\n0\t5\t0\tc\te\n";
        assert_eq!(outputs(log), ["a", "c"]);
    }

    #[test]
    fn the_chain_ends_although_targets_take_no_time() {
        let log = "# ninja log v7\n0\t5\t0\ta\t1\n5\t5\t0\tb\t2\n5\t5\t0\tc\t3\n3\t6\t0\td\t4\n5\t9\t0\te\t5\n";
        let build = build(log);
        let critical: Vec<_> = build.targets.iter().filter(|t| t.is_critical).collect();
        let names: Vec<_> = critical.iter().map(|target| target.output).collect();
        assert_eq!(names, ["a", "b", "c", "e"]);
    }

    #[test]
    fn the_start_of_ninja_comes_from_the_times_of_most_targets() {
        let log = |version, times: [u64; 3]| {
            let [a, b, c] = times;
            format!(
                "# ninja log v{version}\n1000\t2000\t{a}\ta\t1\n1000\t3000\t{b}\tb\t2\n2000\t4000\t{c}\tc\t3\n"
            )
        };
        let start = 1_800_000_000;
        let nanos = |seconds: u64| (start + seconds) * NANOS_PER_SECOND;
        // What a command began with, what its output was given, and in seconds.
        for text in [
            log(6, [nanos(1), nanos(1), nanos(90)]),
            log(7, [nanos(1), 0, nanos(2)]),
            log(5, [nanos(2), nanos(3), nanos(4)]),
            log(5, [start + 2, 7, start + 4]),
        ] {
            assert_eq!(build(&text).start_nanos, Some(nanos(0)), "{text}");
        }
        // Windows counts in steps of 100 ns from 2001.
        assert_eq!(build(&log(5, [7_500_000_000_000_000; 3])).start_nanos, None);
    }

    #[test]
    fn what_is_no_log_or_a_cut_line_is_a_warning() {
        let mut warnings = Warnings::new();
        for text in ["", "# ninja log v4\n", "# ninja log v8\n", "[1/2] cc a.c\n"] {
            assert!(parse(text, "f", &mut warnings).is_none(), "{text}");
        }
        assert_eq!(warnings.all(), ["f: this is no log of ninja of version 5 to 7"]);
        let cut = "# ninja log v5\n0\t5\t0\ta\t1\n1\t6\t0\n9\t6\t0\tb\t1\n";
        let build = parse(cut, "g", &mut warnings).unwrap();
        assert_eq!(build.targets.len(), 1);
        assert_eq!(warnings.all()[1], "g: line 3 is not of the form of ninja's log");
        assert_eq!(warnings.all().len(), 3);
    }
}
