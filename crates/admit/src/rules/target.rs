//! Names of attributes in rules: where one is, and what it is called.

use kymo_wire::Signal;
use kymo_wire::remote_write::METRIC_NAME;

use super::error::Fault;

/// Where an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Resource,
    Scope,
    /// Of the record itself, whatever it is.
    Own,
    Span,
    Log,
    Label,
    Event,
    Link,
    Exemplar,
    /// `*`: wherever it is.
    Everywhere,
}

impl Place {
    /// What stands before the dot.
    const NAMES: [(&'static str, Self); 10] = [
        ("resource", Self::Resource),
        ("scope", Self::Scope),
        ("instrumentation", Self::Scope),
        ("span", Self::Span),
        ("log", Self::Log),
        ("label", Self::Label),
        ("event", Self::Event),
        ("link", Self::Link),
        ("exemplar", Self::Exemplar),
        ("", Self::Own),
    ];

    /// Whether records of a signal have it.
    pub(super) fn is_in(self, signal: Signal) -> bool {
        match self {
            Self::Resource | Self::Scope | Self::Own | Self::Everywhere => true,
            Self::Span | Self::Event | Self::Link => signal == Signal::Traces,
            Self::Log => signal == Signal::Logs,
            Self::Label | Self::Exemplar => signal == Signal::Metrics,
        }
    }

    /// Whether it is among what `level` has.
    pub(super) fn is_at(self, level: Level) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Resource => level == Level::Resource,
            Self::Scope => level == Level::Scope,
            Self::Own | Self::Span | Self::Log | Self::Label => level == Level::Own,
            Self::Event => level == Level::Event,
            Self::Link => level == Level::Link,
            Self::Exemplar => level == Level::Exemplar,
        }
    }
}

/// Lists of attributes that belong to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Resource,
    Scope,
    Own,
    Event,
    Link,
    Exemplar,
}

/// The keys that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keys {
    One(Box<[u8]>),
    /// `x*`.
    Beginning(Box<[u8]>),
}

impl Keys {
    pub(super) fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::One(one) => **one == *key,
            Self::Beginning(prefix) => key.starts_with(prefix),
        }
    }
}

/// Reads the name of one attribute.
pub(super) fn name(text: &str) -> Result<(Place, Box<[u8]>), Fault> {
    match pattern(text)? {
        (place, Keys::One(key)) => Ok((place, key)),
        (_, Keys::Beginning(_)) => Err(Fault::Star(text.to_owned())),
    }
}

/// Reads a name of which the end may be left open: `span.http.*`, or `*` for all attributes.
pub(super) fn pattern(text: &str) -> Result<(Place, Keys), Fault> {
    if text == "*" {
        return Ok((Place::Everywhere, Keys::Beginning(Box::default())));
    }
    let Some((scope, key)) = text.split_once('.') else {
        return Err(Fault::NoScope(text.to_owned()));
    };
    let place = Place::NAMES.into_iter().find(|(name, _)| *name == scope);
    let Some((_, place)) = place else { return Err(Fault::UnknownScope(text.to_owned())) };
    let keys = match quoted(key) {
        Some(key) => Keys::One(key.as_bytes().into()),
        None => match key.strip_suffix('*') {
            Some(prefix) => Keys::Beginning(prefix.as_bytes().into()),
            None => Keys::One(key.as_bytes().into()),
        },
    };
    match &keys {
        Keys::One(key) if key.is_empty() => Err(Fault::NoKey(text.to_owned())),
        Keys::One(key) if **key == *METRIC_NAME => Err(Fault::MetricName(text.to_owned())),
        _ => Ok((place, keys)),
    }
}

/// `"a b"` without its quotes: so a key may end with a star.
fn quoted(key: &str) -> Option<&str> {
    key.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(key: &str) -> Keys {
        Keys::One(key.as_bytes().into())
    }

    #[test]
    fn what_is_before_the_first_dot_says_where() {
        assert_eq!(pattern("resource.service.name"), Ok((Place::Resource, one("service.name"))));
        assert_eq!(pattern(".a b"), Ok((Place::Own, one("a b"))));
        assert_eq!(pattern("instrumentation.x"), Ok((Place::Scope, one("x"))));
        assert_eq!(pattern("span.\"x*\""), Ok((Place::Span, one("x*"))));
        let open = Keys::Beginning(b"http.".as_slice().into());
        assert_eq!(pattern("span.http.*"), Ok((Place::Span, open)));
        assert_eq!(pattern("*").map(|(place, _)| place), Ok(Place::Everywhere));
    }

    #[test]
    fn what_names_no_attribute_is_refused() {
        assert_eq!(pattern("system"), Err(Fault::NoScope("system".to_owned())));
        assert_eq!(pattern("spam.x"), Err(Fault::UnknownScope("spam.x".to_owned())));
        assert_eq!(pattern("span."), Err(Fault::NoKey("span.".to_owned())));
        assert_eq!(name("span.x*"), Err(Fault::Star("span.x*".to_owned())));
        assert_eq!(pattern("label.__name__"), Err(Fault::MetricName("label.__name__".to_owned())));
    }
}
