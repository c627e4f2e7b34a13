//! What jobs tell each other through their environment.

use std::path::{Path, PathBuf};

use kymo_ci::attributes::Attributes;
use kymo_ci::environment::Environment;
use kymo_ci::identity::Identity;
use kymo_ci::ids::{SpanId, TraceParent};
use kymo_ci::model::Run;
use kymo_ci::variables::job::{self, Known};
use kymo_ci::variables::{Variable, actions, base, file};
use kymo_ci::warnings::Warnings;
use kymo_ci::{input, stash, text};

use super::common::{RunArgs, read, stash_directory, warn};
use super::fetch::ApiArgs;
use crate::failure::Failure;
use crate::output;

const ACTIONS_HELP: &str = "\
Inside GitHub Actions the variables are appended to $GITHUB_ENV; elsewhere they are printed as lines
NAME=value, or with --export as lines for a shell:

  eval \"$(kymo ci load telemetry-env-vars --export)\"";

/// How variables are given to whoever comes next.
#[derive(Debug, clap::Args)]
struct GiveArgs {
    /// Print lines for a shell: export NAME='value'
    #[arg(long)]
    export: bool,
}

impl GiveArgs {
    fn give(&self, environment: &Environment, variables: &[Variable]) -> Result<(), Failure> {
        if self.export {
            return output::text(&actions::exports(variables));
        }
        let written = append(environment, "GITHUB_ENV", variables)?;
        if written {
            return Ok(());
        }
        let line = |(name, value): &Variable| format!("{name}={}\n", file::on_one_line(value));
        output::text(&variables.iter().map(line).collect::<String>())
    }
}

fn append(environment: &Environment, name: &str, variables: &[Variable]) -> Result<bool, Failure> {
    actions::append(environment, name, variables).map_err(|source| Failure::Io {
        act: "write",
        what: format!("the file that {name} names"),
        source,
    })
}

/// Set the variables of a run, in its first job
#[derive(Debug, clap::Args)]
#[command(after_help = ACTIONS_HELP)]
pub(super) struct SetupArgs {
    /// File to write them to, for other jobs
    #[arg(long, value_name = "FILE", default_value = "telemetry-env-vars")]
    file: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    give: GiveArgs,
}

pub(super) fn setup(args: &SetupArgs) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let mut warnings = Warnings::new();
    let variables = base::variables(&args.run.asked(), &environment, &mut warnings);
    warn(&warnings);
    std::fs::write(&args.file, file::write(&variables))
        .map_err(|error| Failure::io("write", &args.file, error))?;
    append(&environment, "GITHUB_OUTPUT", &outputs(&variables, &args.file))?;
    args.give.give(&environment, &variables)
}

/// What later steps can refer to: file, trace and span.
fn outputs(variables: &[Variable], file: &Path) -> Vec<Variable> {
    let mut outputs = vec![("file".to_owned(), file.display().to_string())];
    let parent = variables.iter().find(|(name, _)| name == "TRACEPARENT");
    if let Some((_, parent)) = parent {
        outputs.push(("traceparent".to_owned(), parent.clone()));
        let trace = parent.split('-').nth(1).unwrap_or_default();
        outputs.push(("trace_id".to_owned(), trace.to_owned()));
    }
    outputs
}

/// Print the TRACEPARENT of a run, a job or a step
#[derive(Debug, clap::Args)]
pub(super) struct TraceparentArgs {
    /// Name of the run's service or of the job
    name: String,
    /// Name of the step, if it is one
    step: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn traceparent(args: &TraceparentArgs) -> Result<(), Failure> {
    if args.name.is_empty() {
        return Err(Failure::Usage(
            "the name is empty: expected that of the run's service or of a job".into(),
        ));
    }
    let mut environment = Environment::of_process();
    // What is asked for is the span of a name, not the one we are in.
    environment.set("TRACEPARENT", "");
    let (repository, run) = (&args.run.repo, args.run.run);
    let is_known = (repository.is_some() || environment.get("GITHUB_REPOSITORY").is_some())
        && (run.is_some() || environment.get("GITHUB_RUN_ID").is_some());
    if !is_known {
        return Err(Failure::Other(
            "it is not known which run this is: set GITHUB_REPOSITORY, GITHUB_RUN_ID and \
             GITHUB_RUN_ATTEMPT, or give --repo, --run and --attempt"
                .into(),
        ));
    }
    let mut warnings = Warnings::new();
    let identity =
        Identity::resolve(&args.run.asked(), &environment, &Run::default(), &mut warnings);
    warn(&warnings);
    let names: Vec<&str> =
        std::iter::once(args.name.as_str()).chain(args.step.as_deref()).collect();
    let span = SpanId::of(identity.trace, &names);
    output::text(&format!("{}\n", TraceParent { trace: identity.trace, span }))
}

/// Take over the variables of a run, in another of its jobs
///
/// What is set already stays. Quotes are taken out of values, and a comma at their beginning.
#[derive(Debug, clap::Args)]
#[command(after_help = ACTIONS_HELP)]
pub(super) struct LoadArgs {
    /// The file that kymo ci setup wrote
    file: PathBuf,
    #[command(flatten)]
    give: GiveArgs,
}

pub(super) fn load(args: &LoadArgs) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let text = text::decode(&read(&args.file)?);
    let mut warnings = Warnings::new();
    let name = args.file.display().to_string();
    let variables = file::merge(&text, &name, &environment, &mut warnings);
    for warning in warnings.all() {
        output::note(warning);
    }
    args.give.give(&environment, &variables)
}

