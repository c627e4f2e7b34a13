//! Settings of logs as Loki has them.

use super::setting::{Group, setting};
use super::table::SOME;
use super::value::Kind;

/// How log records appear in LogQL, and what a query may ask for.
pub(super) const LOKI: Group = Group {
    title: "Loki",
    settings: &[
        setting(
            "loki.index_labels",
            Kind::List,
            |c| &mut c.server.engine.logql.index_labels,
            "Attributes of resources that are labels of streams, for records that came by OTLP. \
             Everything else is structured metadata.",
        ),
        setting(
            "loki.detected_level",
            Kind::Switch,
            |c| &mut c.server.engine.logql.detects_level,
            "Whether entries have the label detected_level: what they say of their level, or else \
             their severity, or else a word in the line.",
        ),
        setting(
            "loki.max_series",
            SOME,
            |c| &mut c.server.engine.logql.max_series,
            "Series that the answer to a query may have, and that may be held on the way to it.",
        ),
        setting(
            "loki.max_lines",
            SOME,
            |c| &mut c.server.engine.logql.max_lines,
            "Lines that the answer to a query may have.",
        ),
    ],
};
