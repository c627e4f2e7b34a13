//! Which variable is found out before which. One that needs itself, by whatever detour, is named.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::interpolate::names;
use crate::model::Variable;

/// Members that say what was, not what is needed.
const NOT_NEEDED: [&str; 4] = ["current", "options", "name", "description"];

/// The order in which variables are found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Places in the dashboard's list; the dashboard's own order where nothing else is needed.
    pub places: Vec<usize>,
    /// Places of those that need themselves. They come last, with what is stored.
    pub circular: BTreeSet<usize>,
}

/// Orders variables.
pub fn order(variables: &[Variable]) -> Order {
    let needs: Vec<BTreeSet<usize>> = variables.iter().map(|one| needed(one, variables)).collect();
    let mut places: Vec<usize> = Vec::with_capacity(variables.len());
    let mut is_done = vec![false; variables.len()];
    loop {
        let is_ready =
            |place: &usize| !is_done[*place] && needs[*place].iter().all(|needed| is_done[*needed]);
        let Some(place) = (0..variables.len()).find(is_ready) else { break };
        is_done[place] = true;
        places.push(place);
    }
    let left: Vec<usize> = (0..variables.len()).filter(|place| !is_done[*place]).collect();
    // Of what is left, only what reaches itself is circular; the rest waits for it.
    let circular = left.iter().copied().filter(|place| reaches_itself(*place, &needs)).collect();
    places.extend(left);
    Order { places, circular }
}

fn reaches_itself(start: usize, needs: &[BTreeSet<usize>]) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<usize> = needs[start].iter().copied().collect();
    while let Some(place) = waiting.pop() {
        if place == start {
            return true;
        }
        if seen.insert(place) {
            waiting.extend(&needs[place]);
        }
    }
    false
}

/// Places of the variables that one names.
fn needed(variable: &Variable, all: &[Variable]) -> BTreeSet<usize> {
    let mut named = BTreeSet::new();
    let mut waiting: Vec<&Value> = variable
        .raw
        .iter()
        .filter(|(key, _)| !NOT_NEEDED.contains(&key.as_str()))
        .map(|(_, value)| value)
        .collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => named.extend(names(text)),
            Value::Array(values) => waiting.extend(values),
            Value::Object(of) => waiting.extend(of.values()),
            _ => {}
        }
    }
    let place = |name: &String| all.iter().position(|other| other.name == *name);
    named.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ordered(list: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variables: Vec<Variable> = list
            .iter()
            .map(|(name, query)| json!({"name": name, "query": {"query": query}}))
            .filter_map(|of| Variable::read(of.as_object()?))
            .collect();
        let order = order(&variables);
        let name = |place: &usize| variables[*place].name.clone();
        (order.places.iter().map(name).collect(), order.circular.iter().map(name).collect())
    }

    #[test]
    fn what_is_needed_comes_first() {
        let (order, circular) = ordered(&[
            ("node", "label_values(up{job=\"$job\",n=\"$nodename\"}, instance)"),
            ("nodename", "label_values(up{job=\"$job\"}, nodename)"),
            ("job", "label_values(job)"),
            ("other", "x"),
        ]);
        assert_eq!(order, ["job", "nodename", "node", "other"]);
        assert!(circular.is_empty());
    }

    #[test]
    fn what_needs_itself_is_named_and_what_waits_for_it_is_not() {
        let (order, circular) =
            ordered(&[("a", "$b"), ("b", "${a:csv}"), ("c", "[[a]]"), ("d", ""), ("e", "$e")]);
        assert_eq!(order, ["d", "a", "b", "c", "e"]);
        assert_eq!(circular, ["a", "b", "e"]);
    }
}
