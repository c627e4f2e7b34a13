//! Addresses to look at.

use crate::client::DEFAULT_URL;

/// Where to look, and what for.
const PAGES: [(&str, &str); 6] = [
    ("", "everything at a glance"),
    (
        "traces?q=%7B%20resource.service.name%20%3D%20%22payment%22%20%26%26%20status%20%3D%20error%20%7D",
        "payments that fail: which card, version and host?",
    ),
    ("ci", "runs of GitHub Actions: since when are builds slower?"),
    ("live", "a training and a workflow, as they run"),
    ("gpu", "GPUs: one of them is too hot at times"),
    ("hosts", "the machines of all that"),
];

/// The addresses, a line each.
pub(super) fn shown(url: Option<&str>) -> String {
    let of_environment = std::env::var("KYMO_URL").ok().filter(|url| !url.is_empty());
    let base = url.map(str::to_owned).or(of_environment);
    let base = base.unwrap_or_else(|| DEFAULT_URL.to_owned());
    let base = base.trim_end_matches('/');
    let mut text = "Living data is being sent; Ctrl-C stops it. Look at:".to_owned();
    for (path, what) in PAGES {
        text.push_str(&format!("\n  {base}/{path}\n      {what}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_below_the_one_that_is_given() {
        let shown = shown(Some("https://kymo.example.org/x/"));
        assert!(shown.contains("\n  https://kymo.example.org/x/ci\n"), "{shown}");
    }
}
