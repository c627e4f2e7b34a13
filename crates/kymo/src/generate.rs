//! `kymo completions` and `kymo man`: what shells and `man` know of the command line.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  kymo completions bash > ~/.local/share/bash-completion/completions/kymo
  kymo completions zsh > ~/.zfunc/_kymo                       with ~/.zfunc in $fpath
  kymo completions fish > ~/.config/fish/completions/kymo.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  kymo man ~/.local/share/man/man1     pages of all commands, for man kymo-serve and others
  kymo man | man -l -                  read the page of kymo itself";

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Where the pages of all commands go; without it, that of kymo itself goes to stdout
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

/// Prints completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<bool, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kymo", &mut script);
    output::text(&String::from_utf8_lossy(&script)).map(|()| true)
}

/// Writes manual pages.
pub(crate) fn man(args: &ManArgs) -> Result<bool, Failure> {
    let mut command = Cli::command();
    command.build();
    match &args.dir {
        None => output::text(&String::from_utf8_lossy(&page(command)?))?,
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|error| Failure::io("create", dir, error))?;
            write_pages(command, dir)?;
        }
    }
    Ok(true)
}

/// A page for the command and for each below it: `kymo.1`, `kymo-store-check.1`.
fn write_pages(command: Command, dir: &Path) -> Result<(), Failure> {
    let mut waiting = vec![(command.get_name().to_owned(), command)];
    while let Some((name, command)) = waiting.pop() {
        let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
        for below in visible.filter(|below| below.get_name() != "help") {
            waiting.push((format!("{name}-{}", below.get_name()), below.clone()));
        }
        let path = dir.join(format!("{name}.1"));
        let page = page(command.name(name))?;
        std::fs::write(&path, page).map_err(|error| Failure::io("write", &path, error))?;
    }
    Ok(())
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::Other(format!("cannot make a manual page: {error}")))?;
    Ok(page)
}
