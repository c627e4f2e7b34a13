//! `info`: labels of info series (`target_info`) on the series they belong to.
//!
//! They belong together if `instance` and `job` are equal. Of several info series
//! of one name that match, the one with the newest sample counts.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use super::error::EvalError;
use super::evaluator::Evaluator;
use super::grid::{Grid, Row, Steps};
use super::plan::{Plan, PlanNode, When};
use super::selectors::{CurrentValue, Cursor};
use crate::labels::{Label, Labels, NAME};
use crate::matcher::{LabelMatcher, MatchOp};
use crate::sample::Value;
use crate::source::{Select, Series};

/// The labels by which info series are found.
const IDENTIFYING: [&str; 2] = ["instance", "job"];
/// The info metric that is meant if none is named.
const TARGET_INFO: &str = "target_info";

impl Evaluator<'_> {
    /// `info(vector, {label selector})`
    pub(crate) fn info(&self, args: &[Plan], steps: &Steps) -> Result<Grid, EvalError> {
        let when = first_selector_when(&args[0]).unwrap_or_default();
        let base = self.grid_of(&args[0], steps)?;
        let matchers: &[LabelMatcher] = match args.get(1) {
            Some(Plan { node: PlanNode::Selector(selector), .. }) => &selector.matchers,
            _ => &[],
        };
        let (names, data): (Vec<&LabelMatcher>, Vec<&LabelMatcher>) =
            matchers.iter().partition(|matcher| matcher.name == NAME);
        let names = effective_names(&names)?;
        // Info series themselves get no labels of others.
        let is_info = |row: &Row| {
            let name = row.labels.metric_name();
            names.iter().all(|matcher| matcher.matches(name))
        };
        let is_ignored: Vec<bool> = base.rows.iter().map(is_info).collect();
        let found = self.info_series(&base, &is_ignored, &names, &data, when, steps)?;
        let join = InfoJoin { base: &base, is_ignored: &is_ignored, found: &found, data: &data };
        join.run(when, steps, self.options.lookback)
    }

    /// The info series that may match.
    fn info_series(
        &self,
        base: &Grid,
        is_ignored: &[bool],
        names: &[LabelMatcher],
        data: &[&LabelMatcher],
        when: When,
        steps: &Steps,
    ) -> Result<Vec<Series>, EvalError> {
        let mut matchers: Vec<LabelMatcher> = Vec::new();
        for name in IDENTIFYING {
            let enriched = base.rows.iter().zip(is_ignored).filter(|(_, ignored)| !**ignored);
            let values: HashSet<&str> =
                enriched.filter_map(|(row, _)| row.labels.get(name)).collect();
            if !values.is_empty() {
                let mut quoted: Vec<String> = values.into_iter().map(regex::escape).collect();
                quoted.sort();
                matchers.push(regex_matcher(name, &quoted.join("|"))?);
            }
        }
        if matchers.is_empty() {
            return Ok(Vec::new());
        }
        matchers.extend(data.iter().map(|matcher| (*matcher).clone()));
        matchers.extend(names.iter().cloned());
        let select = Select {
            matchers,
            start: when.time(steps.start) - self.options.lookback + 1,
            end: when.time(steps.end()),
            only_totals: true,
        };
        Ok(self.select(&select)?.to_vec())
    }
}

/// The time at which the first selector of an expression looks.
fn first_selector_when(plan: &Plan) -> Option<When> {
    match &plan.node {
        PlanNode::Selector(selector) => Some(selector.when),
        PlanNode::Range(range) => Some(range.selector.when),
        PlanNode::Subquery(subquery) => {
            let inner = first_selector_when(&subquery.expr)?;
            // Offsets add up until a fixed time makes those further out irrelevant.
            Some(match inner.at {
                Some(_) => inner,
                None => When { at: subquery.when.at, offset: inner.offset + subquery.when.offset },
            })
        }
        PlanNode::Aggregate(aggregate) => first_selector_when(&aggregate.expr),
        PlanNode::Call(call) => call.args.iter().find_map(first_selector_when),
        PlanNode::Binary(binary) => {
            first_selector_when(&binary.left).or_else(|| first_selector_when(&binary.right))
        }
        PlanNode::Negative(inner) => first_selector_when(inner),
        PlanNode::Number(_) | PlanNode::Text(_) => None,
    }
}

fn regex_matcher(name: &str, pattern: &str) -> Result<LabelMatcher, EvalError> {
    LabelMatcher::new(name, MatchOp::Matches, pattern)
        .map_err(|error| EvalError::Execution(format!("cannot look for info series: {error}")))
}

/// The conditions on names of info series: those given; if these only exclude,
/// among all that end in `_info`.
fn effective_names(given: &[&LabelMatcher]) -> Result<Vec<LabelMatcher>, EvalError> {
    let is_positive =
        |matcher: &&&LabelMatcher| matches!(matcher.op, MatchOp::Equal | MatchOp::Matches);
    let mut names: Vec<LabelMatcher> = given.iter().map(|matcher| (*matcher).clone()).collect();
    if given.is_empty() {
        names.push(LabelMatcher::equal(NAME, TARGET_INFO));
    } else if !given.iter().any(|matcher| is_positive(&matcher)) {
        names.insert(0, regex_matcher(NAME, ".+_info")?);
    }
    Ok(names)
}

