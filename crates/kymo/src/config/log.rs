//! What is logged, and how it looks.

use kymo_yaml::nearest;
use tracing_subscriber::filter::{LevelFilter, Targets};

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads what is logged: a level, `MODULE=LEVEL`, or several with commas between them. The error
/// says which part is wrong.
///
/// `Targets` alone takes a word that is no level for a module of which everything is logged, and
/// all others fall silent.
pub(crate) fn filter(text: &str) -> Result<Targets, String> {
    for part in text.split(',') {
        let level = part.rsplit_once('=').map_or(part, |(_, level)| level).trim();
        if level.parse::<LevelFilter>().is_err() || level.is_empty() {
            return Err(no_level(level));
        }
    }
    text.trim().parse().map_err(|why| {
        format!("{text:?} is not understood ({why}): use info, or kymo_store=debug,info")
    })
}

fn no_level(word: &str) -> String {
    let lower = word.to_lowercase();
    let longer = || LEVELS.into_iter().find(|level| lower.starts_with(level));
    match nearest(word, LEVELS).or_else(longer) {
        Some(meant) if !word.is_empty() => {
            format!("{word:?} is not a level; did you mean {meant}?")
        }
        _ => format!("{word:?} is not a level: expected {}", LEVELS.join(", ")),
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// For people.
    Human,
    /// One JSON object per line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_nearest() {
        for good in ["info", "WARN", "off", "kymo_store=debug,info", "warn, kymo_store=trace"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        let why = |text| filter(text).unwrap_err();
        assert_eq!(why("warning"), "\"warning\" is not a level; did you mean warn?");
        assert_eq!(why("inof"), "\"inof\" is not a level; did you mean info?");
        assert_eq!(
            why("info,kymo_store"),
            "\"kymo_store\" is not a level: expected off, error, \
                                            warn, info, debug, trace"
        );
        assert_eq!(why("kymo_store=debgu"), "\"debgu\" is not a level; did you mean debug?");
        assert!(filter("").is_err() && filter("info,").is_err() && filter("a=").is_err());
    }
}
