//! What a token says, whether that holds here and now, and what it grants.
//!
//! A token must be of our provider, for us, and valid at this time; one without an end is refused.
//! Roles and tenants come from the claims that the settings name. A name with dots is first looked
//! for as it is (`https://example/roles`), then level by level (`realm_access.roles`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Verdict;
use crate::grant::Grant;
use crate::limits::{CLOCK_LEEWAY_SECS, MAX_NAME_BYTES};
use crate::method::Method;
use crate::role::{Role, Tenants};
use crate::settings::OidcSettings;

/// Whether a token is of our provider, for us, and valid now. The error is for the log only.
pub(crate) fn check(
    claims: &Map<String, Value>,
    settings: &OidcSettings,
    now_unix_secs: u64,
) -> Result<(), &'static str> {
    if claims.get("iss").and_then(Value::as_str) != Some(settings.issuer.as_str()) {
        return Err("another issuer");
    }
    let is_for_us = match claims.get("aud") {
        Some(Value::String(audience)) => *audience == settings.audience,
        Some(Value::Array(audiences)) => {
            audiences.iter().any(|audience| audience.as_str() == Some(settings.audience.as_str()))
        }
        _ => false,
    };
    if !is_for_us {
        return Err("another audience");
    }
    // Dates may have fractions (RFC 7519); doubles are exact for more years than matter.
    let now = now_unix_secs as f64;
    let leeway = CLOCK_LEEWAY_SECS as f64;
    let expires = claims.get("exp").and_then(Value::as_f64).ok_or("it never expires")?;
    if expires + leeway <= now {
        return Err("expired");
    }
    match claims.get("nbf") {
        None | Some(Value::Null) => Ok(()),
        Some(begins) if begins.as_f64().is_some_and(|begins| begins <= now + leeway) => Ok(()),
        Some(_) => Err("not valid yet"),
    }
}

/// What a token grants whose signature is right.
pub(crate) fn granted(claims: &Map<String, Value>, settings: &OidcSettings) -> Verdict {
    let name = match claim(claims, &settings.user_claim).and_then(Value::as_str) {
        Some(name) if !name.is_empty() && name.len() <= MAX_NAME_BYTES => name.to_owned(),
        _ => return Verdict::Wrong("it does not say whose it is"),
    };
    let roles = roles(&texts(claim(claims, &settings.roles_claim)), settings);
    let tenants = match &settings.tenants_claim {
        None => settings.tenants.clone(),
        Some(name) => {
            let names = texts(claim(claims, name));
            Tenants::from(names.into_iter().map(str::to_owned).collect::<Vec<_>>())
        }
    };
    if roles.is_empty() || tenants.check().is_err() {
        return Verdict::NothingGranted(name);
    }
    Verdict::Right(Grant { name, roles, tenants, method: Some(Method::Oidc) })
}

/// What the provider's roles are here. Those that nobody translated are not ours.
fn roles(names: &[&str], settings: &OidcSettings) -> BTreeSet<Role> {
    if settings.roles.is_empty() {
        return names.iter().filter_map(|name| Role::of(name)).collect();
    }
    names.iter().filter_map(|name| settings.roles.get(*name)).flatten().copied().collect()
}

fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    claim(claims.get(first)?.as_object()?, rest)
}

