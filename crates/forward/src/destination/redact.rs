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
/// So much of a secret that was cut off is told apart from words that begin like it.
const MIN_CUT_BYTES: usize = 8;

/// Secrets of a destination that do not change.
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(settings: &DestinationSettings) -> Self {
        let password = settings.basic.as_ref().and_then(|basic| basic.password.as_ref());
        let all = settings.headers.values().chain(&settings.bearer).chain(password);
        Self { secrets: all.flat_map(with_and_without_scheme).collect() }
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
            // What servers say is quoted up to a length, at which a secret may be cut off.
            let cut = (MIN_CUT_BYTES..secret.len())
                .rev()
                .find(|bytes| secret.get(..*bytes).is_some_and(|start| text.ends_with(start)));
            if let Some(bytes) = cut {
                text.truncate(text.len() - bytes);
                text.push_str(HIDDEN);
            }
        }
        text
    }
}

/// A header's value may be a scheme and a token, of which a server repeats only the second.
fn with_and_without_scheme(secret: &Secret) -> impl Iterator<Item = String> {
    let text = secret.reveal();
    let behind = text.split_once(' ').map(|(_, value)| value.to_owned());
    std::iter::once(text.to_owned()).chain(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_without_their_scheme_and_where_they_were_cut_off() {
        let token = format!("eyJ{}", "abcdefgh".repeat(200));
        let header = Secret::new(format!("Bearer {token}"));
        let redactor = Redactor { secrets: with_and_without_scheme(&header).collect() };
        let whole = redactor.text(format!("no user has {token}, sorry"), None);
        assert_eq!(whole, "no user has …, sorry");
        let cut = redactor.text(format!("no user has {}", &token[..400]), None);
        assert_eq!(cut, "no user has …");
        assert_eq!(redactor.text("no user has eyJab".to_owned(), None), "no user has eyJab");
    }
}
