//! What pages say, and that data cannot break them.

use serde_json::{Value, json};

use super::text::Look;
use super::{html, json, markdown, text};
use crate::analysis::{Analysis, compare};
use crate::fixture::{event, only, span, task, ten_seconds};

fn analysis() -> Analysis {
    Analysis::of(&only(&ten_seconds()))
}

fn plain(columns: usize) -> Look {
    Look { columns, colours: false }
}

#[test]
fn the_text_begins_with_the_session_and_its_tasks() {
    let page = text::render(&[analysis()], None, plain(80));
    let expected = "\
session  train.1
name     train
started  2023-11-14 22:13:20 UTC
took     10.0 s (ended)
host     vm
events   34

Tasks: 6
█████████████████████████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░
4 completed (67 %)   1 failed (17 %)   1 unfinished (17 %)

Notes
· 1 counter disagrees with what was counted from tasks

Duration of tasks
";
    assert!(page.starts_with(expected), "{page}");
    for line in [
        "duration (started to ended) 5 2.60 s 1.00 s 2.00 s 4.20 s 4.60 s 4.92 s 5.00 s",
        "Running at once: max 3 at +2.00 s, mean 1.62",
        "tail: less than half of that for the last 4.00 s, 50 % of the busy time",
        "ValueError 1 +5.00 s t5 no <b>data</b>",
        "tasks_completed 3 4 differs",
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.lines().any(|found| words(found) == line), "{line}\n{page}");
    }
    assert!(!page.contains('\x1b'));
}

#[test]
fn lines_of_charts_fit_the_width() {
    for columns in [10, 40, 72, 200] {
        let page = text::render(&[analysis()], None, plain(columns));
        for line in page.lines().filter(|line| line.contains(['█', '▁', '▇', '┤'])) {
            assert!(crate::units::width(line) <= columns.max(40), "{columns}: {line}");
        }
    }
    let coloured = text::render(&[analysis()], None, Look { columns: 80, colours: true });
    assert!(coloured.contains("\x1b[31m1 failed"), "{coloured}");
}

#[test]
fn markdown_has_tables_and_nothing_from_data_is_markup() {
    let page = markdown::render(&[analysis()], None);
    assert!(page.starts_with("# train\n\n- session: train.1\n"), "{page}");
    assert!(page.contains("**6 tasks**: 4 completed, 1 failed, 1 unfinished\n"), "{page}");
    let failure = "| ValueError | 1 | +5.00 s | t5 | no &lt;b&gt;data&lt;/b&gt; |";
    assert!(page.contains(failure), "{page}");
    let evil =
        task("s", "a|b\n# c", [0.0, 0.0, 0.0, 1.0], "TaskFailed", json!({"error_type": "[x](y)"}));
    let page = markdown::render(&[Analysis::of(&only(&evil))], None);
    assert!(page.contains("a\\|b\\\\n\\# c") && page.contains("\\[x\\](y)"), "{page}");
}

#[test]
fn json_has_the_documented_members() {
    let sessions = [analysis(), analysis()];
    let comparison = compare(&sessions);
    let document: Value =
        serde_json::from_str(&json::render(&sessions, comparison.as_ref())).unwrap();
    assert_eq!((&document["kymo"], &document["version"]), (&"report".into(), &1.into()));
    let session = &document["sessions"][0];
    for member in [
        "session",
        "tasks",
        "duration",
        "lifetime",
        "by",
        "concurrency",
        "tail",
        "throughput",
        "waits",
        "resources",
        "stragglers",
        "failures",
        "open_tasks",
        "events",
        "fields",
        "counters",
        "clock",
        "left_out",
        "notes",
    ] {
        assert!(!session[member].is_null(), "{member}");
    }
    assert_eq!(session["duration"]["p50"], 2.0);
    assert_eq!(session["session"]["started"], "2023-11-14T22:13:20.000000000Z");
    assert_eq!(session["resources"]["nodes"][0]["cpu_percent"]["mean"], 60.0);
    assert_eq!(document["comparison"]["figures"][0]["unit"], "seconds");
}

#[test]
fn the_page_is_complete_and_asks_for_nothing() {
    let page = html::render(&[analysis()], None);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    for title in
        ["Timeline", "Running at once", "Duration of tasks", "Node n1", "Use of GPUs", "Failures"]
    {
        assert!(page.contains(&format!("<h2>{title}")), "{title}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<div").count(), page.matches("</div>").count());
    assert!(!page.contains("NaN") && !page.contains("inf"));
    let sessions = [analysis(), analysis()];
    let both = html::render(&sessions, compare(&sessions).as_ref());
    assert!(both.contains("2 sessions</h1>") && both.contains("href=\"#session-1\""));
}

#[test]
fn text_from_data_cannot_become_markup() {
    let evil = "\"><script>alert('x')</script>&\u{202e}";
    let fields =
        json!({"error_type": evil, "error_message": evil, "node_id": evil, "executable": evil});
    let mut lines = task(evil, evil, [0.0, 0.5, 1.0, 2.0], "TaskFailed", fields);
    lines.push(event(evil, "ResourceUpdate", 1.0, json!({"node_id": evil, "cpu_percent": 5})));
    lines.push(event(evil, &format!("x.{evil}"), 1.0, json!({evil: 1})));
    let page = html::render(&[Analysis::of(&only(&lines))], None);
    assert_eq!(page.matches("<script>").count(), 1, "only our own");
    assert!(!page.contains("alert('x')") && !page.contains('\u{202e}'));
    let page = markdown::render(&[Analysis::of(&only(&lines))], None);
    assert!(!page.contains("<script>"));
}

#[test]
fn a_session_without_tasks_has_a_page_in_every_form() {
    let of = [Analysis::of(&only(&[event("s", "SessionStarted", 0.0, json!({}))]))];
    assert!(text::render(&of, None, plain(80)).contains("Tasks: 0\n"));
    assert!(markdown::render(&of, None).contains("**0 tasks**"));
    assert!(html::render(&of, None).contains("running</span>"));
    let document: Value = serde_json::from_str(&json::render(&of, None)).unwrap();
    assert_eq!(document["sessions"][0]["session"]["state"], "running");
}

#[test]
fn a_command_need_not_have_tasks_and_an_exit_code_alone_is_no_command() {
    let page = |fields: Value| {
        let lines = [span("s", (1, 0), "session", (0.0, 1.0), fields)];
        text::render(&[Analysis::of(&only(&lines))], None, plain(80))
    };
    let run = page(json!({"process.command_args": ["make", "all"], "process.exit.code": 0}));
    assert!(run.contains("command  make all\nexit     0\n") && !run.contains("Tasks:"), "{run}");
    let exec = page(json!({"process.command_line": "make all", "process.exit.code": 0}));
    assert!(exec.contains("Tasks: 0\n") && !exec.contains("exit"), "{exec}");
}
