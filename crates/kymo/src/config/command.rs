//! `kymo config`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use kymo_collector::Level;

use super::flags::ConfigArgs;
use super::resolve::{Problem, Resolved, resolve};
use super::{docs, show};
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  kymo config check --config kymo.yaml     all that is wrong with it; exit code 1 if anything is
  kymo config show --config kymo.yaml      what holds, and where each value is from
  kymo config show --http 127.0.0.1:80     the same with a flag, as kymo serve would see it
  kymo config import otel-collector.yml    a collector's configuration, said in kymo's";

/// Check or show the configuration of kymo serve
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say all that is wrong with the configuration
    Check(CheckArgs),
    /// Print what holds and where each value is from; passwords are hidden
    Show(ShowArgs),
    /// Translate the configuration of an OpenTelemetry Collector
    Import(ImportArgs),
    /// Print docs/configuration.md
    #[command(hide = true)]
    Docs,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: ShowFormat,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum ShowFormat {
    /// YAML that could be the configuration file
    #[default]
    Yaml,
    /// JSON for programs
    Json,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// The collector's file
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Write the configuration here instead of to stdout, and files that it names beside it
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// Runs the command; false if the configuration is wrong.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    match &args.command {
        Command::Check(args) => {
            let resolved = resolve(&args.config);
            let good = report(resolved).is_some();
            if good {
                output::text("ok\n")?;
            }
            Ok(good)
        }
        Command::Show(args) => {
            let Some(resolved) = report(resolve(&args.config)) else { return Ok(false) };
            match args.format {
                ShowFormat::Yaml => output::text(&show::yaml(&resolved))?,
                ShowFormat::Json => output::json(&show::json(&resolved))?,
            }
            Ok(true)
        }
        Command::Import(args) => import(args),
        Command::Docs => output::text(&docs::markdown()).map(|()| true),
    }
}

/// Translates, and says what there is to say; false if something could not be translated.
fn import(args: &ImportArgs) -> Result<bool, Failure> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::io("read", &args.file, error))?;
    let translation = kymo_collector::translate(&text)
        .map_err(|error| Failure::Other(format!("{}: {error}", args.file.display())))?;
    let directory = match &args.output {
        Some(path) => {
            std::fs::write(path, &translation.yaml)
                .map_err(|error| Failure::io("write", path, error))?;
            path.parent().unwrap_or(Path::new("")).to_owned()
        }
        None => {
            output::text(&translation.yaml)?;
            PathBuf::new()
        }
    };
    for file in &translation.files {
        let path = directory.join(&file.name);
        std::fs::write(&path, &file.text).map_err(|error| Failure::io("write", &path, error))?;
    }
    for note in &translation.notes {
        match note.level {
            Level::NotTranslated => output::warning(&format!("{}: {note}", args.file.display())),
            _ => output::note(&format!("{}: {note}", args.file.display())),
        }
    }
    Ok(translation.notes.iter().all(|note| note.level != Level::NotTranslated))
}

/// Says what is wrong or odd on stderr; the configuration if it is good.
fn report(resolved: Result<Resolved, Vec<Problem>>) -> Option<Resolved> {
    let resolved = good(resolved)?;
    for warning in &resolved.warnings {
        output::warning(warning);
    }
    Some(resolved)
}

/// Says what is wrong on stderr; the configuration if it is good.
pub(crate) fn good(resolved: Result<Resolved, Vec<Problem>>) -> Option<Resolved> {
    match resolved {
        Ok(resolved) => Some(resolved),
        Err(problems) => {
            for problem in &problems {
                output::error(&problem.to_string());
            }
            None
        }
    }
}
