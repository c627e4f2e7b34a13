//! The receiver `prometheus`: its `config` is Prometheus' own, and becomes a file of its own.

use kymo_yaml::{Entry, Item, Node};

use crate::document::Value;
use crate::output::{ExtraFile, Output};
use crate::references;
use crate::section::Section;

/// What the file is called.
const FILE: &str = "prometheus.yml";

pub(super) fn translate(mut section: Section<'_>, out: &mut Output) {
    if let Some(entry) = section.take("config") {
        add(&section, entry, out);
    }
    section.noted(
        &[
            "trim_metric_suffixes",
            "use_start_time_metric",
            "start_time_metric_regex",
            "report_extra_scrape_metrics",
        ],
        "names and start times are those that targets tell",
    );
    section.lost(&["target_allocator"], "targets are not shared between several");
    section.lost(&["api_server"], "targets are shown at /prometheus/api/v1/targets");
    section.finish();
}

fn add(section: &Section<'_>, entry: &Entry, out: &mut Output) {
    let Node::Map(entries) = &entry.node else {
        let what = format!("{}.config: expected Prometheus' configuration", section.path);
        section.notes.lost(entry.at, what);
        return;
    };
    let mut entries = entries.clone();
    for entry in &mut entries {
        unescape(&mut entry.node);
    }
    if mentions_variables(&entries) {
        let what = format!(
            "{}.config: variables in {FILE} are not replaced: write their values",
            section.path
        );
        section.notes.lost(entry.key_at, what);
    }
    let mut known = out.files.iter_mut().filter(|file| file.name == FILE);
    match known.next() {
        Some(file) => {
            // Scrape configurations of several receivers are one list; what holds for all is not.
            match joined(&file.text, &entries) {
                Some(text) => file.text = text,
                None => {
                    let what = format!(
                        "{}.config: another receiver's is in {FILE}, and the two differ in more \
                         than scrape_configs",
                        section.path
                    );
                    section.notes.lost(entry.key_at, what);
                    return;
                }
            }
        }
        None => {
            let text = kymo_yaml::write::write(&entries);
            out.files.push(ExtraFile { name: FILE.to_owned(), text });
            let path = out.path(FILE);
            out.prometheus.set("config", Value::text(path));
        }
    }
    let what = format!("{}.config: {FILE}, named by prometheus.config", section.path);
    section.notes.translated(entry.key_at, what);
}

/// `$$` is a dollar in a collector's file.
fn unescape(node: &mut Node) {
    match node {
        Node::Null => {}
        Node::Scalar(scalar) => {
            if scalar.text.contains("$$") {
                scalar.text = scalar.text.replace("$$", "$");
            }
        }
        Node::List(items) => items.iter_mut().for_each(|item| unescape(&mut item.node)),
        Node::Map(entries) => entries.iter_mut().for_each(|entry| unescape(&mut entry.node)),
    }
}

fn mentions_variables(entries: &[Entry]) -> bool {
    fn of(node: &Node) -> bool {
        match node {
            Node::Null => false,
            Node::Scalar(scalar) => references::refers(&scalar.text) && !is_group(&scalar.text),
            Node::List(items) => items.iter().any(|item| of(&item.node)),
            Node::Map(entries) => mentions_variables(entries),
        }
    }
    entries.iter().any(|entry| of(&entry.node))
}

/// `${1}` of a relabelling's replacement is no variable.
fn is_group(text: &str) -> bool {
    let groups = text.split("${").skip(1);
    groups.into_iter().all(|rest| {
        rest.split_once('}')
            .is_some_and(|(name, _)| name.bytes().all(|digit| digit.is_ascii_digit()))
    })
}

/// One file of two, if they differ in their lists of scrape configurations only.
fn joined(text: &str, added: &[Entry]) -> Option<String> {
    const LIST: &str = "scrape_configs";
    let mut entries = kymo_yaml::parse(text).ok()?;
    let others = |entries: &[Entry]| {
        let others: Vec<_> = entries.iter().filter(|entry| entry.key != LIST).cloned().collect();
        kymo_yaml::write::write(&others)
    };
    if others(&entries) != others(added) {
        return None;
    }
    let items = |entries: &[Entry]| -> Vec<Item> {
        match entries.iter().find(|entry| entry.key == LIST).map(|entry| &entry.node) {
            Some(Node::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    };
    let added = items(added);
    let list = entries.iter_mut().find(|entry| entry.key == LIST)?;
    if let Node::List(items) = &mut list.node {
        items.extend(added);
    }
    Some(kymo_yaml::write::write(&entries))
}
