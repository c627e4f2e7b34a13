//! What the commands share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kymo_ci::environment::Environment;
use kymo_ci::identity::Asked as AskedRun;
use kymo_ci::send::settings::{Asked, Protocol, Settings};
use kymo_ci::send::spool::Spool;
use kymo_ci::send::{self, Sent};
use kymo_ci::span::Trace;
use kymo_ci::warnings::Warnings;

use crate::failure::Failure;
use crate::output;
use kymo_yaml::amounts;

/// Where jobs leave files for the summary, and where it finds them.
pub(super) const STASH: &str = "telemetry-artifacts";

/// Flags of commands that send.
#[derive(Debug, clap::Args)]
pub(super) struct SendArgs {
    /// Server to send to [env: OTEL_EXPORTER_OTLP_ENDPOINT] [default: http://localhost:4317]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How to send: grpc, http/protobuf or http/json [env: OTEL_EXPORTER_OTLP_PROTOCOL]
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<Protocol>,
    /// Time for sending, retries included
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Directory where spans wait that could not be sent, for the next call [env: KYMO_CI_SPOOL]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    spool: Option<PathBuf>,
}

impl SendArgs {
    /// Where to and how. `usual_timeout` is how long it may take unless told otherwise.
    pub(super) fn settings(
        &self,
        environment: &Environment,
        usual_timeout: Duration,
        warnings: &mut Warnings,
    ) -> Settings {
        let asked = Asked {
            endpoint: self.endpoint.clone(),
            protocol: self.protocol,
            timeout: Some(self.timeout.unwrap_or(usual_timeout)),
        };
        Settings::resolve(&asked, environment, warnings)
    }

    pub(super) fn spool(&self, environment: &Environment) -> Spool {
        self.spool.clone().map_or_else(|| Spool::of(environment), Spool::new)
    }

    /// Sends a trace.
    pub(super) fn send(
        &self,
        trace: &Trace,
        settings: &Settings,
        environment: &Environment,
        warnings: &mut Warnings,
    ) -> Result<Sent, Failure> {
        let spool = self.spool(environment);
        send::send(trace, settings, &spool, warnings).map_err(|error| match error {
            send::SendError::Unreached { .. } => Failure::Other(format!(
                "{error}; the spans wait in {} for the next call",
                spool.directory().display()
            )),
            other => Failure::Other(other.to_string()),
        })
    }
}

/// Flags that say which run.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Repository, as OWNER/NAME [env: GITHUB_REPOSITORY]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(super) repo: Option<String>,
    /// Number of the run [env: GITHUB_RUN_ID]
    #[arg(long, value_name = "NUMBER")]
    pub(super) run: Option<u64>,
    /// Which attempt of it [env: GITHUB_RUN_ATTEMPT]
    #[arg(long, value_name = "NUMBER")]
    pub(super) attempt: Option<u64>,
    /// Name of the run's service [env: OTEL_SERVICE_NAME] [default: WORKFLOW-REPOSITORY]
    #[arg(long, value_name = "NAME")]
    pub(super) service: Option<String>,
}

impl RunArgs {
    pub(super) fn asked(&self) -> AskedRun {
        AskedRun {
            repository: self.repo.clone(),
            run: self.run,
            attempt: self.attempt,
            service: self.service.clone(),
            follows_traceparent: false,
        }
    }
}

/// Says what was odd.
pub(super) fn warn(warnings: &Warnings) {
    for warning in warnings.all() {
        output::warning(warning);
    }
}

/// Where a job leaves its files: in the workspace, if there is one.
pub(super) fn stash_directory(asked: Option<&Path>, environment: &Environment) -> PathBuf {
    match asked {
        Some(directory) => directory.to_owned(),
        None => Path::new(environment.get("GITHUB_WORKSPACE").unwrap_or(".")).join(STASH),
    }
}

/// Reads a file of bounded size; `-` is stdin.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let most = kymo_ci::limits::MAX_INPUT_BYTES;
    let failed = |error| Failure::io("read", path, error);
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(failed)?)
    };
    source.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        let most = crate::units::bytes(most);
        return Err(Failure::Other(format!("{} is larger than {most}", path.display())));
    }
    Ok(bytes)
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    amounts::duration(text).ok_or_else(|| "expected a duration such as 30s or 2m".to_owned())
}
