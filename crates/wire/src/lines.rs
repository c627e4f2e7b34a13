//! Files of OTLP/JSON with one request per line.
//!
//! The collector's file exporter writes them, and so do checkpoints of sessions. Each line is an
//! object whose member `resourceSpans`, `resourceMetrics` or `resourceLogs` tells the signal.

use crate::Signal;
use crate::json::{self, JsonError};

/// Reads one line and gives the request as protobuf. The line break may be there or not.
///
/// A line that holds none of the three members, or more than one, is refused.
pub fn decode_line(line: &[u8]) -> Result<(Signal, Vec<u8>), JsonError> {
    json::decode_any(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_tells_the_signal() {
        for (line, signal) in [
            (&b"{\"resourceSpans\":[]}"[..], Signal::Traces),
            (b"{\"resourceMetrics\":[]}\n", Signal::Metrics),
            (b"{\"other\":[1,{}],\"resource_logs\":[]}\r\n", Signal::Logs),
        ] {
            assert_eq!(decode_line(line), Ok((signal, Vec::new())));
        }
    }

    #[test]
    fn a_line_of_no_signal_or_of_two_is_refused() {
        let none = decode_line(b"{\"kymo\":\"checkpoint\"}").expect_err("has no signal");
        assert_eq!(
            none.to_string(),
            "expected a member resourceSpans, resourceMetrics or resourceLogs"
        );
        let two = b"{\"resourceSpans\":[],\"resourceLogs\":[]}";
        let error = decode_line(two).expect_err("has two signals").to_string();
        assert_eq!(
            error,
            "only one member may hold data, resourceLogs is another at line 1 column 34"
        );
        assert!(decode_line(b"").is_err());
        assert!(decode_line(b"[]").is_err());
    }

    #[test]
    fn an_error_names_line_and_member() {
        let line = b"{\"resourceSpans\":[{\"scopeSpans\":[{},{\"spans\":[{\"kind\":\"no\"}]}]}]}";
        let error = decode_line(line).expect_err("kind is not a number").to_string();
        let expected = "\"no\" is not an integer in \
                        resourceSpans[0].scopeSpans[1].spans[0].kind at line 1 column 58";
        assert_eq!(error, expected);
    }
}
