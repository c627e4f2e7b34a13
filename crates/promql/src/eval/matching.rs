//! How series of two vectors find each other.

use hashbrown::{HashMap, HashSet};

use super::arithmetic::{arithmetic, changes_meaning, compare};
use super::elements::combine;
use super::error::EvalError;
use super::grid::{ABSENT, Grid, Row, is_absent, present};
use super::plan::BinaryPlan;
use crate::annotations::Annotations;
use crate::ast::{BinaryOp, Cardinality, Matching, Span};
use crate::labels::{Labels, NAME};
use crate::sample::Value;

/// The labels by which a series finds others.
fn signature(labels: &Labels, matching: &Matching) -> Labels {
    let is_named = |name: &str| matching.labels.iter().any(|label| label == name);
    match matching.is_on {
        true => labels.filtered(is_named),
        false => labels.filtered(|name| name != NAME && !is_named(name)),
    }
}

/// A number for each signature, and that of each row of both sides.
struct Signatures {
    left: Vec<usize>,
    right: Vec<usize>,
    count: usize,
}

impl Signatures {
    fn of(matching: &Matching, left: &Grid, right: &Grid) -> Self {
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut number_all = |rows: &[Row]| -> Vec<usize> {
            rows.iter()
                .map(|row| {
                    let next = numbers.len();
                    *numbers.entry(signature(&row.labels, matching)).or_insert(next)
                })
                .collect()
        };
        let (left, right) = (number_all(&left.rows), number_all(&right.rows));
        Self { left, right, count: numbers.len() }
    }
}

/// `and`, `or`, `unless`.
pub(crate) fn set_operation(
    op: BinaryOp,
    matching: &Matching,
    mut left: Grid,
    mut right: Grid,
) -> Result<Grid, EvalError> {
    let signatures = Signatures::of(matching, &left, &right);
    let steps = left.steps;
    // The side that decides, and the one that is thinned out.
    let (deciding, by) = match op {
        BinaryOp::Or => (&left, &signatures.left),
        _ => (&right, &signatures.right),
    };
    let mut is_there = vec![false; signatures.count * steps];
    for (row, signature) in by.iter().enumerate() {
        for step in (0..steps).filter(|step| deciding.is_present(row, *step)) {
            is_there[signature * steps + step] = true;
        }
    }
    let keeps = op == BinaryOp::And;
    if op == BinaryOp::Or {
        right = thinned(right, &signatures.right, &is_there, keeps);
        return joined(left, right);
    }
    left = thinned(left, &signatures.left, &is_there, keeps);
    Ok(left.without_empty_rows())
}

/// Keeps the cells whose signature is there, or those whose is not.
fn thinned(grid: Grid, signatures: &[usize], is_there: &[bool], keeps: bool) -> Grid {
    let mut result = Grid::new(grid.steps, grid.rows.clone());
    for (row, signature) in signatures.iter().enumerate() {
        for step in 0..grid.steps {
            if is_there[signature * grid.steps + step] == keeps
                && let Some(value) = grid.get(row, step)
            {
                result.set(row, step, value);
            }
        }
    }
    result
}

/// The rows of both, those with equal labels as one.
fn joined(left: Grid, right: Grid) -> Result<Grid, EvalError> {
    let (left, right) = (left.without_empty_rows(), right.without_empty_rows());
    let rows = left.rows.iter().chain(&right.rows).cloned().collect();
    let mut result = Grid::new(left.steps, rows);
    let first = left.rows.len();
    for (grid, first) in [(&left, 0), (&right, first)] {
        for row in 0..grid.rows.len() {
            for step in 0..grid.steps {
                if let Some(value) = grid.get(row, step) {
                    result.set(first + row, step, value);
                }
            }
        }
    }
    // At one step there is no need to: two are an error at the end, unless one of
    // them goes before.
    if result.steps == 1 { Ok(result) } else { result.merged() }
}

/// An operator between two vectors.
pub(crate) struct Match<'a> {
    pub(crate) binary: &'a BinaryPlan,
    pub(crate) span: Span,
    pub(crate) delays_names: bool,
}

