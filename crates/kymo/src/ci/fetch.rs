//! What is got from GitHub's REST API: jobs, run, artifacts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kymo_ci::environment::Environment;
use kymo_ci::github::{Artifact, GitHub, GitHubError, GitHubOptions};
use kymo_ci::input;
use kymo_ci::model::Run;
use kymo_ci::warnings::Warnings;

use super::common::{RunArgs, STASH, duration, warn};
use crate::failure::Failure;
use crate::output;

const DEFAULT_API: &str = "https://api.github.com";
/// What stash artifacts are named by, as in the existing system.
const PREFIX: &str = "telemetry-tools-";
/// Time for all that is asked of GitHub.
const API_TIMEOUT: Duration = Duration::from_secs(300);
/// Time for finding out which job this is: every job waits for it.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);

/// Flags of commands that ask GitHub.
#[derive(Debug, clap::Args)]
pub(super) struct ApiArgs {
    /// GitHub's API, for Enterprise [env: GITHUB_API_URL] [default: https://api.github.com]
    #[arg(long, value_name = "URL")]
    api_url: Option<String>,
    /// Time for all that GitHub is asked
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    api_timeout: Option<Duration>,
}

impl ApiArgs {
    fn client(&self, environment: &Environment, usual: Duration) -> Result<GitHub, Failure> {
        let url = self.api_url.as_deref().or_else(|| environment.get("GITHUB_API_URL"));
        let token = environment.get("GITHUB_TOKEN").or_else(|| environment.get("GH_TOKEN"));
        GitHub::new(GitHubOptions {
            api_url: url.unwrap_or(DEFAULT_API).to_owned(),
            token: token.map(str::to_owned),
            deadline: Instant::now() + self.api_timeout.unwrap_or(usual),
            user_agent: concat!("kymo/", env!("CARGO_PKG_VERSION")).to_owned(),
        })
        .map_err(failed)
    }

    /// The jobs of the run that this process is of.
    pub(super) fn own_jobs(
        &self,
        environment: &Environment,
        run: &mut Run,
        warnings: &mut Warnings,
    ) -> Result<(), Failure> {
        let which = Which::resolve(None, None, None, environment)?;
        let client = self.client(environment, LOOKUP_TIMEOUT)?;
        let jobs = client.jobs(&which.repository, which.run, which.attempt).map_err(failed)?;
        input::read(run, &jobs, "GitHub's answer", warnings);
        Ok(())
    }

    /// Everything of a run: jobs and the run itself, and its artifacts into a directory.
    pub(super) fn everything(
        &self,
        args: &RunArgs,
        environment: &Environment,
        artifacts: &Path,
        warnings: &mut Warnings,
    ) -> Result<Fetched, Failure> {
        let which = Which::of(args, environment)?;
        let client = self.client(environment, API_TIMEOUT)?;
        let jobs = client.jobs(&which.repository, which.run, which.attempt).map_err(failed)?;
        let run = client.run(&which.repository, which.run, which.attempt).unwrap_or_else(|error| {
            warnings.add(format!("what is said of the run itself is missing: {error}"));
            b"{\"total_count\": 0}".to_vec()
        });
        // A summary without what jobs left is a summary still.
        let kept = match client.artifacts(&which.repository, which.run, PREFIX) {
            Ok(found) => download(&client, &which, found, artifacts, warnings),
            Err(error) => {
                warnings.add(format!("what jobs left behind is missing: {error}"));
                Vec::new()
            }
        };
        Ok(Fetched { client, which, jobs, run, artifacts: kept })
    }
}

/// What was got of a run.
pub(super) struct Fetched {
    client: GitHub,
    which: Which,
    pub(super) jobs: Vec<u8>,
    pub(super) run: Vec<u8>,
    artifacts: Vec<Artifact>,
}

