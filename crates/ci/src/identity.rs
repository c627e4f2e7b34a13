//! Which run something belongs to, and so which trace.

use crate::environment::Environment;
use crate::ids::{SpanId, TraceId, TraceParent};
use crate::model::Run;
use crate::warnings::Warnings;

/// What somebody asked for, instead of what environment and files say.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// `owner/name`.
    pub repository: Option<String>,
    /// The run's number.
    pub run: Option<u64>,
    /// The attempt.
    pub attempt: Option<u64>,
    /// The name of the run's service.
    pub service: Option<String>,
}

/// An attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `owner/name`, if known.
    pub repository: Option<String>,
    /// The run's number, if known.
    pub run: Option<String>,
    /// The attempt.
    pub attempt: u64,
    /// The trace.
    pub trace: TraceId,
    /// The name of the run's service: `WORKFLOW-REPOSITORY`.
    pub service: String,
}

impl Identity {
    /// What is asked for; else TRACEPARENT; else the variables of GitHub Actions; else what the
    /// files say of the run.
    #[must_use]
    pub fn resolve(
        asked: &Asked,
        environment: &Environment,
        run: &Run,
        warnings: &mut Warnings,
    ) -> Self {
        let variable = |name: &str| environment.get(name).map(str::to_owned);
        let repository = asked.repository.clone();
        let repository = repository.or_else(|| variable("GITHUB_REPOSITORY"));
        let repository = repository.or_else(|| run.repository.clone());
        let number = asked.run.map(|run| run.to_string());
        let number = number.or_else(|| variable("GITHUB_RUN_ID"));
        let number = number.or_else(|| Some(run.id?.to_string()));
        let attempt = asked.attempt.or_else(|| variable("GITHUB_RUN_ATTEMPT")?.parse().ok());
        let attempt = attempt.or(run.attempt).unwrap_or(1);
        let is_asked = asked.repository.is_some() || asked.run.is_some() || asked.attempt.is_some();
        let parent = environment.get("TRACEPARENT").filter(|_| !is_asked);
        let trace = parent.and_then(|text| match text.parse::<TraceParent>() {
            Ok(parent) => Some(parent.trace),
            Err(why) => {
                warnings.add(format!("TRACEPARENT is not used: {why}"));
                None
            }
        });
        let trace = trace.unwrap_or_else(|| match (&repository, &number) {
            (Some(repository), Some(number)) => {
                TraceId::of_run(repository, number, &attempt.to_string())
            }
            _ => {
                warnings.add(
                    "it is not known which run this is, so its trace gets an id of its own: set \
                     GITHUB_REPOSITORY and GITHUB_RUN_ID, or give --repo and --run",
                );
                TraceId::random()
            }
        });
        let service = asked.service.clone().or_else(|| variable("OTEL_SERVICE_NAME"));
        let workflow = variable("GITHUB_WORKFLOW").or_else(|| run.workflow.clone());
        let service =
            service.unwrap_or_else(|| service_of(workflow.as_deref(), repository.as_deref()));
        Self { repository, run: number, attempt, trace, service }
    }

    /// The trace of another attempt, if it can be known.
    #[must_use]
    pub fn trace_of_attempt(&self, attempt: u64) -> Option<TraceId> {
        let (repository, run) = (self.repository.as_deref()?, self.run.as_deref()?);
        Some(TraceId::of_run(repository, run, &attempt.to_string()))
    }

    /// The span of the run.
    #[must_use]
    pub fn root(&self) -> SpanId {
        SpanId::of(self.trace, &[&self.service])
    }
}

/// The name of a run's service.
#[must_use]
pub fn service_of(workflow: Option<&str>, repository: Option<&str>) -> String {
    let name = repository.and_then(|name| name.split_once('/')).map(|(_, name)| name);
    match (workflow, name) {
        (Some(workflow), Some(name)) => format!("{workflow}-{name}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "workflow".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(variables: &[(&str, &str)], run: &Run) -> (Identity, Warnings) {
        let environment = variables.iter().copied().collect();
        let mut warnings = Warnings::new();
        (Identity::resolve(&Asked::default(), &environment, run, &mut warnings), warnings)
    }

    #[test]
    fn the_environment_says_which_run_it_is_and_else_the_file() {
        let run = Run {
            repository: Some("o/r".into()),
            id: Some(7),
            attempt: Some(2),
            workflow: Some("pr".into()),
            ..Run::default()
        };
        let (of_file, warnings) = resolve(&[], &run);
        assert_eq!(of_file.trace, TraceId::of_run("o/r", "7", "2"));
        assert_eq!(of_file.service, "pr-r");
        assert!(warnings.all().is_empty());
        let actions = [
            ("GITHUB_REPOSITORY", "rapidsai/cudf"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("OTEL_SERVICE_NAME", "pr-cudf"),
        ];
        let (of_actions, _) = resolve(&actions, &run);
        assert_eq!(of_actions.trace.to_string(), "b32e21fdbca9c03f05dc7b268c84d791");
        assert_eq!(of_actions.root().to_string(), "5e401f0bd8aa6d75");
        let parent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01";
        let (of_parent, _) = resolve(&[("TRACEPARENT", parent)], &run);
        assert_eq!(of_parent.trace.to_string(), "0102030405060708090a0b0c0d0e0f10");
        let (broken, warnings) = resolve(&[("TRACEPARENT", "00-x")], &run);
        assert_eq!(broken.trace, of_file.trace);
        assert!(warnings.all()[0].contains("TRACEPARENT is not used"));
    }

    #[test]
    fn a_run_that_nothing_is_known_of_gets_a_trace_of_its_own() {
        let (identity, warnings) = resolve(&[], &Run::default());
        assert_eq!(identity.service, "workflow");
        assert!(warnings.all()[0].contains("--repo"), "{warnings:?}");
    }
}