/// A list of texts; or a text with spaces between them, as `scope` has it.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split_whitespace().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn settings(more: &str) -> OidcSettings {
        let text = format!("issuer: https://idp.example\naudience: kymo\n{more}");
        kymo_yaml::from_str(&text).unwrap()
    }

    fn checked(change: impl Fn(&mut Map<String, Value>)) -> Result<(), &'static str> {
        let claims = json!({"iss": "https://idp.example", "aud": "kymo", "exp": NOW + 300});
        let mut claims = claims.as_object().unwrap().clone();
        change(&mut claims);
        check(&claims, &settings(""), NOW)
    }

    fn with(name: &str, value: Value) -> Result<(), &'static str> {
        checked(|claims| {
            claims.insert(name.to_owned(), value.clone());
        })
    }

    #[test]
    fn issuer_and_audience_must_be_ours() {
        assert_eq!(checked(|_| {}), Ok(()));
        assert_eq!(with("aud", json!(["other", "kymo"])), Ok(()));
        for issuer in [json!("https://idp.example/"), json!("https://evil.example"), json!(1)] {
            assert_eq!(with("iss", issuer), Err("another issuer"));
        }
        for audience in [json!("other"), json!(["other"]), json!([]), json!(null), json!("kymo2")] {
            assert_eq!(with("aud", audience), Err("another audience"));
        }
        for name in ["iss", "aud", "exp"] {
            assert!(checked(|claims| drop(claims.remove(name))).is_err(), "{name}");
        }
    }

    #[test]
    fn times_are_kept_with_a_minute_of_leeway() {
        assert_eq!(with("exp", json!(NOW - 59)), Ok(()));
        assert_eq!(with("exp", json!(NOW as f64 + 0.5)), Ok(()));
        assert_eq!(with("exp", json!(NOW - 60)), Err("expired"));
        assert_eq!(with("exp", json!("never")), Err("it never expires"));
        assert_eq!(with("nbf", json!(NOW + 60)), Ok(()));
        assert_eq!(with("nbf", json!(NOW + 61)), Err("not valid yet"));
        assert_eq!(with("nbf", json!("soon")), Err("not valid yet"));
    }

    fn grant_of(claims: Value, more: &str) -> Option<Grant> {
        match granted(claims.as_object().unwrap(), &settings(more)) {
            Verdict::Right(grant) => Some(grant),
            _ => None,
        }
    }

    #[test]
    fn roles_are_ours_by_name_or_by_translation() {
        let grant = grant_of(json!({"sub": "ada", "roles": ["read", "x"]}), "").unwrap();
        assert_eq!(grant.roles, BTreeSet::from([Role::Read]));
        assert_eq!(grant.tenants, Tenants::All);
        let translated = "roles: {staff: [read, write]}\nroles_claim: realm_access.roles";
        let claims = json!({"sub": "ada", "realm_access": {"roles": ["staff", "admin"]}});
        let grant = grant_of(claims, translated).unwrap();
        assert_eq!(grant.roles, BTreeSet::from([Role::Read, Role::Write]));
        let claims = json!({"sub": "ada", "https://x.example/roles": "admin other"});
        let grant = grant_of(claims, "roles_claim: 'https://x.example/roles'").unwrap();
        assert_eq!(grant.roles, BTreeSet::from([Role::Admin]));
    }

    #[test]
    fn tenants_are_those_of_the_claim_if_there_is_to_be_one() {
        let claims = json!({"sub": "ada", "roles": "read", "org": ["a", "b"]});
        let grant = grant_of(claims, "tenants_claim: org").unwrap();
        assert!(grant.may(Role::Read, "a") && !grant.may(Role::Read, "c"));
        for org in [json!(null), json!([]), json!(["a*"]), json!({"a": 1})] {
            let claims = json!({"sub": "ada", "roles": "read", "org": org});
            assert_eq!(grant_of(claims, "tenants_claim: org"), None, "{org}");
        }
        let grant = grant_of(json!({"sub": "ada", "roles": "read"}), "tenants: [a]").unwrap();
        assert_eq!(grant.tenant(None), Ok("a"));
    }

    #[test]
    fn nobody_and_who_has_no_role_get_nothing() {
        for claims in [
            json!({"roles": "read"}),
            json!({"sub": "", "roles": "read"}),
            json!({"sub": "x".repeat(257), "roles": "read"}),
            json!({"sub": "ada"}),
            json!({"sub": "ada", "roles": ["unknown"]}),
            json!({"sub": "ada", "roles": {"read": true}}),
        ] {
            assert_eq!(grant_of(claims.clone(), ""), None, "{claims}");
        }
    }
}
