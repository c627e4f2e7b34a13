//! The beginning of a connection: TLS, who it is, what it is told before it may ask.
//!
//! Where the server has certificates, nobody gets in without TLS. A password is asked for in clear
//! text, and not by SCRAM: it may be a token, of which the server keeps a hash that SCRAM has no use
//! for; and the hash of a password, which SCRAM could use, would then be as good as the password to
//! whoever reads it. What listens without TLS where others can reach it is refused at the start of the
//! server, unless its settings say that the network may be trusted.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use kymo_edge::tls::PeerCertificate;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::door::{Admitted, Login, Refused};
use crate::error::{PgError, code};
use crate::limits::{MESSAGE_PAUSE_TIMEOUT, PASSWORD_MAX_BYTES, STARTUP_TIMEOUT};
use crate::message::{First, Message};
use crate::server::Postgres;
use crate::session::Session;
use crate::settings::{Holds, Settings};
use crate::wire::{Ended, Wire};

/// What a client of TLS says that it speaks.
const ALPN: &[u8] = b"postgresql";
/// The first byte of TLS, from clients that do not ask first.
const TLS_RECORD: u8 = 0x16;
/// The version that is spoken.
const VERSION_3_0: i32 = 3 << 16;

/// Serves a connection until its end.
pub(crate) async fn serve(server: Arc<Postgres>, stream: TcpStream, address: SocketAddr) {
    let deadline = Instant::now() + STARTUP_TIMEOUT;
    let begun = timeout_at(deadline, negotiate(&server, stream, address)).await;
    let served = match begun {
        Ok(Ok(Some(Opened::Plain(wire)))) => logged_in(server, wire, address, None, deadline).await,
        Ok(Ok(Some(Opened::Secure(wire, certificate)))) => {
            logged_in(server, *wire, address, certificate, deadline).await
        }
        Ok(Ok(None)) => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Ended::Gone(std::io::ErrorKind::TimedOut.into())),
    };
    if let Err(error) = served {
        tracing::debug!(%error, %address, "a connection of PostgreSQL's protocol ended");
    }
}

/// A connection that may log in.
enum Opened {
    Plain(Waiting<TcpStream>),
    Secure(Box<Waiting<TlsStream>>, Option<Arc<PeerCertificate>>),
}

type TlsStream = kymo_edge::tls::TlsStream<TcpStream>;

/// A connection, and what it has said already.
struct Waiting<S> {
    wire: Wire<S>,
    startup: Option<First>,
}

/// Finds out whether TLS is spoken; none if there is nothing to serve.
async fn negotiate(
    server: &Postgres,
    stream: TcpStream,
    address: SocketAddr,
) -> Result<Option<Opened>, Ended> {
    let tls = server.door.tls();
    let mut first = [0];
    let peeked = stream.peek(&mut first).await?;
    if let Some(tls) = &tls
        && peeked == 1
        && first[0] == TLS_RECORD
    {
        return secured(tls, stream, address).await.map(Some);
    }
    let mut wire = Wire::new(stream);
    loop {
        let refused = Bytes::from_static(b"N");
        match wire.first().await? {
            None => return Ok(None),
            Some(First::Tls) => match &tls {
                Some(tls) => {
                    wire.put_bytes(&Bytes::from_static(b"S")).await?;
                    wire.flush().await?;
                    let stream = wire.into_stream().map_err(Ended::Told)?;
                    return secured(tls, stream, address).await.map(Some);
                }
                None => wire.put_bytes(&refused).await?,
            },
            Some(First::Gss) => wire.put_bytes(&refused).await?,
            Some(First::Cancel { pid, secret }) => {
                server.cancels.cancel(pid, secret);
                return Ok(None);
            }
            Some(First::Startup { .. }) if tls.is_some() => {
                let message = "this server wants TLS: connect with sslmode=require";
                let error = PgError::new(code::LOGIN, message);
                wire.put(&error.response("FATAL"))?;
                wire.end().await;
                return Ok(None);
            }
            startup => return Ok(Some(Opened::Plain(Waiting { wire, startup }))),
        }
        wire.flush().await?;
    }
}

async fn secured(
    tls: &Arc<kymo_edge::tls::ServerTls>,
    stream: TcpStream,
    address: SocketAddr,
) -> Result<Opened, Ended> {
    let accepted = tls.accept_speaking(ALPN, stream, address, STARTUP_TIMEOUT).await;
    let accepted = accepted.map_err(|error| Ended::Gone(std::io::Error::other(error)))?;
    let wire = Wire::new(accepted.stream);
    Ok(Opened::Secure(Box::new(Waiting { wire, startup: None }), accepted.peer))
}

/// Logs somebody in and serves him.
async fn logged_in<S>(
    server: Arc<Postgres>,
    waiting: Waiting<S>,
    address: SocketAddr,
    certificate: Option<Arc<PeerCertificate>>,
    deadline: Instant,
) -> Result<(), Ended>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Waiting { mut wire, startup } = waiting;
    let logging_in = login(&server, &mut wire, startup, address, certificate);
    match timeout_at(deadline, logging_in).await {
        Err(_) => Err(Ended::Gone(std::io::ErrorKind::TimedOut.into())),
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(entered))) => {
            let Entered { login, admitted, mut settings } = entered;
            let Some(known) = server.cancels.begin() else {
                let error = PgError::new(code::INTERNAL, "the system gave no random numbers");
                return told(wire, &error).await;
            };
            for (name, value) in settings.untold() {
                let status = ParameterStatus::new(name.to_owned(), value);
                wire.put(&PgWireBackendMessage::ParameterStatus(status))?;
            }
            let key = BackendKeyData::new(known.pid, SecretKey::I32(known.secret));
            wire.put(&PgWireBackendMessage::BackendKeyData(key))?;
            let ready = ReadyForQuery::new(TransactionStatus::Idle);
            wire.put(&PgWireBackendMessage::ReadyForQuery(ready))?;
            wire.flush().await?;
            Session::new(server, wire, login, admitted, settings, known).run().await
        }
        Ok(Err(Ended::Told(error))) => told(wire, &error).await,
        Ok(Err(gone)) => Err(gone),
    }
}

