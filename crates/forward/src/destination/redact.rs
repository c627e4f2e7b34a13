//! What servers say, without the credentials that they were shown.
//!
//! Some repeat in an error what they did not like of a request: its header `authorization`, a key.
//! What they say goes to logs, to the status and to the file of refused requests.

use kymo_yaml::Secret;

use super::settings::DestinationSettings;
use super::verdict::Verdict;

/// What stands instead.
const HIDDEN: &str = "…";
/// Shorter values are words that may be anywhere.
const MIN_SECRET_BYTES: usize = 4;

/// Secrets of a destination that do not change.
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(settings: &DestinationSettings) -> Self {
        let password = settings.basic.as_ref().and_then(|basic| basic.password.as_ref());
        let all = settings.headers.values().chain(&settings.bearer).chain(password);
        Self { secrets: all.map(Secret::reveal).map(str::to_owned).collect() }
    }

    /// A verdict that shows none of the secrets, nor the credentials among the headers that were sent.
    pub(crate) fn verdict(&self, verdict: Verdict, sent: Option<&str>) -> Verdict {
        let clean = |why: String| self.text(why, sent);
        match verdict {
            Verdict::Taken(Some(mut partial)) => {
                partial.why = clean(partial.why);
                Verdict::Taken(Some(partial))
            }
            Verdict::Taken(None) => Verdict::Taken(None),
            Verdict::Later { why, asked, hope } => Verdict::Later { why: clean(why), asked, hope },
            Verdict::Refused(why) => Verdict::Refused(clean(why)),
            Verdict::UnknownEncoding(why) => Verdict::UnknownEncoding(clean(why)),
        }
    }

    fn text(&self, mut text: String, sent: Option<&str>) -> String {
        // Behind the scheme.
        let sent = sent.map(|value| value.split_once(' ').map_or(value, |(_, value)| value));
        for secret in self.secrets.iter().map(String::as_str).chain(sent) {
            if secret.len() >= MIN_SECRET_BYTES && text.contains(secret) {
                text = text.replace(secret, HIDDEN);
            }
        }
        text
    }
}
