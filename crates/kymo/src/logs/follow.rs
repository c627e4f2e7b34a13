//! Lines as they come. A server that goes away is waited for; what came meanwhile is told then.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use reqwest::Upgraded;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::answer::{Line, News};
use super::ask::BY_KIND;
use super::socket;
use super::told::Told;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, LOOK_AFTER};
use crate::times::nanos;
use crate::{output, units};

/// A server pings every second. One that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// The first pause before a server is asked again; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Lines that came while the server was away and are told, the newest: what Loki gives at most.
const LINES_MEANWHILE: usize = 5000;

/// What is followed.
pub(super) struct Asked<'a> {
    pub(super) query: &'a str,
    /// The oldest lines.
    pub(super) start_nanos: i64,
    /// How many of those that are there already.
    pub(super) limit: usize,
}

/// What is said of a server that says nothing itself.
const ENDED: &str = "it ended the connection";

type Socket = WebSocketStream<Upgraded>;

/// Why no more comes of a connection.
enum End {
    /// Nobody wants more.
    Enough,
    /// The server cannot go on with it, and says why.
    Failed(String),
    /// The server is gone, or not to be reached.
    Gone(String),
}

/// Tells lines as they come, until somebody interrupts it or `tell` says that nobody listens.
pub(super) fn follow(
    client: &Client,
    asked: Asked<'_>,
    mut tell: impl FnMut(&[Line]) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen().map_err(|source| Failure::Io {
        act: "listen to",
        what: "signals".into(),
        source,
    })?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io {
        act: "start",
        what: "a runtime to follow with".into(),
        source,
    })?;
    let mut following = Following {
        client,
        asked,
        interrupt,
        told: Told::default(),
        pause: FIRST_PAUSE,
        state: State::New,
    };
    runtime.block_on(following.run(&mut tell))
}

/// How it stands with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was heard of it yet.
    New,
    /// It tells.
    There,
    /// It told, and does not any more.
    Away,
}

struct Following<'a> {
    client: &'a Client,
    asked: Asked<'a>,
    interrupt: Interrupt,
    told: Told,
    /// How long to wait before the server is asked again.
    pause: Duration,
    state: State,
}

impl Following<'_> {
    async fn run(
        &mut self,
        tell: &mut impl FnMut(&[Line]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let first = self.open(self.asked.start_nanos, self.asked.limit);
        let Some(first) = unless_stopped(&self.interrupt, first).await else { return Ok(()) };
        let mut socket = first?;
        loop {
            let why = match self.listen(&mut socket, tell).await? {
                End::Enough => return Ok(()),
                End::Failed(why) if self.state == State::New => {
                    return Err(Failure::Other(format!("{} refused: {why}", self.client.name())));
                }
                End::Failed(why) | End::Gone(why) => why,
            };
            if self.state != State::Away {
                self.state = State::Away;
                let name = self.client.name();
                output::warning(&format!("{name} went away ({why}): trying again"));
            }
            match self.open_again().await? {
                Some(again) => socket = again,
                None => return Ok(()),
            }
        }
    }

    async fn open(&self, start_nanos: i64, limit: usize) -> Result<Socket, Failure> {
        let parameters = [
            ("query", self.asked.query.to_owned()),
            ("start", nanos(start_nanos)),
            ("limit", limit.to_string()),
        ];
        let path = format!("/loki/api/v1/tail?{}", client::encoded(&parameters));
        socket::open(self.client, &path, BY_KIND).await
    }

    /// Waits for a server that went away; `None` if somebody does not want to wait.
    async fn open_again(&mut self) -> Result<Option<Socket>, Failure> {
        let start_nanos = self.told.ask_again(self.asked.start_nanos);
        let limit = self.asked.limit.max(LINES_MEANWHILE);
        loop {
            let pause = tokio::time::sleep(self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            if unless_stopped(&self.interrupt, pause).await.is_none() {
                return Ok(None);
            }
            let opening = self.open(start_nanos, limit);
            match unless_stopped(&self.interrupt, opening).await {
                None => return Ok(None),
                Some(Ok(socket)) => return Ok(Some(socket)),
                // It is there, and does not want to be asked this.
                Some(Err(failure @ Failure::Status { status: 400..=428 | 430..=499, .. })) => {
                    return Err(failure);
                }
                Some(Err(_)) => {}
            }
        }
    }

    /// Tells what comes over one connection.
    async fn listen(
        &mut self,
        socket: &mut Socket,
        tell: &mut impl FnMut(&[Line]) -> Result<bool, Failure>,
    ) -> Result<End, Failure> {
        loop {
            let next = timeout(SILENCE, socket.next());
            let message = match unless_stopped(&self.interrupt, next).await {
                None => return Ok(End::Enough),
                Some(Err(_)) => return Ok(End::Gone("it is silent".to_owned())),
                Some(Ok(None)) => return Ok(End::Gone(ENDED.to_owned())),
                Some(Ok(Some(Err(error)))) => return Ok(End::Gone(client::innermost(&error))),
                Some(Ok(Some(Ok(message)))) => message,
            };
            match message {
                Message::Text(text) => {
                    self.heard();
                    let lines = self.lines(&text)?;
                    if !lines.is_empty() && !tell(&lines)? {
                        return Ok(End::Enough);
                    }
                }
                Message::Close(frame) => {
                    let Some(frame) = frame else { return Ok(End::Gone(ENDED.to_owned())) };
                    let why = frame.reason.to_string();
                    let has_failed = frame.code == CloseCode::Error;
                    return Ok(if has_failed { End::Failed(why) } else { End::Gone(why) });
                }
                // A ping, which is answered where it is read.
                _ => self.heard(),
            }
        }
    }

    /// The server tells.
    fn heard(&mut self) {
        if self.state == State::Away {
            output::note(&format!("{} is back", self.client.name()));
        }
        (self.state, self.pause) = (State::There, FIRST_PAUSE);
    }

    /// The lines of a message that were not told before.
    fn lines(&mut self, message: &str) -> Result<Vec<Line>, Failure> {
        let news: News = serde_json::from_str(message).map_err(|error| {
            Failure::Other(format!("what the server tells cannot be understood: {error}"))
        })?;
        if !news.dropped_entries.is_empty() {
            let count = units::count(news.dropped_entries.len() as u64);
            output::warning(&format!(
                "{count} lines or more are left out: they came faster than they were taken"
            ));
        }
        let mut lines = news.lines()?;
        lines.retain(|line| self.told.is_new(line));
        Ok(lines)
    }
}

/// What comes of it, unless somebody wants the command to stop before.
async fn unless_stopped<T>(interrupt: &Interrupt, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    while !interrupt.is_wanted() {
        if let Ok(done) = timeout(LOOK_AFTER, future.as_mut()).await {
            return Some(done);
        }
    }
    None
}
