//! Opening a page: with what `BROWSER` says, else with what the system has for it.

use std::env;
use std::process::{Command, Stdio};

/// Opens a page and does not wait for it; the error says why it could not.
pub(super) fn open(page: &str) -> Result<(), String> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let Some(words) = command(page, variable) else {
        return Err("there is no display".to_owned());
    };
    let [program, arguments @ ..] = words.as_slice() else { return Err("no command".to_owned()) };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
        .map_err(|error| format!("{program}: {error}"))
}

/// The command that opens a page. `BROWSER` is a list of commands, of which the first is taken;
/// `%s` in it stands for the page.
fn command(page: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    if let Some(browser) = variable("BROWSER") {
        let first = browser.split(':').next().unwrap_or_default();
        let mut words: Vec<String> =
            first.split_whitespace().map(|word| word.replace("%s", page)).collect();
        if !first.contains("%s") {
            words.push(page.to_owned());
        }
        return Some(words);
    }
    if cfg!(target_os = "macos") {
        return Some(vec!["open".to_owned(), page.to_owned()]);
    }
    // Without a display, some systems would start a browser of text in this terminal.
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| variable(name).is_some());
    has_display.then(|| vec!["xdg-open".to_owned(), page.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_says_which_browser() {
        let with = |browser: &str| {
            let browser = browser.to_owned();
            command("http://p", move |name| (name == "BROWSER").then(|| browser.clone())).unwrap()
        };
        assert_eq!(with("firefox"), ["firefox", "http://p"]);
        assert_eq!(with("a --new %s:b"), ["a", "--new", "http://p"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn without_a_display_none_is_opened() {
        assert_eq!(command("http://p", |_| None), None);
        let display = |name: &str| (name == "DISPLAY").then(|| ":0".to_owned());
        assert_eq!(command("http://p", display).unwrap(), ["xdg-open", "http://p"]);
    }
}
