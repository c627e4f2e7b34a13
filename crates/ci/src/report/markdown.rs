//! Markdown as GitHub shows it in the summary of a step.

use super::document::{Part, Table};

/// A report as Markdown, with a title and, if there is one, a link to the trace.
#[must_use]
pub fn markdown(title: &str, parts: &[Part], link: Option<&str>) -> String {
    let mut text = format!("### {}\n\n", escape(title));
    for part in parts {
        match part {
            Part::Heading(heading) => text.push_str(&format!("#### {}\n\n", escape(heading))),
            Part::Text(sentence) => text.push_str(&format!("{}\n\n", escape(sentence))),
            Part::Table(table) => text.push_str(&table_text(table)),
        }
    }
    if let Some(link) = link {
        // What would end the address early is written otherwise.
        let link = link.replace(' ', "%20").replace(')', "%29").replace('(', "%28");
        text.push_str(&format!("[View the trace]({link})\n\n"));
    }
    text
}

fn table_text(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = table.columns.iter().map(|(name, _)| (*name).to_owned());
    let marks = table.columns.iter().map(|(_, is_number)| if *is_number { "---:" } else { "---" });
    let mut text = line(names.collect());
    text.push_str(&line(marks.map(str::to_owned).collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|cell| escape(cell)).collect()));
    }
    text.push('\n');
    text
}

/// Text that is shown as it is: names of jobs come from whoever wrote the workflow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' | '\r' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
