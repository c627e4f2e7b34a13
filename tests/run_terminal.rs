//! `kymo run` at a terminal: who is told of Ctrl-C, and how often.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::eventually;

/// A command that has gone to a session of its own, where no terminal reaches it: what it hears, we
/// passed on. It answers the first signal by its status.
const AWAY: &str = "setsid sh -c 'trap \"exit 9\" INT; trap \"exit 3\" USR1; \
                    echo $PPID > pid.new; mv pid.new pid; while :; do sleep 0.05; done'";

/// `kymo run` of that command at a terminal, which util-linux's `script` gives it, and its number.
fn at_terminal(place: &Path, input: &str) -> Option<(Child, String)> {
    let kymo = env!("CARGO_BIN_EXE_kymo");
    let mut command = Command::new("script");
    command.current_dir(place).env("SHELL", "/bin/sh");
    command.args(["-qec", &format!("exec {kymo} run --quiet -- {AWAY} {input}"), "/dev/null"]);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(child) = started else {
        eprintln!("left out: there is no `script` that gives a program a terminal");
        return None;
    };
    let file = place.join("pid");
    eventually(Duration::from_secs(60), "the command runs", || file.exists());
    Some((child, std::fs::read_to_string(file).unwrap().trim().to_owned()))
}

fn send(signal: &str, number: &str) {
    assert!(Command::new("kill").args(["-s", signal, number]).status().unwrap().success());
}

#[test]
fn ctrl_c_is_not_told_again_even_if_the_input_is_a_file() {
    let place = tempfile::tempdir().unwrap();
    let Some((mut child, number)) = at_terminal(place.path(), "< /dev/null") else { return };
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    // The terminal shows it after it has told everybody.
    let (mut shown, mut byte) = (Vec::new(), [0]);
    while !shown.ends_with(b"^C") {
        assert_eq!(child.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1, "{shown:?}");
        shown.push(byte[0]);
    }
    send("USR1", &number);
    assert_eq!(child.wait().unwrap().code(), Some(3), "9: Ctrl-C was passed on");
}

#[test]
fn an_interrupt_of_a_program_is_passed_on_even_if_the_input_is_a_terminal() {
    let place = tempfile::tempdir().unwrap();
    let Some((mut child, number)) = at_terminal(place.path(), "") else { return };
    send("INT", &number);
    assert_eq!(child.wait().unwrap().code(), Some(9));
}
