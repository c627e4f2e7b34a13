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
    /// Whether TRACEPARENT counts even if it is of another run than the variables of GitHub Actions
    /// say, as in RAPIDS' script. A file of variables that outlived its attempt has such a one.
    pub follows_traceparent: bool,
}

/// What the variables of GitHub Actions and of telemetry say of the run that this process is of.
const OF_RUN: [&str; 12] = [
    "GITHUB_RUN_ID",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_WORKFLOW",
    "GITHUB_REF",
    "GITHUB_REF_NAME",
    "GITHUB_HEAD_REF",
    "GITHUB_SHA",
    "GITHUB_EVENT_NAME",
    "GITHUB_TRIGGERING_ACTOR",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
    "TRACEPARENT",
];

impl Asked {
    /// The environment, without what it says of its own run if another one is asked for.
    #[must_use]
    pub fn environment(&self, environment: &Environment) -> Environment {
        let is_other = |asked: Option<&str>, name: &str| {
            asked.is_some_and(|asked| environment.get(name).is_some_and(|own| own != asked))
        };
        let run = self.run.map(|run| run.to_string());
        let is_other = is_other(self.repository.as_deref(), "GITHUB_REPOSITORY")
            || is_other(run.as_deref(), "GITHUB_RUN_ID");
        let mut known = environment.clone();
        for name in OF_RUN.into_iter().filter(|_| is_other) {
            known.set(name, "");
        }
        known
    }
}

/// What TRACEPARENT says, unless it is of another run than the variables of GitHub Actions say.
pub fn own_traceparent(environment: &Environment, warnings: &mut Warnings) -> Option<TraceParent> {
    let parent: TraceParent = match environment.get("TRACEPARENT")?.parse() {
        Ok(parent) => parent,
        Err(why) => {
            warnings.add(format!("TRACEPARENT is not used: {why}"));
            return None;
        }
    };
    let variable = |name: &str| environment.get(name);
    let of_actions = || {
        let (repository, run) = (variable("GITHUB_REPOSITORY")?, variable("GITHUB_RUN_ID")?);
        Some(TraceId::of_run(repository, run, variable("GITHUB_RUN_ATTEMPT")?))
    };
    if of_actions().is_some_and(|trace| trace != parent.trace) {
        warnings.add("TRACEPARENT is not used: it is of another run, or of another attempt");
        return None;
    }
    Some(parent)
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
        let environment = &asked.environment(environment);
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
        let parent = match environment.get("TRACEPARENT") {
            _ if is_asked => None,
            Some(text) if asked.follows_traceparent => text.parse().ok(),
            _ => own_traceparent(environment, warnings),
        };
        let trace = parent.map(|parent: TraceParent| parent.trace);
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
    fn a_traceparent_of_another_attempt_is_not_followed_unless_asked_to() {
        let stale = TraceParent { trace: TraceId::of_run("o/r", "7", "1"), span: SpanId([1; 8]) };
        let variables = [
            ("GITHUB_REPOSITORY", "o/r".to_owned()),
            ("GITHUB_RUN_ID", "7".to_owned()),
            ("GITHUB_RUN_ATTEMPT", "2".to_owned()),
            ("TRACEPARENT", stale.to_string()),
        ];
        let environment: Environment = variables.into_iter().collect();
        let mut warnings = Warnings::new();
        let mut resolve = |asked: &Asked| {
            Identity::resolve(asked, &environment, &Run::default(), &mut warnings).trace
        };
        assert_eq!(resolve(&Asked::default()), TraceId::of_run("o/r", "7", "2"));
        assert_eq!(resolve(&Asked { follows_traceparent: true, ..Asked::default() }), stale.trace);
        assert!(warnings.all()[0].contains("another attempt"), "{warnings:?}");
    }

    #[test]
    fn another_run_gets_nothing_of_this_one() {
        let environment: Environment = [
            ("GITHUB_REPOSITORY", "o/r"),
            ("GITHUB_RUN_ID", "7"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_WORKFLOW", "mine"),
            ("GITHUB_SHA", "abc"),
            ("OTEL_SERVICE_NAME", "mine"),
        ]
        .into_iter()
        .collect();
        let mut warnings = Warnings::new();
        let asked = Asked { run: Some(8), ..Asked::default() };
        let run = Run { workflow: Some("theirs".into()), ..Run::default() };
        let other = Identity::resolve(&asked, &environment, &run, &mut warnings);
        assert_eq!((other.attempt, other.service.as_str()), (1, "theirs-r"));
        assert_eq!(asked.environment(&environment).get("GITHUB_SHA"), None);
        let same = Asked { run: Some(7), ..Asked::default() };
        assert_eq!(same.environment(&environment), environment);
    }

    #[test]
    fn a_run_that_nothing_is_known_of_gets_a_trace_of_its_own() {
        let (identity, warnings) = resolve(&[], &Run::default());
        assert_eq!(identity.service, "workflow");
        assert!(warnings.all()[0].contains("--repo"), "{warnings:?}");
    }
}
