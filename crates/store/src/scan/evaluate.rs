//! Testing the rows of a granule, cheap tests first, each only on rows that are
//! still alive.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_wire::{AnyValueView, View, kvlist_entries};

use super::ScanStats;
use super::build::shown_text;
use super::compile::{Compiled, Node, Target, Test};
use super::int_test::Verdict;
use super::keys::Types;
use super::mask::Mask;
use super::packed::{Ints, Piece, Slice};
use super::page_text;
use super::part::{Bound, Form, Leaf, Marks, TestedColumn};
use super::reader::{Loaded, Reader};
use super::value_test::{ValueTest, type_of};
use crate::error::StoreError;
use crate::schema::Kind;

impl Reader {
    /// Rows of `alive` that pass the tree.
    pub(super) fn evaluate(
        &mut self,
        compiled: &Compiled,
        node: &Node,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        match self.part().verdict(compiled, node, granule) {
            Verdict::None => return Ok(Mask::NONE),
            Verdict::All => return Ok(alive.clone()),
            Verdict::Some => {}
        }
        match node {
            Node::And(parts) => {
                let mut left = alive.clone();
                for part in parts {
                    if !left.any() {
                        break;
                    }
                    left = self.evaluate(compiled, part, granule, &left, stats)?;
                }
                Ok(left)
            }
            Node::Or(parts) => {
                let (mut found, mut left) = (Mask::NONE, alive.clone());
                for part in parts {
                    if !left.any() {
                        break;
                    }
                    let passing = self.evaluate(compiled, part, granule, &left, stats)?;
                    left.and_not(&passing);
                    found.or(&passing);
                }
                Ok(found)
            }
            Node::Not(part) => {
                let passing = self.evaluate(compiled, part, granule, alive, stats)?;
                let mut left = alive.clone();
                left.and_not(&passing);
                Ok(left)
            }
            Node::Test(nth) => self.test(*nth, &compiled.tests[*nth], granule, alive, stats),
        }
    }

    fn test(
        &mut self,
        nth: usize,
        test: &Test,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let part = self.part();
        match &part.bound[nth] {
            Bound::Origins(marks) => {
                let leaf = Leaf::Field(part.table.common.origin);
                let loaded = self.load(leaf, granule, stats)?.ok_or_else(no_origins)?;
                let piece = loaded.piece(granule, part.rows(granule));
                let Slice::Int(codes) = piece.values else { return Err(no_origins()) };
                Ok(Mask::of_codes(&codes, &piece.present, alive, &marks.passing))
            }
            Bound::Parents => {
                let parents = self.parents(granule, stats)?;
                let piece = parents.piece(granule, part.rows(granule));
                Ok(test_piece(&piece, test, alive))
            }
            Bound::EndTimes => {
                let ends = self.end_times(granule, stats)?;
                let piece = ends.piece(granule, part.rows(granule));
                Ok(test_piece(&piece, test, alive))
            }
            Bound::Columns { columns, rest, hashes } => {
                let mut found = Mask::NONE;
                for column in columns {
                    let verdict = part.column_verdict(test, column, hashes.as_deref(), granule);
                    if verdict != Verdict::None {
                        found.or(&self.test_column(nth, test, column, granule, alive, stats)?);
                    }
                }
                if part.rest_verdict(nth, granule) != Verdict::None {
                    found.or(&self.test_rest(nth, test, *rest, granule, alive, stats)?);
                }
                Ok(found)
            }
        }
    }

