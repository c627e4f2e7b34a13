//! The variables of a run.

use super::Variable;
use crate::environment::Environment;
use crate::identity::{Asked, Identity};
use crate::ids::TraceParent;
use crate::model::Run;
use crate::send::settings::{Protocol, usual_endpoint, usual_protocol};
use crate::warnings::Warnings;

/// What jobs pass on if it is set: which actions of RAPIDS they are to use.
const PASSED_ON: [&str; 2] = ["SHARED_ACTIONS_REPO", "SHARED_ACTIONS_REF"];

/// Endpoint, protocol, what the run is described by, its service and its span, in this order.
#[must_use]
pub fn variables(
    asked: &Asked,
    environment: &Environment,
    warnings: &mut Warnings,
) -> Vec<Variable> {
    let or = |name: &str, default: &str| {
        (name.to_owned(), environment.get(name).unwrap_or(default).to_owned())
    };
    let endpoint = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT");
    let protocol = environment.get("OTEL_EXPORTER_OTLP_PROTOCOL").and_then(Protocol::of);
    let protocol = protocol.unwrap_or_else(|| usual_protocol(endpoint));
    let mut variables = vec![
        or("OTEL_EXPORTER_OTLP_ENDPOINT", usual_endpoint(protocol)),
        or("OTEL_TRACES_EXPORTER", "otlp"),
        or("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.word()),
        ("OTEL_RESOURCE_ATTRIBUTES".to_owned(), resource_attributes(environment)),
    ];
    // A run is named by what it is, not by what names one of its jobs.
    let mut known = environment.clone();
    known.set("TRACEPARENT", "");
    let identity = Identity::resolve(asked, &known, &Run::default(), warnings);
    let parent = TraceParent { trace: identity.trace, span: identity.root() };
    variables.push(("OTEL_SERVICE_NAME".to_owned(), identity.service));
    variables.push(("TRACEPARENT".to_owned(), parent.to_string()));
    for name in PASSED_ON {
        if let Some(value) = environment.get(name) {
            variables.push((name.to_owned(), value.to_owned()));
        }
    }
    variables
}

/// What is set already, and which commit of which repository this is.
fn resource_attributes(environment: &Environment) -> String {
    let get = |name: &str| environment.get(name);
    let mut parts: Vec<String> =
        get("OTEL_RESOURCE_ATTRIBUTES").map(str::to_owned).into_iter().collect();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            parts.push(format!("{name}={value}"));
        }
    };
    add("git.repository", get("GITHUB_REPOSITORY").map(str::to_owned));
    add("git.ref", get("GITHUB_REF").map(str::to_owned));
    add("git.sha", get("GITHUB_SHA").map(str::to_owned));
    let url = || {
        let (repository, run) = (get("GITHUB_REPOSITORY")?, get("GITHUB_RUN_ID")?);
        let server = get("GITHUB_SERVER_URL").unwrap_or("https://github.com");
        Some(format!("{server}/{repository}/actions/runs/{run}"))
    };
    add("git.job_url", url());
    parts.join(",").trim_start_matches(',').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_run_is_as_in_the_existing_system_and_has_its_span() {
        let environment: Environment = [
            ("GITHUB_REPOSITORY", "rapidsai/cudf"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_REF", "refs/heads/pull-request/1"),
            ("GITHUB_SHA", "abc"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_WORKFLOW", "pr"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"),
            ("TRACEPARENT", "00-00000000000000000000000000000001-0000000000000001-01"),
        ]
        .into_iter()
        .collect();
        let mut warnings = Warnings::new();
        let variables = variables(&Asked::default(), &environment, &mut warnings);
        let text = super::super::file::write(&variables);
        assert_eq!(
            text,
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318\n\
             OTEL_TRACES_EXPORTER=otlp\n\
             OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n\
             OTEL_RESOURCE_ATTRIBUTES=\"team=a,git.repository=rapidsai/cudf,\
             git.ref=refs/heads/pull-request/1,git.sha=abc,\
             git.job_url=https://github.com/rapidsai/cudf/actions/runs/777\"\n\
             OTEL_SERVICE_NAME=pr-cudf\n\
             TRACEPARENT=00-b32e21fdbca9c03f05dc7b268c84d791-5e401f0bd8aa6d75-01\n"
        );
        assert_eq!(warnings.all(), &[] as &[String]);
    }
}