impl Match<'_> {
    fn is_swapped(&self) -> bool {
        self.binary.matching.cardinality == Cardinality::OneToMany
    }

    /// Combines the samples of series that match.
    pub(crate) fn combine(
        &self,
        left: &Grid,
        right: &Grid,
        notes: &mut Annotations,
    ) -> Result<Grid, EvalError> {
        let matching = &self.binary.matching;
        // From here on the right side is the one of which there is one.
        let (many, one) = if self.is_swapped() { (right, left) } else { (left, right) };
        let signatures = Signatures::of(matching, many, one);
        let has_fill = matching.fill_left.is_some() || matching.fill_right.is_some();
        if !has_fill
            && matching.cardinality == Cardinality::OneToOne
            && !many.has_histograms()
            && !one.has_histograms()
            && let Some(grid) = self.combine_unique(many, one, &signatures)
        {
            return Ok(grid);
        }
        let combining = Combining {
            matched: self,
            many,
            one,
            signatures: &signatures,
            rows: Vec::new(),
            by_pair: HashMap::new(),
            cells: Vec::new(),
        };
        combining.run(notes)
    }

    /// The quick way, if no signature occurs twice on either side.
    fn combine_unique(&self, many: &Grid, one: &Grid, signatures: &Signatures) -> Option<Grid> {
        let mut partner = vec![usize::MAX; signatures.count];
        for (row, signature) in signatures.right.iter().enumerate() {
            if std::mem::replace(&mut partner[*signature], row) != usize::MAX {
                return None;
            }
        }
        let mut is_seen = vec![false; signatures.count];
        if signatures.left.iter().any(|signature| std::mem::replace(&mut is_seen[*signature], true))
        {
            return None;
        }
        let partner_of = |row: usize| partner[signatures.left[row]];
        let pairs: Vec<(usize, usize)> = (0..many.rows.len())
            .map(|row| (row, partner_of(row)))
            .filter(|(_, partner)| *partner != usize::MAX)
            .collect();
        let rows = pairs.iter().map(|(a, b)| {
            let labels = self.labels(&many.rows[*a].labels, &one.rows[*b].labels);
            Row { labels, drops_name: self.binary.returns_bool }
        });
        let mut result = Grid::new(many.steps, rows.collect());
        let (op, returns_bool) = (self.binary.op, self.binary.returns_bool);
        if matches!(op, BinaryOp::TrimLower | BinaryOp::TrimUpper) {
            return None;
        }
        for (number, (row, partner)) in pairs.iter().enumerate() {
            let both = many.floats(*row).iter().zip(one.floats(*partner));
            for (cell, (a, b)) in result.floats_mut(number).iter_mut().zip(both) {
                if is_absent(*a) || is_absent(*b) {
                    continue;
                }
                *cell = match compare(op, *a, *b) {
                    None => present(arithmetic(op, *a, *b)),
                    Some(holds) if returns_bool => f64::from(u8::from(holds)),
                    Some(true) => *a,
                    Some(false) => ABSENT,
                };
            }
        }
        Some(result)
    }

    /// The labels of a result.
    fn labels(&self, many: &Labels, one: &Labels) -> Labels {
        let matching = &self.binary.matching;
        let mut labels = many.clone();
        let drops_name = !self.delays_names && self.binary.returns_bool;
        if drops_name || changes_meaning(self.binary.op) {
            labels = labels.without_metadata();
        }
        if matching.cardinality == Cardinality::OneToOne {
            let is_named = |name: &str| matching.labels.iter().any(|label| label == name);
            labels = labels.filtered(|name| is_named(name) == matching.is_on);
        }
        for name in &matching.include {
            labels = labels.with(name, one.get(name).unwrap_or_default());
        }
        labels
    }
}

/// One side of a pair: a row, or what stands in for one that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Row(usize),
    /// Filled, with the labels by which that row of the other side matches.
    FilledFor(usize),
}

/// The general way: step by step.
struct Combining<'a> {
    matched: &'a Match<'a>,
    many: &'a Grid,
    one: &'a Grid,
    signatures: &'a Signatures,
    rows: Vec<Row>,
    by_pair: HashMap<(Side, Side), usize>,
    cells: Vec<(usize, usize, Value)>,
}

