//! Parameters of a request: `a=1&b=two+words`, from the URL or from a form.

use std::str::FromStr;

/// Names and values, as they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        pairs.collect::<Result<_, String>>().map(Self)
    }

    /// The same and those of a form.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The first value of that name, if it is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(given, _)| given == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// The value of that name as a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let parse = |value: &str| {
            let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
            let number = value.parse().ok().filter(|_| is_plain);
            number.ok_or_else(|| {
                format!("invalid {name}: expected a whole number, not {}", quoted(value))
            })
        };
        self.get(name).map(parse).transpose()
    }

    /// Whether a switch is on.
    pub(super) fn switch(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some("true" | "1" | "t" | "T" | "True" | "TRUE") => Ok(true),
            Some("false" | "0" | "f" | "F" | "False" | "FALSE") => Ok(false),
            Some(other) => {
                Err(format!("invalid {name}: expected true or false, not {}", quoted(other)))
            }
        }
    }
}

/// A value as an error shows it: not all of it if it is long.
pub(super) fn quoted(value: &str) -> String {
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

    #[test]
    fn values_are_decoded_and_the_first_is_taken() {
        let params =
            Params::parse("q=%7B%20name+%3D+%22%C3%A9%22%7D&limit=5&limit=6&x&e=").unwrap();
        assert_eq!(params.get("q"), Some("{ name = \"é\"}"));
        assert_eq!(params.number("limit"), Ok(Some(5_u32)));
        assert_eq!(params.get("x"), None);
        assert_eq!(params.get("e"), None);
        assert_eq!(params.number::<u32>("e"), Ok(None));
        let both = params.and(Params::parse("more=1").unwrap());
        assert_eq!(both.get("more"), Some("1"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for bad in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Params::parse(bad).is_err(), "{bad}");
        }
        for bad in ["-1", "+1", "1.5", "ten", "99999999999999999999"] {
            let params = Params(vec![("limit".to_owned(), bad.to_owned())]);
            let error = params.number::<u64>("limit").unwrap_err();
            assert!(error.starts_with("invalid limit") && error.contains(bad), "{error}");
        }
        assert!(quoted(&"é".repeat(1000)).len() < 200);
    }
}
