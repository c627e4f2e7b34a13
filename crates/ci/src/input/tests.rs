use serde_json::json;

use super::*;
use crate::model::Conclusion;

fn read_all(texts: &[&str]) -> (Run, Warnings) {
    let (mut run, mut warnings) = (Run::default(), Warnings::new());
    for text in texts {
        read(&mut run, text.as_bytes(), "jobs.json", &mut warnings);
    }
    (run, warnings)
}

fn names(run: &Run) -> Vec<&str> {
    run.jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn every_form_of_a_list_of_jobs_is_read() {
    let job = |name: &str| json!({"name": name, "run_id": 7, "run_attempt": 2});
    let page = |name: &str| json!({"total_count": 2, "jobs": [job(name)]});
    for text in [
        json!([job("a"), job("b")]).to_string(),
        json!({"jobs": [job("a"), job("b")]}).to_string(),
        format!("{}\n{}", page("a"), page("b")),
        format!("{}{}", json!([job("a")]), json!([job("b")])),
        json!([page("a"), page("b")]).to_string(),
        format!("{} {}", job("a"), job("b")),
    ] {
        let (run, warnings) = read_all(&[&text]);
        assert_eq!(names(&run), ["a", "b"], "{text}");
        assert_eq!((run.id, run.attempt), (Some(7), Some(2)), "{text}");
        assert_eq!(warnings.all(), &[] as &[String], "{text}");
    }
}

#[test]
fn the_command_line_tool_of_github_is_understood() {
    let text = json!({
        "workflowName": "pr", "headBranch": "main", "databaseId": 5, "attempt": 3,
        "jobs": [{
            "name": "a", "databaseId": 9, "startedAt": "2026-01-01T00:00:01Z",
            "completedAt": "0001-01-01T00:00:00Z", "conclusion": "",
            "url": "https://github.com/o/r/actions/runs/5/job/9", "status": "in_progress",
            "steps": [{"name": "s", "number": 1, "startedAt": "2026-01-01T00:00:02Z"}],
        }],
    });
    let (run, warnings) = read_all(&[&text.to_string()]);
    assert_eq!(run.workflow.as_deref(), Some("pr"));
    assert_eq!((run.id, run.attempt), (Some(5), Some(3)));
    assert_eq!(run.repository.as_deref(), Some("o/r"));
    let job = &run.jobs[0];
    assert_eq!((job.id, job.completed_nanos, job.conclusion.clone()), (Some(9), None, None));
    assert!(job.started_nanos.is_some() && job.steps[0].started_nanos.is_some());
    assert_eq!(warnings.all(), &[] as &[String]);
}

#[test]
fn of_news_about_a_job_the_farthest_count() {
    let event = |status: &str, conclusion: Option<&str>| {
        let job = json!({"id": 1, "run_attempt": 1, "name": "a", "status": status, "conclusion": conclusion});
        json!({"action": status, "workflow_job": job, "repository": {"full_name": "o/r"}})
            .to_string()
    };
    let done = event("completed", Some("success"));
    let (run, _) = read_all(&[&event("queued", None), &done, &event("in_progress", None)]);
    assert_eq!(run.jobs.len(), 1);
    assert_eq!(run.jobs[0].conclusion, Some(Conclusion::Success));
    assert_eq!(run.repository.as_deref(), Some("o/r"));
}

#[test]
fn what_is_wrong_is_named_and_the_rest_is_kept() {
    let text = json!([
        {"name": "a", "started_at": "soon", "conclusion": "exploded", "labels": "x", "id": -1},
        {"id": 3},
        {"name": "b", "steps": [{"number": 1}, {"name": "s"}]},
        17,
    ]);
    let (run, warnings) = read_all(&[&text.to_string()]);
    assert_eq!(names(&run), ["a", "b"]);
    assert_eq!(run.jobs[1].steps.len(), 1);
    let warnings = warnings.all().join("\n");
    for expected in [
        "jobs.json: [0].started_at is \"soon\", expected a time",
        "jobs.json: [0]: conclusion is \"exploded\"",
        "jobs.json: [0].labels is \"x\", expected a list",
        "jobs.json: [0].id is -1, expected a whole number",
        "jobs.json: [1] is neither a run nor a job",
        "jobs.json: [2].steps[0] is a step without a name",
        "jobs.json: [3] is neither a run nor a job",
    ] {
        assert!(warnings.contains(expected), "{expected} in\n{warnings}");
    }
}

#[test]
fn an_empty_or_broken_file_is_a_warning() {
    for (text, expected) in [
        ("", "tells of no jobs"),
        ("[", "not JSON to its end"),
        ("<html>", "not JSON to its end"),
        ("{\"jobs\": [{\"name\": \"a\"}, {\"na", "not JSON to its end"),
    ] {
        let (_, warnings) = read_all(&[text]);
        assert!(warnings.all()[0].contains(expected), "{text}: {warnings:?}");
    }
    let (run, warnings) = read_all(&["{\"total_count\": 0, \"jobs\": []}"]);
    assert!(run.jobs.is_empty() && warnings.all().is_empty());
}
