//! Where panels go once they are repeated: a flat list, from top to bottom.
//!
//! Panels are set down from top to bottom, each as high as what is above it allows: there are no gaps
//! and nothing overlaps, whatever a dashboard says, as in Grafana's own grid. A panel that is repeated
//! horizontally takes whole lines: each copy is as wide as the copies that fit beside each other allow. A
//! repeated row is repeated with all its panels. Copies of what has no value at all are none: the panel
//! is shown once, as written, so that its author sees it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::interpolate::Held;
use crate::limits::{MAX_LAID_OUT_PANELS, MAX_REPEATS};
use crate::model::panel::COLUMNS;
use crate::model::{Choice, Dashboard, GridPos, Panel, Repeat, RepeatDirection, Row, Section};

/// Values that hold for one copy only, by variable.
pub type Scope = BTreeMap<String, Choice>;

/// A row's heading, with the panels below that are its own.
#[derive(Debug, Clone)]
pub struct PlacedSection<'a> {
    /// Its heading. Panels at the top, and those behind a closed row, are without.
    pub row: Option<PlacedRow<'a>>,
    /// Where it begins, all rows being open.
    pub top: i64,
    /// Rows of the grid that its panels take.
    pub height: i64,
    /// Its panels.
    pub panels: Vec<PlacedPanel<'a>>,
}

/// A row's heading.
#[derive(Debug, Clone)]
pub struct PlacedRow<'a> {
    /// Names this copy.
    pub key: String,
    /// What is written of it.
    pub row: &'a Row,
    /// Values of this copy.
    pub scope: Scope,
}

/// A panel.
#[derive(Debug, Clone)]
pub struct PlacedPanel<'a> {
    /// Names this copy: the id, and behind it which copy.
    pub key: String,
    /// What is written of it.
    pub panel: &'a Panel,
    /// Where it goes, all rows being open.
    pub grid: GridPos,
    /// Values of this copy.
    pub scope: Scope,
}

/// What was laid out.
#[derive(Debug, Clone)]
pub struct LaidOut<'a> {
    /// From top to bottom.
    pub sections: Vec<PlacedSection<'a>>,
    /// Whether copies were left out because there are too many.
    pub is_cut: bool,
}

/// The id of the panel that a key names a copy of.
pub fn panel_of(key: &str) -> Option<i64> {
    key.split('.').next()?.parse().ok()
}

/// Lays a dashboard out with what its variables hold.
pub fn lay_out<'a>(dashboard: &'a Dashboard, variables: &BTreeMap<String, Held>) -> LaidOut<'a> {
    let mut made = LaidOut { sections: Vec::new(), is_cut: false };
    let mut placer = Placer { variables, left: MAX_LAID_OUT_PANELS, is_cut: false };
    let mut top = 0;
    for section in &dashboard.sections {
        let repeat = section.row.as_ref().and_then(|row| row.repeat.as_deref());
        let copies = repeat.map_or_else(|| vec![None], |variable| placer.copies(variable));
        for (number, value) in copies.into_iter().enumerate() {
            if placer.left == 0 {
                placer.is_cut = true;
                break;
            }
            let mut scope = Scope::new();
            let mut suffix = String::new();
            if let (Some(variable), Some(value)) = (repeat, value) {
                scope.insert(variable.to_owned(), value);
                suffix = format!(".r{number}");
            }
            let placed = placer.section(section, &scope, &suffix, top);
            top += placed.height + i64::from(placed.row.is_some());
            made.sections.push(placed);
        }
    }
    made.is_cut = placer.is_cut;
    made
}

struct Placer<'v> {
    variables: &'v BTreeMap<String, Held>,
    left: usize,
    is_cut: bool,
}

