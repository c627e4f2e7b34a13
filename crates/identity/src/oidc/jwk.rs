//! Public keys of a provider (JSON Web Key Sets, RFC 7517), and signatures made with them.
//!
//! A key is used for the algorithms of its kind only: what a token says of its algorithm cannot turn
//! an RSA key into something else. Keys that are for encryption, of kinds that are not known, or
//! damaged are left out; the others of the set stay.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::{Algorithm, Jwt};
use crate::limits::{MAX_KEYS, MAX_KEYS_BYTES};

/// Why a signature is not accepted, for the log only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) &'static str);

impl Refused {
    /// None of the keys could have made it.
    pub(crate) const UNKNOWN_KEY: &str = "signed with a key that is not known";
    /// It is not that of the token.
    pub(crate) const WRONG: &str = "the signature is wrong";
}

/// The keys of a provider.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, if the provider says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

/// A key as it is written. What a kind has not is empty.
#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

impl KeySet {
    /// Reads a set; none if it is no set, or has no key that could be used.
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        if json.len() > MAX_KEYS_BYTES {
            return None;
        }
        let document: Document = serde_json::from_slice(json).ok()?;
        let written = document.keys.into_iter().take(MAX_KEYS);
        let written = written.filter_map(|key| serde_json::from_value::<Written>(key).ok());
        let keys: Vec<Key> = written.filter_map(Key::of).collect();
        (!keys.is_empty()).then_some(Self { keys })
    }

    /// Whether the signature of a token was made with one of them: with the one that it names, or,
    /// if it names none, with any.
    pub(crate) fn verify(&self, token: &Jwt<'_>) -> Result<(), Refused> {
        let could_be = |key: &&Key| {
            let is_named = match (&token.key_id, &key.id) {
                (Some(wanted), Some(id)) => wanted == id,
                _ => true,
            };
            is_named && key.is_for(token.algorithm)
        };
        let mut refused = Refused(Refused::UNKNOWN_KEY);
        for key in self.keys.iter().filter(could_be) {
            if key.verify(token) {
                return Ok(());
            }
            refused = Refused(Refused::WRONG);
        }
        Err(refused)
    }
}

impl Key {
    fn of(written: Written) -> Option<Self> {
        let is_for_signatures = written.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && written.key_ops.as_ref().is_none_or(|uses| uses.iter().any(|it| it == "verify"));
        let algorithm = match &written.alg {
            None => None,
            Some(name) => Some(Algorithm::of(name)?),
        };
        let material = Material::of(&written)?;
        is_for_signatures.then_some(Self { id: written.kid, algorithm, material })
    }

    fn is_for(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let is_of_kind = match self.material {
            Material::Rsa { .. } => {
                matches!(algorithm, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512)
            }
            Material::P256(_) => algorithm == Es256,
            Material::P384(_) => algorithm == Es384,
            Material::Ed25519(_) => algorithm == EdDsa,
        };
        is_of_kind && self.algorithm.is_none_or(|only| only == algorithm)
    }

    fn verify(&self, token: &Jwt<'_>) -> bool {
        let (signed, signature) = (token.signed.as_bytes(), token.signature.as_slice());
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(signed, signature).is_ok()
        };
        match &self.material {
            Material::Rsa { modulus, exponent } => {
                let Some(parameters) = rsa(token.algorithm) else { return false };
                let key = PublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, signed, signature).is_ok()
            }
            Material::P256(point) => by(&ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => by(&ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(key) => by(&ED25519, key),
        }
    }
}

impl Material {
    fn of(written: &Written) -> Option<Self> {
        let decode = |text: &str| {
            let text = text.trim_end_matches('=');
            URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| !bytes.is_empty())
        };
        match (written.kty.as_str(), written.crv.as_deref()) {
            ("RSA", _) => Some(Self::Rsa {
                modulus: without_leading_zeros(decode(&written.n)?),
                exponent: without_leading_zeros(decode(&written.e)?),
            }),
            ("EC", Some("P-256")) => {
                point::<32>(&decode(&written.x)?, &decode(&written.y)?).map(Self::P256)
            }
            ("EC", Some("P-384")) => {
                point::<48>(&decode(&written.x)?, &decode(&written.y)?).map(Self::P384)
            }
            ("OKP", Some("Ed25519")) => {
                decode(&written.x).filter(|key| key.len() == 32).map(Self::Ed25519)
            }
            _ => None,
        }
    }
}

/// A point on a curve in the form that is verified with: 4, both coordinates.
fn point<const SIZE: usize>(x: &[u8], y: &[u8]) -> Option<Vec<u8>> {
    let has_size = x.len() == SIZE && y.len() == SIZE;
    has_size.then(|| [&[4], x, y].concat())
}