impl Combining<'_> {
    fn run(mut self, notes: &mut Annotations) -> Result<Grid, EvalError> {
        for step in 0..self.many.steps {
            self.step(step, notes)?;
        }
        let mut grid = Grid::new(self.many.steps, self.rows);
        for (row, step, value) in self.cells {
            grid.set(row, step, value);
        }
        let grid = grid.without_empty_rows();
        if grid.steps == 1 { Ok(grid) } else { grid.merged() }
    }

    fn step(&mut self, step: usize, notes: &mut Annotations) -> Result<(), EvalError> {
        let matching = &self.matched.binary.matching;
        let (many, one, signatures) = (self.many, self.one, self.signatures);
        let mut partners: HashMap<usize, usize> = HashMap::new();
        for row in (0..one.rows.len()).filter(|row| one.is_present(*row, step)) {
            if let Some(other) = partners.insert(signatures.right[row], row) {
                // Where nothing can be matched, nothing is ambiguous.
                let has_fill = matching.fill_left.is_some() || matching.fill_right.is_some();
                if !has_fill && !(0..many.rows.len()).any(|row| many.is_present(row, step)) {
                    return Ok(());
                }
                return Err(self.duplicate(other, row));
            }
        }
        let mut matched: HashMap<usize, HashSet<Labels>> = HashMap::new();
        let mut said = Annotations::default();
        for row in (0..many.rows.len()).filter(|row| many.is_present(*row, step)) {
            let signature = signatures.left[row];
            let partner = match partners.get(&signature) {
                Some(partner) => Side::Row(*partner),
                None if matching.fill_right.is_some() => Side::FilledFor(row),
                None => continue,
            };
            let of_signature = matched.entry(signature).or_default();
            self.pair(step, Side::Row(row), partner, of_signature, &mut said)?;
        }
        if matching.fill_left.is_some() {
            for row in (0..one.rows.len()).filter(|row| one.is_present(*row, step)) {
                let signature = signatures.right[row];
                if matched.get(&signature).is_some_and(|labels| !labels.is_empty()) {
                    continue;
                }
                let of_signature = matched.entry(signature).or_default();
                self.pair(step, Side::FilledFor(row), Side::Row(row), of_signature, &mut said)?;
            }
        }
        notes.merge(said);
        Ok(())
    }

    /// The sample and labels of one side of a pair.
    fn side(&self, side: Side, step: usize, is_many: bool) -> Option<(Value, Labels)> {
        let matching = &self.matched.binary.matching;
        let (own, other, fill) = match is_many {
            true => (self.many, self.one, matching.fill_left),
            false => (self.one, self.many, matching.fill_right),
        };
        match side {
            Side::Row(row) => Some((own.get(row, step)?, own.rows[row].labels.clone())),
            Side::FilledFor(row) => {
                let labels = signature(&other.rows[row].labels, matching);
                Some((Value::Float(fill?), labels))
            }
        }
    }

    /// Combines a pair. What is said of it takes the place of what was said of the
    /// pairs before, as one word for each step is enough.
    fn pair(
        &mut self,
        step: usize,
        many: Side,
        one: Side,
        seen: &mut HashSet<Labels>,
        said: &mut Annotations,
    ) -> Result<(), EvalError> {
        let (Some((value, labels)), Some((other, other_labels))) =
            (self.side(many, step, true), self.side(one, step, false))
        else {
            return Ok(());
        };
        let binary = self.matched.binary;
        let (a, b) = if self.matched.is_swapped() { (&other, &value) } else { (&value, &other) };
        let mut notes = Annotations::default();
        let combined = combine(binary.op, a, b, self.matched.span, &mut notes);
        if !notes.is_empty() {
            *said = notes;
        }
        let Some(combined) = combined else { return Ok(()) };
        let next = self.rows.len();
        let row = *self.by_pair.entry((many, one)).or_insert(next);
        if row == next {
            let labels = self.matched.labels(&labels, &other_labels);
            self.rows.push(Row { labels, drops_name: binary.returns_bool });
        }
        let labels = &self.rows[row].labels;
        if binary.matching.cardinality == Cardinality::OneToOne && !seen.is_empty() {
            return Err(EvalError::Execution(
                "multiple matches for labels: many-to-one matching must be explicit \
                 (group_left/group_right)"
                    .to_owned(),
            ));
        }
        if !seen.insert(labels.clone()) {
            return Err(EvalError::Execution(
                "multiple matches for labels: grouping labels must ensure unique matches"
                    .to_owned(),
            ));
        }
        if binary.returns_bool {
            let holds = f64::from(u8::from(combined.holds));
            self.cells.push((row, step, Value::Float(holds)));
        } else if combined.holds {
            self.cells.push((row, step, combined.value));
        }
        Ok(())
    }

    fn duplicate(&self, one: usize, other: usize) -> EvalError {
        let [a, b] = [one, other].map(|row| &self.one.rows[row].labels);
        let group = signature(b, &self.matched.binary.matching);
        let side = if self.matched.is_swapped() { "left" } else { "right" };
        let mut texts = [a.to_string(), b.to_string()];
        texts.sort();
        let [a, b] = texts;
        EvalError::Execution(format!(
            "found duplicate series for the match group {group} on the {side} hand-side of the \
             operation: [{a}, {b}];many-to-many matching not allowed: matching labels must be \
             unique on one side"
        ))
    }
}
