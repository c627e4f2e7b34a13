//! The keys of a provider: fetched when they are needed, again when they are old or one is not
//! known, and kept while the provider cannot be reached.
//!
//! Somebody who invents tokens with unknown keys makes no more than one fetch a minute. A fetch runs
//! by itself, so that it does not matter whether the request that started it is still there; others
//! that need it wait for the same one.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Deserialize;

use super::address;
use super::jwk::KeySet;
use crate::limits::{
    KEYS_FETCH_TIMEOUT, KEYS_FETCHED_AT_MOST_EVERY, KEYS_FRESH_FOR, KEYS_STALE_AFTER,
    MAX_KEYS_BYTES, MISSING_KEYS_FETCHED_AT_MOST_EVERY,
};

/// What comes of a fetch: the body of an answer with status 200, or why there is none.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>>;

/// Whoever can fetch a URL.
///
/// An implementation gives up at [`crate::limits::MAX_KEYS_BYTES`], verifies certificates, and does
/// not follow redirects to what is not encrypted. It is given up after
/// [`crate::limits::KEYS_FETCH_TIMEOUT`].
pub trait Fetch: Send + Sync {
    /// Fetches.
    fn fetch<'a>(&'a self, url: &'a str) -> FetchFuture<'a>;
}

/// The keys, and when they were fetched.
pub(crate) struct KeyCache {
    issuer: String,
    jwks_url: Option<String>,
    fetch: Arc<dyn Fetch>,
    state: RwLock<State>,
    /// Who fetches has it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
    is_fetching: bool,
    problem: Option<String>,
}

/// A provider's description of itself.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

