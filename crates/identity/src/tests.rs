//! All ways together, from the header to the grant.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use rcgen::DnType;
use serde_json::json;

use crate::certificate::names::tests::certificate;
use crate::moment::Moment;
use crate::oidc::test_keys::{Answers, Signer};
use crate::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const KEYS: &str = "https://idp.example/keys";
const SETTINGS: &str = "
users:
  - {name: ada, password: Passw0rd-of-ada, roles: [read], tenants: [a, b]}
client_certificates:
  - {subject: 'CN=runner-*', roles: [write], tenants: [ci]}
oidc: {issuer: https://idp.example, audience: kymo, jwks_url: https://idp.example/keys}
";
const ALL: [Method; 4] = [Method::Basic, Method::Bearer, Method::ClientCertificate, Method::Oidc];

fn identity(answers: &Arc<Answers>) -> Identity {
    let settings: IdentitySettings = kymo_yaml::from_str(SETTINGS).unwrap();
    let fetch: Arc<dyn Fetch> = Arc::<Answers>::clone(answers);
    Identity::new(&settings, Arc::new(TokenBook::new()), Some(fetch)).unwrap()
}

fn header(value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, value.parse().unwrap());
    headers
}

fn basic(user: &str, password: &str) -> HeaderMap {
    header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn bearer(token: &str) -> HeaderMap {
    header(&format!("Bearer {token}"))
}

fn peer(certificate: Option<&[u8]>) -> PeerInfo<'_> {
    PeerInfo { address: HERE, certificate }
}

fn writer() -> NewToken {
    NewToken {
        name: "runner".to_owned(),
        roles: [Role::Write].into(),
        tenants: Tenants::from(vec!["ci".to_owned()]),
        expires_unix_secs: None,
    }
}

#[tokio::test]
async fn where_nobody_is_asked_everybody_may_everything() {
    let identity = identity(&Arc::default());
    let grant = identity.check(&[], &basic("x", "y"), peer(None)).await.unwrap();
    assert_eq!(grant, Grant::open());
    assert!(grant.may(Role::Admin, "anything"));
}

#[tokio::test]
async fn requests_are_checked_by_many_tasks_at_once() {
    let identity = Arc::new(identity(&Arc::default()));
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let identity = Arc::clone(&identity);
            tokio::spawn(async move {
                let headers = basic("ada", "Passw0rd-of-ada");
                identity.check(&ALL, &headers, peer(None)).await.is_ok()
            })
        })
        .collect();
    for request in requests {
        assert!(request.await.unwrap());
    }
}

