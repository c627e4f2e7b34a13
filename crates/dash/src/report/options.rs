//! Which options of a panel the page heeds, by kind: what else is set and would change the picture is
//! named, so that nobody looks for it.
//!
//! An option is a path, as `legend.calcs`; one that is listed is heeded with all that is below it. What
//! is not listed is nothing to speak of as long as it says nothing: null, false, 0, an empty text, or what
//! the panel does by itself. Options of kinds that are not here are not looked at.

use serde_json::Value;

/// Options and `custom` settings of fields of some kinds of panels.
struct Heeded {
    kinds: &'static [&'static str],
    options: &'static [&'static str],
    custom: &'static [&'static str],
}

const HEEDED: &[Heeded] = &[
    Heeded {
        kinds: &["timeseries"],
        options: &[],
        custom: &[
            "axisBorderShow",
            "axisCenteredZero",
            "axisGridShow",
            "axisLabel",
            "axisPlacement",
            "axisSoftMax",
            "axisSoftMin",
            "axisWidth",
            "barAlignment",
            "barMaxWidth",
            "barWidthFactor",
            "drawStyle",
            "fillBelowTo",
            "fillOpacity",
            "gradientMode",
            "insertNulls",
            "lineInterpolation",
            "lineStyle",
            "lineWidth",
            "pointSize",
            "scaleDistribution",
            "showPoints",
            "spanNulls",
            "stacking",
            "thresholdsStyle",
            "transform",
        ],
    },
    Heeded {
        kinds: &["stat"],
        options: &[
            "colorMode",
            "graphMode",
            "justifyMode",
            "orientation",
            "reduceOptions",
            "showPercentChange",
            "textMode",
            "wideLayout",
        ],
        custom: &[],
    },
    Heeded {
        kinds: &["gauge"],
        options: &[
            "minVizHeight",
            "minVizWidth",
            "orientation",
            "reduceOptions",
            "showThresholdLabels",
            "showThresholdMarkers",
            "sizing",
        ],
        custom: &[],
    },
    Heeded {
        kinds: &["bargauge"],
        options: &[
            "displayMode",
            "maxVizHeight",
            "minVizHeight",
            "minVizWidth",
            "namePlacement",
            "orientation",
            "reduceOptions",
            "showUnfilled",
            "sizing",
            "valueMode",
        ],
        custom: &[],
    },
    Heeded {
        kinds: &["table"],
        options: &[
            "cellHeight",
            "enablePagination",
            "footer",
            "frameIndex",
            "showHeader",
            "sortBy",
        ],
        custom: &[
            "align",
            "cellOptions",
            "displayMode",
            // Every column can be filtered, and every cell be read in full.
            "filterable",
            "inspect",
            "footer",
            "hidden",
            "minWidth",
            "width",
        ],
    },
    Heeded {
        kinds: &["barchart"],
        options: &[
            "barRadius",
            "barWidth",
            "colorByField",
            "fullHighlight",
            "groupWidth",
            "orientation",
            "showValue",
            "stacking",
            "xField",
            "xTickLabelMaxLength",
            "xTickLabelRotation",
            "xTickLabelSpacing",
        ],
        custom: &["fillOpacity", "lineWidth"],
    },
    Heeded {
        kinds: &["piechart"],
        options: &["displayLabels", "pieType", "reduceOptions", "sort"],
        custom: &[],
    },
    Heeded {
        kinds: &["heatmap"],
        options: &[
            "calculate",
            "calculation",
            "cellGap",
            "cellValues",
            "color",
            "exemplars",
            "filterValues",
            "rowsFrame",
            "showValue",
            "yAxis.decimals",
            "yAxis.max",
            "yAxis.min",
            "yAxis.reverse",
            "yAxis.unit",
        ],
        custom: &[],
    },
    Heeded {
        kinds: &["state-timeline", "status-history"],
        options: &["colWidth", "mergeValues", "rowHeight", "showValue"],
        // Nothing is drawn in these kinds that a line is around.
        custom: &["fillOpacity", "lineWidth", "spanNulls"],
    },
];