/// Series and the info series that belong to them.
struct InfoJoin<'a> {
    base: &'a Grid,
    is_ignored: &'a [bool],
    found: &'a [Series],
    /// Conditions on labels, which also say which labels are taken.
    data: &'a [&'a LabelMatcher],
}

/// Info series by what identifies them, then by name: the newest and its time.
type Current = HashMap<Labels, BTreeMap<String, (i64, usize)>>;

impl InfoJoin<'_> {
    fn run(&self, when: When, steps: &Steps, lookback: i64) -> Result<Grid, EvalError> {
        let identity = |labels: &Labels| labels.filtered(|name| IDENTIFYING.contains(&name));
        let of_base: Vec<Labels> = self.base.rows.iter().map(|row| identity(&row.labels)).collect();
        let of_found: Vec<Labels> =
            self.found.iter().map(|series| identity(&series.labels)).collect();
        let mut cursors: Vec<Cursor<'_>> =
            self.found.iter().map(|series| Cursor::new(&series.samples, lookback)).collect();
        let mut rows: Vec<Row> = Vec::new();
        let mut numbers: HashMap<(usize, Labels), usize> = HashMap::new();
        let mut cells: Vec<(usize, usize, Value)> = Vec::new();
        for step in 0..steps.count {
            // Info series that nothing asks for need not be unambiguous.
            if !(0..of_base.len()).any(|row| self.base.is_present(row, step)) {
                continue;
            }
            let time = when.time(steps.time(step));
            let current = self.current(&mut cursors, &of_found, time)?;
            for (row, identity) in of_base.iter().enumerate() {
                let Some(value) = self.base.get(row, step) else { continue };
                let base = &self.base.rows[row];
                let labels = if self.is_ignored[row] {
                    base.labels.clone()
                } else {
                    match self.enriched(&base.labels, current.get(identity))? {
                        Some(labels) => labels,
                        None => continue,
                    }
                };
                let next = rows.len();
                let number = *numbers.entry((row, labels.clone())).or_insert(next);
                if number == next {
                    rows.push(Row { labels, drops_name: base.drops_name });
                }
                cells.push((number, step, value));
            }
        }
        let mut grid = Grid::new(steps.count, rows);
        for (row, step, value) in cells {
            grid.set(row, step, value);
        }
        grid.merged()
    }

    /// The info series that count at a time.
    fn current(
        &self,
        cursors: &mut [Cursor<'_>],
        identities: &[Labels],
        time: i64,
    ) -> Result<Current, EvalError> {
        let mut current = Current::new();
        for (nth, cursor) in cursors.iter_mut().enumerate() {
            let Some(sample) = cursor.at(time) else { continue };
            let labels = &self.found[nth].labels;
            if matches!(sample.value, CurrentValue::Histogram(_)) {
                let text = format!("this should be an info metric, with float samples: {labels}");
                return Err(EvalError::Execution(text));
            }
            let of_name = current.entry(identities[nth].clone()).or_default();
            let name = labels.metric_name().to_owned();
            let known = of_name.entry(name).or_insert((sample.time, nth));
            if known.1 != nth {
                if known.0 == sample.time {
                    let existing = &self.found[known.1].labels;
                    return Err(EvalError::Execution(format!(
                        "found duplicate series for info metric: existing {existing} @ {}, new \
                         {labels} @ {}",
                        known.0, sample.time
                    )));
                }
                if sample.time > known.0 {
                    *known = (sample.time, nth);
                }
            }
        }
        Ok(current)
    }

    /// The labels with those of info series; `None` if a series that has to have
    /// some has none.
    fn enriched(
        &self,
        base: &Labels,
        infos: Option<&BTreeMap<String, (i64, usize)>>,
    ) -> Result<Option<Labels>, EvalError> {
        let mut added: BTreeMap<&str, &Label> = BTreeMap::new();
        for (_, nth) in infos.into_iter().flat_map(BTreeMap::values) {
            for label in self.found[*nth].labels.iter().filter(|label| &*label.name != NAME) {
                let is_wanted = self.data.is_empty()
                    || self.data.iter().any(|matcher| matcher.name == *label.name);
                if !is_wanted {
                    continue;
                }
                if added.get(&*label.name).is_some_and(|known| known.value != label.value) {
                    let text = format!("conflicting label: {}", label.name);
                    return Err(EvalError::Execution(text));
                }
                if base.get(&label.name).is_none() {
                    added.insert(&label.name, label);
                }
            }
        }
        let is_found = infos.is_some_and(|infos| !infos.is_empty());
        if !is_found && self.data.iter().any(|matcher| !matcher.matches("")) {
            return Ok(None);
        }
        Ok(Some(base.iter().chain(added.into_values()).cloned().collect()))
    }
}
