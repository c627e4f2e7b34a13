//! Tokens of an identity provider (OpenID Connect): JSON Web Tokens, verified with the provider's
//! public keys.
//!
//! ```text
//!  token ─> jwt: form, algorithm ─> claims: issuer, audience, times ─> keys: the key, the signature ─> grant
//! ```
//!
//! | module | what is there |
//! |---|---|
//! | [`address`] | which URLs may be fetched |
//! | `jwt` | a token, not yet trusted |
//! | `claims` | what it says, and what that grants |
//! | `jwk` | public keys, and signatures |
//! | [`keys`] | the provider's keys, fetched and kept |

pub mod address;
pub(crate) mod claims;
pub(crate) mod jwk;
pub(crate) mod jwt;
pub mod keys;
#[cfg(test)]
pub(crate) mod test_keys;

pub use keys::{Fetch, FetchFuture};

use std::sync::Arc;

use crate::grant::Grant;
use crate::moment::Moment;
use crate::settings::OidcSettings;
use jwk::Refused;
use keys::KeyCache;

/// An identity provider.
pub(crate) struct Provider {
    settings: OidcSettings,
    keys: Arc<KeyCache>,
}

/// What a token of it is.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Valid.
    Right(Grant),
    /// Valid, but nothing is granted to its owner.
    NothingGranted(String),
    /// Not valid, for a reason that only the log says.
    Wrong(&'static str),
    /// The keys are not there.
    NoKeys,
}

impl Verdict {
    /// Whether it could be another one with other keys.
    fn wants_keys(&self) -> bool {
        matches!(self, Self::NoKeys | Self::Wrong(Refused::UNKNOWN_KEY))
    }
}

impl Provider {
    pub(crate) fn new(settings: &OidcSettings, fetch: Arc<dyn Fetch>) -> Self {
        let keys = KeyCache::new(&settings.issuer, settings.jwks_url.as_deref(), fetch);
        Self { settings: settings.clone(), keys: Arc::new(keys) }
    }

    pub(crate) fn keys(&self) -> &Arc<KeyCache> {
        &self.keys
    }

    /// The verdict, if nothing has to be fetched for it or after it.
    pub(crate) fn judge_quickly(&self, token: &str, now: Moment) -> Option<Verdict> {
        let verdict = self.judge_by_known_keys(token, now);
        let keys = &self.keys;
        let is_open = match verdict.wants_keys() {
            true => keys.is_worth_waiting(now.instant),
            false => keys.is_old(now.instant) && keys.is_due(now.instant),
        };
        (!is_open).then_some(verdict)
    }

    /// The verdict. A key that is not known is looked for at the provider, once a minute. Keys that
    /// are old are fetched again without anybody waiting for them, unless they are very old.
    pub(crate) async fn judge(&self, token: &str, now: Moment) -> Verdict {
        let keys = &self.keys;
        let verdict = self.judge_by_known_keys(token, now);
        // Only a token that is valid so far makes us ask again for keys that are there.
        let is_valid = matches!(verdict, Verdict::Right(_) | Verdict::NothingGranted(_));
        let is_due = is_valid && keys.is_old(now.instant) && keys.is_due(now.instant);
        let is_waiting = match verdict.wants_keys() {
            true => keys.is_worth_waiting(now.instant),
            false => is_due && keys.is_stale(now.instant),
        };
        if is_waiting {
            keys.refresh(now.instant).await;
            return self.judge_by_known_keys(token, now);
        }
        if is_due {
            let keys = Arc::clone(keys);
            tokio::spawn(async move { keys.refresh(now.instant).await });
        }
        verdict
    }

    /// The claims are looked at first: it costs less, and nothing of them is believed before the
    /// signature was found to be right.
    fn judge_by_known_keys(&self, token: &str, now: Moment) -> Verdict {
        let token = match jwt::Jwt::read(token) {
            Ok(token) => token,
            Err(why) => return Verdict::Wrong(why),
        };
        if let Err(why) = claims::check(&token.claims, &self.settings, now.unix_secs) {
            return Verdict::Wrong(why);
        }
        let Some(keys) = self.keys.current() else { return Verdict::NoKeys };
        if let Err(Refused(why)) = keys.verify(&token) {
            return Verdict::Wrong(why);
        }
        claims::granted(&token.claims, &self.settings)
    }
}
