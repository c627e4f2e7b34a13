//! The snippets of README.md are run, in order, against a real server.
//!
//! A fenced block is run when the line before it is `<!-- test: NAME -->`, which readers do not see.
//!
//! | block | how it is run |
//! |---|---|
//! | `sh` | by bash, in an empty directory; `kymo` and `cargo run --release --` are the binary under test |
//! | `python` | by Python with the OpenTelemetry SDK, if that is installed |
//! | `text` | what the block before it must print |
//!
//! Ports 3200, 4317 and 4318 of 127.0.0.1 and localhost become those of the test's server.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;
use std::process::Command;

use harness::programs::{clean, clients, python, repository, run};
use harness::{Server, Signal};

/// A marked block.
#[derive(Debug, PartialEq)]
struct Snippet {
    name: String,
    language: String,
    text: String,
}

fn snippets(markdown: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let marked = line.strip_prefix("<!-- test: ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = marked else { continue };
        let fence = lines.next().and_then(|line| line.strip_prefix("```"));
        let language = fence.unwrap_or_else(|| panic!("no block follows the mark {name}"));
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let (name, language) = (name.to_owned(), language.trim().to_owned());
        found.push(Snippet { name, language, text: text.join("\n") });
    }
    found
}

/// Text with the addresses of the test's server.
fn readdressed(text: &str, server: &Server) -> String {
    let ports =
        [("3200", server.http()), ("4317", server.otlp_grpc()), ("4318", server.otlp_http())];
    let mut text = text.to_owned();
    for (port, address) in ports {
        for host in ["127.0.0.1", "localhost"] {
            text = text.replace(&format!("{host}:{port}"), &address.to_string());
        }
    }
    text
}

/// A shell whose `kymo` is the binary under test and asks the test's server.
fn shell(server: &Server, script: &str) -> String {
    let script = readdressed(script, server).replace("cargo run --release --", "kymo");
    let programs = server.place().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let link = programs.join("kymo");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kymo"), &link).unwrap();
    }
    let directory = server.place().join("work");
    std::fs::create_dir_all(&directory).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    clean(&mut command);
    command
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(directory)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("KYMO_URL", server.url(""));
    run(&mut command).expect(0).stdout
}

/// Lines without the spaces at their ends, which nobody sees.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

#[test]
fn every_snippet_of_the_readme_works() {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let snippets = snippets(&readme);
    let server = Server::start();
    let mut printed = String::new();
    for Snippet { name, language, text } in &snippets {
        match language.as_str() {
            "sh" => {
                printed = shell(&server, text);
                // curl is content with every answer; those that refuse have one of these.
                let is_refused = ["\"error\":", "\"message\":"].iter().any(|e| printed.contains(e));
                assert!(!is_refused, "{name} prints {printed}");
            }
            "python" => {
                let Some(clients) = clients(&format!("the snippet {name} of README.md")) else {
                    continue;
                };
                let program = readdressed(text, &server);
                printed = run(python(&clients).args(["-c", &program])).expect(0).stdout;
            }
            "text" => assert_eq!(lines(&printed), lines(text), "{name}"),
            other => panic!("{name} is {other:?}, which this test cannot run"),
        }
    }
    // What a newcomer is promised: a trace by curl and by Python, and a look at each.
    let names: BTreeSet<&str> = snippets.iter().map(|snippet| snippet.name.as_str()).collect();
    for name in ["curl", "trace", "the tree", "python", "sql", "the rows", "http"] {
        assert!(names.contains(name), "README.md has no snippet {name}: {names:?}");
    }
    assert!(server.count(Signal::Traces) >= 2);
}

#[test]
fn snippets_are_found_by_their_marks() {
    let markdown = "a\n<!-- test: one -->\n```sh\nls\npwd\n```\n```sh\nnot this\n```\n";
    let expected = Snippet { name: "one".into(), language: "sh".into(), text: "ls\npwd".into() };
    assert_eq!(snippets(markdown), [expected]);
}

#[test]
fn every_page_is_in_the_index_and_every_page_of_the_index_is_there() {
    let docs = repository("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let listed: BTreeSet<String> = index
        .split("](")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap().to_owned())
        .filter(|path| !path.starts_with("../"))
        .collect();
    let mut pages = BTreeSet::new();
    for below in ["", "formats/", "sessions/"] {
        for entry in std::fs::read_dir(docs.join(below)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "README.md" {
                pages.insert(format!("{below}{name}"));
            }
        }
    }
    assert_eq!(listed, pages);
}
