//! Scripts of queries: what they say, what is found, whether it is the same.

mod ask;
mod parse;

pub(crate) use ask::run;
pub(crate) use parse::{Script, parse};

/// What is wrong with the answers.
pub(crate) fn compare(name: &str, script: &Script, found: &[Vec<String>]) -> Vec<String> {
    let mut failures = Vec::new();
    for (case, found) in script.cases.iter().zip(found) {
        let is_same = case.expected.len() == found.len()
            && case.expected.iter().zip(found).all(|(want, got)| {
                // An error is expected by a part of its text.
                want == got || (case.fails && got.contains(want.trim_start_matches("fails: ")))
            });
        if !is_same {
            failures.push(format!(
                "{name}:{}: {}\n  expected\n    {}\n  found\n    {}",
                case.line_number,
                case.query,
                case.expected.join("\n    "),
                found.join("\n    ")
            ));
        }
    }
    failures
}

/// The text of a script with what was found in place of what was expected.
pub(crate) fn blessed(text: &str, script: &Script, found: &[Vec<String>]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    let mut at = 0;
    for (case, found) in script.cases.iter().zip(found) {
        // An error stays as it is expected, if it is the one.
        let is_kept = case.fails
            && matches!((&case.expected[..], &found[..]), ([want], [got])
                if got.contains(want.trim_start_matches("fails: ")));
        for line in &lines[at..case.expected_at] {
            out.push_str(line);
            out.push('\n');
        }
        let expected = if is_kept { &case.expected } else { found };
        for line in expected {
            out.push_str("  ");
            out.push_str(line);
            out.push('\n');
        }
        at = case.expected_at + case.expected.len();
    }
    for line in &lines[at..] {
        out.push_str(line);
        out.push('\n');
    }
    out
}