/// Tells somebody why he has to go.
pub(crate) async fn told<S>(mut wire: Wire<S>, error: &PgError) -> Result<(), Ended>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    wire.put(&error.response("FATAL"))?;
    wire.end().await;
    Ok(())
}

/// Somebody who is in.
struct Entered {
    login: Login,
    admitted: Admitted,
    settings: Settings,
}

async fn login<S>(
    server: &Postgres,
    wire: &mut Wire<S>,
    startup: Option<First>,
    address: SocketAddr,
    certificate: Option<Arc<PeerCertificate>>,
) -> Result<Option<Entered>, Ended>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let startup = match startup {
        Some(startup) => Some(startup),
        None => wire.first().await?,
    };
    let (minor, given) = match startup {
        None => return Ok(None),
        Some(First::Cancel { pid, secret }) => {
            server.cancels.cancel(pid, secret);
            return Ok(None);
        }
        Some(First::Startup { minor, settings }) => (minor, settings),
        Some(First::Tls | First::Gss) => {
            return Err(Ended::Told(PgError::protocol("TLS is spoken already")));
        }
    };
    let unknown: Vec<String> = given
        .iter()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("_pq_."))
        .cloned()
        .collect();
    if minor > 0 || !unknown.is_empty() {
        let answer = NegotiateProtocolVersion::new(VERSION_3_0, unknown);
        wire.put(&PgWireBackendMessage::NegotiateProtocolVersion(answer))?;
    }
    let asked = Wanted::of(given).map_err(Ended::Told)?;
    let mut login =
        Login { user: asked.user, database: asked.database, password: None, address, certificate };
    let mut entered = server.door.login(&login).await;
    if entered.as_ref().err() == Some(&Refused::NeedsPassword) {
        wire.put(&PgWireBackendMessage::Authentication(Authentication::CleartextPassword))?;
        wire.flush().await?;
        login.password = match wire.next(MESSAGE_PAUSE_TIMEOUT, PASSWORD_MAX_BYTES).await? {
            Some(Message::Password(password)) => Some(password),
            Some(_) => return Err(Ended::Told(PgError::protocol("expected a password"))),
            // He has to ask somebody, and comes again.
            None => return Ok(None),
        };
        entered = server.door.login(&login).await;
    }
    let admitted = entered.map_err(|refused| Ended::Told(refusal(refused)))?;
    wire.put(&PgWireBackendMessage::Authentication(Authentication::Ok))?;
    Ok(Some(Entered { login, admitted, settings: asked.settings }))
}

/// What somebody is told who is not let in.
pub(crate) fn refusal(refused: Refused) -> PgError {
    match refused {
        Refused::NeedsPassword => PgError::new(code::LOGIN, "a password is needed"),
        Refused::Wrong(message) => PgError::new(code::PASSWORD, message),
        Refused::Later(message) => PgError::new(code::LATER, message),
        Refused::No(message) => PgError::new(code::LOGIN, message),
        Refused::NoDatabase(message) => PgError::new("3D000", message),
    }
}

/// What a client says at the beginning.
struct Wanted {
    user: String,
    database: Option<String>,
    settings: Settings,
}

impl Wanted {
    fn of(given: Vec<(String, String)>) -> Result<Self, PgError> {
        let find = |wanted: &str| {
            given.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
        };
        let user = find("user").filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| PgError::new(code::LOGIN, "no user is named"))?;
        if find("replication").is_some_and(|value| !matches!(value.as_str(), "false" | "off" | "0"))
        {
            return Err(PgError::new(code::NOT_OFFERED, "there is no replication here"));
        }
        let mut settings = Settings::new(&user);
        for (name, value) in &given {
            match name.as_str() {
                "user" | "database" | "replication" => {}
                "options" => {
                    for (name, value) in options(value) {
                        settings.set(&name, Some(&value), Holds::Session)?;
                    }
                }
                name if name.starts_with("_pq_.") => {}
                name => settings.set(name, Some(value), Holds::Session)?,
            }
        }
        settings.begin();
        Ok(Self { user, database: find("database").filter(|name| !name.is_empty()), settings })
    }
}

/// Settings of a command line: `-c name=value`, `--name=value`.
fn options(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word {
            "-c" => words.next(),
            word => word.strip_prefix("--").or_else(|| word.strip_prefix("-c")),
        };
        if let Some((name, value)) = setting.and_then(|setting| setting.split_once('=')) {
            found.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_beginning_are_taken() {
        let given = [
            ("user", "ada"),
            ("database", "team-a"),
            ("application_name", "psql"),
            ("options", "-c statement_timeout=5s --search-path=x"),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let wanted = Wanted::of(given).unwrap();
        assert_eq!((wanted.user.as_str(), wanted.database.as_deref()), ("ada", Some("team-a")));
        assert_eq!(wanted.settings.get("application_name"), Some("psql"));
        assert_eq!(wanted.settings.get("statement_timeout"), Some("5s"));
        assert_eq!(wanted.settings.get("search_path"), Some("x"));
        assert!(Wanted::of(Vec::new()).is_err());
        let replication = [("user", "a"), ("replication", "database")];
        let replication = replication.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(Wanted::of(replication.to_vec()).err().map(|error| error.code), Some("0A000"));
    }
}
