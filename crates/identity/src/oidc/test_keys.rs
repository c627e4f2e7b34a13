//! For tests: keys that sign, and a provider that answers.

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use serde_json::{Value, json};

use super::keys::{Fetch, FetchFuture};

/// A key of tests only, PKCS#1, made with `openssl genpkey`.
const RSA_KEY: &str = include_str!("test_rsa_key.b64");

/// A key that signs tokens.
pub(crate) enum Signer {
    Rsa(RsaKeyPair, &'static str),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// One of each algorithm.
pub(crate) fn all_signers() -> Vec<Signer> {
    let rsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map(Signer::rsa);
    rsa.into_iter().chain([Signer::p256(), Signer::p384(), Signer::ed25519()]).collect()
}

impl Signer {
    pub(crate) fn rsa(algorithm: &'static str) -> Self {
        let der = STANDARD.decode(RSA_KEY.split_whitespace().collect::<String>()).unwrap();
        Self::Rsa(RsaKeyPair::from_der(&der).unwrap(), algorithm)
    }

    pub(crate) fn p256() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    pub(crate) fn p384() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P384_SHA384_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P384(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_, algorithm) => algorithm,
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Rsa(..) => "RSA",
            Self::P256(_) => "P-256",
            Self::P384(_) => "P-384",
            Self::Ed25519(_) => "Ed25519",
        }
    }

    /// The public key, as providers publish it.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = |key: &EcdsaKeyPair| {
            let point = key.public_key().as_ref()[1..].to_vec();
            let (x, y) = point.split_at(point.len() / 2);
            json!({"kty": "EC", "crv": self.kind(), "x": encode(x), "y": encode(y)})
        };
        let mut jwk = match self {
            Self::Rsa(key, _) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
            Self::P256(key) | Self::P384(key) => point(key),
            Self::Ed25519(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref())})
            }
        };
        jwk["kid"] = json!(id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// A token signed with the key `k1`.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm(), "kid": "k1", "typ": "JWT"});
        self.token_of(&header, claims)
    }

    pub(crate) fn token_of(&self, header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn sign(&self, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key, algorithm) => {
                let encoding: &dyn RsaEncoding = match *algorithm {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(encoding, &random, signed, &mut signature).unwrap();
                signature
            }
            Self::P256(key) | Self::P384(key) => key.sign(&random, signed).unwrap().as_ref().into(),
            Self::Ed25519(key) => key.sign(signed).as_ref().into(),
        }
    }
}

/// A provider.
#[derive(Default)]
pub(crate) struct Answers {
    bodies: Mutex<HashMap<String, Bytes>>,
    asked: Mutex<Vec<String>>,
}

impl Answers {
    pub(crate) fn set(&self, url: &str, body: &Value) {
        self.bodies.lock().unwrap().insert(url.to_owned(), Bytes::from(body.to_string()));
    }

    /// It is down.
    pub(crate) fn clear(&self) {
        self.bodies.lock().unwrap().clear();
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Fetch for Answers {
    fn fetch<'a>(&'a self, url: &'a str) -> FetchFuture<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(url.to_owned());
            // As over a network, others come to run meanwhile.
            tokio::task::yield_now().await;
            self.bodies.lock().unwrap().get(url).cloned().ok_or_else(|| "refused".to_owned())
        })
    }
}
