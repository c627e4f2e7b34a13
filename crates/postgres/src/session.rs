//! A connection that may ask: one message after the other, until it ends.
//!
//! An error in a statement is told, and the next one is read. In the extended protocol what follows an
//! error is skipped until the client says where it goes on. An error of the protocol ends the
//! connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use kymo_engine::{Asked, EngineError, PgSession};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::PortalSuspended;
use pgwire::messages::response::{
    CommandComplete, EmptyQueryResponse, ReadyForQuery, TransactionStatus,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cancel::Known;
use crate::door::{Admitted, Login, Refused};
use crate::error::{PgError, code};
use crate::limits::{IDLE_TIMEOUT, MESSAGE_MAX_BYTES, RECHECK_EVERY};
use crate::message::Message;
use crate::portal::{Portal, Running, Statement};
use crate::server::Postgres;
use crate::settings::Settings;
use crate::startup::{refusal, told};
use crate::statement::{Command, split};
use crate::wire::{Ended, Wire};

mod commands;
mod extended;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Failed {
    /// A statement went wrong.
    Statement(PgError),
    /// The connection ends.
    Connection(Ended),
}

impl From<PgError> for Failed {
    fn from(error: PgError) -> Self {
        Self::Statement(error)
    }
}

impl From<Ended> for Failed {
    fn from(ended: Ended) -> Self {
        Self::Connection(ended)
    }
}

/// A connection that may ask.
pub(crate) struct Session<S> {
    server: Arc<Postgres>,
    wire: Wire<S>,
    login: Login,
    admitted: Admitted,
    /// When it was last looked whether he may still ask.
    checked: Instant,
    settings: Settings,
    known: Known,
    stopping: watch::Receiver<bool>,
    /// Whether the client has all answers: what comes next begins something new.
    is_idle: bool,
    /// Since when the statement takes time.
    statement_began: Instant,
    status: TransactionStatus,
    statements: HashMap<String, Arc<Statement>>,
    portals: HashMap<String, Portal>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session<S> {
    pub(crate) fn new(
        server: Arc<Postgres>,
        wire: Wire<S>,
        login: Login,
        admitted: Admitted,
        settings: Settings,
        known: Known,
    ) -> Self {
        let stopping = server.stopping.subscribe();
        Self {
            server,
            wire,
            login,
            admitted,
            checked: Instant::now(),
            settings,
            known,
            stopping,
            is_idle: true,
            statement_began: Instant::now(),
            status: TransactionStatus::Idle,
            statements: HashMap::new(),
            portals: HashMap::new(),
        }
    }

    /// Answers until the end.
    pub(crate) async fn run(mut self) -> Result<(), Ended> {
        let mut is_skipping = false;
        loop {
            let message = match self.next().await {
                Ok(Some(Message::Terminate) | None) => return Ok(()),
                Ok(Some(message)) => message,
                Err(Ended::Told(error)) => return told(self.wire, &error).await,
                Err(gone) => return Err(gone),
            };
            let is_sync = message == Message::Sync;
            if is_skipping && !is_sync {
                continue;
            }
            is_skipping = false;
            if std::mem::take(&mut self.is_idle) {
                // A wish to cancel that came while nothing was done concerns nothing.
                self.known.query_begins();
                self.statement_began = Instant::now();
            }
            let is_extended = message.is_extended();
            match self.answer(message).await {
                Ok(()) => self.wire.flush_much().await?,
                Err(Failed::Statement(error)) => {
                    self.failed(&error)?;
                    match is_extended {
                        true => is_skipping = true,
                        false => self.ready()?,
                    }
                    self.wire.flush().await?;
                }
                Err(Failed::Connection(Ended::Told(error))) => {
                    return told(self.wire, &error).await;
                }
                Err(Failed::Connection(gone)) => return Err(gone),
            }
        }
    }

    async fn next(&mut self) -> Result<Option<Message>, Ended> {
        tokio::select! {
            message = self.wire.next(IDLE_TIMEOUT, MESSAGE_MAX_BYTES) => message,
            _ = self.stopping.wait_for(|is_stopping| *is_stopping) => {
                let message = "the server stops: connect again";
                Err(Ended::Told(PgError::new(code::STOPPING, message)))
            }
        }
    }

    async fn answer(&mut self, message: Message) -> Result<(), Failed> {
        match message {
            Message::Query(text) => {
                self.check_still_in().await?;
                let done = self.simple(&text).await;
                // Portals of the simple protocol do not outlive their text.
                self.portals.remove("");
                done?;
                self.ready()?;
                Ok(self.wire.flush().await?)
            }
            Message::Sync => {
                if self.status == TransactionStatus::Idle {
                    self.portals.clear();
                }
                self.ready()?;
                Ok(self.wire.flush().await?)
            }
            Message::FunctionCall => {
                let message = "functions are called by SELECT here";
                Err(PgError::new(code::NOT_OFFERED, message).into())
            }
            Message::NotText { error, .. } => Err(error.into()),
            // Passwords are for the beginning, and the end is seen before.
            Message::CopyPiece | Message::Password(_) | Message::Terminate => Ok(()),
            message => self.extended(message).await,
        }
    }

    /// Looks now and then whether he may still ask: a token may have been revoked.
    async fn check_still_in(&mut self) -> Result<(), Failed> {
        if self.checked.elapsed() < RECHECK_EVERY {
            return Ok(());
        }
        match self.server.door.login(&self.login).await {
            Ok(admitted) => {
                self.admitted = admitted;
                self.checked = Instant::now();
                Ok(())
            }
            // He may; it only cannot be told at the moment.
            Err(later @ Refused::Later(_)) => Err(Failed::Statement(refusal(later))),
            Err(refused) => Err(Failed::Connection(Ended::Told(refusal(refused)))),
        }
    }

    fn ready(&mut self) -> Result<(), Ended> {
        self.is_idle = true;
        let ready = ReadyForQuery::new(self.status);
        self.wire.put(&PgWireBackendMessage::ReadyForQuery(ready))
    }

    /// Tells of an error; a transaction does not go on after it.
    fn failed(&mut self, error: &PgError) -> Result<(), Ended> {
        if self.status == TransactionStatus::Transaction {
            self.status = TransactionStatus::Error;
        }
        self.wire.put(&error.response("ERROR"))
    }

    fn complete(&mut self, tag: String) -> Result<(), Ended> {
        self.wire.put(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)))
    }

    /// Statements of a text, one after the other, until one goes wrong.
    async fn simple(&mut self, text: &str) -> Result<(), Failed> {
        let parts = split(text)?;
        if parts.is_empty() {
            self.wire.put(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()))?;
        }
        for part in parts {
            self.statement_began = Instant::now();
            let statement = Arc::new(Statement::of(part.text, part.before, Vec::new())?);
            self.check_transaction(&statement.command)?;
            match &statement.command {
                Command::Query => {
                    let mut portal = Portal::new(statement);
                    self.begin(&mut portal).await?;
                    self.describe_running(&portal)?;
                    self.send(&mut portal, None).await?;
                }
                _ => self.command(Portal::new(statement), true).await?,
            }
        }
        Ok(())
    }

    /// In a transaction that has failed nothing is done but to end it.
    fn check_transaction(&self, command: &Command) -> Result<(), PgError> {
        if self.status == TransactionStatus::Error && !command.follows_failure() {
            let message = "the transaction has failed: end it with ROLLBACK first";
            return Err(PgError::new(code::FAILED_TRANSACTION, message));
        }
        Ok(())
    }

    /// Who asks, for the engine.
    fn asker(&self) -> PgSession {
        PgSession {
            database: self.admitted.database.clone(),
            databases: self.admitted.databases.clone(),
            user: self.login.user.clone(),
            version: self.server.version.clone(),
            pid: self.known.pid,
            settings: self.settings.all().clone(),
        }
    }

    /// Begins to answer a portal, unless that is done.
    async fn begin(&mut self, portal: &mut Portal) -> Result<(), Failed> {
        if portal.running.is_some() {
            return Ok(());
        }
        let statement = portal.statement.clone();
        let (text, parameters) = (statement.text.clone(), portal.values.clone());
        let asked = Asked { text, parameters, session: Some(self.asker()) };
        let (engine, began) = (self.server.engine.clone(), Instant::now());
        let tenants = self.admitted.tenants.clone();
        let rows = self.unless_cancelled(engine.ask(tenants, asked)).await;
        let rows = rows.map_err(|failed| self.of_query(failed, &statement, began))?;
        portal.running = Some(Running::new(rows, &portal.formats, began)?);
        Ok(())
    }

    /// Waits for the engine, as long as the client is there and wants it.
    async fn unless_cancelled<T>(
        &mut self,
        waiting: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, Unanswered> {
        let limit = self.settings.statement_timeout();
        let taken = self.statement_began.elapsed();
        let late = async {
            match limit {
                Some(limit) => sleep(limit.saturating_sub(taken)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            done = waiting => done.map_err(Unanswered::Engine),
            () = self.known.wanted() => Err(Unanswered::Cancelled),
            () = late => Err(Unanswered::Late),
            gone = self.wire.gone() => Err(Unanswered::Gone(gone)),
        }
    }

    /// What is told of a query that went wrong.
    fn of_query(&self, failed: Unanswered, statement: &Statement, began: Instant) -> Failed {
        let (outcome, failed) = match failed {
            Unanswered::Engine(error) => {
                let (text, before) = statement.query();
                let told = PgError::of(&error, text, before);
                (error.kind(), told.into())
            }
            Unanswered::Cancelled => {
                let message = "the query was cancelled, as its client wished";
                ("cancelled", PgError::new(code::CANCELLED, message).into())
            }
            Unanswered::Late => {
                let message = "the query took longer than statement_timeout allows";
                ("timeout", PgError::new(code::CANCELLED, message).into())
            }
            Unanswered::Gone(gone) => ("cancelled", Failed::Connection(Ended::Gone(gone))),
        };
        self.server.door.asked(outcome, began.elapsed());
        failed
    }

    fn describe_running(&mut self, portal: &Portal) -> Result<(), Ended> {
        match &portal.running {
            Some(running) => self.wire.put(&running.columns.description()),
            None => Ok(()),
        }
    }

    /// Sends rows of a portal, all or so many, and says how it ended.
    async fn send(&mut self, portal: &mut Portal, most: Option<u64>) -> Result<(), Failed> {
        let statement = portal.statement.clone();
        let sent = self.send_rows(portal, most).await?;
        if most.is_some_and(|most| sent == most) && statement.command == Command::Query {
            return Ok(self
                .wire
                .put(&PgWireBackendMessage::PortalSuspended(PortalSuspended::new()))?);
        }
        Ok(self.complete(statement.tag(sent))?)
    }

    /// Sends rows of a portal; says how many.
    async fn send_rows(&mut self, portal: &mut Portal, most: Option<u64>) -> Result<u64, Failed> {
        let statement = portal.statement.clone();
        let Some(running) = portal.running.as_mut().filter(|running| !running.is_done) else {
            return Ok(0);
        };
        let (began, columns, mut sent) = (running.began, running.columns.clone(), 0);
        while most.is_none_or(|most| sent < most) && !running.is_done {
            let left = most.map(|most| most - sent);
            let Some(piece) = running.next_piece(left) else {
                let next = async { running.rows.next().await.transpose() };
                let next = self.unless_cancelled(next).await;
                let next = next.map_err(|failed| self.of_query(failed, &statement, began))?;
                running.is_done = next.is_none();
                running.left = next;
                continue;
            };
            let encoding = columns.clone();
            let encoded = self.server.engine.blocking(move || encoding.rows(&piece)).await;
            let encoded = encoded.map_err(|error| PgError::of(&error, &statement.text, 0))??;
            running.sent(encoded.rows);
            sent += encoded.rows as u64;
            self.wire.put_bytes(&encoded.messages).await?;
        }
        if running.is_done {
            self.server.door.asked("ok", began.elapsed());
        }
        Ok(sent)
    }
}

/// Why a query has no answer.
enum Unanswered {
    Engine(EngineError),
    Cancelled,
    Late,
    Gone(std::io::Error),
}
