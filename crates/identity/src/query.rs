//! Tokens in URLs, which are refused: URLs are written to logs of proxies and servers, stay in
//! histories of browsers, and are handed on to other sites.
//!
//! Names that can mean nothing else (`access_token`, …) are refused with any value; `token` and
//! `key`, which queries may have for other ends, only with a value that is one. Values of other
//! parameters are not looked at: a query may well search for a text that looks like a token.

use crate::oidc::jwt::Jwt;
use crate::token::text::PREFIX;

/// Names that stand for credentials whatever their value is.
const ALWAYS: [&str; 6] =
    ["access_token", "authorization", "bearer", "api_key", "apikey", "id_token"];
/// Names that may stand for them.
const SOMETIMES: [&str; 3] = ["token", "key", "auth"];

/// The parameter of a query string (without the question mark) that has a token, if one has.
///
/// The request is then to be answered with 400 and [`TOKEN_IN_QUERY`].
#[must_use]
pub fn token_in_query(query: &str) -> Option<&'static str> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        if value.is_empty() {
            return None;
        }
        let name = decoded(name).to_ascii_lowercase();
        let named = |known: &[&'static str]| known.iter().find(|known| **known == name).copied();
        named(&ALWAYS).or_else(|| named(&SOMETIMES).filter(|_| is_token(&decoded(value))))
    })
}

/// What is answered then.
pub const TOKEN_IN_QUERY: &str = "a token must not be in the URL, where logs keep it: send it in \
     the header Authorization: Bearer, and replace it, since others may have seen it";

fn is_token(value: &str) -> bool {
    let value = value.trim();
    let lower = value.get(..7).unwrap_or_default().to_ascii_lowercase();
    let value = if lower == "bearer " { value.get(7..).unwrap_or_default().trim() } else { value };
    value.starts_with(PREFIX) || Jwt::is_meant(value)
}

/// A part of a query string as it was before it was encoded; what is no code stays.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let code = rest.split_at_checked(2).filter(|_| *first == b'%').and_then(|(code, after)| {
            let code = u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?;
            rest = after;
            Some(code)
        });
        bytes.push(code.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_the_query_are_found() {
        for (query, name) in [
            ("access_token=x", "access_token"),
            ("query=up&ACCESS_TOKEN=x", "access_token"),
            ("access%5Ftoken=x", "access_token"),
            ("%61pi_key=1", "api_key"),
            ("authorization=Basic%20eDp5", "authorization"),
            ("token=kymo_abc", "token"),
            ("token=Bearer+kymo_abc", "token"),
            ("key=%6bymo_abc", "key"),
            ("a=1&token=eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "token"),
        ] {
            assert_eq!(token_in_query(query), Some(name), "{query}");
        }
    }

    #[test]
    fn queries_that_only_look_like_it_are_let_through() {
        for query in [
            "",
            "token",
            "token=",
            "access_token=",
            "key=service.name&token=abc",
            "q=%7B+span.token+%3D+%22kymo_abc%22+%7D",
            "query=kymo_rows_total",
            "match[]=kymo_abc",
            "query=access_token%3Dx",
            "tags=token%3Dkymo_abc",
            "key=a.b.c",
            "query=a;access_token=x",
            "token=%e9%",
            "token=bearer",
        ] {
            assert_eq!(token_in_query(query), None, "{query}");
        }
    }
}