/// Heeded wherever they are, or without a meaning for the picture: what a tooltip says, how large texts
/// are, which the page fits to their room, and what Grafana's editor keeps.
const EVERYWHERE: &[&str] = &[
    "dataLinks",
    "fieldOptions",
    "hideFrom",
    "legend",
    "text",
    "timezone",
    "tooltip",
    "alertThreshold",
    "showTypeIcons",
];

/// What panels do by themselves, as Grafana writes it though nobody chose it.
const USUAL: &[(&str, &str)] = &[
    ("alignValue", "left"),
    ("axisColorMode", "text"),
    ("barShape", "flat"),
    ("barWidthFactor", "0.4"),
    ("endpointMarker", "point"),
    ("gradientMode", "none"),
    ("orientation", "horizontal"),
    ("percentChangeColorMode", "standard"),
    ("perPage", "20"),
    ("scaleDistribution.type", "linear"),
    ("segmentCount", "1"),
    ("segmentSpacing", "0.3"),
    ("selectionMode", "x"),
    ("shape", "gauge"),
    ("stacking.group", "A"),
    ("textMode", "auto"),
    ("yAxis.axisPlacement", "left"),
];

/// What cells of tables may be.
const CELLS: &[&str] = &[
    "auto",
    "color-text",
    "color-background",
    "color-background-solid",
    "gauge",
    "lcd-gauge",
    "gradient-gauge",
    "basic",
    "sparkline",
    "json",
    "json-view",
    "image",
    "pill",
];

/// The options of a panel that are set and not heeded, in order.
pub(super) fn unheeded(kind: &str, options: &Value, field_config: &Value) -> Vec<String> {
    let Some(heeded) = HEEDED.iter().find(|heeded| heeded.kinds.contains(&kind)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    collect(options, "", heeded.options, &mut found);
    let custom = field_config.pointer("/defaults/custom").unwrap_or(&Value::Null);
    let mut fields = Vec::new();
    collect(custom, "", heeded.custom, &mut fields);
    cell(custom.get("cellOptions"), &mut fields);
    let overrides = field_config.get("overrides").and_then(Value::as_array).into_iter().flatten();
    let properties = overrides.filter_map(|one| one.get("properties")?.as_array()).flatten();
    for property in properties {
        let id =
            property.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix("custom."));
        let value = property.get("value").unwrap_or(&Value::Null);
        if let Some(path) = id {
            look(path, value, heeded.custom, &mut fields);
            cell((path == "cellOptions").then_some(value), &mut fields);
        }
    }
    found.extend(fields.into_iter().map(|path| format!("custom.{path}")));
    found.sort();
    found.dedup();
    found
}

fn collect(of: &Value, before: &str, heeded: &[&str], found: &mut Vec<String>) {
    for (key, value) in of.as_object().into_iter().flatten() {
        let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        look(&path, value, heeded, found);
    }
}

/// What of an option is not heeded. The JSON of a dashboard has a bounded depth.
fn look(path: &str, value: &Value, heeded: &[&str], found: &mut Vec<String>) {
    let is_within = |known: &str| {
        path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if heeded.iter().chain(EVERYWHERE).any(|known| is_within(known)) || says_nothing(path, value) {
        return;
    }
    match value {
        Value::Object(_) => collect(value, path, heeded, found),
        _ => found.push(path.to_owned()),
    }
}

fn says_nothing(path: &str, value: &Value) -> bool {
    let text = match value {
        Value::Null | Value::Bool(false) => return true,
        Value::Bool(true) => "true".to_owned(),
        Value::Array(values) => return values.is_empty(),
        Value::Object(members) => return members.is_empty(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
    };
    ["", "0", "auto", "none", "off", "default", "never"].contains(&text.as_str())
        || USUAL.contains(&(path, text.as_str()))
}

/// A kind of cells that is not known.
fn cell(options: Option<&Value>, found: &mut Vec<String>) {
    let kind = options.and_then(|options| options.get("type")).and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| !kind.is_empty() && !CELLS.contains(kind)) {
        found.push(format!("cellOptions.type: {kind}"));
    }
}
