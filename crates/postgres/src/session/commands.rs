//! What drivers send around queries: settings, transactions, cursors.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{EmptyQueryResponse, TransactionStatus};
use pgwire::messages::startup::ParameterStatus;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Failed, Session};
use crate::error::{PgError, code};
use crate::limits::{KEPT_MAX_BYTES, MAX_PORTALS};
use crate::portal::{Portal, Statement};
use crate::settings::Holds;
use crate::statement::{Command, Part};
use crate::values::{Columns, text_row};
use crate::wire::Ended;

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session<S> {
    /// Does what is not for the engine. In the simple protocol columns are told with the rows.
    pub(super) async fn command(&mut self, portal: Portal, is_simple: bool) -> Result<(), Failed> {
        let statement = &portal.statement;
        let command = &statement.command;
        match command {
            Command::Empty => {
                let empty = PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new());
                return Ok(self.wire.put(&empty)?);
            }
            // Those have portals.
            Command::Query => return Ok(()),
            Command::Set { name, value, is_local } => {
                let holds = self.holds(*is_local);
                // Outside of a transaction what holds for one only is over at once.
                if !is_local || holds == Holds::Transaction {
                    self.settings.set(name, value.as_deref(), holds)?;
                }
                self.tell_settings()?;
            }
            Command::ResetAll => {
                let holds = self.holds(false);
                self.settings.reset(holds);
                self.tell_settings()?;
            }
            Command::Show(name) => {
                self.show(name, is_simple).await?;
                return Ok(self.complete(command.tag().to_owned())?);
            }
            Command::Begin => self.status = TransactionStatus::Transaction,
            Command::Commit | Command::Rollback => {
                // A transaction that has failed cannot be committed, and PostgreSQL says so.
                let has_failed = self.status == TransactionStatus::Error;
                self.status = TransactionStatus::Idle;
                self.portals.clear();
                let is_committed = *command == Command::Commit && !has_failed;
                self.settings.end_transaction(is_committed);
                self.tell_settings()?;
                let tag = if has_failed { "ROLLBACK" } else { command.tag() };
                return Ok(self.complete(tag.to_owned())?);
            }
            Command::RollbackTo => {
                if self.status == TransactionStatus::Error {
                    self.status = TransactionStatus::Transaction;
                }
            }
            Command::Nothing(_) => {}
            Command::DiscardAll => {
                let holds = self.holds(false);
                self.settings.reset(holds);
                self.tell_settings()?;
                self.statements.clear();
                self.portals.clear();
            }
            Command::Deallocate(Some(name)) => {
                if self.statements.remove(name).is_none() {
                    let message = format!("there is no prepared statement `{name}`");
                    return Err(PgError::new(code::NO_STATEMENT, message).into());
                }
            }
            Command::Deallocate(None) => self.statements.clear(),
            Command::Declare { cursor, query } => self.declare(cursor, query, &portal)?,
            Command::Fetch { cursor, rows } => {
                return self.fetch(statement, cursor, *rows, is_simple).await;
            }
            Command::Close(Some(name)) => {
                if self.portals.remove(name).is_none() {
                    return Err(no_cursor(name).into());
                }
            }
            Command::Close(None) => self.portals.clear(),
        }
        Ok(self.complete(command.tag().to_owned())?)
    }

    /// How long a setting holds that is set now.
    fn holds(&self, is_local: bool) -> Holds {
        match self.status {
            TransactionStatus::Idle => Holds::Session,
            _ if is_local => Holds::Transaction,
            _ => Holds::IfCommitted,
        }
    }

    /// Tells of settings that have changed, those that clients are told of.
    fn tell_settings(&mut self) -> Result<(), Ended> {
        for (name, value) in self.settings.untold() {
            let status = ParameterStatus::new(name.to_owned(), value);
            self.wire.put(&PgWireBackendMessage::ParameterStatus(status))?;
        }
        Ok(())
    }

    /// Rows of a setting, or of all.
    async fn show(&mut self, name: &str, is_simple: bool) -> Result<(), Failed> {
        if is_simple {
            self.wire.put(&shown(name)?.description())?;
        }
        if name == "all" {
            for (name, value) in self.settings.all().clone() {
                self.wire.put_bytes(&text_row(&[name.as_str(), value.as_str(), ""])).await?;
            }
            return Ok(());
        }
        let Some(value) = self.settings.get(name).map(str::to_owned) else {
            let message = format!("there is no setting `{name}`");
            return Err(PgError::new(code::NO_SETTING, message).into());
        };
        Ok(self.wire.put_bytes(&text_row(&[value.as_str()])).await?)
    }

    fn declare(&mut self, cursor: &str, query: &Part, within: &Portal) -> Result<(), Failed> {
        if self.status == TransactionStatus::Idle {
            let message = "a cursor is declared in a transaction: say BEGIN first";
            return Err(PgError::new("25P01", message).into());
        }
        let declaring = &within.statement;
        let (before, types) = (declaring.before + query.before, declaring.types.clone());
        let statement = Statement::of(query.text.clone(), before, types)?;
        if statement.command != Command::Query {
            return Err(PgError::new(code::SYNTAX, "a cursor is for a query").into());
        }
        let (values, size_bytes) = (within.values.clone(), within.size_bytes);
        let portal = Portal { values, size_bytes, ..Portal::new(Arc::new(statement)) };
        self.keep_portal(cursor.to_owned(), portal)?;
        Ok(())
    }

    /// Keeps a portal under its name.
    pub(super) fn keep_portal(&mut self, name: String, portal: Portal) -> Result<(), PgError> {
        if !name.is_empty() && self.portals.contains_key(&name) {
            let message = format!("there is a cursor `{name}` already");
            return Err(PgError::new("42P03", message));
        }
        if self.portals.len() >= MAX_PORTALS && !self.portals.contains_key(&name) {
            let message = format!("{MAX_PORTALS} cursors are open: close one");
            return Err(PgError::new(code::TOO_MUCH, message));
        }
        let others = self.portals.iter().filter(|(other, _)| **other != name);
        let kept_bytes: usize = others.map(|(_, portal)| portal.size_bytes).sum();
        if kept_bytes + portal.size_bytes > KEPT_MAX_BYTES {
            let message = format!("values of open cursors have {KEPT_MAX_BYTES} bytes: close one");
            return Err(PgError::new(code::TOO_MUCH, message));
        }
        self.portals.insert(name, portal);
        Ok(())
    }

    async fn fetch(
        &mut self,
        statement: &Statement,
        cursor: &str,
        rows: Option<usize>,
        is_simple: bool,
    ) -> Result<(), Failed> {
        let Some(mut portal) = self.portals.remove(cursor) else {
            return Err(no_cursor(cursor).into());
        };
        self.begin(&mut portal).await?;
        if is_simple {
            self.describe_running(&portal)?;
        }
        let sent = self.send_rows(&mut portal, rows.map(|rows| rows as u64)).await?;
        self.portals.insert(cursor.to_owned(), portal);
        Ok(self.complete(statement.tag(sent))?)
    }

    /// Columns of what is not for the engine; none if it has no rows.
    pub(super) async fn command_columns(
        &mut self,
        command: &Command,
    ) -> Result<Option<PgWireBackendMessage>, Failed> {
        match command {
            Command::Show(name) => Ok(Some(shown(name)?.description())),
            Command::Fetch { cursor, .. } => {
                let Some(mut portal) = self.portals.remove(cursor) else {
                    return Err(no_cursor(cursor).into());
                };
                self.begin(&mut portal).await?;
                let running = portal.running.as_ref();
                let description = running.map(|running| running.columns.description());
                self.portals.insert(cursor.clone(), portal);
                Ok(description)
            }
            _ => Ok(None),
        }
    }
}

fn no_cursor(name: &str) -> PgError {
    PgError::new(code::NO_PORTAL, format!("there is no cursor `{name}`"))
}

/// Columns of `SHOW`.
fn shown(name: &str) -> Result<Columns, PgError> {
    let names = if name == "all" { vec!["name", "setting", "description"] } else { vec![name] };
    let fields = names.into_iter().map(|name| Field::new(name, DataType::Utf8, false));
    Columns::new(&Schema::new(fields.collect::<Vec<_>>()), &[])
}
