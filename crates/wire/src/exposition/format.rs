//! Which format an answer is in, and which one a reader wants.

use super::Escaping;

/// A format, whatever its version: each version can be read as the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `text/plain`.
    Text,
    /// `application/openmetrics-text`.
    OpenMetrics,
    /// `application/vnd.google.protobuf`.
    Protobuf,
}

impl Format {
    /// The format that the `Content-Type` of an answer names; `None` if it names none of them.
    #[must_use]
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "text/plain" => Some(Self::Text),
            "application/openmetrics-text" => Some(Self::OpenMetrics),
            "application/vnd.google.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }
}

/// What a reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiatedFormat {
    /// Text or OpenMetrics; protobuf is not written.
    pub format: Format,
    /// How names are sent that not every reader knows.
    pub escaping: Escaping,
    /// The `Content-Type` of the answer, without the escaping.
    media_type: &'static str,
}

impl NegotiatedFormat {
    /// The `Content-Type` of the answer.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("{}; charset=utf-8; escaping={}", self.media_type, self.escaping.name())
    }
}

/// Chooses what to answer to a reader with this `Accept` header: the best of what we write, and
/// the older text for whoever asks for something else.
#[must_use]
pub fn negotiate(accept: &str) -> NegotiatedFormat {
    let mut best = NegotiatedFormat {
        format: Format::Text,
        escaping: Escaping::Underscores,
        media_type: "text/plain; version=0.0.4",
    };
    let mut best_quality = 0.0;
    for wish in accept.split(',') {
        let mut parts = wish.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let (mut version, mut quality, mut escaping) = ("", 1.0f64, None);
        for part in parts {
            match part.split_once('=') {
                Some(("version", value)) => version = value.trim_matches('"'),
                Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
                Some(("escaping", value)) => escaping = Escaping::from_name(value),
                _ => {}
            }
        }
        let offered = match (media_type.to_ascii_lowercase().as_str(), version) {
            ("application/openmetrics-text", "1.0.0") => {
                Some((Format::OpenMetrics, "application/openmetrics-text; version=1.0.0"))
            }
            ("application/openmetrics-text", "" | "0.0.1") => {
                Some((Format::OpenMetrics, "application/openmetrics-text; version=0.0.1"))
            }
            ("text/plain", "1.0.0") => Some((Format::Text, "text/plain; version=1.0.0")),
            ("text/plain" | "text/*" | "*/*", "" | "0.0.4") => {
                Some((Format::Text, "text/plain; version=0.0.4"))
            }
            _ => None,
        };
        let Some((format, media_type)) = offered else { continue };
        // Of equal wishes the first counts.
        if quality > best_quality {
            best_quality = quality;
            let escaping = escaping.unwrap_or_default();
            best = NegotiatedFormat { format, escaping, media_type };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_name_their_format() {
        for (content_type, format) in [
            ("text/plain; version=0.0.4; charset=utf-8", Some(Format::Text)),
            ("TEXT/PLAIN", Some(Format::Text)),
            ("application/openmetrics-text;version=1.0.0", Some(Format::OpenMetrics)),
            (
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily",
                Some(Format::Protobuf),
            ),
            ("text/html", None),
            ("", None),
        ] {
            assert_eq!(Format::from_content_type(content_type), format, "{content_type}");
        }
    }

    #[test]
    fn a_reader_gets_what_it_likes_best_of_what_we_write() {
        let prometheus = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
             encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;\
             escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        let chosen = negotiate(prometheus);
        assert_eq!((chosen.format, chosen.escaping), (Format::OpenMetrics, Escaping::AllowUtf8));
        assert_eq!(
            chosen.content_type(),
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8"
        );
        for accept in ["", "*/*", "text/html,*/*;q=0.1", "image/png"] {
            let chosen = negotiate(accept);
            assert_eq!((chosen.format, chosen.escaping), (Format::Text, Escaping::Underscores));
        }
    }
}
