//! Stages that change the line and the labels: formats, `drop`, `keep`, `decolorize`.

use super::row::{Row, RowLabels};
use crate::ast::{Chosen, LabelFormat};
use crate::decolorize::decolorize;
use crate::entry::Entry;
use crate::labels::{ERROR, ERROR_DETAILS};
use crate::limits::MAX_LINE_MADE_BYTES;
use crate::template::Template;

const TEMPLATE_ERROR: &str = "TemplateFormatErr";

/// `line_format`: a template that fails leaves the line as it is.
pub(crate) fn format_line(template: &Template, entry: &Entry<'_>, row: &mut Row) {
    row.make_line(entry, |line, labels, out| {
        let rendered = template.render(&labels.view(entry), line, entry.time_nanos, out);
        match rendered {
            Ok(()) if out.len() <= MAX_LINE_MADE_BYTES => true,
            Ok(()) => {
                labels.set_error(TEMPLATE_ERROR, "the line that was made is too long");
                false
            }
            Err(error) => {
                labels.set_error(TEMPLATE_ERROR, error);
                false
            }
        }
    });
}

/// `decolorize`
pub(crate) fn remove_colors(entry: &Entry<'_>, row: &mut Row) {
    row.make_line(entry, |line, _, out| {
        // A colour begins with this; most lines have none.
        if !line.contains('\u{1b}') && !line.contains('\u{9b}') {
            return false;
        }
        out.push_str(&decolorize(line));
        true
    });
}

/// One label that is made.
#[derive(Debug)]
pub(crate) enum FormatStep {
    Rename { to: String, from: String },
    Template { to: String, template: Template },
}

impl FormatStep {
    pub(crate) fn new(format: &LabelFormat) -> Result<Self, String> {
        Ok(match format {
            LabelFormat::Rename { to, from } => Self::Rename { to: to.clone(), from: from.clone() },
            LabelFormat::Template { to, template } => {
                let template = Template::parse(template).map_err(|error| error.to_string())?;
                Self::Template { to: to.clone(), template }
            }
        })
    }
}

/// `label_format`: all templates see the labels as they are where the first of them stands.
pub(crate) fn format_labels(steps: &[FormatStep], entry: &Entry<'_>, row: &mut Row) {
    row.with_line(entry, |line, labels| {
        let mut rendered: Option<std::vec::IntoIter<Option<String>>> = None;
        for step in steps {
            match step {
                FormatStep::Rename { to, from } => {
                    let Some(value) = labels.get(entry, from).map(str::to_owned) else { continue };
                    labels.set(entry, to, &value);
                    labels.remove(entry, from);
                }
                FormatStep::Template { to, .. } => {
                    let values = rendered
                        .get_or_insert_with(|| render_all(steps, entry, line, labels).into_iter());
                    if let Some(Some(value)) = values.next() {
                        labels.set(entry, to, &value);
                    }
                }
            }
        }
    });
}

/// What each template gives; nothing where it failed.
fn render_all(
    steps: &[FormatStep],
    entry: &Entry<'_>,
    line: &str,
    labels: &mut RowLabels,
) -> Vec<Option<String>> {
    let mut failure = None;
    let mut values = Vec::new();
    for step in steps {
        let FormatStep::Template { template, .. } = step else { continue };
        let mut out = String::new();
        match template.render(&labels.view(entry), line, entry.time_nanos, &mut out) {
            Ok(()) => values.push(Some(out)),
            Err(error) => {
                failure = Some(error);
                values.push(None);
            }
        }
    }
    if let Some(error) = failure {
        labels.set_error(TEMPLATE_ERROR, error);
    }
    values
}

/// `drop`
pub(crate) fn drop_labels(chosen: &[Chosen], entry: &Entry<'_>, labels: &mut RowLabels) {
    for chosen in chosen {
        let name = chosen.name();
        if let Chosen::Matcher(matcher) = chosen
            && !matcher.matches(labels.get_or_error(entry, name).unwrap_or_default())
        {
            continue;
        }
        match name {
            ERROR => labels.clear_error(),
            ERROR_DETAILS => labels.clear_error_details(),
            _ => labels.remove(entry, name),
        }
    }
}

/// `keep`
pub(crate) fn keep_labels(chosen: &[Chosen], entry: &Entry<'_>, labels: &mut RowLabels) {
    labels.keep(entry, |name, value| {
        chosen.iter().any(|chosen| match chosen {
            Chosen::Name(kept) => kept == name,
            Chosen::Matcher(matcher) => matcher.name == name && matcher.matches(value),
        })
    });
}
