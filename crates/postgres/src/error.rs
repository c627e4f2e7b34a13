//! What went wrong, with its SQLSTATE, as clients are told.

use kymo_engine::{EngineError, FaultKind};
use pgwire::error::ErrorInfo;
use pgwire::messages::PgWireBackendMessage;

use crate::message::without_zeros;

/// Codes of PostgreSQL for what can happen here.
pub(crate) mod code {
    pub(crate) const SYNTAX: &str = "42601";
    pub(crate) const NO_TABLE: &str = "42P01";
    pub(crate) const NO_COLUMN: &str = "42703";
    pub(crate) const NO_FUNCTION: &str = "42883";
    pub(crate) const NO_SETTING: &str = "42704";
    pub(crate) const NO_PARAMETER: &str = "42P02";
    pub(crate) const WRONG: &str = "42000";
    pub(crate) const READ_ONLY: &str = "25006";
    pub(crate) const FAILED_TRANSACTION: &str = "25P02";
    pub(crate) const NOT_OFFERED: &str = "0A000";
    pub(crate) const MEMORY: &str = "53200";
    pub(crate) const BUSY: &str = "53000";
    pub(crate) const TOO_MUCH: &str = "54000";
    pub(crate) const CANCELLED: &str = "57014";
    pub(crate) const STOPPING: &str = "57P01";
    pub(crate) const IDLE: &str = "57P05";
    pub(crate) const STORE: &str = "58030";
    pub(crate) const VALUE: &str = "22000";
    pub(crate) const NOT_UTF8: &str = "22021";
    pub(crate) const PARAMETER: &str = "22P02";
    pub(crate) const SETTING_VALUE: &str = "22023";
    pub(crate) const PROTOCOL: &str = "08P01";
    pub(crate) const NO_STATEMENT: &str = "26000";
    pub(crate) const NO_PORTAL: &str = "34000";
    pub(crate) const INTERNAL: &str = "XX000";
    /// Somebody is not let in: he does not say who he is, or may not.
    pub(crate) const LOGIN: &str = "28000";
    /// Somebody is not let in: what he says is not right.
    pub(crate) const PASSWORD: &str = "28P01";
    /// Somebody is not let in now; he may try again.
    pub(crate) const LATER: &str = "57P03";
}

/// An error for a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PgError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Where in the text, in characters from 1 on.
    position: Option<usize>,
}

impl PgError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), position: None }
    }

    /// A message that breaks the protocol.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(code::PROTOCOL, message)
    }

    /// That of the engine, about a text that begins after some characters of what the client sent.
    pub(crate) fn of(error: &EngineError, text: &str, before: usize) -> Self {
        let message = error.to_string();
        let code = match error {
            EngineError::Invalid(fault) => code_of(fault.kind),
            EngineError::NotAllowed(fault) if fault.kind == FaultKind::Function => {
                code::NOT_OFFERED
            }
            EngineError::NotAllowed(_) => code::READ_ONLY,
            EngineError::Memory { .. } => code::MEMORY,
            EngineError::Rows { .. } => code::TOO_MUCH,
            EngineError::Timeout { .. } | EngineError::Cancelled => code::CANCELLED,
            EngineError::Busy { .. } => code::BUSY,
            EngineError::Store(_) | EngineError::Damaged { .. } => code::STORE,
            EngineError::Evaluation(_) => code::VALUE,
            EngineError::Internal(_) => code::INTERNAL,
        };
        let position = position(error, text).map(|position| position + before);
        Self { code, message, position }
    }

    /// As a message: `ERROR` ends a statement, `FATAL` the connection.
    pub(crate) fn response(&self, severity: &str) -> PgWireBackendMessage {
        // A message may quote a value, and a value may be anything.
        let message = without_zeros(&self.message);
        let mut info = ErrorInfo::new(severity.to_owned(), self.code.to_owned(), message);
        info.severity_nonlocalized = Some(severity.to_owned());
        info.position = self.position.map(|position| position.to_string());
        PgWireBackendMessage::ErrorResponse(info.into())
    }
}

fn code_of(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Syntax => code::SYNTAX,
        FaultKind::Table => code::NO_TABLE,
        FaultKind::Column => code::NO_COLUMN,
        FaultKind::Function => code::NO_FUNCTION,
        FaultKind::Setting => code::NO_SETTING,
        FaultKind::Parameter => code::NO_PARAMETER,
        FaultKind::Value => code::VALUE,
        FaultKind::Other => code::WRONG,
    }
}

/// The place that an error names, in characters from 1 on.
fn position(error: &EngineError, text: &str) -> Option<usize> {
    let (EngineError::Invalid(fault) | EngineError::NotAllowed(fault)) = error else { return None };
    let (line, column) = fault.place()?;
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let before: usize = lines.map(|line| line.chars().count()).sum();
    Some(before + column)
}

#[cfg(test)]
mod tests {
    use kymo_engine::Fault;

    use super::*;

    #[test]
    fn errors_have_the_codes_that_clients_look_for() {
        let of = |kind| PgError::of(&EngineError::Invalid(Fault::new(kind, "wrong")), "", 0).code;
        assert_eq!(of(FaultKind::Table), "42P01");
        assert_eq!(of(FaultKind::Column), "42703");
        assert_eq!(of(FaultKind::Syntax), "42601");
        assert_eq!(of(FaultKind::Other), "42000");
        let refused =
            |kind| PgError::of(&EngineError::NotAllowed(Fault::new(kind, "refused")), "", 0).code;
        assert_eq!(refused(FaultKind::Other), "25006");
        assert_eq!(refused(FaultKind::Function), "0A000");
    }

    #[test]
    fn a_zero_in_a_message_does_not_end_it() {
        let mut out = bytes::BytesMut::new();
        PgError::new(code::VALUE, "a\0b").response("ERROR").encode(&mut out).unwrap();
        let text = String::from_utf8_lossy(&out);
        assert!(text.contains("Ma\u{fffd}b\0"), "{text:?}");
    }

    #[test]
    fn the_place_of_an_error_is_counted_in_characters() {
        let text = "SELECT 'ü',\n  FROM spans";
        let error = EngineError::Invalid("syntax: found: FROM at Line: 2, Column: 3".into());
        assert_eq!(PgError::of(&error, text, 0).position, Some(15));
        assert_eq!(PgError::of(&error, text, 10).position, Some(25));
        for nowhere in ["no place", "Line: x, Column: 3", "Line: 0, Column: 0"] {
            let error = EngineError::Invalid(nowhere.into());
            assert_eq!(PgError::of(&error, text, 0).position, None, "{nowhere}");
        }
    }
}
