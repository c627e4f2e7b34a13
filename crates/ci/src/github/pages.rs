//! Lists, which GitHub gives in pages.
//!
//! The `Link` header of a page says where the next one is. Where a server sends none, pages are
//! asked for by their number until as many items came as there are said to be. Items keep the
//! text in which they were sent. One that is on two pages, since the list grew between them, is
//! taken once.

use std::collections::HashSet;

use reqwest::header::LINK;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::GitHubError;
use super::http::{Http, Question, read_body};
use super::limits::{ANSWER_TIMEOUT, ITEMS_PER_PAGE, MAX_JSON_BYTES, MAX_PAGES};

/// What reading takes.
pub(super) const READ: &str = "actions: read";

/// A page as it came.
struct Answer {
    body: Vec<u8>,
    link: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    total_count: u64,
    #[serde(alias = "jobs", alias = "artifacts")]
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Identified {
    id: u64,
}

/// One thing, as the text that GitHub sent.
pub(super) fn get(http: &Http, path: &str, subject: &str) -> Result<Vec<u8>, GitHubError> {
    let answer = get_page(http, http.url(path)?, subject, MAX_JSON_BYTES)?;
    parse::<&RawValue>(&answer.body, subject)?;
    Ok(answer.body)
}

/// All items of a list, each as the text that GitHub sent.
pub(super) fn list(
    http: &Http,
    path: &str,
    subject: &str,
) -> Result<Vec<Box<RawValue>>, GitHubError> {
    let first = http.url(path)?;
    let mut url = numbered(&first, 1);
    let mut budget_bytes = MAX_JSON_BYTES;
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    for number in 1..=MAX_PAGES {
        let answer = get_page(http, url, subject, budget_bytes)?;
        budget_bytes = budget_bytes.saturating_sub(answer.body.len() as u64);
        let page: Page = parse(&answer.body, subject)?;
        let is_empty = page.items.is_empty();
        for item in page.items {
            let Identified { id } = parse(item.get().as_bytes(), subject)?;
            if seen.insert(id) {
                items.push(item);
            }
        }
        let is_complete = is_empty || items.len() as u64 >= page.total_count;
        url = match answer.link.as_deref().map(next_link) {
            Some(Some(target)) => next_url(http, &first, target, subject)?,
            None if !is_complete => numbered(&first, number + 1),
            Some(None) | None => return Ok(items),
        };
    }
    Err(GitHubError::TooManyPages { subject: subject.to_owned(), limit_pages: MAX_PAGES })
}

fn get_page(http: &Http, url: Url, subject: &str, limit_bytes: u64) -> Result<Answer, GitHubError> {
    let question =
        Question { method: Method::GET, url, subject, permission: READ, timeout: ANSWER_TIMEOUT };
    http.ask(&question, |response| {
        let link = response.headers().get(LINK).and_then(|value| value.to_str().ok());
        let link = link.map(str::to_owned);
        let mut body = Vec::new();
        read_body(response, limit_bytes, subject, |bytes| {
            body.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(Answer { body, link })
    })
    .map_err(|error| match error {
        // What is left for a page means nothing to whoever reads of it.
        GitHubError::TooLarge { subject, .. } => {
            GitHubError::TooLarge { subject, limit_bytes: MAX_JSON_BYTES }
        }
        other => other,
    })
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8], subject: &str) -> Result<T, GitHubError> {
    serde_json::from_slice(bytes).map_err(|error| GitHubError::Json {
        subject: subject.to_owned(),
        cause: error.to_string(),
    })
}

fn numbered(first: &Url, number: u32) -> Url {
    let mut url = first.clone();
    url.query_pairs_mut().append_pair("per_page", &ITEMS_PER_PAGE.to_string());
    if number > 1 {
        url.query_pairs_mut().append_pair("page", &number.to_string());
    }
    url
}

/// The address of the next page, if the token may go there.
fn next_url(http: &Http, first: &Url, target: &str, subject: &str) -> Result<Url, GitHubError> {
    let url = first.join(target).ok();
    match url {
        Some(url) if http.is_api(&url) => Ok(url),
        other => Err(GitHubError::ForeignLink {
            subject: subject.to_owned(),
            host: other.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default(),
        }),
    }
}

/// The target of the link to the next page, of a header such as
/// `<https://…?page=2>; rel="next", <https://…?page=9>; rel="last"`.
fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some((_, link)) = rest.split_once('<') {
        let (target, after) = link.split_once('>')?;
        let (parameters, following) = after.split_once(',').unwrap_or((after, ""));
        if parameters.split(';').any(is_next) {
            return Some(target);
        }
        rest = following;
    }
    None
}

fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("rel")
        && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let cases = [
            (r#"<https://a/?page=2>; rel="next", <https://a/?page=9>; rel="last""#, Some("2")),
            (r#"<https://a/?page=1>; rel="prev", <https://a/?page=3>; rel="next""#, Some("3")),
            (r#"<https://a/?x=1,2&page=4>;title="b"; REL=next"#, Some("4")),
            (r#"<https://a/?page=5>; rel="first next""#, Some("5")),
            (r#"<https://a/?page=1>; rel="first", <https://a/?page=1>; rel="prev""#, None),
            (r#"<https://a/?page=1; rel="next""#, None),
            ("", None),
        ];
        for (header, page) in cases {
            let found = next_link(header).and_then(|target| target.split_once("page="));
            assert_eq!(found.map(|(_, page)| page), page, "{header}");
        }
    }

    #[test]
    fn pages_are_numbered_from_the_second() {
        let first = Url::parse("https://a/jobs?filter=latest").unwrap();
        assert_eq!(numbered(&first, 1).as_str(), "https://a/jobs?filter=latest&per_page=100");
        let second = numbered(&first, 2);
        assert_eq!(second.as_str(), "https://a/jobs?filter=latest&per_page=100&page=2");
    }
}
