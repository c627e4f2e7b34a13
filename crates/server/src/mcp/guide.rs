//! What models may read, as resources and through the tools `docs-traceql` and `docs-config`: many
//! clients ask for tools only.

use serde_json::{Value, json};

use super::arguments::Given;
use super::tools::Action;

const MARKDOWN: &str = "text/markdown";

/// A text about the server.
pub(super) struct Document {
    uri: &'static str,
    title: &'static str,
    about: &'static str,
    text: &'static str,
}

static DOCUMENTS: &[Document] = &[
    Document {
        uri: "docs://traceql/basic",
        title: "TraceQL: filters",
        about: "Attributes, operators and filters of TraceQL, with examples",
        text: include_str!("guide/basic.md"),
    },
    Document {
        uri: "docs://traceql/aggregates",
        title: "TraceQL: aggregates",
        about: "Conditions on counts, sums and averages of the spans of a trace",
        text: include_str!("guide/aggregates.md"),
    },
    Document {
        uri: "docs://traceql/structural",
        title: "TraceQL: structure",
        about: "Parents, children, ancestors, descendants and siblings",
        text: include_str!("guide/structural.md"),
    },
    Document {
        uri: "docs://traceql/metrics",
        title: "TraceQL: metrics",
        about: "Rates, counts, quantiles and comparisons of spans over time",
        text: include_str!("guide/metrics.md"),
    },
    Document {
        uri: "docs://traceql/reference",
        title: "TraceQL: reference",
        about: "The whole language in short, and where it differs from Tempo's",
        text: include_str!("../../../../docs/traceql.md"),
    },
    Document {
        uri: "docs://sql",
        title: "SQL",
        about: "Tables, columns and limits of SQL, with examples",
        text: include_str!("../../../../docs/sql.md"),
    },
    Document {
        uri: "docs://config/overview",
        title: "Settings: overview",
        about: "Where settings are made, and how values are written",
        text: CONFIGURATION,
    },
    Document {
        uri: "docs://config/reference",
        title: "Settings: reference",
        about: "Every setting with its default",
        text: CONFIGURATION,
    },
];

const CONFIGURATION: &str = include_str!("../../../../docs/configuration.md");

impl Document {
    fn listed(&self) -> Value {
        json!({
            "uri": self.uri,
            "name": self.uri.trim_start_matches("docs://"),
            "title": self.title,
            "description": self.about,
            "mimeType": MARKDOWN,
        })
    }

    /// The text. An overview ends where the first chapter begins.
    fn text(&self) -> &'static str {
        match self.uri.ends_with("/overview") {
            true => self.text.split("\n## ").next().unwrap_or(self.text),
            false => self.text,
        }
    }

    /// As it is read.
    pub(super) fn contents(&self) -> Value {
        json!({ "uri": self.uri, "mimeType": MARKDOWN, "text": self.text() })
    }
}

/// All, as clients are told of them.
pub(super) fn listed() -> Vec<Value> {
    DOCUMENTS.iter().map(Document::listed).collect()
}

pub(super) fn find(uri: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.uri == uri)
}

/// The document that a call names, below a URI.
pub(super) fn say(below: &str, given: &Given) -> Result<Action, String> {
    let name = given.text("name");
    let document = find(&format!("{below}{name}"));
    let document = document.ok_or_else(|| format!("there is nothing to read about {name}"))?;
    Ok(Action::Say(document.text().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_traceql::ast::Body;

    /// The queries of a chapter: lines of its blocks of TraceQL, without what is said about them.
    fn queries(chapter: &str) -> Vec<&'static str> {
        let text = find(&format!("docs://traceql/{chapter}")).unwrap().text();
        let blocks = text.split("```traceql\n").skip(1);
        let lines = blocks.flat_map(|block| block.split("\n```").next().unwrap().lines());
        lines.map(|line| line.split("    ").next().unwrap()).collect()
    }

    #[test]
    fn every_query_in_the_guide_is_one() {
        for (chapter, makes_series) in
            [("basic", false), ("aggregates", false), ("structural", false), ("metrics", true)]
        {
            let queries = queries(chapter);
            assert!(queries.len() > 5, "{chapter}");
            for query in queries {
                let parsed =
                    kymo_traceql::parse(query).map_err(|error| format!("{query}: {error}"));
                let is_series = matches!(parsed.unwrap().body, Body::Metrics(_));
                assert_eq!(is_series, makes_series, "{chapter}: {query}");
            }
        }
    }

    #[test]
    fn documents_are_small_enough_for_a_model_to_read() {
        for document in DOCUMENTS {
            let bytes = document.text().len();
            assert!((500..28 << 10).contains(&bytes), "{}: {bytes}", document.uri);
        }
    }

    #[test]
    fn the_overview_of_settings_has_no_tables_and_the_reference_has_all() {
        let text = |uri| find(uri).unwrap().text();
        let overview = text("docs://config/overview");
        assert!(overview.contains("kymo config show") && !overview.contains("|---|"));
        assert!(text("docs://config/reference").contains("`query.mcp`"));
        assert!(find("docs://config/other").is_none());
    }
}
