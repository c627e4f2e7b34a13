//! Parameters of a request: `a=1&b=two+words`, from its URL or from a form in its body.
//!
//! A name may come repeatedly. An empty value is as good as none. What cannot be decoded is refused
//! rather than guessed, and so is a value that is not what its name stands for: all APIs say that
//! in the same words, those of [`invalid`].

use std::collections::HashSet;
use std::str::FromStr;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Uri};

use crate::times::{self, DURATION, TIME};

/// Names and values, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a URL.
    pub(crate) fn of(uri: &Uri) -> Result<Self, String> {
        Self::parse(uri.query().unwrap_or(""))
    }

    /// Those of a form.
    pub(crate) fn of_form(body: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(body);
        Self::parse(text.map_err(|_| "the form is not UTF-8: encode it".to_owned())?)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        pairs.collect::<Result<_, String>>().map(Self)
    }

    /// These and, after them, others.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(given, value)| given == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// The first value of a name.
    pub(crate) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Names that are none of these, each with its first value.
    pub(crate) fn others(&self, names: &[&str]) -> Vec<(String, String)> {
        let mut seen: HashSet<&str> = names.iter().copied().collect();
        let others = self.0.iter().filter(|(name, value)| !value.is_empty() && seen.insert(name));
        others.cloned().collect()
    }

    /// The first of two names that has a value: some may be spelled in two ways.
    pub(crate) fn either<'a>(&self, name: &'a str, other: &'a str) -> &'a str {
        if self.get(name).is_some() { name } else { other }
    }

    /// A text; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A whole number.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        self.read(name, "a whole number", |text| {
            text.parse().ok().filter(|_| !text.starts_with('+'))
        })
    }

    /// Whether a switch is on.
    pub(crate) fn switch(&self, name: &str) -> Result<bool, String> {
        let switch = self.read(name, "true or false", |text| match text {
            "true" | "1" | "t" | "T" | "True" | "TRUE" => Some(true),
            "false" | "0" | "f" | "F" | "False" | "FALSE" => Some(false),
            _ => None,
        })?;
        Ok(switch.unwrap_or(false))
    }

    /// A duration, in nanoseconds.
    pub(crate) fn duration(&self, name: &str) -> Result<Option<i64>, String> {
        self.read(name, DURATION, times::duration)
    }

    /// A moment as RFC 3339 has it, in nanoseconds since 1970.
    pub(crate) fn time(&self, name: &str) -> Result<Option<i64>, String> {
        self.read(name, TIME, times::rfc3339)
    }

    /// A value of any other kind: `expected` says which.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        parse(value).map(Some).ok_or_else(|| invalid(name, expected, value))
    }
}

/// Whether the body of a request is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let form = b"application/x-www-form-urlencoded";
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(form))
}

/// What is said of a value that is not what it should be.
pub(crate) fn invalid(name: &str, expected: &str, value: &str) -> String {
    format!("invalid {name}: expected {expected}, not {}", quoted(value))
}

/// A value as an error shows it: not all of it if it is long.
pub(crate) fn quoted(value: &str) -> String {
    const SHOWN: usize = 60;
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// Text of a URL's query: `+` is a space, `%41` is a byte.
fn decoded(text: &str) -> Result<String, String> {
    if !text.contains(['+', '%']) {
        return Ok(text.to_owned());
    }
    let hex = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digits = (bytes.next().and_then(hex), bytes.next().and_then(hex));
                let (Some(high), Some(low)) = digits else {
                    return Err(format!(
                        "invalid URL escape in {}: two hexadecimal digits must follow a %",
                        quoted(text)
                    ));
                };
                out.push(high << 4 | low);
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).map_err(|_| format!("the parameter {} is not UTF-8", quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Parameters {
        Parameters::of(&format!("/x?{text}").parse().unwrap()).unwrap()
    }

    #[test]
    fn values_are_decoded_and_the_first_is_taken() {
        let url = parameters("q=%7B%20name+%3D+%22%C3%A9%22%7D&limit=5&limit=6&x&e=");
        assert_eq!(url.get("q"), Some("{ name = \"é\"}"));
        assert_eq!(url.number("limit"), Ok(Some(5_u32)));
        let both = url.and(Parameters::of_form(b"more=1&limit=7").unwrap());
        assert_eq!(both.get("more"), Some("1"));
        assert_eq!(both.all("limit").collect::<Vec<_>>(), ["5", "6", "7"]);
        assert_eq!(Parameters::of(&"/x".parse().unwrap()), Ok(Parameters::default()));
    }

    #[test]
    fn empty_values_are_none() {
        let parameters = parameters("a=&b=1%202+3&tag=x&tag=&tag=y&x&c=&c=2");
        assert_eq!(parameters.get("a"), None);
        assert_eq!(parameters.get("x"), None);
        assert_eq!(parameters.text("a"), "");
        assert_eq!(parameters.number::<u32>("a"), Ok(None));
        assert_eq!(parameters.switch("a"), Ok(false));
        assert_eq!(parameters.get(parameters.either("a", "b")), Some("1 2 3"));
        assert_eq!(parameters.either("b", "tag"), "b");
        assert_eq!(parameters.all("tag").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(parameters.get("c"), Some("2"));
    }

    #[test]
    fn what_cannot_be_decoded_is_refused() {
        for bad in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Parameters::parse(bad).is_err(), "{bad}");
        }
        assert!(Parameters::of_form(b"a=\xff").unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_bad_value_is_named_with_what_is_expected() {
        let parameters = parameters("n=five&d=5&t=yesterday&s=perhaps");
        let messages = [
            parameters.number::<i64>("n").unwrap_err(),
            parameters.duration("d").unwrap_err(),
            parameters.time("t").unwrap_err(),
            parameters.switch("s").unwrap_err(),
        ];
        for (message, words) in messages.iter().zip([
            ["invalid n", "whole number", "\"five\""],
            ["invalid d", "duration", "\"5\""],
            ["invalid t", "2026-01-02", "\"yesterday\""],
            ["invalid s", "true or false", "\"perhaps\""],
        ]) {
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
        assert!(quoted(&"é".repeat(1000)).len() < 200);
    }

    #[test]
    fn whole_numbers_are_digits() {
        for bad in ["-1", "+1", "1.5", "ten", "99999999999999999999"] {
            let parameters = Parameters(vec![("limit".to_owned(), bad.to_owned())]);
            let error = parameters.number::<u64>("limit").unwrap_err();
            assert!(error.starts_with("invalid limit") && error.contains(bad), "{error}");
        }
        assert_eq!(parameters("n=-1").number::<i64>("n"), Ok(Some(-1)));
    }
}
