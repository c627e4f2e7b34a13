//! The span of a command.

use super::run::Outcome;
use crate::environment::Environment;
use crate::identity::{Asked, Identity, own_traceparent};
use crate::ids::{SpanId, TraceParent};
use crate::limits::MAX_COMMAND_CHARS;
use crate::model::Run;
use crate::redact::Redactor;
use crate::resource_attributes;
use crate::span::{Group, Span, Status, Trace};
use crate::summary::SCOPE;
use crate::warnings::Warnings;

/// The span that a command's hangs below: what TRACEPARENT names, else the job that the variables of
/// GitHub Actions name, else none.
#[must_use]
pub fn parent_of(environment: &Environment, warnings: &mut Warnings) -> Option<TraceParent> {
    if let Some(parent) = own_traceparent(environment, warnings) {
        return Some(parent);
    }
    environment.get("GITHUB_REPOSITORY").and(environment.get("GITHUB_RUN_ID"))?;
    let mut known = environment.clone();
    known.set("TRACEPARENT", "");
    let identity = Identity::resolve(&Asked::default(), &known, &Run::default(), warnings);
    // Where nobody has asked GitHub for the job's whole name, its short one is most like it.
    let job = environment.get("OTEL_SERVICE_NAME").or_else(|| environment.get("GITHUB_JOB"));
    let names = [job.unwrap_or(&identity.service)];
    Some(TraceParent { trace: identity.trace, span: SpanId::of(identity.trace, &names) })
}

/// A command as a trace of one span.
#[must_use]
pub fn describe(
    arguments: &[String],
    outcome: &Outcome,
    (own, parent): (TraceParent, Option<TraceParent>),
    environment: &Environment,
    redactor: &Redactor,
) -> Trace {
    let arguments = redactor.arguments(arguments);
    let program = arguments.first().map_or("", String::as_str);
    let name = program.rsplit('/').next().unwrap_or(program);
    let parent = parent.map(|parent| parent.span);
    let mut span = Span::new(own.span, parent, name, outcome.start_nanos);
    span.end_nanos = outcome.end_nanos;
    span.status = match (&outcome.not_started, outcome.signal, outcome.code) {
        (Some(why), _, _) => Status::Error(redactor.text(why)),
        (None, Some(signal), _) => Status::Error(format!("ended by signal {signal}")),
        (None, None, 0) => Status::Ok,
        (None, None, code) => Status::Error(format!("exit status {code}")),
    };
    let line: String = arguments.join(" ").chars().take(MAX_COMMAND_CHARS).collect();
    let attributes = &mut span.attributes;
    attributes.set("ci.kind", "command");
    attributes.set("process.command_line", line);
    attributes.set("process.executable.name", name);
    attributes.set("process.exit.code", i64::from(outcome.code));
    attributes.set_some("process.pid", outcome.process.map(u64::from));
    attributes.set_some("ci.signal", outcome.signal.map(i64::from));
    attributes.set_some(
        "ci.job",
        environment.get("OTEL_SERVICE_NAME").or_else(|| environment.get("GITHUB_JOB")),
    );
    attributes.set_some("ci.action", environment.get("GITHUB_ACTION"));
    let usage = outcome.usage;
    attributes.set("ci.cpu_user_seconds", usage.user_seconds);
    attributes.set("ci.cpu_system_seconds", usage.system_seconds);
    attributes.set_some("ci.max_resident_bytes", usage.max_resident_bytes);
    attributes.set("ci.major_faults", usage.major_faults);
    attributes.set("ci.voluntary_switches", usage.voluntary_switches);
    attributes.set("ci.involuntary_switches", usage.involuntary_switches);
    attributes.set("ci.disk_read_bytes", usage.blocks_read * 512);
    attributes.set("ci.disk_written_bytes", usage.blocks_written * 512);
    let elapsed = span.duration_nanos() as f64 / 1e9;
    if elapsed > 0.0 {
        let busy = (usage.user_seconds + usage.system_seconds) / elapsed;
        span.attributes.set("ci.cores_busy", busy);
    }
    let told = environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut resource = resource_attributes::parse(told);
    let service = environment.get("OTEL_SERVICE_NAME").or_else(|| environment.get("GITHUB_JOB"));
    // A job's commands are of the same service as its steps.
    let service = service.map(|name| name.split(" / ").next().unwrap_or(name).trim());
    resource.set("service.name", service.unwrap_or("kymo-ci"));
    Trace { id: own.trace, scope: SCOPE, groups: vec![Group { resource, spans: vec![span] }] }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::command::{Output, run};
    use crate::ids::TraceId;

    #[test]
    fn a_command_hangs_below_the_job_that_ran_it_and_keeps_no_secret() {
        let environment: Environment = [
            ("GITHUB_REPOSITORY", "rapidsai/cudf"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("OTEL_SERVICE_NAME", "cpp / build"),
            ("OTEL_RESOURCE_ATTRIBUTES", "git.sha=abc"),
        ]
        .into_iter()
        .collect();
        let mut warnings = Warnings::new();
        let parent = parent_of(&environment, &mut warnings).unwrap();
        let trace = TraceId::of_run("rapidsai/cudf", "777", "2");
        assert_eq!(parent.span, SpanId::of(trace, &["cpp / build"]));
        let own = TraceParent { trace: parent.trace, span: SpanId::random() };
        let arguments = ["sh", "-c", "exit 4", "--token", "abc"].map(str::to_owned);
        let outcome = run(Command::new(&arguments[0]).args(&arguments[1..]), &Output::Only);
        let redactor = Redactor::new(&environment, &[]).unwrap();
        let described =
            describe(&arguments, &outcome, (own, Some(parent)), &environment, &redactor);
        let span = &described.groups[0].spans[0];
        assert_eq!(
            (span.parent, &span.status),
            (Some(parent.span), &Status::Error("exit status 4".into()))
        );
        assert_eq!(span.attributes.text("process.command_line"), Some("sh -c exit 4 --token ***"));
        assert_eq!(described.groups[0].resource.text("service.name"), Some("cpp"));
        assert_eq!(described.groups[0].resource.text("git.sha"), Some("abc"));
    }

    #[test]
    fn outside_of_actions_a_command_is_a_trace_of_its_own() {
        let mut warnings = Warnings::new();
        assert_eq!(parent_of(&Environment::default(), &mut warnings), None);
        let environment = [("TRACEPARENT", "nonsense")].into_iter().collect();
        assert_eq!(parent_of(&environment, &mut warnings), None);
        assert!(warnings.all()[0].contains("TRACEPARENT is not used"));
    }
}