#[tokio::test]
async fn without_credentials_the_accepted_ways_are_named() {
    let identity = identity(&Arc::default());
    let denied = identity.check(&ALL, &HeaderMap::new(), peer(None)).await.unwrap_err();
    assert_eq!(denied.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(denied.headers().get_all("www-authenticate").iter().count(), 2);
}

#[tokio::test]
async fn a_password_grants_what_its_user_has() {
    let identity = identity(&Arc::default());
    let right = basic("ada", "Passw0rd-of-ada");
    let grant = identity.check(&ALL, &right, peer(None)).await.unwrap();
    assert_eq!((grant.name.as_str(), grant.method), ("ada", Some(Method::Basic)));
    assert!(grant.may_read_all(&["a", "b"]) && !grant.may(Role::Write, "a"));
    for wrong in [basic("ada", "x"), basic("ada", ""), basic("", ""), basic("bob", "x")] {
        let denied = identity.check(&ALL, &wrong, peer(None)).await.unwrap_err();
        assert_eq!(denied.reason(), "wrong_credentials");
    }
}

#[tokio::test]
async fn guessing_passwords_ends_in_429_and_a_valid_token_from_there_still_passes() {
    let identity = identity(&Arc::default());
    let mut book = TokenBook::new();
    let (token, _) = book.make(writer(), 1).unwrap();
    identity.set_tokens(Arc::new(book));
    for nth in 0..10 {
        let guess = basic("ada", &format!("guess {nth}"));
        let denied = identity.check(&ALL, &guess, peer(None)).await.unwrap_err();
        assert_eq!(denied.status(), StatusCode::UNAUTHORIZED);
    }
    // Even the right one is not looked at now: or else guessing would go on.
    let right = basic("ada", "Passw0rd-of-ada");
    let denied = identity.check(&ALL, &right, peer(None)).await.unwrap_err();
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(denied.headers().contains_key("retry-after"));
    assert!(identity.check(&ALL, &bearer(token.reveal()), peer(None)).await.is_ok());
}

#[tokio::test]
async fn wrong_tokens_end_in_429_and_a_valid_one_still_passes() {
    let identity = identity(&Arc::default());
    let mut book = TokenBook::new();
    let (token, _) = book.make(writer(), 1).unwrap();
    identity.set_tokens(Arc::new(book));
    let wrong = bearer(&token.reveal().replace(char::is_uppercase, "x"));
    let mut statuses = Vec::new();
    for _ in 0..11 {
        statuses.push(identity.check(&ALL, &wrong, peer(None)).await.unwrap_err().status());
    }
    assert!(statuses[..10].iter().all(|status| *status == StatusCode::UNAUTHORIZED));
    assert_eq!(statuses[10], StatusCode::TOO_MANY_REQUESTS);
    assert!(identity.check(&ALL, &bearer(token.reveal()), peer(None)).await.is_ok());
}

#[tokio::test]
async fn a_token_that_is_revoked_is_refused_at_once() {
    let identity = identity(&Arc::default());
    let mut book = TokenBook::new();
    let (token, record) = book.make(writer(), 1).unwrap();
    identity.set_tokens(Arc::new(book.clone()));
    let headers = bearer(token.reveal());
    let grant = identity.check_quickly(&ALL, &headers, peer(None)).unwrap().unwrap();
    assert_eq!((grant.name.as_str(), grant.tenant(None)), ("runner", Ok("ci")));
    book.revoke(&record.id);
    identity.set_tokens(Arc::new(book));
    assert!(identity.check(&ALL, &headers, peer(None)).await.is_err());
}

#[tokio::test]
async fn a_certificate_counts_where_no_header_is_and_is_accepted() {
    let identity = identity(&Arc::default());
    let runner = certificate(&[(DnType::CommonName, "runner-7")], &[], &[]);
    let none = HeaderMap::new();
    let grant = identity.check(&ALL, &none, peer(Some(&runner))).await.unwrap();
    assert_eq!((grant.name.as_str(), grant.tenant(None)), ("CN=runner-7", Ok("ci")));
    let denied = identity.check(&[Method::Basic], &none, peer(Some(&runner))).await.unwrap_err();
    assert_eq!(denied.reason(), "missing_credentials");
    // A wrong password is wrong, whatever the certificate.
    let denied = identity.check(&ALL, &basic("ada", "x"), peer(Some(&runner))).await.unwrap_err();
    assert_eq!(denied.reason(), "wrong_credentials");
    let other = certificate(&[(DnType::CommonName, "laptop")], &[], &[]);
    let denied = identity.check(&ALL, &none, peer(Some(&other))).await.unwrap_err();
    assert_eq!((denied.status(), denied.grpc_code()), (StatusCode::FORBIDDEN, 7));
    let denied = identity.check(&ALL, &none, peer(Some(b"damaged"))).await.unwrap_err();
    assert_eq!(denied.reason(), "wrong_credentials");
}

#[tokio::test]
async fn a_token_of_the_provider_is_verified_with_keys_that_are_fetched_once() {
    let (answers, signer, now) = (Arc::<Answers>::default(), Signer::rsa("RS256"), Moment::now());
    answers.set(KEYS, &json!({"keys": [signer.jwk("k1")]}));
    let identity = identity(&answers);
    let claims = json!({"iss": "https://idp.example", "aud": ["kymo"], "sub": "ada",
        "exp": now.unix_secs + 300, "roles": ["read"]});
    let headers = bearer(&signer.token(&claims));
    assert!(identity.check_quickly(&ALL, &headers, peer(None)).is_none());
    for _ in 0..3 {
        let grant = identity.check_at(&ALL, &headers, peer(None), now).await.unwrap();
        assert_eq!((grant.name.as_str(), grant.method), ("ada", Some(Method::Oidc)));
    }
    assert!(identity.check_quickly(&ALL, &headers, peer(None)).unwrap().is_ok());
    assert_eq!(answers.asked(), [KEYS]);
    let expired = identity.check_at(&ALL, &headers, peer(None), now.plus_secs(361)).await;
    assert_eq!(expired.unwrap_err().reason(), "wrong_credentials");
}

#[tokio::test]
async fn a_new_key_is_found_within_a_minute_and_invented_ones_do_not_flood_the_provider() {
    let (answers, old, new) = (Arc::<Answers>::default(), Signer::p256(), Signer::ed25519());
    answers.set(KEYS, &json!({"keys": [old.jwk("k0")]}));
    let (identity, now) = (identity(&answers), Moment::now());
    let claims = json!({"iss": "https://idp.example", "aud": "kymo", "sub": "ada",
        "exp": now.unix_secs + 9000, "roles": "read"});
    let headers = bearer(&new.token(&claims));
    for _ in 0..5 {
        let denied = identity.check_at(&ALL, &headers, peer(None), now).await.unwrap_err();
        assert_eq!(denied.reason(), "wrong_credentials");
    }
    assert_eq!(answers.asked().len(), 1);
    answers.set(KEYS, &json!({"keys": [old.jwk("k0"), new.jwk("k1")]}));
    let later = now.plus_secs(60);
    assert!(identity.check_at(&ALL, &headers, peer(None), later).await.is_ok());
    // Keys stay while the provider is down.
    answers.clear();
    for much_later in [now.plus_secs(2000), now.plus_secs(8000)] {
        assert!(identity.check_at(&ALL, &headers, peer(None), much_later).await.is_ok());
    }
}

#[tokio::test]
async fn a_key_that_was_withdrawn_long_ago_is_not_accepted_once_more() {
    let (answers, old, new) = (Arc::<Answers>::default(), Signer::p256(), Signer::p256());
    answers.set(KEYS, &json!({"keys": [old.jwk("k1")]}));
    let (identity, now) = (identity(&answers), Moment::now());
    let claims = json!({"iss": "https://idp.example", "aud": "kymo", "sub": "ada",
        "exp": now.unix_secs + 9000, "roles": "read"});
    let headers = bearer(&old.token(&claims));
    assert!(identity.check_at(&ALL, &headers, peer(None), now).await.is_ok());
    answers.set(KEYS, &json!({"keys": [new.jwk("k2")]}));
    let later = now.plus_secs(3600);
    assert!(identity.check_at(&ALL, &headers, peer(None), later).await.is_err());
    assert_eq!(answers.asked().len(), 2);
}

#[tokio::test]
async fn while_the_providers_keys_are_missing_the_answer_is_to_come_again() {
    let (answers, now) = (Arc::<Answers>::default(), Moment::now());
    let identity = identity(&answers);
    let claims = json!({"iss": "https://idp.example", "aud": "kymo", "sub": "ada",
        "exp": now.unix_secs + 300, "roles": "read"});
    let headers = bearer(&Signer::p256().token(&claims));
    let denied = identity.check_at(&ALL, &headers, peer(None), now).await.unwrap_err();
    assert_eq!((denied.status(), denied.grpc_code()), (StatusCode::SERVICE_UNAVAILABLE, 14));
    assert!(identity.keys_problem().unwrap().contains("refused"));
}

#[tokio::test]
async fn a_valid_token_without_a_role_is_forbidden_rather_than_wrong() {
    let (answers, signer, now) = (Arc::<Answers>::default(), Signer::p384(), Moment::now());
    answers.set(KEYS, &json!({"keys": [signer.jwk("k1")]}));
    let claims = json!({"iss": "https://idp.example", "aud": "kymo", "sub": "ada",
        "exp": now.unix_secs + 300});
    let headers = bearer(&signer.token(&claims));
    let denied = identity(&answers).check_at(&ALL, &headers, peer(None), now).await.unwrap_err();
    assert_eq!(denied, Denied::NothingGranted { name: "ada".to_owned() });
}

#[tokio::test]
async fn no_secret_is_seen_in_anything_that_can_be_printed() {
    let (answers, signer, now) = (Arc::<Answers>::default(), Signer::p256(), Moment::now());
    answers.set(KEYS, &json!({"keys": [signer.jwk("k0")]}));
    let identity = identity(&answers);
    let mut book = TokenBook::new();
    let (token, record) = book.make(writer(), 1).unwrap();
    let secret_of_token = token.reveal().split_at(5 + 12 + 1).1.to_owned();
    let provider_token = signer.token(&json!({"iss": "https://idp.example", "aud": "kymo",
        "exp": now.unix_secs + 300, "sub": "ada"}));
    let signature = provider_token.rsplit('.').next().unwrap().to_owned();
    let mut seen = format!("{identity:?} {book:?} {record:?} {token:?}");
    seen += &format!("{:?}", kymo_yaml::from_str::<IdentitySettings>(SETTINGS).unwrap());
    for headers in [
        basic("ada", "Passw0rd-of-ada"),
        basic("Passw0rd-of-ada", "ada"),
        basic("ada", "Passw0rd-of-ada "),
        bearer(token.reveal()),
        bearer(&provider_token),
        header("Bearer Passw0rd-of-ada"),
        header("Basic Passw0rd-of-ada"),
    ] {
        let result = identity.check_at(&ALL, &headers, peer(None), now).await;
        let event = AuditEvent::login(&result, HERE);
        seen += &format!("{result:?} {event:?} {event} {}", event.to_json());
        if let Err(denied) = result {
            seen += &format!("{denied} {:?}", denied.headers());
        }
    }
    seen += &String::from_utf8(book.to_json().unwrap()).unwrap();
    seen += &identity.keys_problem().unwrap_or_default();
    for secret in ["Passw0rd-of-ada", &secret_of_token, &signature] {
        assert!(!seen.contains(secret), "{seen}");
    }
}

#[test]
fn wrong_settings_are_all_told() {
    let settings = "users: [{name: a, roles: []}]\nauth: [oidc]";
    let settings: IdentitySettings = kymo_yaml::from_str(settings).unwrap();
    let wrong = Identity::new(&settings, Arc::default(), None).unwrap_err();
    assert_eq!(wrong.len(), 3);
    let settings = kymo_yaml::from_str::<IdentitySettings>(SETTINGS).unwrap();
    let wrong = Identity::new(&settings, Arc::default(), None).unwrap_err();
    assert_eq!(wrong[0].key, "oidc");
}
