//! One order of rules for several signals, each of which has its own.

use crate::model::Signal;

/// Puts lists of names together so that each signal finds its names in its own order. A name that
/// several have is there once for all of them wherever that is possible.
pub(super) fn merged(mut lists: Vec<(Signal, Vec<String>)>) -> Vec<(String, Vec<Signal>)> {
    for (_, list) in &mut lists {
        list.reverse();
    }
    let mut merged = Vec::new();
    loop {
        let Some((name, signals)) = next(&lists) else { return merged };
        for (_, list) in lists.iter_mut().filter(|(signal, _)| signals.contains(signal)) {
            list.pop();
        }
        merged.push((name, signals));
    }
}

/// The next name, with the signals that it is next for. Lists are reversed.
fn next(lists: &[(Signal, Vec<String>)]) -> Option<(String, Vec<Signal>)> {
    let firsts = lists.iter().filter_map(|(_, list)| list.last());
    let is_first = |list: &Vec<String>, name: &String| list.last() == Some(name);
    let waits =
        |name: &&String| lists.iter().any(|(_, list)| list.contains(name) && !is_first(list, name));
    // If every name waits for another, none can be there once for all.
    let name = firsts.clone().find(|name| !waits(name)).or_else(|| firsts.clone().next())?;
    let signals = lists.iter().filter(|(_, list)| is_first(list, name));
    Some((name.clone(), signals.map(|(signal, _)| *signal).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    fn shown(lists: Vec<(Signal, Vec<String>)>) -> String {
        let merged = merged(lists).into_iter().map(|(name, signals)| {
            let signals: Vec<_> = signals.iter().map(|signal| &signal.word()[..1]).collect();
            format!("{name}:{}", signals.concat())
        });
        merged.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_of_several_signals_are_there_once_in_the_order_of_all() {
        let lists = vec![(Signal::Traces, list("filter a b")), (Signal::Metrics, list("a b"))];
        assert_eq!(shown(lists), "filter:t a:tm b:tm");
        let lists = vec![(Signal::Traces, list("a b")), (Signal::Metrics, list("b a"))];
        assert_eq!(shown(lists), "a:t b:tm a:m");
        let lists = vec![(Signal::Traces, list("a a")), (Signal::Logs, list("a"))];
        assert_eq!(shown(lists), "a:tl a:t");
        assert_eq!(shown(Vec::new()), "");
    }
}
