//! Parameters of a request: names and values of its query string. An empty value is as good as
//! none.

use axum::extract::Query;
use http::Uri;

use super::times;

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn of(uri: &Uri) -> Result<Self, String> {
        match Query::try_from_uri(uri) {
            Ok(Query(pairs)) => Ok(Self(pairs)),
            Err(error) => Err(format!("the query string cannot be read: {error}")),
        }
    }

    /// The first value under one of these names, and the name it has.
    pub(super) fn get<'a>(&'a self, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
        names.iter().find_map(|name| self.all(name).next().map(|value| (*name, value)))
    }

    /// All values under a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(key, value)| key == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// A text; empty if there is none.
    pub(super) fn text(&self, names: &[&'static str]) -> String {
        self.get(names).map(|(_, value)| value.to_owned()).unwrap_or_default()
    }

    /// A whole number.
    pub(super) fn number(&self, names: &[&'static str]) -> Result<Option<i64>, String> {
        self.read(names, "a whole number", |text| text.parse().ok())
    }

    /// A duration as Go writes it, in nanoseconds.
    pub(super) fn duration(&self, names: &[&'static str]) -> Result<Option<i64>, String> {
        self.read(names, "a duration such as 1.5s, 200ms or 1h30m", times::duration)
    }

    /// A moment as RFC 3339 has it, in nanoseconds since 1970.
    pub(super) fn time(&self, names: &[&'static str]) -> Result<Option<i64>, String> {
        self.read(names, "a time such as 2026-01-02T03:04:05Z", times::rfc3339)
    }

    /// A moment in units since 1970, in nanoseconds.
    pub(super) fn units(
        &self,
        names: &[&'static str],
        unit_nanos: i64,
    ) -> Result<Option<i64>, String> {
        let unit =
            if unit_nanos == times::NANOS_PER_MICRO { "microseconds" } else { "milliseconds" };
        self.read(names, &format!("a whole number of {unit}"), |text| {
            text.parse::<i64>().ok()?.checked_mul(unit_nanos)
        })
    }

    /// A switch.
    pub(super) fn is_on(&self, names: &[&'static str]) -> Result<bool, String> {
        let switch = self.read(names, "true or false", |text| match text {
            "true" | "1" | "t" | "T" | "True" | "TRUE" => Some(true),
            "false" | "0" | "f" | "F" | "False" | "FALSE" => Some(false),
            _ => None,
        })?;
        Ok(switch.unwrap_or(false))
    }

    fn read<T>(
        &self,
        names: &[&'static str],
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some((name, value)) = self.get(names) else { return Ok(None) };
        match parse(value) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(format!("the parameter {name} is {value:?}: {expected} is expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(query: &str) -> Parameters {
        Parameters::of(&format!("/x?{query}").parse().unwrap()).unwrap()
    }

    #[test]
    fn values_are_decoded_and_empty_ones_are_none() {
        let parameters = parameters("a=&b=1%202+3&tag=x&tag=&tag=y&b=other");
        assert_eq!(parameters.get(&["a", "b"]), Some(("b", "1 2 3")));
        assert_eq!(parameters.all("tag").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(parameters.text(&["a"]), "");
    }

    #[test]
    fn a_bad_value_is_named_with_what_is_expected() {
        let parameters = parameters("n=five&d=5&t=yesterday&s=perhaps&u=1.5");
        let messages = [
            parameters.number(&["n"]).unwrap_err(),
            parameters.duration(&["d"]).unwrap_err(),
            parameters.time(&["t"]).unwrap_err(),
            parameters.is_on(&["s"]).unwrap_err(),
            parameters.units(&["u"], times::NANOS_PER_MICRO).unwrap_err(),
        ];
        for (message, words) in messages.iter().zip([
            ["n is \"five\"", "whole number"],
            ["d is \"5\"", "duration"],
            ["t is \"yesterday\"", "2026-01-02"],
            ["s is \"perhaps\"", "true or false"],
            ["u is \"1.5\"", "microseconds"],
        ]) {
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }
}
