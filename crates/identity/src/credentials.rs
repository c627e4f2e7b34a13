//! What a request presents: the header `Authorization`, taken apart.
//!
//! A scheme that the listener does not accept counts as nothing: it may be meant for a proxy on the
//! way. One that it accepts but cannot read is wrong, not absent; so is the header twice.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::limits::{MAX_AUTHORIZATION_BYTES, MAX_NAME_BYTES, MAX_PASSWORD_BYTES};
use crate::method::Method;
use crate::token::text::PREFIX;

/// Some clients leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a request presents.
#[derive(PartialEq, Eq)]
pub(crate) enum Presented<'a> {
    /// Nothing that the listener accepts.
    Nothing,
    /// A name and a password.
    Password { user: String, password: String },
    /// A token of ours.
    Token(&'a str),
    /// A token of an identity provider.
    ProviderToken(&'a str),
    /// Something that cannot be right; why, for the log.
    Wrong(&'static str),
}

impl<'a> Presented<'a> {
    /// Reads the header of a request to a listener that accepts some ways.
    pub(crate) fn of(headers: &'a HeaderMap, accepted: &[Method]) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Self::Nothing };
        let accepts = |method| accepted.contains(&method);
        if !accepts(Method::Basic) && !accepts(Method::Bearer) && !accepts(Method::Oidc) {
            return Self::Nothing;
        }
        if values.next().is_some() {
            return Self::Wrong("the header Authorization is there twice");
        }
        let Ok(value) = value.to_str() else { return Self::Wrong("not ASCII") };
        if value.len() > MAX_AUTHORIZATION_BYTES {
            return Self::Wrong("too long");
        }
        let (scheme, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let rest = rest.trim_start();
        if scheme.eq_ignore_ascii_case("basic") && accepts(Method::Basic) {
            return password(rest);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Self::Nothing;
        }
        match (accepts(Method::Bearer), accepts(Method::Oidc)) {
            (false, false) => Self::Nothing,
            (true, _) if rest.starts_with(PREFIX) => Self::Token(rest),
            (_, true) if !rest.starts_with(PREFIX) => Self::ProviderToken(rest),
            _ => Self::Wrong("a kind of token that is not accepted here"),
        }
    }
}

fn password(encoded: &str) -> Presented<'static> {
    const MALFORMED: Presented<'static> = Presented::Wrong("not a name and a password");
    let Ok(decoded) = BASE64.decode(encoded) else { return MALFORMED };
    let Ok(text) = String::from_utf8(decoded) else { return MALFORMED };
    match text.split_once(':') {
        Some((user, password))
            if user.len() <= MAX_NAME_BYTES && password.len() <= MAX_PASSWORD_BYTES =>
        {
            Presented::Password { user: user.to_owned(), password: password.to_owned() }
        }
        _ => MALFORMED,
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn presented(value: &str, accepted: &[Method]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        describe(&Presented::of(&headers, accepted))
    }

    fn describe(presented: &Presented<'_>) -> String {
        match presented {
            Presented::Nothing => "nothing".to_owned(),
            Presented::Password { user, password } => format!("{user} / {password}"),
            Presented::Token(token) => format!("token {token}"),
            Presented::ProviderToken(token) => format!("provider {token}"),
            Presented::Wrong(_) => "wrong".to_owned(),
        }
    }

    fn basic(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    #[test]
    fn a_password_may_have_colons_and_other_letters() {
        let basics = [Method::Basic];
        assert_eq!(presented(&basic("ada:a:b"), &basics), "ada / a:b");
        assert_eq!(presented(&basic("ada:\u{fc}"), &basics), "ada / \u{fc}");
        assert_eq!(presented(&basic("ada:xy").replace("Basic ", "bAsIc   "), &basics), "ada / xy");
        assert_eq!(presented(basic("ada:x").trim_end_matches('='), &basics), "ada / x");
        assert_eq!(presented(&basic(":"), &basics), " / ");
    }

    #[test]
    fn what_cannot_be_read_is_wrong_and_not_absent() {
        let basics = [Method::Basic];
        let long = basic(&format!("ada:{}", "x".repeat(MAX_PASSWORD_BYTES + 1)));
        for value in ["Basic", "Basic ", "Basic !", &basic("ada"), &long] {
            assert_eq!(presented(value, &basics), "wrong", "{value}");
        }
        let bytes = format!("Basic {}", STANDARD.encode([b'a', b':', 0xff]));
        assert_eq!(presented(&bytes, &basics), "wrong");
        let huge = format!("Bearer {}", "x".repeat(MAX_AUTHORIZATION_BYTES));
        assert_eq!(presented(&huge, &[Method::Oidc]), "wrong");
    }

    #[test]
    fn tokens_are_told_apart_by_their_beginning() {
        let both = [Method::Bearer, Method::Oidc];
        assert_eq!(presented("Bearer kymo_x", &both), "token kymo_x");
        assert_eq!(presented("bearer eyJ.a.b", &both), "provider eyJ.a.b");
        assert_eq!(presented("Bearer eyJ.a.b", &[Method::Bearer]), "wrong");
        assert_eq!(presented("Bearer kymo_x", &[Method::Oidc]), "wrong");
    }

    #[test]
    fn what_is_not_accepted_counts_as_nothing() {
        assert_eq!(presented(&basic("ada:x"), &[Method::Bearer]), "nothing");
        assert_eq!(presented("Bearer kymo_x", &[Method::Basic]), "nothing");
        assert_eq!(presented("Digest x", &[Method::Basic, Method::Bearer]), "nothing");
        assert_eq!(presented("Basic !", &[Method::ClientCertificate]), "nothing");
    }

    #[test]
    fn the_header_twice_is_wrong() {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, basic("ada:x").parse().unwrap());
        headers.append(AUTHORIZATION, basic("bob:x").parse().unwrap());
        assert_eq!(describe(&Presented::of(&headers, &[Method::Basic])), "wrong");
    }
}