    fn test_column(
        &mut self,
        nth: usize,
        test: &Test,
        column: &TestedColumn,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let rows = self.part().rows(granule);
        let Some(loaded) = self.load(column.leaf, granule, stats)? else { return Ok(Mask::NONE) };
        let piece = loaded.piece(granule, rows.clone());
        if matches!(test.test, ValueTest::Exists) && column.form != Form::Shown {
            return Ok(Mask::existing(&piece, rows.len(), alive));
        }
        let Slice::Bytes(codes, dict) = &piece.values else {
            return Ok(test_piece(&piece, test, alive));
        };
        let own = self.own_tests.entry(nth).or_insert_with(|| test.test.of_own().map(Arc::new));
        let own = own.clone();
        let value_test = own.as_deref().unwrap_or(&test.test);
        let passes = |value: &[u8]| match column.kind {
            Kind::Text => value_test.text(value),
            _ => match column.form {
                Form::Plain => test.test.bytes(value),
                Form::Any => AnyValueView::parse(value).is_ok_and(|value| test.test.any(&value)),
                Form::Shown => {
                    let text = AnyValueView::parse(value)
                        .ok()
                        .and_then(|v| shown_text(&v).map(Cow::into_owned));
                    text.is_some_and(|text| test.test.text(&text))
                }
            },
        };
        if matches!(loaded, Loaded::Granule(_)) {
            if column.kind == Kind::Text
                && let Some(passing) = page_text::passing(codes, dict, value_test, alive)
            {
                return Ok(Mask::of_codes(codes, &piece.present, alive, &passing));
            }
            return Ok(Mask::of_each(&piece.present, alive, |nth| {
                passes(dict.get(codes.get(nth) as u32))
            }));
        }
        let marks = match self.marks.get(&(nth, column.leaf)) {
            Some(marks) => marks.clone(),
            None => {
                let passing = match (&loaded, test.test.only_text()) {
                    // Looked up rather than looked for.
                    (Loaded::Whole(packed), Some(text)) if column.kind == Kind::Text => {
                        let mut passing = vec![false; dict.len()];
                        if let Some(code) = packed.code_of(text) {
                            passing[code as usize] = true;
                        }
                        passing
                    }
                    _ => dict.iter().map(passes).collect(),
                };
                let marks = Arc::new(Marks::new(passing));
                self.marks.insert((nth, column.leaf), marks.clone());
                marks
            }
        };
        Ok(marked_rows(&piece, codes, &marks, alive))
    }

    /// Tests attributes that have no column.
    fn test_rest(
        &mut self,
        nth: usize,
        test: &Test,
        types: Types,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let Target::Own { key, .. } = &test.target else { return Ok(Mask::NONE) };
        let leaf = Leaf::Field(self.part().table.common.rest);
        let Some(loaded) = self.load(leaf, granule, stats)? else { return Ok(Mask::NONE) };
        let piece = loaded.piece(granule, self.part().rows(granule));
        let Slice::Bytes(codes, dict) = &piece.values else { return Ok(Mask::NONE) };
        let passes = |list: &[u8]| {
            kvlist_entries(list).flatten().any(|attribute| {
                attribute.key == &key[..]
                    && type_of(&attribute.value).is_some_and(|found| types.has(found))
                    && test.test.any(&attribute.value)
            })
        };
        if matches!(loaded, Loaded::Granule(_)) {
            return Ok(Mask::of_each(&piece.present, alive, |nth| {
                passes(dict.get(codes.get(nth) as u32))
            }));
        }
        let marks = match self.marks.get(&(nth, leaf)) {
            Some(marks) => marks.clone(),
            None => {
                let marks = Arc::new(Marks::new(dict.iter().map(passes).collect()));
                self.marks.insert((nth, leaf), marks.clone());
                marks
            }
        };
        Ok(marked_rows(&piece, codes, &marks, alive))
    }
}

fn no_origins() -> StoreError {
    StoreError::corrupt("rows without origins")
}

/// Tests values that are not byte strings.
fn test_piece(piece: &Piece<'_>, test: &Test, alive: &Mask) -> Mask {
    match piece.values {
        Slice::Int(ints) => Mask::of_ints(&ints, &piece.present, alive, &test.ints),
        Slice::Double(values) => {
            Mask::of(values, &piece.present, alive, |value| test.test.double(value))
        }
        Slice::Bool(values) => {
            Mask::of(values, &piece.present, alive, |value| test.test.bool(value))
        }
        Slice::Id8(ids) => Mask::of(ids, &piece.present, alive, |id| test.test.bytes(&id)),
        Slice::Id16(ids) => Mask::of(ids, &piece.present, alive, |id| test.test.bytes(&id)),
        Slice::Bytes(..) => Mask::NONE,
    }
}

fn marked_rows(piece: &Piece<'_>, codes: &Ints<'_>, marks: &Marks, alive: &Mask) -> Mask {
    match marks.verdict {
        Verdict::None => Mask::NONE,
        _ => Mask::of_codes(codes, &piece.present, alive, &marks.passing),
    }
}
