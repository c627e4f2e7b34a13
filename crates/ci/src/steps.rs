//! What a step does, as far as its name tells: which one the statistics of a job belong to.

use crate::model::Step;

/// Words in names of steps that compile something.
const BUILD_WORDS: [&str; 8] =
    ["build", "compile", "make", "cmake", "ninja", "cargo", "wheel", "nvcc"];
/// Words in names of steps that test something.
const TEST_WORDS: [&str; 7] = ["test", "tests", "pytest", "ctest", "gtest", "nextest", "jest"];

/// Whether a step is one of those that RAPIDS' summary gives the compiler cache's statistics to:
/// `(?:[\w+]+\sbuild$)|(?:Build\sand\srepair.*)`, in any case.
#[must_use]
pub fn is_rapids_build(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(char::is_whitespace);
    let begins = [words.next(), words.next(), words.next()];
    if let [Some("build"), Some("and"), Some(third)] = begins
        && third.starts_with("repair")
    {
        return true;
    }
    let line = lower.strip_suffix('\n').unwrap_or(&lower);
    let Some((language, "build")) = line.rsplit_once(char::is_whitespace) else { return false };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '+';
    !language.is_empty() && language.chars().all(is_word)
}

/// The step that built, if there is one: the longest whose name says so, those of RAPIDS first.
#[must_use]
pub fn build_step(steps: &[Step]) -> Option<usize> {
    longest(steps, |step| is_rapids_build(&step.name))
        .or_else(|| longest(steps, |step| has_word(&step.name, &BUILD_WORDS)))
}

/// The step that tested, if there is one: the longest whose name says so.
#[must_use]
pub fn test_step(steps: &[Step]) -> Option<usize> {
    longest(steps, |step| has_word(&step.name, &TEST_WORDS))
}

fn has_word(name: &str, known: &[&str]) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    // What runs after a step that it undoes is named after it.
    !lower.starts_with("post ") && words.any(|word| known.contains(&word))
}

fn longest(steps: &[Step], is_meant: impl Fn(&Step) -> bool) -> Option<usize> {
    let duration = |step: &Step| {
        step.completed_nanos.unwrap_or(0).saturating_sub(step.started_nanos.unwrap_or(u64::MAX))
    };
    let meant = steps.iter().enumerate().filter(|(_, step)| is_meant(step));
    // Of equals the first.
    meant.rev().max_by_key(|(_, step)| duration(step)).map(|(nth, _)| nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_rapids_builds_are_known_as_there() {
        for name in ["C++ build", "Python build", "PYTHON BUILD", "Build and repair the wheel"] {
            assert!(is_rapids_build(name), "{name}");
        }
        for name in
            ["build", "C++ build x", "my C++ build", " build", "Rebuild and repair", "a-b build"]
        {
            assert!(!is_rapids_build(name), "{name}");
        }
    }

    #[test]
    fn the_longest_step_that_fits_is_taken() {
        let step = |name: &str, seconds: u64| Step {
            name: name.to_owned(),
            started_nanos: Some(0),
            completed_nanos: Some(seconds),
            ..Step::default()
        };
        let steps = [
            step("Set up", 90),
            step("cargo build", 5),
            step("Run make", 9),
            step("Post make", 99),
        ];
        assert_eq!(build_step(&steps), Some(1), "as RAPIDS names them");
        let steps = [step("Compile all", 5), step("Run make", 9), step("Run unit tests", 3)];
        assert_eq!((build_step(&steps), test_step(&steps)), (Some(1), Some(2)));
        assert_eq!(build_step(&[step("Checkout", 5)]), None);
    }
}
