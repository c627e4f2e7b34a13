//! `kymo run` at a terminal: who is told of Ctrl-C, and how often.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::eventually;
use harness::programs::{clean, left_out};
use tempfile::TempDir;

/// More than anything takes here, also on a machine that compiles beside it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that has gone to a session of its own, where no terminal reaches it: what it hears, we
/// passed on. It answers the first signal by its status.
const AWAY: &str = "setsid sh -c 'trap \"exit 9\" INT; trap \"exit 3\" USR1; \
                    echo $PPID $$ > pids.new; mv pids.new pids; while :; do sleep 0.05; done'";

/// `kymo run` of that command at a terminal, which util-linux's `script` gives it.
struct AtTerminal {
    script: Child,
    place: TempDir,
}

impl AtTerminal {
    fn start(input: &str) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let kymo = env!("CARGO_BIN_EXE_kymo");
        let mut command = Command::new("script");
        clean(&mut command);
        command.current_dir(place.path()).env("SHELL", "/bin/sh");
        command.args(["-qec", &format!("exec {kymo} run --quiet -- {AWAY} {input}"), "/dev/null"]);
        let shown = File::create(place.path().join("shown")).unwrap();
        let Ok(script) = command.stdin(Stdio::piped()).stdout(shown).spawn() else {
            left_out("Ctrl-C (there is no `script` that gives a program a terminal)");
            return None;
        };
        let started = Self { script, place };
        eventually(PATIENCE, "the command runs", || started.pids().len() == 2);
        Some(started)
    }

    /// The numbers of `kymo run` and of the command, as soon as that runs.
    fn pids(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.place.path().join("pids")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn press(&mut self, key: &[u8]) {
        self.script.stdin.as_mut().unwrap().write_all(key).unwrap();
    }

    fn has_shown(&self, text: &str) -> bool {
        std::fs::read_to_string(self.place.path().join("shown")).unwrap().contains(text)
    }

    fn send(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.pids()[0]]).status();
        assert!(sent.unwrap().success());
    }

    fn code(&mut self) -> Option<i32> {
        eventually(PATIENCE, "it ends", || self.script.try_wait().unwrap().is_some());
        self.script.wait().unwrap().code()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        if !matches!(self.script.try_wait(), Ok(None)) {
            return;
        }
        // Each by itself: the command is where the end of the others does not reach it.
        for number in self.pids() {
            let _ = Command::new("kill").args(["-s", "KILL", &number]).status();
        }
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn ctrl_c_is_not_told_again_even_if_the_input_is_a_file() {
    let Some(mut terminal) = AtTerminal::start("< /dev/null") else { return };
    terminal.press(b"\x03");
    // The terminal shows it after it has told everybody.
    eventually(PATIENCE, "Ctrl-C is shown", || terminal.has_shown("^C"));
    terminal.send("USR1");
    assert_eq!(terminal.code(), Some(3), "9: Ctrl-C was passed on");
}

#[test]
fn an_interrupt_of_a_program_is_passed_on_even_if_the_input_is_a_terminal() {
    let Some(mut terminal) = AtTerminal::start("") else { return };
    terminal.send("INT");
    assert_eq!(terminal.code(), Some(9));
}