impl Placer<'_> {
    /// The values that something is repeated by; once, as it is written, if there are none.
    fn copies(&mut self, variable: &str) -> Vec<Option<Choice>> {
        let values = self.variables.get(variable).map_or(&[][..], |held| held.values.as_slice());
        if values.is_empty() {
            return vec![None];
        }
        self.is_cut |= values.len() > MAX_REPEATS;
        values.iter().take(MAX_REPEATS).cloned().map(Some).collect()
    }

    fn section<'a>(
        &mut self,
        section: &'a Section,
        scope: &Scope,
        suffix: &str,
        top: i64,
    ) -> PlacedSection<'a> {
        self.left = self.left.saturating_sub(usize::from(section.row.is_some()));
        let row = section.row.as_ref().map(|row| PlacedRow {
            key: format!("{}{suffix}", row.id),
            row,
            scope: scope.clone(),
        });
        let begin = top + i64::from(row.is_some());
        let mut panels: Vec<&Panel> = section.panels.iter().collect();
        panels.sort_by_key(|panel| (panel.grid.y, panel.grid.x));
        let mut skyline = Skyline::new(begin);
        let mut placed = Vec::new();
        for panel in panels {
            placed.extend(self.panel(panel, &mut skyline, scope, suffix));
        }
        let height = skyline.bottom() - begin;
        PlacedSection { row, top, height, panels: placed }
    }

    fn panel<'a>(
        &mut self,
        panel: &'a Panel,
        skyline: &mut Skyline,
        scope: &Scope,
        suffix: &str,
    ) -> Vec<PlacedPanel<'a>> {
        let values = match &panel.repeat {
            // In a row that is repeated by the same variable, the row's value holds.
            Some(repeat) if !scope.contains_key(&repeat.variable) => self.copies(&repeat.variable),
            _ => vec![None],
        };
        let places = match &panel.repeat {
            Some(repeat) if values.iter().any(Option::is_some) => {
                skyline.copies(panel.grid, repeat, values.len())
            }
            _ => vec![skyline.set(panel.grid)],
        };
        let mut copies = Vec::new();
        for (number, (value, grid)) in values.into_iter().zip(places).enumerate() {
            if self.left == 0 {
                self.is_cut = true;
                break;
            }
            self.left -= 1;
            let mut scope = scope.clone();
            let mut key = format!("{}{suffix}", panel.id);
            if let (Some(repeat), Some(value)) = (&panel.repeat, value) {
                scope.insert(repeat.variable.clone(), value);
                key = format!("{key}.{number}");
            }
            copies.push(PlacedPanel { key, panel, grid, scope });
        }
        copies
    }
}

/// How far down each column is taken.
struct Skyline([i64; COLUMNS as usize]);

impl Skyline {
    fn new(top: i64) -> Self {
        Self([top; COLUMNS as usize])
    }

    fn bottom(&self) -> i64 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    fn columns(&mut self, at: GridPos) -> &mut [i64] {
        let column = |x: i64| usize::try_from(x.clamp(0, COLUMNS)).unwrap_or(0);
        &mut self.0[column(at.x)..column(at.x + at.w)]
    }

    /// The first line at which there is room.
    fn room(&mut self, at: GridPos) -> i64 {
        self.columns(at).iter().copied().max().unwrap_or(0)
    }

    /// Sets something down where it fits.
    fn set(&mut self, at: GridPos) -> GridPos {
        let y = self.room(at);
        self.columns(at).fill(y + at.h);
        GridPos { y, ..at }
    }

    /// Sets copies down: below each other, or in lines from the left edge.
    fn copies(&mut self, at: GridPos, repeat: &Repeat, count: usize) -> Vec<GridPos> {
        if repeat.direction == RepeatDirection::Vertical {
            return (0..count).map(|_| self.set(at)).collect();
        }
        let abreast = i64::try_from(count).unwrap_or(COLUMNS).min(repeat.max_per_row);
        let abreast = abreast.clamp(1, COLUMNS);
        let w = COLUMNS / abreast;
        let mut places = Vec::with_capacity(count);
        while places.len() < count {
            let line = (count - places.len()).min(usize::try_from(abreast).unwrap_or(1));
            // All of a line stand at the same height.
            let whole = GridPos { x: 0, w: COLUMNS, ..at };
            let y = self.room(whole);
            for x in (0..).step_by(usize::try_from(w).unwrap_or(1)).take(line) {
                let place = GridPos { x, y, w, h: at.h };
                self.columns(place).fill(y + at.h);
                places.push(place);
            }
        }
        places
    }
}

/// A section as the page gets it: which panels can be folded away together.
#[derive(Debug, Clone, Serialize)]
pub struct SectionSpan {
    /// The key of its heading.
    pub row: Option<String>,
    /// Whether its panels are folded away at first.
    pub collapsed: bool,
    /// Where it begins, all rows being open.
    pub top: i64,
    /// Rows of the grid that its panels take.
    pub height: i64,
}

impl PlacedSection<'_> {
    /// For the page.
    pub fn span(&self) -> SectionSpan {
        SectionSpan {
            row: self.row.as_ref().map(|row| row.key.clone()),
            collapsed: self.row.as_ref().is_some_and(|row| row.row.is_collapsed),
            top: self.top,
            height: self.height,
        }
    }
}
