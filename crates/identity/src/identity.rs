//! Who a request is from: all ways together.
//!
//! Ways are alternatives, not steps: what the header `Authorization` presents is looked at first, and
//! if it is wrong the request is refused, whatever certificate its connection has. Without it the
//! certificate counts.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderMap;

use crate::certificate::CertificateNames;
use crate::certificate::rule::{CertificateRule, granted};
use crate::credentials::Presented;
use crate::denied::Denied;
use crate::grant::Grant;
use crate::limits::MISSING_KEYS_FETCHED_AT_MOST_EVERY;
use crate::method::Method;
use crate::moment::Moment;
use crate::oidc::keys::Fetch;
use crate::oidc::{self, Provider};
use crate::passwords::{self, Login, Passwords};
use crate::settings::{IdentitySettings, WrongSetting};
use crate::token::TokenBook;

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct PeerInfo<'a> {
    /// Its address; behind a trusted proxy, that of whoever the proxy speaks for.
    pub address: IpAddr,
    /// Its certificate (DER), which was verified when the connection was made.
    pub certificate: Option<&'a [u8]>,
}

/// Everybody who may be let in, and how.
pub struct Identity {
    passwords: Arc<Passwords>,
    tokens: RwLock<Arc<TokenBook>>,
    certificates: Vec<CertificateRule>,
    provider: Option<Provider>,
}

/// What is left to do when a request has been looked at.
enum Step<'a> {
    /// Nothing.
    Done(Result<Grant, Denied>),
    /// To hash a password.
    Hash(Login),
    /// To fetch keys for a token.
    Fetch(&'a Provider, &'a str),
}

