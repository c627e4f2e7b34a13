//! The command line itself.

mod common;

use common::Place;

#[test]
fn help_and_version_say_what_there_is() {
    let place = Place::new();
    let version = place.kymo(&["--version"]).expect(0);
    assert_eq!(version.stdout, format!("kymo {}\n", env!("CARGO_PKG_VERSION")));
    let help = place.kymo(&["--help"]).expect(0).stdout;
    let words =
        ["serve", "sql", "trace", "import", "block", "store", "config", "Examples:", "KYMO_LOG"];
    for word in words {
        assert!(help.contains(word), "{word} is not in the help");
    }
    let commands: [&[&str]; 9] = [
        &["serve", "--help"],
        &["sql", "--help"],
        &["trace", "--help"],
        &["import", "--help"],
        &["block", "--help"],
        &["store", "check", "--help"],
        &["config", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ];
    for command in commands {
        assert!(place.kymo(command).expect(0).stdout.contains("Examples:"));
    }
}

#[test]
fn a_command_line_that_is_not_understood_is_exit_code_two() {
    let place = Place::new();
    let wrong: [&[&str]; 17] = [
        &[],
        &["sing"],
        &["block"],
        &["block", "x", "--format", "xml"],
        &["store"],
        &["store", "check"],
        &["import", "x"],
        &["import", "x", "--data", "d", "--signal", "profiles"],
        &["import", "x", "--data", "d", "--tenant", "a|b"],
        &["serve", "--http", "nowhere"],
        &["serve", "--store-flush-after", "10"],
        &["sql", "SELECT 1", "--url", "http://127.0.0.1:1", "--data", "d"],
        &["sql", "SELECT 1", "--store", "s3://x"],
        &["sql", "  "],
        &["trace"],
        &["trace", "xyz"],
        &["completions", "tcsh"],
    ];
    for args in wrong {
        let ran = place.kymo(args).expect(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_wrong_log_filter_is_refused() {
    let place = Place::new();
    for (filter, message) in [
        ("loud=very", "error: KYMO_LOG: \"very\" is not a level: expected off, error, warn, "),
        ("inof", "error: KYMO_LOG: \"inof\" is not a level; did you mean info?\n"),
    ] {
        let output = place.command().env("KYMO_LOG", filter).args(["block", "x"]).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(message), "{said}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.kymo(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("store-flush-after") && script.contains("completions"), "{shell}");
    }
    assert!(place.kymo(&["man"]).expect(0).stdout.contains("kymo"));
    place.kymo(&["man", "pages"]).expect(0);
    let pages = place.files("pages");
    for page in ["kymo.1", "kymo-serve.1", "kymo-store-check.1", "kymo-config-show.1"] {
        assert!(pages.contains(&format!("pages/{page}")), "{page} is not in {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("docs") || page.contains("help")), "{pages:?}");
    let serve = std::fs::read_to_string(place.path("pages/kymo-serve.1")).unwrap();
    assert!(serve.contains("KYMO_STORE_FLUSH_AFTER"));
}
