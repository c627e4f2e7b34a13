//! A statement that was prepared, and a query that is being answered.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::RecordBatch;
use kymo_engine::{Parameter, Rows};

use crate::error::{PgError, code};
use crate::statement::{Command, split};
use crate::values::Columns;

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// Characters that stand before it in what the client sent.
    pub(crate) before: usize,
    pub(crate) command: Command,
    /// Types of its parameters, by number, as the client says them; 0 where it does not.
    pub(crate) types: Vec<u32>,
    /// The same as the engine found them out.
    pub(crate) found: OnceLock<Vec<u32>>,
}

impl Statement {
    /// The one statement of a text.
    pub(crate) fn new(text: &str, types: Vec<u32>) -> Result<Self, PgError> {
        let mut parts = split(text)?;
        if parts.len() > 1 {
            let message = "several statements cannot be prepared as one";
            return Err(PgError::new(code::SYNTAX, message));
        }
        let (text, before) =
            parts.pop().map_or_else(Default::default, |part| (part.text, part.before));
        Self::of(text, before, types)
    }

    pub(crate) fn of(text: String, before: usize, types: Vec<u32>) -> Result<Self, PgError> {
        let command = Command::of(&text)?;
        Ok(Self { text, before, command, types, found: OnceLock::new() })
    }

    /// What the engine is asked, now or when a cursor is read, and the characters before it.
    pub(crate) fn query(&self) -> (&str, usize) {
        match &self.command {
            Command::Declare { query, .. } => (&query.text, self.before + query.before),
            _ => (&self.text, self.before),
        }
    }

    /// Bytes that it takes to keep it, about.
    pub(crate) fn size_bytes(&self) -> usize {
        // A cursor has its query twice.
        2 * self.text.len() + 4 * self.types.len()
    }

    /// The type of a parameter; 0 if it is not known.
    pub(crate) fn type_of(&self, place: usize) -> u32 {
        let said = self.types.get(place).copied().filter(|oid| *oid != 0);
        let found = || self.found.get().and_then(|found| found.get(place)).copied();
        said.or_else(found).unwrap_or(0)
    }

    /// What clients are told at the end of its rows.
    pub(crate) fn tag(&self, rows: u64) -> String {
        let first: String =
            self.text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
        match (&self.command, first.to_uppercase().as_str()) {
            (Command::Query, "EXPLAIN") => "EXPLAIN".to_owned(),
            (Command::Query, "SHOW" | "DESCRIBE" | "DESC") => "SHOW".to_owned(),
            (Command::Query, _) => format!("SELECT {rows}"),
            (Command::Fetch { .. }, _) => format!("FETCH {rows}"),
            (command, _) => command.tag().to_owned(),
        }
    }
}

/// A statement with its values.
#[derive(Debug)]
pub(crate) struct Portal {
    pub(crate) statement: Arc<Statement>,
    pub(crate) values: Vec<Parameter>,
    /// Bytes of the values, as they came.
    pub(crate) size_bytes: usize,
    /// How each column is wanted.
    pub(crate) formats: Vec<i16>,
    /// What answers it, once it was begun.
    pub(crate) running: Option<Running>,
}

impl Portal {
    pub(crate) fn new(statement: Arc<Statement>) -> Self {
        Self { statement, values: Vec::new(), size_bytes: 0, formats: Vec::new(), running: None }
    }
}

/// A query that is being answered.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) rows: Rows,
    pub(crate) columns: Arc<Columns>,
    pub(crate) began: Instant,
    /// Rows that came and were not sent.
    pub(crate) left: Option<RecordBatch>,
    pub(crate) is_done: bool,
}

impl Running {
    pub(crate) fn new(rows: Rows, formats: &[i16], began: Instant) -> Result<Self, PgError> {
        let columns = Arc::new(Columns::new(&rows.schema(), formats)?);
        Ok(Self { rows, columns, began, left: None, is_done: false })
    }

    /// The next rows, no more than so many; `None` if others have to come first.
    pub(crate) fn next_piece(&self, most: Option<u64>) -> Option<RecordBatch> {
        let batch = self.left.as_ref().filter(|batch| batch.num_rows() > 0)?;
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        Some(batch.slice(0, batch.num_rows().min(most)))
    }

    /// So many of them were sent.
    pub(crate) fn sent(&mut self, rows: usize) {
        let batch = self.left.take().filter(|batch| batch.num_rows() > rows);
        self.left = batch.map(|batch| batch.slice(rows, batch.num_rows() - rows));
    }
}
