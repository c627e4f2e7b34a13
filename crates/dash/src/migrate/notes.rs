//! What is said about a panel while it is brought up to date.

use std::collections::BTreeMap;

use serde::Serialize;

/// Something worth saying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Whether something that the author wanted is lost.
    #[serde(rename = "lost")]
    pub is_loss: bool,
    /// What, in a sentence without its full stop.
    pub text: String,
}

/// What is said about one panel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(pub Vec<Note>);

/// What is said about panels, by their ids.
pub type NotesById = BTreeMap<i64, Vec<Note>>;

impl Notes {
    /// Nothing is lost, but it is not as it was written.
    pub fn changed(&mut self, text: impl Into<String>) {
        self.push(Note { is_loss: false, text: text.into() });
    }

    /// Something is lost.
    pub fn lost(&mut self, text: impl Into<String>) {
        self.push(Note { is_loss: true, text: text.into() });
    }

    fn push(&mut self, note: Note) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}
