//! Requests on their way to a server, each signal to its own.

use std::time::{Duration, Instant};

use kymo_forward::{Asked, Client, ForwardError, OtlpSettings, Partial, Protocol};
use kymo_wire::inspect::inspect;
use kymo_wire::{Limits, Signal};
use tokio::runtime::Runtime;

use super::limits::{JOINED_BYTES, LOOK_AFTER, MAX_ANSWERS_SHOWN};
use super::summary::Summary;
use crate::failure::Failure;
use crate::files::{Fault, Request};
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;

/// A server, what waits for it, and what became of the rest.
pub(crate) struct Sender {
    runtime: Runtime,
    clients: Vec<(Signal, Client)>,
    timeout: Duration,
    joined: Option<Joined>,
    answers_shown: u64,
    summary: Summary,
}

/// Requests of one signal that go as one: a request is a list of groups.
struct Joined {
    signal: Signal,
    body: Vec<u8>,
    records: u64,
}

impl Sender {
    pub(crate) fn new(
        endpoint: Option<&str>,
        protocol: Option<Protocol>,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Io {
            act: "start",
            what: "sending".into(),
            source,
        })?;
        let endpoint = endpoint.map(str::to_owned);
        let asked = Asked { endpoint, protocol, ..Asked::default() };
        let mut warnings: Vec<String> = Vec::new();
        let mut clients = Vec::new();
        let mut shown: Vec<String> = Vec::new();
        for signal in Signal::ALL {
            let variable = |name: &str| std::env::var(name).ok();
            // What is wrong for all signals is said once.
            let warn = |warning| {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            };
            let settings = OtlpSettings::resolve_or_warn(signal, &asked, variable, warn);
            let client = Client::new(&settings, signal).map_err(|error| explain(&error))?;
            shown.push(client.name());
            clients.push((signal, client));
        }
        warnings.iter().for_each(|warning| output::warning(warning));
        shown.dedup();
        let summary = Summary { endpoint: shown.join(", "), ..Summary::default() };
        Ok(Self { runtime, clients, timeout, joined: None, answers_shown: 0, summary })
    }

    /// Takes a request, to be sent at once or joined with what comes behind it. The inner error is
    /// about the request; the outer one is that there is no server any more.
    pub(super) fn add(
        &mut self,
        request: Request,
        is_joined: bool,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<Result<(), Fault>, Failure> {
        let Request { place, signal, body } = request;
        // What a server may say of records is its own: here it is only whether this is a request.
        let records = match inspect(signal, &body, &Limits::default()) {
            Ok(inspected) => inspected.items + inspected.refused_items(),
            Err(error) => {
                let why = format!("is not a request of {signal}: {}", error.kind);
                return Ok(Err(Fault::at(place.moved(error.offset), why)));
            }
        };
        let is_other = self.joined.as_ref().is_some_and(|joined| {
            joined.signal != signal || joined.body.len() + body.len() > JOINED_BYTES
        });
        if is_other {
            self.flush(progress, interrupt)?;
        }
        match &mut self.joined {
            Some(joined) => {
                joined.body.extend_from_slice(&body);
                joined.records += records;
            }
            None => self.joined = Some(Joined { signal, body, records }),
        }
        if !is_joined {
            self.flush(progress, interrupt)?;
        }
        Ok(Ok(()))
    }

    /// Sends what waits.
    pub(super) fn flush(
        &mut self,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        match self.joined.take() {
            Some(Joined { signal, body, records }) => {
                self.send(signal, &body, records, progress, interrupt)
            }
            None => Ok(()),
        }
    }

    /// Sends a request at once. The error is that there is no server any more.
    pub(crate) fn send(
        &mut self,
        signal: Signal,
        body: &[u8],
        records: u64,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let client = self.clients.iter().find(|(known, _)| *known == signal);
        // There is one for every signal.
        let Some((_, client)) = client else { return Ok(()) };
        let deadline = Instant::now() + self.timeout;
        let sent = self.runtime.block_on(async {
            tokio::select! {
                // In this order: whoever wants to stop wants no more to be sent.
                biased;
                () = wanted(interrupt) => None,
                sent = kymo_forward::until(client, body, deadline) => Some(sent),
            }
        });
        match sent {
            None => {}
            Some(Ok(partial)) => self.taken(signal, records, partial, progress),
            Some(Err(error @ ForwardError::Refused { .. })) => {
                self.summary.refused_requests += 1;
                self.summary.refused += records;
                self.show(&error.to_string(), progress);
            }
            Some(Err(error)) => {
                self.summary.is_unreached = true;
                return Err(explain(&error));
            }
        }
        Ok(())
    }

    /// Waits until it is time, or until somebody wants to stop. Connections are looked after.
    pub(crate) fn wait(&self, until: Option<Instant>, interrupt: &Interrupt) {
        let Some(until) = until else { return };
        self.runtime.block_on(async {
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                () = wanted(interrupt) => {}
            }
        });
    }

    /// What became of everything until now.
    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What became of everything.
    pub(crate) fn finish(self) -> Summary {
        // A name that nobody resolves is not waited for.
        self.runtime.shutdown_background();
        self.summary
    }

    fn taken(
        &mut self,
        signal: Signal,
        records: u64,
        partial: Option<Partial>,
        progress: &Progress,
    ) {
        self.summary.requests += 1;
        let rejected = partial.as_ref().map_or(0, |partial| partial.rejected.min(records));
        self.summary.add(signal, records - rejected);
        self.summary.refused += rejected;
        if let Some(partial) = partial {
            self.show(&partial.to_string(), progress);
        }
    }

    fn show(&mut self, message: &str, progress: &Progress) {
        self.answers_shown += 1;
        if self.answers_shown <= MAX_ANSWERS_SHOWN {
            progress.error(message);
        }
    }
}

/// Ends when somebody wants to stop.
async fn wanted(interrupt: &Interrupt) {
    while !interrupt.is_wanted() {
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

fn explain(error: &ForwardError) -> Failure {
    match error {
        ForwardError::Unreached { .. } => Failure::Other(format!(
            "{error}; is a server running there? start kymo serve, or name another with --endpoint"
        )),
        _ => Failure::Other(error.to_string()),
    }
}
