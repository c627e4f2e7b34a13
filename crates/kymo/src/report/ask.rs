//! Sessions of a server or of a data directory.
//!
//! Both are asked in SQL, as `kymo sql` asks them, and the rows are recorded as those of a file are.
//! Memory grows with the tasks of a session, up to the room of a report, and not with the answer.

use std::path::PathBuf;

use kymo_page::StoredSession;
use kymo_report::Session;
use kymo_report::limits::Limits;

use crate::failure::Failure;
use crate::source::{Source, SourceArgs};
use crate::sql::answer::Answer;
use crate::times;

pub(super) fn sessions(source: &SourceArgs, ids: &[PathBuf]) -> Result<Vec<Session>, Failure> {
    let source = source.open()?;
    let named = ids.iter().map(|id| id.to_string_lossy());
    named.map(|id| session(&source, &id)).collect()
}

fn session(source: &Source, id: &str) -> Result<Session, Failure> {
    let mut stored = StoredSession::new(id, times::now(), Limits::default());
    while let Some(query) = stored.next_query() {
        let answer = Answer::ask(source, &query).map_err(|failure| match failure {
            Failure::Other(message) => Failure::Other(format!(
                "there is no file {id}, and as a session it cannot be asked for: {message}"
            )),
            other => other,
        })?;
        for batch in answer.batches {
            stored.add(&batch?).map_err(|error| Failure::Other(error.to_string()))?;
        }
    }
    stored.finish().ok_or_else(|| {
        let place = match source {
            Source::Server(client) => format!("{} (tenant {})", client.name(), client.tenant()),
            Source::Directory(directory) => directory.path.display().to_string(),
        };
        Failure::Other(format!(
            "there is neither a file {id} nor a session of that id: {place} has nothing with a \
             resource attribute session_id of that value"
        ))
    })
}