impl KeyCache {
    pub(crate) fn new(issuer: &str, jwks_url: Option<&str>, fetch: Arc<dyn Fetch>) -> Self {
        Self {
            issuer: issuer.to_owned(),
            jwks_url: jwks_url.map(str::to_owned),
            fetch,
            state: RwLock::default(),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// The keys, if there are any.
    pub(crate) fn current(&self) -> Option<Arc<KeySet>> {
        self.read(|state| state.keys.clone())
    }

    /// Why the last fetch failed, if it did.
    pub(crate) fn problem(&self) -> Option<String> {
        self.read(|state| state.problem.clone())
    }

    /// Whether they may be fetched again now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.read(|state| {
            let pause = match state.keys {
                Some(_) => KEYS_FETCHED_AT_MOST_EVERY,
                None => MISSING_KEYS_FETCHED_AT_MOST_EVERY,
            };
            state.tried_at.is_none_or(|at| now.saturating_duration_since(at) >= pause)
        })
    }

    /// Whether there may be others soon for who waits: they may be fetched now, or are being fetched.
    pub(crate) fn is_worth_waiting(&self, now: Instant) -> bool {
        self.read(|state| state.is_fetching) || self.is_due(now)
    }

    /// Whether they are so old that they should be fetched again.
    pub(crate) fn is_old(&self, now: Instant) -> bool {
        self.age(now) >= KEYS_FRESH_FOR
    }

    /// Whether they are so old that they should not be used before it was tried to get others.
    pub(crate) fn is_stale(&self, now: Instant) -> bool {
        self.age(now) >= KEYS_STALE_AFTER
    }

    fn age(&self, now: Instant) -> Duration {
        let fetched_at = self.read(|state| state.fetched_at);
        fetched_at.map_or(Duration::MAX, |at| now.saturating_duration_since(at))
    }

    /// Fetches them if that is due, and waits until whoever fetches them is done.
    pub(crate) async fn refresh(self: &Arc<Self>, now: Instant) {
        let cache = Arc::clone(self);
        let fetching = tokio::spawn(async move {
            let _turn = cache.turn.lock().await;
            if cache.is_due(now) {
                cache.write(|state| state.begin(now));
                let fetched = cache.fetch_keys().await;
                cache.write(|state| state.take(fetched, now));
            }
        });
        // A fetch that panicked has changed nothing.
        let _ = fetching.await;
    }

    async fn fetch_keys(&self) -> Result<KeySet, String> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let body = self.get(&url).await?;
        KeySet::read(&body).ok_or_else(|| format!("{url} has no keys that can be used"))
    }

    /// Where the provider says that its keys are. It must be the one that it says it is.
    async fn discover(&self) -> Result<String, String> {
        let issuer = self.issuer.trim_end_matches('/');
        let url = format!("{issuer}/.well-known/openid-configuration");
        let body = self.get(&url).await?;
        let description: Description = serde_json::from_slice(&body)
            .map_err(|_| format!("{url} does not describe an identity provider"))?;
        if description.issuer != self.issuer {
            return Err(format!(
                "{url} describes another issuer ({:?}); oidc.issuer must be the same text",
                description.issuer
            ));
        }
        address::check(&description.jwks_uri)
            .map_err(|why| format!("{url} has a jwks_uri that is not used: {why}"))?;
        Ok(description.jwks_uri)
    }

    async fn get(&self, url: &str) -> Result<Bytes, String> {
        let fetched = tokio::time::timeout(KEYS_FETCH_TIMEOUT, self.fetch.fetch(url)).await;
        let fetched = fetched.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        let body = fetched.map_err(|why| format!("{url}: {why}"))?;
        if body.len() > MAX_KEYS_BYTES {
            return Err(format!("{url} has more than {MAX_KEYS_BYTES} bytes"));
        }
        Ok(body)
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn begin(&mut self, now: Instant) {
        self.tried_at = Some(now);
        self.is_fetching = true;
    }

    /// Keys stay until there are others: a provider that is down signs nothing new, but what it
    /// signed is still valid.
    fn take(&mut self, fetched: Result<KeySet, String>, now: Instant) {
        self.is_fetching = false;
        match fetched {
            Ok(keys) => {
                self.keys = Some(Arc::new(keys));
                self.fetched_at = Some(now);
                self.problem = None;
            }
            Err(why) => self.problem = Some(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test_keys::{Answers, Signer};
    use super::*;

    const ISSUER: &str = "https://idp.example/realm";
    const DESCRIPTION: &str = "https://idp.example/realm/.well-known/openid-configuration";
    const KEYS: &str = "https://idp.example/keys";

    fn cache(answers: &Arc<Answers>, jwks_url: Option<&str>) -> Arc<KeyCache> {
        let fetch: Arc<dyn Fetch> = Arc::<Answers>::clone(answers);
        Arc::new(KeyCache::new(ISSUER, jwks_url, fetch))
    }

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[tokio::test]
    async fn keys_are_found_by_the_providers_description() {
        let answers = Arc::new(Answers::default());
        answers.set(DESCRIPTION, &json!({"issuer": ISSUER, "jwks_uri": KEYS}));
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")]}));
        let cache = cache(&answers, None);
        assert!(cache.is_due(Instant::now()));
        cache.refresh(Instant::now()).await;
        assert!(cache.current().is_some());
        assert_eq!(cache.problem(), None);
        assert_eq!(answers.asked(), [DESCRIPTION, KEYS]);
    }

    #[tokio::test]
    async fn a_description_of_another_provider_or_of_unsafe_keys_is_refused() {
        let answers = Arc::new(Answers::default());
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")]}));
        for description in [
            json!({"issuer": "https://evil.example", "jwks_uri": KEYS}),
            json!({"issuer": ISSUER, "jwks_uri": "http://idp.example/keys"}),
            json!({"issuer": ISSUER}),
            json!([]),
        ] {
            answers.set(DESCRIPTION, &description);
            let cache = cache(&answers, None);
            cache.refresh(Instant::now()).await;
            assert!(cache.current().is_none(), "{description}");
            assert!(cache.problem().is_some());
        }
    }

    #[tokio::test]
    async fn keys_stay_while_the_provider_is_down_and_are_asked_for_once_a_minute() {
        let answers = Arc::new(Answers::default());
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")]}));
        let (cache, now) = (cache(&answers, Some(KEYS)), Instant::now());
        cache.refresh(now).await;
        answers.clear();
        cache.refresh(now + secs(59)).await;
        assert_eq!(answers.asked().len(), 1);
        cache.refresh(now + secs(60)).await;
        assert_eq!(answers.asked().len(), 2);
        assert!(cache.current().is_some());
        assert!(cache.problem().unwrap().contains(KEYS));
        assert!(!cache.is_old(now + secs(599)));
        assert!(cache.is_old(now + secs(600)) && !cache.is_stale(now + secs(3599)));
        assert!(cache.is_stale(now + secs(3600)));
    }

    #[tokio::test]
    async fn missing_keys_are_asked_for_sooner() {
        let answers = Arc::new(Answers::default());
        let (cache, now) = (cache(&answers, Some(KEYS)), Instant::now());
        cache.refresh(now).await;
        assert!(!cache.is_due(now + secs(4)));
        assert!(cache.is_due(now + secs(5)));
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")]}));
        cache.refresh(now + secs(5)).await;
        assert!(cache.current().is_some());
    }

    #[tokio::test]
    async fn many_at_once_make_one_fetch_and_all_wait_for_it() {
        let answers = Arc::new(Answers::default());
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")]}));
        let (cache, now) = (cache(&answers, Some(KEYS)), Instant::now());
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let cache = Arc::clone(&cache);
                tokio::spawn(async move {
                    cache.refresh(now).await;
                    cache.current().is_some()
                })
            })
            .collect();
        for request in waiting {
            assert!(request.await.unwrap());
        }
        assert_eq!(answers.asked().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_does_not_answer_is_given_up() {
        struct Silent;
        impl Fetch for Silent {
            fn fetch<'a>(&'a self, _url: &'a str) -> FetchFuture<'a> {
                Box::pin(std::future::pending())
            }
        }
        let cache = Arc::new(KeyCache::new(ISSUER, Some(KEYS), Arc::new(Silent)));
        let (waiting, now) = (Arc::clone(&cache), Instant::now());
        let request = tokio::spawn(async move { waiting.refresh(now).await });
        while !cache.read(|state| state.is_fetching) {
            tokio::task::yield_now().await;
        }
        // Others wait for it rather than being told that there are none.
        assert!(!cache.is_due(now) && cache.is_worth_waiting(now));
        request.await.unwrap();
        assert!(!cache.is_worth_waiting(now));
        assert!(cache.problem().unwrap().contains("no answer in time"));
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_refused() {
        let answers = Arc::new(Answers::default());
        let padding = "x".repeat(MAX_KEYS_BYTES);
        answers.set(KEYS, &json!({"keys": [Signer::p256().jwk("k1")], "padding": padding}));
        let cache = cache(&answers, Some(KEYS));
        cache.refresh(Instant::now()).await;
        assert!(cache.current().is_none());
    }
}
