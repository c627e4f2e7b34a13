//! What models may read, as resources and through the tools `docs-traceql` and `docs-config`: many
//! clients ask for tools only.

use std::sync::LazyLock;

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
/// Between a setting's flag and its variable, in the tables of that.
const BEFORE_VARIABLE: &str = "<br>`KYMO_";

/// The reference without the variables of settings, a fifth of it, which follow from the flags.
static WITHOUT_VARIABLES: LazyLock<String> = LazyLock::new(|| {
    let mut pieces = CONFIGURATION.split(BEFORE_VARIABLE);
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (variable, rest) = piece.split_once('`').unwrap_or_default();
        // The few that do not follow stay.
        if !text.ends_with(&format!("`--{}`", flag_of(variable))) {
            text.push_str(&format!("<br>`KYMO_{variable}`"));
        }
        text.push_str(rest);
    }
    text.replace("| flag, variable |", "| flag; `--a-b` is `KYMO_A_B` |")
});

/// The flag that a variable is named after.
fn flag_of(variable: &str) -> String {
    variable.to_lowercase().replace('_', "-")
}

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
        match self.uri {
            "docs://config/overview" => self.text.split("\n## ").next().unwrap_or(self.text),
            "docs://config/reference" => WITHOUT_VARIABLES.as_str(),
            _ => self.text,
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
            assert!((500..24 << 10).contains(&bytes), "{}: {bytes}", document.uri);
        }
    }

    #[test]
    fn the_overview_of_settings_has_no_tables_and_the_reference_has_all() {
        let text = |uri| find(uri).unwrap().text();
        let overview = text("docs://config/overview");
        assert!(overview.contains("kymo config show") && !overview.contains("|---|"));
        let reference = text("docs://config/reference");
        assert!(reference.contains("`query.mcp`"));
        assert!(reference.contains("| flag; `--a-b` is `KYMO_A_B` | default |"));
        assert!(reference.contains("| `store.url` | `--store` | `none` |"));
        assert!(reference.contains("`--log-level`<br>`KYMO_LOG`"), "it has a name of its own");
        let rows = |text: &str| text.matches("\n| `").count();
        assert_eq!(rows(reference), rows(CONFIGURATION));
        assert!(find("docs://config/other").is_none());
    }
}
