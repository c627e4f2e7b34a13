//! Sessions that a server knows.

use reqwest::Url;
use serde::Deserialize;

use crate::client::{self, Client};
use crate::failure::Failure;

/// The list of all, of whatever age.
pub(super) const LIST: &str = "/api/sessions?since=0";
const JSON: &str = "application/json";

/// A session.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
}

#[derive(Deserialize)]
struct Listed {
    sessions: Vec<Session>,
}

/// Those that a server has, the newest first.
pub(super) fn find(client: &Client) -> Result<Vec<Session>, Failure> {
    let listed: Listed = client::json(client.get(LIST, JSON)?)?;
    Ok(listed.sessions)
}

impl Session {
    /// Where people look at it, or else where everything about it is as JSON.
    pub(super) fn url(&self, base: &str, has_page: bool) -> String {
        self.below(base, has_page.then_some("report"))
    }

    /// Whether the server has such a page.
    pub(super) fn has_page(&self, client: &Client) -> bool {
        client.get(&self.url("", true), "text/html").is_ok()
    }

    fn below(&self, base: &str, last: Option<&str>) -> String {
        // Only its path is used: ids are chosen by programs, and have all kinds of characters.
        let mut path = "/api/sessions".to_owned();
        if let Ok(mut url) = Url::parse("http://localhost/api/sessions") {
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.push(&self.id).extend(last);
            }
            url.path().clone_into(&mut path);
        }
        format!("{base}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_any_characters_is_one_part_of_the_path() {
        let session = Session { id: "a b/c?d".into() };
        assert_eq!(session.url("http://h:1", false), "http://h:1/api/sessions/a%20b%2Fc%3Fd");
        assert_eq!(session.url("", true), "/api/sessions/a%20b%2Fc%3Fd/report");
    }
}
