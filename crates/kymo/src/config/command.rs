//! `kymo config`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use kymo_collector::Level;

use super::flags::ConfigArgs;
use super::resolve::{Problem, Resolved, read, resolve};
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
    ///
    /// The result goes to stdout, what there is to say about it to stderr. The exit code is 1 if
    /// something could not be translated; the rest is written all the same.
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
    /// Write over files that the configuration names if others are there
    #[arg(long)]
    force: bool,
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
    let Some((_, text)) = good(read(&args.file)) else { return Ok(false) };
    // A server may be started from anywhere, and paths in its configuration are not about that.
    let directory = match args.output.as_deref().map(directory_of) {
        Some(directory) => {
            std::path::absolute(directory).map_err(|error| Failure::io("find", directory, error))?
        }
        None => PathBuf::new(),
    };
    let translation = kymo_collector::translate_into(&text, &directory.to_string_lossy())
        .map_err(|error| Failure::Other(format!("{}: {error}", args.file.display())))?;
    let mut files = Vec::new();
    for file in &translation.files {
        let path = directory.join(&file.name);
        if !args.force {
            check_free(&path, &file.text)?;
        }
        files.push((path, &file.text));
    }
    match &args.output {
        Some(path) => {
            check_other(path, &args.file)?;
            files.push((path.clone(), &translation.yaml));
        }
        None => output::text(&translation.yaml)?,
    }
    for (path, text) in files {
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, error))?;
    }
    for note in &translation.notes {
        match note.level {
            Level::NotTranslated => output::warning(&format!("{}: {note}", args.file.display())),
            _ => output::note(&format!("{}: {note}", args.file.display())),
        }
    }
    Ok(translation.is_complete())
}

/// The directory of a file; the current one if the path has none.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Nobody asked for a further file by its name, so one that is there stays.
fn check_free(path: &Path, text: &str) -> Result<(), Failure> {
    if !path.exists() || std::fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "{} is there already, and the configuration needs a file of this name: choose another \
         directory with --output DIR/kymo.yaml, or write over it with --force",
        path.display()
    )))
}

/// The collector's own file stays, too.
fn check_other(output: &Path, input: &Path) -> Result<(), Failure> {
    let same = |one: std::io::Result<PathBuf>, other: std::io::Result<PathBuf>| matches!((one, other), (Ok(one), Ok(other)) if one == other);
    if same(output.canonicalize(), input.canonicalize()) {
        let what = "--output is the collector's own file: choose another";
        return Err(Failure::Other(what.to_owned()));
    }
    Ok(())
}

/// Says what is wrong or odd on stderr; the configuration if it is good.
fn report(resolved: Result<Resolved, Vec<Problem>>) -> Option<Resolved> {
    let resolved = good(resolved)?;
    for warning in &resolved.warnings {
        output::warning(warning);
    }
    Some(resolved)
}

/// Says what is wrong on stderr; what was read if nothing is.
pub(crate) fn good<T>(read: Result<T, Vec<Problem>>) -> Option<T> {
    match read {
        Ok(good) => Some(good),
        Err(problems) => {
            for problem in &problems {
                output::error(&problem.to_string());
            }
            None
        }
    }
}