impl Identity {
    /// Of settings, and of the tokens that were made. `fetch` is needed where an identity provider
    /// is set.
    ///
    /// # Errors
    ///
    /// All that is wrong with the settings. Files with passwords are read here.
    pub fn new(
        settings: &IdentitySettings,
        tokens: Arc<TokenBook>,
        fetch: Option<Arc<dyn Fetch>>,
    ) -> Result<Self, Vec<WrongSetting>> {
        let wrong = settings.check();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let one = |wrong: WrongSetting| vec![wrong];
        let rules = settings.client_certificates.iter().map(|settings| settings.rule());
        let certificates = rules
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| one(WrongSetting::new("client_certificates", why)))?;
        let provider = match (&settings.oidc, fetch) {
            (None, _) => None,
            (Some(oidc), Some(fetch)) => Some(Provider::new(oidc, fetch)),
            (Some(_), None) => {
                let why = "keys of an identity provider cannot be fetched here";
                return Err(one(WrongSetting::new("oidc", why)));
            }
        };
        let passwords = Passwords::new(&settings.users, Moment::now().instant).map_err(one)?;
        Ok(Self {
            passwords: Arc::new(passwords),
            tokens: RwLock::new(tokens),
            certificates,
            provider,
        })
    }

    /// Makes other tokens effective, from the next request on.
    pub fn set_tokens(&self, tokens: Arc<TokenBook>) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// The tokens that are effective.
    #[must_use]
    pub fn tokens(&self) -> Arc<TokenBook> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why the identity provider's keys could not be fetched, the last time that was tried.
    #[must_use]
    pub fn keys_problem(&self) -> Option<String> {
        self.provider.as_ref().and_then(|provider| provider.keys().problem())
    }

    /// Who a request is from. May hash a password on another thread or fetch keys, so it must run
    /// on a runtime of tokio that has its clock.
    ///
    /// # Errors
    ///
    /// Why it may not go on.
    pub async fn check(
        &self,
        accepted: &[Method],
        headers: &HeaderMap,
        peer: PeerInfo<'_>,
    ) -> Result<Grant, Denied> {
        self.check_at(accepted, headers, peer, Moment::now()).await
    }

    /// The same, if it is known without waiting: nobody is asked, a certificate, a token of ours, a
    /// password that was right or wrong a moment ago, a token of the provider whose key is known.
    /// None means that [`Identity::check`] has to be called.
    #[must_use]
    pub fn check_quickly(
        &self,
        accepted: &[Method],
        headers: &HeaderMap,
        peer: PeerInfo<'_>,
    ) -> Option<Result<Grant, Denied>> {
        match self.step(accepted, headers, peer, Moment::now()) {
            Step::Done(result) => Some(result),
            Step::Hash(_) | Step::Fetch(..) => None,
        }
    }

    pub(crate) async fn check_at(
        &self,
        accepted: &[Method],
        headers: &HeaderMap,
        peer: PeerInfo<'_>,
        now: Moment,
    ) -> Result<Grant, Denied> {
        match self.step(accepted, headers, peer, now) {
            Step::Done(result) => result,
            Step::Hash(login) => {
                let verdict = Arc::clone(&self.passwords).judge(login).await?;
                of_password(verdict, accepted)
            }
            Step::Fetch(provider, token) => {
                let verdict = provider.judge(token, now).await;
                self.of_provider(verdict, accepted, peer.address, now)
            }
        }
    }

    fn step<'a>(
        &'a self,
        accepted: &[Method],
        headers: &'a HeaderMap,
        peer: PeerInfo<'_>,
        now: Moment,
    ) -> Step<'a> {
        if accepted.is_empty() {
            return Step::Done(Ok(Grant::open()));
        }
        match Presented::of(headers, accepted) {
            Presented::Nothing => Step::Done(self.by_certificate(accepted, peer)),
            Presented::Wrong(why) => Step::Done(Err(wrong(accepted, None, why))),
            Presented::Password { user, password } => {
                let login = self.passwords.login(&user, &password, peer.address, now.instant);
                match self.passwords.judge_quickly(&login) {
                    Some(verdict) => Step::Done(of_password(verdict, accepted)),
                    None => Step::Hash(login),
                }
            }
            Presented::Token(token) => {
                let found = self.tokens().find(token, now.unix_secs);
                let why = "no such token, or it has expired";
                let refused = || self.wrong_token(accepted, peer.address, now, why);
                Step::Done(found.ok_or_else(refused))
            }
            Presented::ProviderToken(token) => {
                let Some(provider) = &self.provider else {
                    return Step::Done(Err(wrong(accepted, None, "there is no identity provider")));
                };
                match provider.judge_quickly(token, now) {
                    Some(verdict) => {
                        Step::Done(self.of_provider(verdict, accepted, peer.address, now))
                    }
                    None => Step::Fetch(provider, token),
                }
            }
        }
    }

    fn by_certificate(&self, accepted: &[Method], peer: PeerInfo<'_>) -> Result<Grant, Denied> {
        let Some(der) = peer.certificate.filter(|_| accepted.contains(&Method::ClientCertificate))
        else {
            return Err(Denied::Missing { accepted: accepted.to_vec() });
        };
        let names = CertificateNames::read(der)
            .ok_or_else(|| wrong(accepted, None, "a certificate that cannot be read"))?;
        granted(&self.certificates, &names)
            .ok_or_else(|| Denied::NothingGranted { name: names.text() })
    }

    fn of_provider(
        &self,
        verdict: oidc::Verdict,
        accepted: &[Method],
        address: IpAddr,
        now: Moment,
    ) -> Result<Grant, Denied> {
        match verdict {
            oidc::Verdict::Right(grant) => Ok(grant),
            oidc::Verdict::NothingGranted(name) => Err(Denied::NothingGranted { name }),
            oidc::Verdict::Wrong(why) => Err(self.wrong_token(accepted, address, now, why)),
            oidc::Verdict::NoKeys => {
                Err(Denied::Unavailable { retry_after: MISSING_KEYS_FETCHED_AT_MOST_EVERY })
            }
        }
    }

    fn wrong_token(
        &self,
        accepted: &[Method],
        address: IpAddr,
        now: Moment,
        why: &'static str,
    ) -> Denied {
        match self.passwords.attempts().token_was_wrong(address, now.instant) {
            Ok(()) => wrong(accepted, None, why),
            Err(retry_after) => Denied::TooMany { retry_after },
        }
    }
}

fn of_password(verdict: passwords::Verdict, accepted: &[Method]) -> Result<Grant, Denied> {
    match verdict {
        passwords::Verdict::Right(grant) => Ok(grant),
        passwords::Verdict::Wrong(claimed) => Err(wrong(accepted, claimed, "name or password")),
        passwords::Verdict::TooMany(retry_after) => Err(Denied::TooMany { retry_after }),
    }
}

fn wrong(accepted: &[Method], claimed: Option<String>, why: &'static str) -> Denied {
    Denied::Wrong { accepted: accepted.to_vec(), claimed, why }
}

/// Nothing of what it knows may be seen.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("tokens", &self.tokens().list().len())
            .field("certificates", &self.certificates.len())
            .field("has_provider", &self.provider.is_some())
            .finish_non_exhaustive()
    }
}
