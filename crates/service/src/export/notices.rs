//! What is said about an endpoint: once when it begins to fail, once when it works again; and once
//! for each reason why it takes requests without some of their records.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kymo_forward::{Partial, Signal, signals};

use super::settings::Destination;
use crate::limits::REASONS_TOLD;

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
    /// What servers said of records that they did not keep. It is not forgotten when they take one
    /// whole: the next one that they do not is no news.
    reasons: Mutex<BTreeSet<String>>,
    last_error: Mutex<Option<String>>,
    handler: Option<NoticeHandler>,
}

impl Shared {
    pub(super) fn new(handler: Option<NoticeHandler>) -> Arc<Self> {
        Arc::new(Self {
            failing: Mutex::default(),
            reasons: Mutex::default(),
            last_error: Mutex::default(),
            handler,
        })
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
        format!("{} {}", self.server, signals::items(self.signal))
    }

    fn keep_error(&self, why: &str) {
        let kept = format!("{} to {}: {why}", signals::items(self.signal), self.server);
        *self.shared.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// A request was refused, or did not get there.
    pub(super) fn fails(&self, why: &str, is_refused: bool) {
        let (items, server) = (signals::items(self.signal), &self.server);
        let message = if is_refused {
            format!("{server} refuses {items}: {why}; they are lost until it takes them")
        } else {
            format!(
                "cannot send {items} to {server}: {why}; it is tried again, and what cannot be \
                 kept until then is counted and lost"
            )
        };
        self.keep_error(why);
        let key = if is_refused { self.refused_key() } else { server.clone() };
        let is_new = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        if is_new {
            self.shared.tell(true, message);
        }
    }

    /// A request was taken, perhaps without some of its records. So many items of this signal were
    /// lost before.
    pub(super) fn takes(&self, partial: Option<&Partial>, lost: u64) {
        self.works(lost);
        let Some(partial) = partial else { return };
        let message = format!("{}: {partial}", self.server);
        if partial.rejected > 0 {
            self.keep_error(&partial.to_string());
        }
        let key = format!("{} {}", self.refused_key(), partial.why);
        let mut reasons = self.shared.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = reasons.len() < REASONS_TOLD && reasons.insert(key);
        drop(reasons);
        if is_new {
            self.shared.tell(true, format!("{message}; the same is counted from now on, not said"));
        }
    }

    /// The server answers.
    fn works(&self, lost: u64) {
        let mut failing = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if failing.is_empty() {
            return;
        }
        let was_away = failing.remove(&self.server);
        let was_refused = failing.remove(&self.refused_key());
        drop(failing);
        if was_away || was_refused {
            let (items, server) = (signals::items(self.signal), &self.server);
            self.shared.tell(
                false,
                format!("{server} takes {items} again; {lost} were lost since the start"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use kymo_forward::{OtlpSettings, Protocol};

    use super::*;

    type Told = Arc<Mutex<Vec<Notice>>>;

    fn lanes() -> ([Notices; 3], Arc<Shared>, Told) {
        let told = Told::default();
        let keep = Arc::clone(&told);
        let handler: NoticeHandler =
            Arc::new(move |notice: &Notice| keep.lock().unwrap().push(notice.clone()));
        let shared = Shared::new(Some(handler));
        let destination =
            Destination::Otlp(OtlpSettings::new("http://a.test:4317", Protocol::Grpc));
        let lanes =
            Signal::ALL.map(|signal| Notices::new(Arc::clone(&shared), signal, &destination));
        (lanes, shared, told)
    }

    #[test]
    fn three_signals_to_a_server_that_is_away_are_one_notice() {
        let (lanes, shared, told) = lanes();
        for _ in 0..3 {
            lanes.iter().for_each(|lane| lane.fails("connection refused", false));
        }
        assert_eq!(told.lock().unwrap().len(), 1);
        lanes[1].takes(None, 7);
        lanes[0].takes(None, 0);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].is_failure && told[0].message.contains("connection refused"));
        assert!(!told[1].is_failure && told[1].message.contains("7 were lost"));
        assert!(shared.last_error().unwrap().contains("connection refused"));
    }

    #[test]
    fn a_signal_that_is_refused_is_told_once_while_others_are_taken() {
        let ([traces, _, logs], _, told) = lanes();
        for _ in 0..3 {
            logs.fails("no such signal", true);
            traces.takes(None, 0);
        }
        assert_eq!(told.lock().unwrap().len(), 1);
    }

    #[test]
    fn records_that_are_not_kept_are_told_once_for_each_reason() {
        let ([traces, _, logs], shared, told) = lanes();
        let partial = |signal, rejected, why: &str| Partial { signal, rejected, why: why.into() };
        for _ in 0..3 {
            traces.takes(Some(&partial(Signal::Traces, 3, "too old")), 0);
            traces.takes(None, 3);
            traces.takes(Some(&partial(Signal::Traces, 1, "too long")), 3);
            logs.takes(Some(&partial(Signal::Logs, 2, "too old")), 0);
        }
        let messages: Vec<_> =
            told.lock().unwrap().iter().map(|notice| notice.message.clone()).collect();
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(messages[0].starts_with("http://a.test:4317: 3 spans were not kept: too old"));
        assert!(shared.last_error().unwrap().contains("2 log records were not kept: too old"));
        // Reasons that never are the same would fill a log.
        for number in 0..1000 {
            traces.takes(Some(&partial(Signal::Traces, 1, &number.to_string())), 0);
        }
        assert_eq!(told.lock().unwrap().len(), REASONS_TOLD);
    }
}
