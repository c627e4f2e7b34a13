//! The command line itself.

mod common;

use common::Place;

#[test]
fn help_and_version_say_what_there_is() {
    let place = Place::new();
    let version = place.kymo(&["--version"]).expect(0);
    assert_eq!(version.stdout, format!("kymo {}\n", env!("CARGO_PKG_VERSION")));
    let help = place.kymo(&["--help"]).expect(0).stdout;
    for word in ["import", "block", "store", "Examples:", "KYMO_LOG"] {
        assert!(help.contains(word), "{word} is not in the help");
    }
    for command in [&["import", "--help"][..], &["block", "--help"], &["store", "check", "--help"]]
    {
        assert!(place.kymo(command).expect(0).stdout.contains("Examples:"));
    }
}

#[test]
fn a_command_line_that_is_not_understood_is_exit_code_two() {
    let place = Place::new();
    let wrong: [&[&str]; 8] = [
        &[],
        &["sing"],
        &["block"],
        &["block", "x", "--format", "xml"],
        &["store"],
        &["store", "check"],
        &["import", "x"],
        &["import", "x", "--data", "d", "--signal", "profiles"],
    ];
    for args in wrong {
        let ran = place.kymo(args).expect(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_wrong_log_filter_is_refused() {
    let place = Place::new();
    let output = place.command().env("KYMO_LOG", "loud=very").args(["block", "x"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: KYMO_LOG"));
}