/// Say what this job is: its name, labels of its runner, and whatever else
///
/// Sets OTEL_RESOURCE_ATTRIBUTES and, if the job is known, JOB_ID, OTEL_SERVICE_NAME and
/// TRACEPARENT, so that what the job sends hangs below it.
#[derive(Debug, clap::Args)]
#[command(after_help = ACTIONS_HELP)]
pub(super) struct AttrsArgs {
    /// Attributes to add, each KEY=VALUE; several may be joined by commas
    #[arg(value_name = "KEY=VALUE")]
    attributes: Vec<String>,
    /// Ask GitHub which job this is (needs a token that may read Actions)
    #[arg(long, conflicts_with = "job_info")]
    lookup: bool,
    /// A file with the job, or with all jobs of the run, as GitHub's API tells them
    #[arg(long, value_name = "FILE")]
    job_info: Option<PathBuf>,
    /// The whole name of the job
    #[arg(long, value_name = "NAME")]
    job_name: Option<String>,
    /// The number of the job
    #[arg(long, value_name = "NUMBER")]
    job_id: Option<u64>,
    /// A label of the runner; may be repeated
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    give: GiveArgs,
}

pub(super) fn attrs(args: &AttrsArgs) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let mut warnings = Warnings::new();
    let mut known = match known(args, &environment, &mut warnings) {
        Ok(known) => known,
        // What was given is worth something without the rest.
        Err(failure) => {
            output::warning(&format!("it is not known which job this is: {failure}"));
            Known::default()
        }
    };
    known.name = args.job_name.clone().or(known.name);
    known.id = args.job_id.or(known.id);
    if !args.labels.is_empty() {
        known.labels.clone_from(&args.labels);
    }
    let more = key_values(&args.attributes, &mut warnings);
    let variables = job::variables(&known, &more, &environment, &mut warnings);
    warn(&warnings);
    args.give.give(&environment, &variables)
}

/// What GitHub says of this job, if it was asked.
fn known(
    args: &AttrsArgs,
    environment: &Environment,
    warnings: &mut Warnings,
) -> Result<Known, Failure> {
    let mut run = Run::default();
    match &args.job_info {
        Some(path) => input::read(&mut run, &read(path)?, &path.display().to_string(), warnings),
        None if args.lookup => args.api.own_jobs(environment, &mut run, warnings)?,
        None => return Ok(Known::default()),
    }
    let found = match run.jobs.as_slice() {
        // A file with one job is about that one.
        [only] if args.job_info.is_some() => Some(only),
        _ => Known::of_runner(&run, environment),
    };
    found.map(Known::of).ok_or_else(|| {
        Failure::Other(
            "none of the run's jobs runs at the runner that RUNNER_NAME names: give --job-name"
                .into(),
        )
    })
}

/// `KEY=VALUE` arguments. A comma divides where another key follows.
fn key_values(arguments: &[String], warnings: &mut Warnings) -> Attributes {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for argument in arguments {
        for part in argument.split(',') {
            match part.split_once('=') {
                Some((key, value)) if !key.trim().is_empty() => {
                    pairs.push((key.trim().to_owned(), value.to_owned()));
                }
                _ => match pairs.last_mut().filter(|_| argument.contains('=')) {
                    Some((_, value)) if !part.is_empty() => {
                        value.push(',');
                        value.push_str(part);
                    }
                    Some(_) => {}
                    None => {
                        warnings
                            .add(format!("{argument:?} is not of the form KEY=VALUE: left out"));
                    }
                },
            }
        }
    }
    pairs.into_iter().collect()
}

/// Leave what this job is in a file, for the summary, at its end
#[derive(Debug, clap::Args)]
pub(super) struct StashArgs {
    /// Directory of the job's files [default: $GITHUB_WORKSPACE/telemetry-artifacts]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn leave(args: &StashArgs) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let directory = stash_directory(args.dir.as_deref(), &environment);
    std::fs::create_dir_all(&directory)
        .map_err(|error| Failure::io("make the directory", &directory, error))?;
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, error))
    };
    let attributes = environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    write("attrs", attributes.split(',').map(|pair| format!("{pair}\n")).collect())?;
    if let Some(parent) = environment.get("TRACEPARENT") {
        write("traceparent", format!("{parent}\n"))?;
    }
    if environment.get("JOB_ID").is_none() {
        output::warning(
            "JOB_ID is not set, so the summary will not know whose files these are: use \
             kymo ci attrs --lookup at the beginning of the job",
        );
    }
    // Whoever uploads the directory names the artifact.
    let name = environment.get("JOB_ID").map(|id| format!("{}{id}", stash::FOLDER));
    if let Some(name) = name {
        let outputs =
            [("name".to_owned(), name), ("path".to_owned(), directory.display().to_string())];
        append(&environment, "GITHUB_OUTPUT", &outputs)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_may_be_joined_by_commas_and_have_commas() {
        let mut warnings = Warnings::new();
        let arguments = ["a=1,b=x,y", "c=", "d=1,", "broken", "e=f=g"].map(str::to_owned);
        let found = key_values(&arguments, &mut warnings);
        let expected = [("a", "1"), ("b", "x,y"), ("c", ""), ("d", "1"), ("e", "f=g")];
        assert_eq!(found, expected.into_iter().collect());
        assert_eq!(warnings.all().len(), 1);
    }
}
