//! Which rows of a panel have links: each is a text or two, made and sent whenever a panel is asked.
//!
//! There is room for [`limits::MAX_PANEL_LINKS`] in a panel, nested tables included. Where that is too
//! little, all fields of a scope have as many rows with links, the first ones, and what is left out is
//! said. A panel of single values makes links for those (see [`crate::reduce::shown`]); its rows have
//! only those that a query gave, such as that of an exemplar to its trace.

use serde_json::Value as Json;

use super::scope::Prepared;
use super::{Context, links, scope_of};
use crate::frame::{Field, Frame, Notice};
use crate::limits;

/// What makes the links of a panel.
pub(super) struct Linker {
    /// Whether rows have the links that the panel sets, not only those of its queries.
    links_rows: bool,
    /// Links that there is room for.
    left: usize,
    /// Rows of fields that have links, and all that should.
    rows: usize,
    wanted_rows: usize,
}

/// A field with links.
struct Linked {
    frame: usize,
    field: usize,
    rows: usize,
    /// Links of each row.
    per_row: usize,
}

impl Linker {
    pub(super) fn new(links_rows: bool) -> Self {
        Self { links_rows, left: limits::MAX_PANEL_LINKS, rows: 0, wanted_rows: 0 }
    }

    /// The fields to which a query gave links, by frame, before the panel sets any.
    pub(super) fn linked_by_queries(&self, frames: &[Frame]) -> Vec<Vec<bool>> {
        let of = |frame: &Frame| frame.fields.iter().map(|field| per_row(field) > 0).collect();
        frames.iter().map(of).collect()
    }

    /// Makes the links of rows, for fields that have any.
    pub(super) fn set_links(
        &mut self,
        frames: &mut [Frame],
        linked: &[Vec<bool>],
        context: &Context<'_>,
    ) {
        let fields = self.fields(frames, linked);
        if fields.is_empty() {
            return;
        }
        let shares = shares(&fields, self.left);
        let prepared = Prepared::new(frames, &context.clock);
        let mut made = Vec::new();
        for (Linked { frame, field, rows, per_row }, share) in fields.into_iter().zip(shares) {
            let config = frames[frame].fields[field].config.get("links").unwrap_or(&Json::Null);
            let row = |row| {
                let scope = scope_of(&prepared, frame, field, Some(row), context);
                links::links(config, &scope, context.interpolate)
            };
            made.push((frame, field, (0..share).map(row).collect::<Vec<_>>()));
            self.left = self.left.saturating_sub(share * per_row);
            self.rows += share;
            self.wanted_rows += rows;
        }
        for (frame, field, links) in made {
            if let Some(state) = &mut frames[frame].fields[field].state {
                state.links = links;
            }
        }
    }

    fn fields(&self, frames: &[Frame], linked: &[Vec<bool>]) -> Vec<Linked> {
        let mut fields = Vec::new();
        for (frame, source) in frames.iter().enumerate() {
            for (field, column) in source.fields.iter().enumerate() {
                let (rows, per_row) = (column.values.len(), per_row(column));
                if per_row > 0 && rows > 0 && (self.links_rows || linked[frame][field]) {
                    fields.push(Linked { frame, field, rows, per_row });
                }
            }
        }
        fields
    }

    /// That rows are left without links.
    pub(super) fn notice(&self) -> Option<Notice> {
        let (rows, wanted, most) = (self.rows, self.wanted_rows, limits::MAX_PANEL_LINKS);
        (rows < wanted).then(|| {
            Notice::warning(format!(
                "truncated: {rows} of {wanted} values have their links: a panel has room for {most}"
            ))
        })
    }
}

/// How many links each row of a field has.
fn per_row(field: &Field) -> usize {
    let links = field.config.get("links").and_then(Json::as_array);
    links.map_or(0, |links| links.len().min(limits::MAX_LINKS))
}

/// How many rows of each field have links, so that all together have room: short fields all of theirs,
/// the others as many as each other.
fn shares(fields: &[Linked], room: usize) -> Vec<usize> {
    let mut shares = vec![0; fields.len()];
    let mut shortest_first: Vec<usize> = (0..fields.len()).collect();
    shortest_first.sort_by_key(|at| fields[*at].rows);
    let mut left = room;
    let mut per_row_of_all: usize = fields.iter().map(|field| field.per_row).sum();
    for at in shortest_first {
        let Linked { rows, per_row, .. } = fields[at];
        shares[at] = rows.min(left / per_row_of_all.max(1));
        left -= shares[at] * per_row;
        per_row_of_all -= per_row;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_fields_have_all_their_rows_and_the_others_as_many_as_each_other() {
        let field = |rows, per_row| Linked { frame: 0, field: 0, rows, per_row };
        assert_eq!(shares(&[field(5, 1), field(3, 2)], 100), [5, 3]);
        assert_eq!(shares(&[field(100, 1), field(2, 1), field(100, 1)], 20), [9, 2, 9]);
        assert_eq!(shares(&[field(100, 3), field(100, 1)], 20), [5, 5]);
        assert_eq!(shares(&[field(100, 1), field(100, 1), field(100, 1)], 2), [0, 1, 1]);
        assert_eq!(shares(&[], 5), [] as [usize; 0]);
    }
}