impl Fetched {
    /// Deletes the artifacts that were got: they have been sent.
    pub(super) fn delete_artifacts(&self, warnings: &mut Warnings) -> usize {
        let mut count = 0;
        for artifact in &self.artifacts {
            match self.client.delete(&self.which.repository, artifact) {
                Ok(()) => count += 1,
                Err(error) => warnings.add(format!("{} was not deleted: {error}", artifact.name)),
            }
        }
        count
    }
}

/// Downloads artifacts, of each name the newest: jobs of an earlier attempt may have left some too.
fn download(
    client: &GitHub,
    which: &Which,
    found: Vec<Artifact>,
    into: &Path,
    warnings: &mut Warnings,
) -> Vec<Artifact> {
    let mut newest: HashMap<&str, &Artifact> = HashMap::new();
    for artifact in found.iter().filter(|artifact| !artifact.expired) {
        let known = newest.entry(&artifact.name).or_insert(artifact);
        if (artifact.created_at, artifact.id) > (known.created_at, known.id) {
            *known = artifact;
        }
    }
    let mut names: Vec<String> = newest.keys().map(|name| (*name).to_owned()).collect();
    names.sort_unstable();
    // What was not got must not be deleted.
    names.retain(|name| {
        let downloaded = client.download(&which.repository, newest[name.as_str()], into, warnings);
        if let Err(error) = &downloaded {
            warnings.add(format!("the artifact {name} is left out: {error}"));
        }
        downloaded.is_ok()
    });
    found.into_iter().filter(|artifact| names.contains(&artifact.name)).collect()
}

/// Which run GitHub is asked about.
struct Which {
    repository: String,
    run: u64,
    attempt: Option<u64>,
}

impl Which {
    fn of(args: &RunArgs, environment: &Environment) -> Result<Self, Failure> {
        Self::resolve(args.repo.as_deref(), args.run, args.attempt, environment)
    }

    fn resolve(
        repository: Option<&str>,
        run: Option<u64>,
        attempt: Option<u64>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let number = |name: &str| environment.get(name)?.parse().ok();
        let repository = repository.or_else(|| environment.get("GITHUB_REPOSITORY"));
        let own = run.or_else(|| number("GITHUB_RUN_ID"));
        let (Some(repository), Some(found)) = (repository, own) else {
            return Err(Failure::Other(
                "it is not known which run is meant: give --repo OWNER/NAME and --run NUMBER"
                    .into(),
            ));
        };
        // The attempt of this process says nothing of another run.
        let attempt = attempt.or_else(|| run.is_none().then(|| number("GITHUB_RUN_ATTEMPT"))?);
        Ok(Self { repository: repository.to_owned(), run: found, attempt })
    }
}

/// Get jobs, run and stashed artifacts of a run from GitHub
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The token is read from GITHUB_TOKEN or GH_TOKEN; it must be allowed to read Actions."
)]
pub(super) struct Args {
    #[command(flatten)]
    run: RunArgs,
    /// Directory for all_jobs.json, run.json and telemetry-artifacts
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    #[command(flatten)]
    api: ApiArgs,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let mut warnings = Warnings::new();
    let artifacts = args.out.join(STASH);
    std::fs::create_dir_all(&artifacts)
        .map_err(|error| Failure::io("make the directory", &artifacts, error))?;
    let fetched = args.api.everything(&args.run, &environment, &artifacts, &mut warnings)?;
    for (name, bytes) in [("all_jobs.json", &fetched.jobs), ("run.json", &fetched.run)] {
        let path = args.out.join(name);
        std::fs::write(&path, bytes).map_err(|error| Failure::io("write", &path, error))?;
    }
    let mut told = Run::default();
    input::read(&mut told, &fetched.jobs, "all_jobs.json", &mut warnings);
    warn(&warnings);
    output::text(&format!(
        "{} jobs and {} artifacts of {} run {} in {}\n",
        told.jobs.len(),
        fetched.artifacts.len(),
        fetched.which.repository,
        fetched.which.run,
        args.out.display()
    ))
}

fn failed(error: GitHubError) -> Failure {
    Failure::Other(error.to_string())
}
