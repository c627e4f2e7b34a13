//! Which traces are to be compared, and how that is to be told.
//!
//! ```json
//! {"base": {"traceId": "1"}, "compare": {"traceId": "2"}, "format": "trace-patch-v0"}
//! ```
//!
//! Each trace may have a `start` and an `end`, in seconds. They have to be in order, and change
//! nothing: a trace is whole.

use serde::Deserialize;

use super::formats::Format;
use crate::parameters::quoted;
use crate::tempo::traces::parse_id;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) base: [u8; 16],
    pub(super) compare: [u8; 16],
    pub(super) format: Format,
}

#[derive(Debug, Deserialize)]
struct Body {
    base: Option<Side>,
    compare: Option<Side>,
    format: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Side {
    trace_id: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
}

impl Wanted {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| {
            format!(
                "the request body is not what is expected, {{\"base\": {{\"traceId\": \"…\"}}, \
                 \"compare\": {{\"traceId\": \"…\"}}}}: {error}"
            )
        })?;
        Ok(Self {
            format: format(body.format.as_deref().unwrap_or_default())?,
            base: body.base.unwrap_or_default().read("base")?,
            compare: body.compare.unwrap_or_default().read("compare")?,
        })
    }
}

fn format(name: &str) -> Result<Format, String> {
    if name.is_empty() {
        return Ok(Format::default());
    }
    Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        format!("invalid format {}: expected one of {names}", quoted(name))
    })
}

impl Side {
    fn read(self, side: &str) -> Result<[u8; 16], String> {
        let id = self.trace_id.unwrap_or_default();
        if id.is_empty() {
            return Err(format!("{side}.traceId is required"));
        }
        if let (Some(start), Some(end)) = (self.start, self.end)
            && start >= end
        {
            return Err(format!("{side}.start must be before {side}.end, not {start} and {end}"));
        }
        parse_id(&id).map_err(|error| format!("invalid {side}.traceId: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> [u8; 16] {
        number.to_be_bytes()
    }

    #[test]
    fn a_question_names_two_traces() {
        let body = br#"{"base":{"traceId":"abc123"},"compare":{"traceId":"DEF456"}}"#;
        let expected = Wanted { base: id(0xabc123), compare: id(0xdef456), format: Format::Patch };
        assert_eq!(Wanted::read(body), Ok(expected));
        let times = r#"{"base":{"traceId":"1","start":10,"end":20},"compare":{"traceId":"2",
                        "start":5,"end":null},"format":null,"else":[]}"#;
        assert_eq!(Wanted::read(times.as_bytes()).map(|wanted| wanted.base), Ok(id(1)));
    }

    #[test]
    fn every_format_has_a_name() {
        for format in Format::ALL {
            let body = format!(
                r#"{{"base":{{"traceId":"1"}},"compare":{{"traceId":"2"}},"format":"{}"}}"#,
                format.name()
            );
            assert_eq!(Wanted::read(body.as_bytes()).map(|wanted| wanted.format), Ok(format));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, words) in [
            ("", "the request body is not what is expected"),
            (r#"{"base":"#, "the request body is not what is expected"),
            ("[]", "the request body is not what is expected"),
            (r#"{"base":{"traceId":7}}"#, "the request body is not what is expected"),
            (r#"{"compare":{"traceId":"2"}}"#, "base.traceId is required"),
            (r#"{"base":null,"compare":{"traceId":"2"}}"#, "base.traceId is required"),
            (r#"{"base":{"traceId":"1"},"compare":{}}"#, "compare.traceId is required"),
            (
                r#"{"base":{"traceId":"not-hex"},"compare":{"traceId":"2"}}"#,
                "invalid base.traceId: trace IDs can only contain hex characters",
            ),
            (
                r#"{"base":{"traceId":"1","start":10,"end":10},"compare":{"traceId":"2"}}"#,
                "base.start must be before base.end, not 10 and 10",
            ),
            (
                r#"{"base":{"traceId":"1"},"compare":{"traceId":"2","start":20,"end":10}}"#,
                "compare.start must be before compare.end, not 20 and 10",
            ),
            (
                r#"{"base":{"traceId":"1"},"compare":{"traceId":"2"},"format":"v1"}"#,
                "invalid format \"v1\": expected one of trace-patch-v0, trace-summary-v0-native, \
                 trace-summary-v0-composed",
            ),
        ] {
            let error = Wanted::read(body.as_bytes()).unwrap_err();
            assert!(error.starts_with(words), "{body}: {error}");
        }
    }
}
