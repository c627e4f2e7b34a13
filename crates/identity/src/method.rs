//! Ways to say who one is, and the lists of them that listeners accept.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

/// A way to say who one is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, DeriveDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A name and a password, `Authorization: Basic …`.
    Basic,
    /// A token of ours, `Authorization: Bearer kymo_…`.
    Bearer,
    /// The certificate of the connection.
    ClientCertificate,
    /// A token of an identity provider, `Authorization: Bearer eyJ…`.
    Oidc,
}

impl Method {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Bearer => "bearer",
            Self::ClientCertificate => "client-certificate",
            Self::Oidc => "oidc",
        }
    }

    /// What is to be sent, for people.
    #[must_use]
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Basic => "a user name and password",
            Self::Bearer => "a token in the header Authorization: Bearer",
            Self::ClientCertificate => "a client certificate",
            Self::Oidc => "a token of the identity provider in the header Authorization: Bearer",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a listener accepts, any of it. Nothing means that nobody is asked.
///
/// In settings a list, or one word; `open` and the empty list are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Methods(Vec<Method>);

impl Methods {
    /// These, each once.
    #[must_use]
    pub fn new(methods: impl IntoIterator<Item = Method>) -> Self {
        let mut kept = Vec::new();
        for method in methods {
            if !kept.contains(&method) {
                kept.push(method);
            }
        }
        Self(kept)
    }

    /// Whether nobody is asked.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Them, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Method] {
        &self.0
    }
}

impl std::ops::Deref for Methods {
    type Target = [Method];

    fn deref(&self) -> &[Method] {
        &self.0
    }
}

/// A word in the list.
#[derive(DeriveDeserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Open,
    Basic,
    Bearer,
    ClientCertificate,
    Oidc,
}

impl Word {
    fn method(self) -> Option<Method> {
        match self {
            Self::Open => None,
            Self::Basic => Some(Method::Basic),
            Self::Bearer => Some(Method::Bearer),
            Self::ClientCertificate => Some(Method::ClientCertificate),
            Self::Oidc => Some(Method::Oidc),
        }
    }
}

impl<'de> Deserialize<'de> for Methods {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MethodsVisitor)
    }
}

struct MethodsVisitor;

impl<'de> Visitor<'de> for MethodsVisitor {
    type Value = Methods;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of basic, bearer, client-certificate, oidc, or the word open")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Methods, E> {
        let word = Word::deserialize(de::value::StrDeserializer::<E>::new(word))?;
        Ok(Methods::new(word.method()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Methods, E> {
        // An empty value could be a variable that was forgotten; open has to be said.
        Err(E::custom("it is empty; write [] or open where nobody is to be asked"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Methods, A::Error> {
        let (mut methods, mut is_open) = (Vec::new(), false);
        while let Some(word) = list.next_element::<Word>()? {
            match word.method() {
                Some(method) => methods.push(method),
                None => is_open = true,
            }
        }
        if is_open && !methods.is_empty() {
            let why = "open stands alone: with it nobody is asked, whatever else is listed";
            return Err(de::Error::custom(why));
        }
        Ok(Methods::new(methods))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, DeriveDeserialize)]
    struct Settings {
        auth: Methods,
    }

    fn read(text: &str) -> Result<Vec<Method>, String> {
        kymo_yaml::from_str::<Settings>(text)
            .map(|settings| settings.auth.to_vec())
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_list_a_word_and_open_are_read() {
        let both = vec![Method::ClientCertificate, Method::Basic];
        assert_eq!(read("auth: [client-certificate, basic, basic]"), Ok(both));
        assert_eq!(read("auth: oidc"), Ok(vec![Method::Oidc]));
        for open in ["auth: []", "auth: open", "auth: [open]"] {
            assert_eq!(read(open), Ok(vec![]), "{open}");
        }
    }

    #[test]
    fn nothing_is_open_by_mistake() {
        assert!(read("auth:").is_err());
        assert!(read("auth: [open, basic]").unwrap_err().contains("alone"));
        assert!(read("auth: [bearr]").unwrap_err().contains("bearer"));
        assert!(read("auth: false").is_err());
    }
}
