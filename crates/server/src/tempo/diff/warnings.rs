//! What to know before one believes a comparison.

use std::collections::BTreeSet;

use serde::Serialize;

use super::spans::{Identities, Identity};
use super::tree::Tree;
use crate::parameters::quoted;

/// Operations that a warning names.
const EXAMPLES: usize = 3;

#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub(super) struct Warning {
    code: &'static str,
    message: String,
}

/// All warnings. That about names is said once, of the first trace that has one.
pub(super) fn warnings(
    base: &Tree<'_>,
    compare: &Tree<'_>,
    identities: &Identities<'_>,
) -> Vec<Warning> {
    let sides = [("base", base), ("compare", compare)];
    let names = sides.iter().find_map(|(_, tree)| unsteady_name(tree, identities));
    let of_sides = sides.iter().flat_map(|(side, tree)| {
        [unbelievable_times(side, tree, identities), no_spans(side, tree), repeated_ids(side, tree)]
    });
    names.into_iter().chain(of_sides.flatten()).collect()
}

fn unsteady_name(tree: &Tree<'_>, identities: &Identities<'_>) -> Option<Warning> {
    let mut all = tree.nodes.iter().map(|node| identities.get(node.span.identity));
    let found = all.find(|identity| has_request_id(&identity.name()))?;
    let message = format!(
        "{} seems to have an id of one request in its name. Spans are matched by their names as \
         they are, so that the same operation may be shown as removed and added; put such ids into \
         attributes",
        shown(found)
    );
    Some(Warning { code: "high_cardinality_span_name", message })
}

fn unbelievable_times(side: &str, tree: &Tree<'_>, identities: &Identities<'_>) -> Option<Warning> {
    let wrong = tree.nodes.iter().filter(|node| node.span.duration_nanos().is_none());
    let wrong: Vec<&Identity<'_>> = wrong.map(|node| identities.get(node.span.identity)).collect();
    let distinct: BTreeSet<&Identity<'_>> = wrong.iter().copied().collect();
    let examples: Vec<String> = distinct.iter().take(EXAMPLES).map(|found| shown(found)).collect();
    let message = format!(
        "{side} trace has {} span(s) whose start is not set or after their end. Their duration is \
         null in changes and 0 in sums; for example {}",
        wrong.len(),
        examples.join("; ")
    );
    (!wrong.is_empty()).then_some(Warning { code: "invalid_duration", message })
}

fn no_spans(side: &str, tree: &Tree<'_>) -> Option<Warning> {
    let message = format!("{side} trace has no spans: there is nothing to match");
    tree.nodes.is_empty().then_some(Warning { code: "zero_span_trace", message })
}

fn repeated_ids(side: &str, tree: &Tree<'_>) -> Option<Warning> {
    let message = format!(
        "{side} trace has {} span(s) with duplicate span IDs. Each is compared; children of such an \
         ID are taken to be those of its first span",
        tree.repeated_ids
    );
    (tree.repeated_ids > 0).then_some(Warning { code: "duplicate_span_id", message })
}

fn shown(identity: &Identity<'_>) -> String {
    let (name, service) = (identity.name(), identity.service());
    format!("{} of {} ({})", quoted(&name), quoted(&service), identity.kind)
}

/// Whether a name holds a long number, or eight or more hexadecimal digits as in a UUID. A digit
/// must be among them: there are words of these letters.
fn has_request_id(name: &str) -> bool {
    let is_word = |found: char| found.is_ascii_alphanumeric() || found == '_';
    let runs = name.split(|found| !is_word(found) && found != '-');
    runs.into_iter().any(|run| {
        let parts = || run.split('-').filter(|part| !part.is_empty());
        let is_number = |part: &str| part.len() >= 6 && part.bytes().all(|b| b.is_ascii_digit());
        parts().any(is_number) || has_long_hex(parts())
    })
}

/// Whether neighbours that are all hexadecimal are long together.
fn has_long_hex<'n>(parts: impl Iterator<Item = &'n str>) -> bool {
    let (mut length, mut has_digit) = (0, false);
    for part in parts {
        if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            (length, has_digit) = (0, false);
            continue;
        }
        length += part.len();
        has_digit |= part.bytes().any(|byte| byte.is_ascii_digit());
        if length >= 8 && has_digit {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, span};
    use crate::tempo::diff::spans::Flat;
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;

    fn warned(base: Vec<Sent>, compare: Vec<Sent>) -> Vec<(&'static str, String)> {
        let (base, compare) = (encoded(base), encoded(compare));
        let mut identities = Identities::default();
        let mut tree = |bytes| Tree::of(Flat::read(bytes, &mut identities).unwrap());
        let (base, compare) = (tree(&base), tree(&compare));
        let warnings = warnings(&base, &compare, &identities);
        warnings.into_iter().map(|warning| (warning.code, warning.message)).collect()
    }

    #[test]
    fn ids_in_names_are_seen() {
        for name in [
            "GET /users/550e8400-e29b-41d4-a716-446655440000",
            "GET /user/3f2a1b9c0d1e2f3a",
            "SELECT id=3f2a1b9c-0001",
            "SELECT id=123456",
            "GET /orders/123456",
            "job-123456-done",
        ] {
            assert!(has_request_id(name), "{name}");
        }
        for name in [
            "",
            "GET /checkout",
            "GET /orders/42",
            "GET /api/v10/users",
            "s3 upload",
            "add-feed-facade",
            "x1234567",
            "12345",
        ] {
            assert!(!has_request_id(name), "{name}");
        }
    }

    #[test]
    fn a_name_with_an_id_is_warned_of_once() {
        let trace = |name| vec![span(1, 0, "db", name, 0, 1)];
        let warned = warned(trace("SELECT id=3f2a1b9c-0001"), trace("SELECT id=7c4e88d0-0002"));
        assert_eq!(warned.len(), 1);
        assert_eq!(warned[0].0, "high_cardinality_span_name");
        assert!(warned[0].1.contains("\"SELECT id=3f2a1b9c-0001\" of \"db\" (client)"));
    }

    #[test]
    fn each_side_has_its_own_warnings() {
        let mut bad = span(1, 0, "a", "x", 0, 1);
        bad.start_time_unix_nano = 0;
        let names = ["d", "c", "b", "a", "a"];
        let base = names.map(|name| Sent { name: name.to_owned(), ..bad.clone() });
        let warned = warned(base.into(), Vec::new());
        let codes: Vec<&str> = warned.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["invalid_duration", "duplicate_span_id", "zero_span_trace"]);
        assert!(warned[0].1.starts_with("base trace has 5 span(s)"), "{}", warned[0].1);
        let examples = "\"a\" of \"a\" (client); \"b\" of \"a\" (client); \"c\" of \"a\" (client)";
        assert!(warned[0].1.ends_with(examples), "{}", warned[0].1);
        let duplicates = "base trace has 4 span(s) with duplicate span IDs";
        assert!(warned[1].1.starts_with(duplicates), "{}", warned[1].1);
        assert!(warned[2].1.starts_with("compare trace has no spans"), "{}", warned[2].1);
    }

    #[test]
    fn long_names_do_not_make_long_warnings() {
        let name = format!("{} 123456", "x".repeat(100_000));
        let warned = warned(vec![span(1, 0, "s", &name, 0, 1)], vec![span(1, 0, "s", "x", 0, 1)]);
        assert!(warned[0].1.len() < 400, "{}", warned[0].1.len());
    }
}
