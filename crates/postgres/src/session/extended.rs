//! The extended protocol: statements are prepared, get values, are described and executed.

use std::sync::Arc;
use std::time::Instant;

use arrow_schema::Field;
use bytes::Bytes;
use kymo_engine::catalog::types::PgColumn;
use kymo_engine::{Asked, Description, EngineError, Parameter, Value};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Failed, Session};
use crate::error::{PgError, code};
use crate::limits::{KEPT_MAX_BYTES, MAX_STATEMENTS};
use crate::message::{Bind, Message, Target, format_of};
use crate::portal::{Portal, Statement};
use crate::statement::Command;
use crate::values::{Columns, given, is_binary_known};

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session<S> {
    pub(super) async fn extended(&mut self, message: Message) -> Result<(), Failed> {
        match message {
            Message::Parse { name, text, types } => {
                self.check_still_in().await?;
                self.parse(name, &text, types)
            }
            Message::Bind(bind) => {
                self.statement_began = Instant::now();
                self.bind(bind).await
            }
            Message::Describe { target: Target::Statement, name } => {
                let statement = self.statement(&name)?;
                self.describe_statement(&statement).await
            }
            Message::Describe { target: Target::Portal, name } => self.describe_portal(name).await,
            Message::Execute { portal, max_rows } => self.execute(portal, max_rows).await,
            Message::Close { target, name } => {
                match target {
                    Target::Statement => drop(self.statements.remove(&name)),
                    Target::Portal => drop(self.portals.remove(&name)),
                }
                let closed = PgWireBackendMessage::CloseComplete(CloseComplete::new());
                Ok(self.wire.put(&closed)?)
            }
            // Only this is left: the client waits for what it asked so far.
            _ => {
                self.is_idle = true;
                Ok(self.wire.flush().await?)
            }
        }
    }

    fn statement(&self, name: &str) -> Result<Arc<Statement>, PgError> {
        self.statements.get(name).cloned().ok_or_else(|| {
            let message = format!("there is no prepared statement `{name}`");
            PgError::new(code::NO_STATEMENT, message)
        })
    }

    fn parse(&mut self, name: String, text: &str, types: Vec<u32>) -> Result<(), Failed> {
        let statement = Statement::new(text, types)?;
        self.check_transaction(&statement.command)?;
        let is_new = !self.statements.contains_key(&name);
        if is_new && self.statements.len() >= MAX_STATEMENTS {
            let message = format!("{MAX_STATEMENTS} statements are prepared: close some");
            return Err(PgError::new(code::TOO_MUCH, message).into());
        }
        if !is_new && !name.is_empty() {
            let message = format!("there is a prepared statement `{name}` already");
            return Err(PgError::new("42P05", message).into());
        }
        let others = self.statements.iter().filter(|(other, _)| **other != name);
        let kept_bytes: usize = others.map(|(_, statement)| statement.size_bytes()).sum();
        if kept_bytes + statement.size_bytes() > KEPT_MAX_BYTES {
            let message = format!("prepared statements have {KEPT_MAX_BYTES} bytes: close some");
            return Err(PgError::new(code::TOO_MUCH, message).into());
        }
        self.statements.insert(name, Arc::new(statement));
        Ok(self.wire.put(&PgWireBackendMessage::ParseComplete(ParseComplete::new()))?)
    }

    async fn bind(&mut self, bind: Bind) -> Result<(), Failed> {
        let statement = self.statement(&bind.statement)?;
        let is_binary = |place: usize| format_of(&bind.value_formats, place) == 1;
        let is_unknown = |place: usize| is_binary(place) && statement.type_of(place) == 0;
        if (0..bind.values.len()).any(is_unknown) && statement.found.get().is_none() {
            self.look_up(&statement).await?;
        }
        let mut values = Vec::with_capacity(bind.values.len());
        for (place, value) in bind.values.iter().enumerate() {
            let (oid, is_binary) = (statement.type_of(place), is_binary(place));
            if is_binary && !is_binary_known(oid) {
                let message = format!("values of type {oid} are not read as bytes here: send text");
                return Err(PgError::new(code::NOT_OFFERED, message).into());
            }
            values.push(Parameter::Value(match value {
                Some(value) => given(oid, is_binary, value)?,
                None => Value::Null,
            }));
        }
        let size_bytes: usize = bind.values.iter().flatten().map(Bytes::len).sum();
        let formats = bind.result_formats;
        let portal = Portal { values, size_bytes, formats, ..Portal::new(statement) };
        self.keep_portal(bind.portal, portal)?;
        Ok(self.wire.put(&PgWireBackendMessage::BindComplete(BindComplete::new()))?)
    }

    /// Finds out what a statement has for columns and parameters.
    async fn look_up(&mut self, statement: &Arc<Statement>) -> Result<Description, Failed> {
        let parameters = statement.types.iter().map(|oid| known(*oid)).collect();
        let described = self.described(statement, parameters).await?;
        let found = described.parameters.iter().enumerate().map(|(place, found)| {
            let said = statement.types.get(place).copied().filter(|oid| *oid != 0);
            let found = found.as_ref().map(|data_type| {
                PgColumn::of(&Field::new("parameter", data_type.clone(), true)).oid()
            });
            said.or(found).unwrap_or(kymo_engine::catalog::types::TEXT.oid)
        });
        // Another look finds the same.
        let _ = statement.found.set(found.collect());
        Ok(described)
    }

    async fn described(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Vec<Parameter>,
    ) -> Result<Description, Failed> {
        let began = Instant::now();
        let text = statement.query().0.to_owned();
        let asked = Asked { text, parameters, session: Some(self.asker()) };
        let (engine, tenants) = (self.server.engine.clone(), self.admitted.tenants.clone());
        let described = self.unless_cancelled(engine.describe(tenants, asked)).await;
        described.map_err(|failed| match failed {
            super::Unanswered::Engine(EngineError::Cancelled) => {
                PgError::new(code::CANCELLED, "the query was cancelled").into()
            }
            failed => self.of_query(failed, statement, began),
        })
    }

    async fn describe_statement(&mut self, statement: &Arc<Statement>) -> Result<(), Failed> {
        let (types, columns) = match &statement.command {
            command @ (Command::Query | Command::Declare { .. }) => {
                let described = self.look_up(statement).await?;
                let types = statement.found.get().cloned().unwrap_or_default();
                let columns = Columns::new(&described.schema, &[])?;
                (types, (*command == Command::Query).then(|| columns.description()))
            }
            command => (Vec::new(), self.command_columns(command).await?),
        };
        let types = ParameterDescription::new(types);
        self.wire.put(&PgWireBackendMessage::ParameterDescription(types))?;
        let none = PgWireBackendMessage::NoData(NoData::new());
        Ok(self.wire.put(&columns.unwrap_or(none))?)
    }

    fn take_portal(&mut self, name: &str) -> Result<Portal, PgError> {
        self.portals
            .remove(name)
            .ok_or_else(|| PgError::new(code::NO_PORTAL, format!("there is no portal `{name}`")))
    }

    /// Begins the query: it is planned once for both, its columns and its rows.
    async fn describe_portal(&mut self, name: String) -> Result<(), Failed> {
        let mut portal = self.take_portal(&name)?;
        let columns = match &portal.statement.command {
            Command::Query => {
                self.begin(&mut portal).await?;
                portal.running.as_ref().map(|running| running.columns.description())
            }
            command => {
                let command = command.clone();
                self.command_columns(&command).await?
            }
        };
        self.portals.insert(name, portal);
        let none = PgWireBackendMessage::NoData(NoData::new());
        Ok(self.wire.put(&columns.unwrap_or(none))?)
    }

    async fn execute(&mut self, name: String, max_rows: usize) -> Result<(), Failed> {
        self.check_still_in().await?;
        let mut portal = self.take_portal(&name)?;
        self.check_transaction(&portal.statement.command)?;
        if portal.statement.command != Command::Query {
            // Ending a transaction closes portals, this one too.
            return self.command(portal, false).await;
        }
        self.begin(&mut portal).await?;
        let most = (max_rows > 0).then_some(max_rows as u64);
        self.send(&mut portal, most).await?;
        self.portals.insert(name, portal);
        Ok(())
    }
}

/// What a type that a client names says of a parameter.
fn known(oid: u32) -> Parameter {
    use arrow_schema::{DataType, TimeUnit};
    Parameter::Type(match oid {
        16 => DataType::Boolean,
        20 | 21 | 23 | 26 => DataType::Int64,
        700 | 701 | 1700 => DataType::Float64,
        1114 | 1184 => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        25 | 1043 => DataType::Utf8,
        _ => return Parameter::Unknown,
    })
}
