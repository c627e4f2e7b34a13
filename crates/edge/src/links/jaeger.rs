//! Jaeger's pages.

use std::collections::BTreeMap;

use super::parameters::{Link, Parameters};
use super::times::{self, Span};
use super::trace_id;
use super::traceql::Conditions;
use crate::limits::MAX_LINK_QUERIES;

pub(super) fn link(segments: &[&str], parameters: &Parameters) -> Option<Link> {
    match segments {
        [] => Some(Link::to("/traces")),
        ["search"] => Some(search(parameters)),
        ["trace", ids] => trace(ids, parameters),
        ["monitor"] => {
            let mut conditions = Conditions::default();
            parameters.first("service").into_iter().for_each(|name| conditions.service(name));
            let query = conditions.query();
            Some(Link::to("/traces").with_some("q", query.as_deref()))
        }
        ["dependencies"] => Some(Link::to("/")),
        _ => None,
    }
}

/// `/trace/ID` and `/trace/A...B`, which compares two.
fn trace(ids: &str, parameters: &Parameters) -> Option<Link> {
    let (first, second) = ids.split_once("...").map_or((ids, None), |(a, b)| (a, Some(b)));
    // Either side of a comparison may be empty.
    let (first, second) = match (first, second) {
        ("", Some(second)) => (second, None),
        (first, second) => (first, second.and_then(trace_id)),
    };
    let first = trace_id(first)?;
    Some(match second {
        Some(second) => Link::to("/compare").with("a", &first).with("b", &second),
        None => Link::to(format!("/trace/{first}")).with_some("find", parameters.first("uiFind")),
    })
}

/// A search. One that names a single trace leads to that.
fn search(parameters: &Parameters) -> Link {
    let ids: Vec<_> = parameters.all("traceID").filter_map(trace_id).take(2).collect();
    if let [id] = ids.as_slice() {
        return Link::to(format!("/trace/{id}"));
    }
    let query = conditions(
        parameters.first("service"),
        parameters.first("operation"),
        &tags(parameters),
        [parameters.first("minDuration"), parameters.first("maxDuration")],
    );
    let link = Link::to("/traces").with_some("q", query.query().as_deref());
    time(parameters).add_to(link)
}

/// What Jaeger's form asks for.
pub(super) fn conditions(
    service: Option<&str>,
    operation: Option<&str>,
    tags: &BTreeMap<String, String>,
    [shortest, longest]: [Option<&str>; 2],
) -> Conditions {
    let mut conditions = Conditions::default();
    service.into_iter().for_each(|name| conditions.service(name));
    // `all` is what the form has for any.
    let operation = operation.filter(|name| *name != "all");
    operation.into_iter().for_each(|name| conditions.operation(name));
    for (key, value) in tags.iter().take(MAX_LINK_QUERIES) {
        conditions.tag(key, value);
    }
    conditions.durations(shortest, longest);
    conditions
}

/// `tags={"key":"value"}` and `tag=key:value`.
fn tags(parameters: &Parameters) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    for json in parameters.all("tags") {
        tags.extend(serde_json::from_str::<BTreeMap<String, String>>(json).unwrap_or_default());
    }
    let pairs = parameters.all("tag").filter_map(|tag| tag.split_once(':'));
    tags.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    tags
}

/// `lookback=1h`, or `start` and `end` in microseconds where that is `custom` or missing.
fn time(parameters: &Parameters) -> Span {
    if let Some(seconds) = parameters.first("lookback").and_then(times::seconds) {
        return Span::last(seconds);
    }
    let millis = |name| {
        let micros: i64 = parameters.first(name)?.parse().ok()?;
        (micros > 0).then_some(micros / 1000)
    };
    Span::millis(millis("start"), millis("end"))
}

#[cfg(test)]
mod tests {
    use super::super::redirect;
    use super::*;

    fn to(way: &str) -> String {
        redirect("/jaeger", way).unwrap()
    }

    /// The parameters of what a link becomes.
    fn parameter(way: &str, name: &str) -> Option<String> {
        let link = to(way);
        let (_, query) = link.split_once('?')?;
        Parameters::parse(query).first(name).map(str::to_owned)
    }

    #[test]
    fn a_search_becomes_traceql_and_its_time_stays() {
        let way = "/search?end=1767312060000000&limit=20&lookback=custom&maxDuration=2s&minDuration=1.2ms\
            &operation=GET%20%2Fcart&service=shop&start=1767312000000000\
            &tags=%7B%22error%22%3A%22true%22%2C%22http.status_code%22%3A%22500%22%7D";
        let query = parameter(way, "q").unwrap();
        assert_eq!(
            query,
            "{ resource.service.name = \"shop\" && name = \"GET /cart\" && status = error && \
             (.http.status_code = \"500\" || .http.status_code = 500) && duration >= 1.2ms && duration <= 2s }"
        );
        assert!(kymo_traceql::parse(&query).is_ok());
        assert_eq!(parameter(way, "from").as_deref(), Some("1767312000000"));
        assert_eq!(parameter(way, "to").as_deref(), Some("1767312060000"));
        let recent = "/search?service=shop&lookback=2d&start=1&end=2&tag=a:b:c&operation=all";
        assert_eq!(parameter(recent, "from").as_deref(), Some("now-172800s"));
        let expected = "{ resource.service.name = \"shop\" && .a = \"b:c\" }";
        assert_eq!(parameter(recent, "q").as_deref(), Some(expected));
        assert_eq!(to("/search"), "/traces");
    }

    #[test]
    fn what_a_search_has_that_is_malformed_is_left_out() {
        let way = "/search?tags=nonsense&minDuration=soon&lookback=x&start=y&service=";
        assert_eq!(to(way), "/traces");
    }

    #[test]
    fn a_trace_is_found_by_its_id() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(to(&format!("/trace/{id}")), format!("/trace/{id}"));
        assert_eq!(to(&format!("/trace/{id}/?uiFind=a%20b")), format!("/trace/{id}?find=a%20b"));
        assert_eq!(to("/trace/ABC"), "/trace/00000000000000000000000000000abc");
        assert_eq!(to(&format!("/trace/{id}...{id}")), format!("/compare?a={id}&b={id}"));
        for one in [format!("...{id}"), format!("{id}..."), format!("{id}...nothing")] {
            assert_eq!(to(&format!("/trace/{one}")), format!("/trace/{id}"));
        }
        assert_eq!(to(&format!("/search?traceID={id}")), format!("/trace/{id}"));
        assert_eq!(redirect("/jaeger", "/trace/nothing"), None);
    }

    #[test]
    fn other_pages_have_a_place() {
        assert_eq!(to("/dependencies"), "/");
        assert_eq!(to("/monitor"), "/traces");
        let query = parameter("/monitor?service=shop", "q").unwrap();
        assert_eq!(query, "{ resource.service.name = \"shop\" }");
    }
}