fn without_leading_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
        Algorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
        Algorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test_keys::{Signer, all_signers};
    use super::*;

    fn verify(keys: &[Value], token: &str) -> Result<(), Refused> {
        let set = KeySet::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap();
        set.verify(&Jwt::read(token).unwrap())
    }

    #[test]
    fn signatures_of_each_algorithm_are_verified() {
        for signer in all_signers() {
            let token = signer.token(&json!({"sub": "ada"}));
            assert_eq!(verify(&[signer.jwk("k1")], &token), Ok(()), "{}", signer.algorithm());
        }
    }

    /// Made by Python's `cryptography`, so that ours is not only right by itself.
    #[test]
    fn signatures_of_another_program_are_verified() {
        let json = include_str!("test_foreign_tokens.json");
        let made: Vec<Value> = serde_json::from_str(json).unwrap();
        assert_eq!(made.len(), 9);
        for made in made {
            let token = made["token"].as_str().unwrap();
            assert_eq!(verify(&[made["jwk"].clone()], token), Ok(()), "{}", made["jwk"]["alg"]);
        }
    }

    /// The example of RFC 7515, appendix A.3.
    #[test]
    fn the_example_of_the_specification_is_verified() {
        let key = json!({"kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let token = "eyJhbGciOiJFUzI1NiJ9.\
            eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
            DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        assert_eq!(verify(&[key], token), Ok(()));
    }

    #[test]
    fn a_token_that_was_changed_is_refused() {
        for signer in all_signers() {
            let token = signer.token(&json!({"sub": "ada"}));
            let other = signer.token(&json!({"sub": "eve"}));
            let parts: Vec<&str> = token.split('.').collect();
            let others: Vec<&str> = other.split('.').collect();
            let mixed = format!("{}.{}.{}", parts[0], others[1], parts[2]);
            let wrong = Err(Refused(Refused::WRONG));
            assert_eq!(verify(&[signer.jwk("k1")], &mixed), wrong, "{}", signer.algorithm());
            let unsigned = format!("{}.{}.", parts[0], parts[1]);
            assert_eq!(verify(&[signer.jwk("k1")], &unsigned), wrong, "{}", signer.algorithm());
        }
    }

    #[test]
    fn the_key_that_a_token_names_is_the_one_that_counts() {
        let (signer, other) = (Signer::p256(), Signer::p256());
        let token = signer.token(&json!({}));
        assert_eq!(verify(&[other.jwk("k0"), signer.jwk("k1")], &token), Ok(()));
        let unknown = Err(Refused(Refused::UNKNOWN_KEY));
        assert_eq!(verify(&[signer.jwk("k2")], &token), unknown);
        assert_eq!(verify(&[other.jwk("k1")], &token), Err(Refused(Refused::WRONG)));
        let unnamed = signer.token_of(&json!({"alg": "ES256"}), &json!({}));
        assert_eq!(verify(&[other.jwk("k0"), signer.jwk("k2")], &unnamed), Ok(()));
    }

    #[test]
    fn an_algorithm_must_fit_the_kind_of_the_key() {
        let signers = all_signers();
        for signer in &signers {
            let token = signer.token(&json!({}));
            for other in signers.iter().filter(|other| other.kind() != signer.kind()) {
                let found = verify(&[other.jwk("k1")], &token);
                assert_eq!(found, Err(Refused(Refused::UNKNOWN_KEY)));
            }
        }
        let signer = Signer::rsa("RS256");
        let mut only_pss = signer.jwk("k1");
        only_pss["alg"] = json!("PS256");
        let found = verify(&[only_pss], &signer.token(&json!({})));
        assert_eq!(found, Err(Refused(Refused::UNKNOWN_KEY)));
    }

    #[test]
    fn keys_for_other_ends_and_damaged_ones_are_left_out() {
        let good = Signer::p256().jwk("k1");
        let with = |name: &str, value: Value| {
            let mut key = good.clone();
            key[name] = value;
            key
        };
        for key in [
            with("use", json!("enc")),
            with("key_ops", json!(["sign"])),
            with("alg", json!("HS256")),
            with("crv", json!("P-521")),
            with("x", json!("AAAA")),
            with("y", json!("!")),
            with("kty", json!("oct")),
            json!({"kty": "oct", "k": "AAAA", "kid": "k1", "alg": "HS256"}),
            json!("key"),
        ] {
            let json = json!({ "keys": [key] }).to_string();
            assert!(KeySet::read(json.as_bytes()).is_none(), "{json}");
            let json = json!({ "keys": [key, good] }).to_string();
            assert_eq!(KeySet::read(json.as_bytes()).unwrap().keys.len(), 1);
        }
        for json in ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
            assert!(KeySet::read(json.as_bytes()).is_none());
        }
    }
}
