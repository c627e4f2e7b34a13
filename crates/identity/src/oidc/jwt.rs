//! A JSON Web Token (RFC 7519, in the compact form of RFC 7515), read and not yet trusted.
//!
//! Refused at once: tokens without a signature, those signed with a shared secret (`HS256`, …),
//! those with extensions that must be understood (`crit`), and those that say that they are
//! something else than a token for access.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits::MAX_AUTHORIZATION_BYTES;

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    const ALL: [(&str, Self); 9] = [
        ("RS256", Self::Rs256),
        ("RS384", Self::Rs384),
        ("RS512", Self::Rs512),
        ("PS256", Self::Ps256),
        ("PS384", Self::Ps384),
        ("PS512", Self::Ps512),
        ("ES256", Self::Es256),
        ("ES384", Self::Es384),
        ("EdDSA", Self::EdDsa),
    ];

    /// What a name means. `none` and shared secrets have none here.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }
}

/// A token.
pub(crate) struct Jwt<'a> {
    pub(crate) algorithm: Algorithm,
    /// Which of the provider's keys it is signed with.
    pub(crate) key_id: Option<String>,
    /// What is signed.
    pub(crate) signed: &'a str,
    pub(crate) signature: Vec<u8>,
    pub(crate) claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'a> Jwt<'a> {
    /// Reads a token. The error is for the log only.
    pub(crate) fn read(text: &'a str) -> Result<Self, &'static str> {
        const MALFORMED: &str = "not a token of an identity provider";
        if text.len() > MAX_AUTHORIZATION_BYTES {
            return Err("too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| "a header that is not known")?;
        if header.crit.is_some() {
            return Err("it has extensions that are not known");
        }
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return Err("it is for something else than access");
        }
        let algorithm = Algorithm::of(&header.alg).ok_or("an algorithm that is not accepted")?;
        let claims = serde_json::from_slice(&decode(claims)?).map_err(|_| MALFORMED)?;
        let signature = decode(signature)?;
        Ok(Self { algorithm, key_id: header.kid, signed, signature, claims })
    }

    /// Whether a text has the form of one, for whoever must tell it from other texts.
    pub(crate) fn is_meant(text: &str) -> bool {
        let is_part = |part: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !part.is_empty() && part.bytes().all(is_letter)
        };
        // Each header is a JSON object, `{"`.
        text.starts_with("eyJ") && text.split('.').count() == 3 && text.split('.').all(is_part)
    }
}

/// The types that tokens for access and for identity have; providers write them in many ways.
fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", encode(header), encode(claims), encode("signature"))
    }

    #[test]
    fn a_token_is_taken_apart() {
        let text = token(r#"{"alg":"ES256","kid":"k","typ":"at+jwt"}"#, r#"{"sub":"ada"}"#);
        let jwt = Jwt::read(&text).unwrap();
        assert_eq!((jwt.algorithm, jwt.key_id.as_deref()), (Algorithm::Es256, Some("k")));
        assert_eq!(jwt.claims["sub"], "ada");
        assert_eq!(jwt.signature, b"signature");
        assert_eq!(format!("{}.{}", jwt.signed, URL_SAFE_NO_PAD.encode("signature")), text);
        assert!(Jwt::is_meant(&text));
    }

    #[test]
    fn no_signature_and_shared_secrets_are_refused() {
        for algorithm in ["none", "None", "NONE", "HS256", "HS384", "HS512", "RS1", "ES256K", ""] {
            let text = token(&format!(r#"{{"alg":"{algorithm}"}}"#), "{}");
            assert!(Jwt::read(&text).is_err(), "{algorithm}");
        }
    }

    #[test]
    fn tokens_for_other_ends_and_with_unknown_extensions_are_refused() {
        for header in [
            r#"{"alg":"ES256","typ":"logout+jwt"}"#,
            r#"{"alg":"ES256","typ":"dpop+jwt"}"#,
            r#"{"alg":"ES256","crit":["b64"],"b64":false}"#,
            r#"{"kid":"x"}"#,
            "[]",
        ] {
            assert!(Jwt::read(&token(header, "{}")).is_err(), "{header}");
        }
    }

    #[test]
    fn other_texts_are_no_tokens() {
        let good = token(r#"{"alg":"ES256"}"#, "{}");
        for text in ["", ".", "..", "a.b.c", &format!("{good}.x"), &good.replace('.', "")] {
            assert!(Jwt::read(text).is_err(), "{text}");
        }
        assert!(Jwt::read(&token(r#"{"alg":"ES256"}"#, "[]")).is_err());
        assert!(Jwt::read(&token(r#"{"alg":"ES256"}"#, &"x".repeat(20_000))).is_err());
        for text in ["", "eyJ", "eyJ.a", "eyJ.a.", "a.b.c", "eyJ.a.b c"] {
            assert!(!Jwt::is_meant(text), "{text}");
        }
    }
}
