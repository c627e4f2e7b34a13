//! What is said about an endpoint: once when it begins to fail, once when it works again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_sdk::error::OTelSdkError;

use super::settings::{Destination, Signal};

/// Something that whoever runs the program should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something went wrong; else it is right again.
    pub is_failure: bool,
    /// What, in words.
    pub message: String,
}

/// Who is told. Called on the thread that sends: it should be quick.
pub type NoticeHandler = Arc<dyn Fn(&Notice) + Send + Sync>;

/// The failures of all lanes of an outlet.
pub(super) struct Shared {
    /// Servers that cannot be reached, and signals that are refused.
    failing: Mutex<BTreeSet<String>>,
    last_error: Mutex<Option<String>>,
    handler: Option<NoticeHandler>,
}

impl Shared {
    pub(super) fn new(handler: Option<NoticeHandler>) -> Arc<Self> {
        Arc::new(Self { failing: Mutex::default(), last_error: Mutex::default(), handler })
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, is_failure: bool, message: String) {
        match &self.handler {
            Some(handler) => handler(&Notice { is_failure, message }),
            None if is_failure => tracing::warn!(target: "kymo_service", "{message}"),
            None => tracing::info!(target: "kymo_service", "{message}"),
        }
    }
}

/// What is said by one lane.
#[derive(Clone)]
pub(super) struct Notices {
    shared: Arc<Shared>,
    signal: Signal,
    /// Three signals that go to one server that is away are one failure.
    server: String,
}

impl Notices {
    pub(super) fn new(shared: Arc<Shared>, signal: Signal, destination: &Destination) -> Self {
        let server = match destination {
            Destination::Otlp(settings) => settings.authority(),
            Destination::Console | Destination::Nowhere => "stdout".to_owned(),
        };
        Self { shared, signal, server }
    }

    fn refused_key(&self) -> String {
        format!("{} {}", self.server, self.signal.items())
    }

    /// An export went wrong.
    pub(super) fn fails(&self, error: &OTelSdkError, is_refused: bool) {
        let (items, server) = (self.signal.items(), &self.server);
        let why = error.to_string();
        let why = why.strip_prefix("Operation failed: ").unwrap_or(&why);
        let message = if is_refused {
            format!("{server} refuses {items}: {why}; they are lost until it takes them")
        } else {
            format!(
                "cannot send {items} to {server}: {why}; it is tried again, and what cannot be \
                 kept until then is counted and lost"
            )
        };
        *self.shared.last_error.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(format!("{items} to {server}: {why}"));
        let key = if is_refused { self.refused_key() } else { server.clone() };
        let is_new = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        if is_new {
            self.shared.tell(true, message);
        }
    }

    /// An export worked; so many items of this signal were lost so far.
    pub(super) fn works(&self, lost: u64) {
        let mut failing = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if failing.is_empty() {
            return;
        }
        let was_away = failing.remove(&self.server);
        let was_refused = failing.remove(&self.refused_key());
        drop(failing);
        if was_away || was_refused {
            let (items, server) = (self.signal.items(), &self.server);
            self.shared.tell(
                false,
                format!("{server} takes {items} again; {lost} were lost since the start"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{OtlpSettings, Protocol};
    use super::*;

    #[test]
    fn three_signals_to_a_server_that_is_away_are_one_notice() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&told);
        let handler: NoticeHandler =
            Arc::new(move |notice: &Notice| keep.lock().unwrap().push(notice.clone()));
        let shared = Shared::new(Some(handler));
        let destination =
            Destination::Otlp(OtlpSettings::new("http://a.test:4317", Protocol::Grpc));
        let lanes =
            Signal::ALL.map(|signal| Notices::new(Arc::clone(&shared), signal, &destination));
        let away = OTelSdkError::InternalFailure("connection refused".into());
        for _ in 0..3 {
            lanes.iter().for_each(|lane| lane.fails(&away, false));
        }
        assert_eq!(told.lock().unwrap().len(), 1);
        lanes[1].works(7);
        lanes[0].works(0);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].is_failure && told[0].message.contains("connection refused"));
        assert!(!told[1].is_failure && told[1].message.contains("7 were lost"));
        assert!(shared.last_error().unwrap().contains("connection refused"));
    }

    #[test]
    fn a_signal_that_is_refused_is_told_once_while_others_are_taken() {
        let told = Arc::new(Mutex::new(0));
        let keep = Arc::clone(&told);
        let handler: NoticeHandler = Arc::new(move |_: &Notice| *keep.lock().unwrap() += 1);
        let shared = Shared::new(Some(handler));
        let destination =
            Destination::Otlp(OtlpSettings::new("http://a.test:4317", Protocol::Grpc));
        let lane = |signal| Notices::new(Arc::clone(&shared), signal, &destination);
        let (traces, logs) = (lane(Signal::Traces), lane(Signal::Logs));
        let refused = OTelSdkError::InternalFailure("no such signal".into());
        for _ in 0..3 {
            logs.fails(&refused, true);
            traces.works(0);
        }
        assert_eq!(*told.lock().unwrap(), 1);
    }
}
