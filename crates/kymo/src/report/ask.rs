//! Sessions of a server.

use std::fmt::Write as _;
use std::path::PathBuf;

use kymo_report::Session;

use crate::client;
use crate::failure::Failure;
use crate::source::{ServerArgs, Source};

/// Tasks, events and resource updates that are asked for: the most that a server gives. The report
/// says if there are more.
const ROWS: usize = 10_000;

pub(super) fn sessions(server: &ServerArgs, ids: &[PathBuf]) -> Result<Vec<Session>, Failure> {
    let Source::Server(client) = server.open()? else {
        return Err(Failure::Other("a report of a session is asked of a server".into()));
    };
    let mut sessions = Vec::with_capacity(ids.len());
    for id in ids {
        let id = id.to_string_lossy();
        let query = format!("tasks={ROWS}&events={ROWS}&resources={ROWS}");
        let path = format!("/api/sessions/{}?{query}", encoded(&id));
        let response = client.get(&path, "application/json").map_err(|failure| match failure {
            Failure::Status { status: 404, message } => Failure::Other(format!(
                "there is neither a file {id} nor a session of that id: {message}"
            )),
            Failure::Other(message) => Failure::Other(format!(
                "there is no file {id}, and as a session it cannot be asked for: {message}"
            )),
            other => other,
        })?;
        let document = client::body(response)?;
        let session = Session::from_json(&document).map_err(|e| Failure::Other(e.to_string()))?;
        sessions.push(session);
    }
    Ok(sessions)
}

/// A text as one segment of a path.
fn encoded(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte));
            }
            _ => _ = write!(segment, "%{byte:02X}"),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(super::encoded("a/b ä?"), "a%2Fb%20%C3%A4%3F");
        assert_eq!(super::encoded("train.6ffa-1_~"), "train.6ffa-1_~");
    }
}
