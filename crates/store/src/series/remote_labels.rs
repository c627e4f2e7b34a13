//! The labels of a series of remote-write, as bytes.
//!
//! They are kept as all senders of 1.0 encode them: for each label, in order of name, the field
//! `labels` with name and value. So the labels of a request can be hashed and compared without
//! being taken apart. Labels that came in another form are brought to this one.

use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{LabelView, METRIC_NAME, SeriesView, SymbolTable};
use kymo_wire::{AnyValueView, Numbers, View, WireError, numbers};

use crate::pages::write_varint;

const LABELS: u8 = 1 << 3 | 2;
const NAME: u8 = 1 << 3 | 2;
const VALUE: u8 = 2 << 3 | 2;

/// Appends a label, unless it is empty.
#[inline]
pub(crate) fn push(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if value.is_empty() {
        return;
    }
    // Nearly always: each length is a single byte.
    if name.len() + value.len() < 0x80 - 4 {
        out.reserve(name.len() + value.len() + 6);
        let label_bytes = (name.len() + value.len() + 4) as u8;
        out.extend_from_slice(&[LABELS, label_bytes, NAME, name.len() as u8]);
        out.extend_from_slice(name);
        out.extend_from_slice(&[VALUE, value.len() as u8]);
        out.extend_from_slice(value);
        return;
    }
    let mut label = Vec::with_capacity(name.len() + value.len() + 22);
    for (tag, text) in [(NAME, name), (VALUE, value)] {
        label.push(tag);
        write_varint(text.len() as u64, &mut label);
        label.extend_from_slice(text);
    }
    out.push(LABELS);
    write_varint(label.len() as u64, out);
    out.extend_from_slice(&label);
}

/// Overwrites `out` with the labels of a series of 1.0, whatever way they came.
#[cold]
pub(crate) fn of_series(series: &SeriesView<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let mut labels = series.labels.into_iter().collect::<Result<Vec<LabelView<'_>>, _>>()?;
    labels.sort_by_key(|label| label.name);
    out.clear();
    labels.iter().for_each(|label| push(label.name, label.value, out));
    Ok(())
}

/// Overwrites `out` with the labels of a series of 2.0, which admission has put in order; false if
/// one of them has no text.
#[inline]
pub(crate) fn of_references(
    symbols: &SymbolTable<'_>,
    references: &Numbers<'_, numbers::Varint>,
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    let mut numbers = references.iter();
    while let Some(name) = numbers.next() {
        let label =
            numbers.next().and_then(|value| Some((symbols.get(name)?, symbols.get(value)?)));
        let Some((name, value)) = label else { return false };
        push(name, value, out);
    }
    true
}

/// The labels one by one.
fn iter(labels: &[u8]) -> impl Iterator<Item = LabelView<'_>> {
    // They are our own: what cannot be read is not there.
    let series = SeriesView::parse(labels).map(|series| series.labels);
    series.into_iter().flatten().flatten()
}

/// The value of `__name__`.
pub(crate) fn metric_name(labels: &[u8]) -> Option<&[u8]> {
    let name = iter(labels).find(|label| label.name == METRIC_NAME)?.value;
    (!name.is_empty()).then_some(name)
}

/// Appends all labels but `__name__` as an encoded `KeyValueList`.
pub(crate) fn push_attributes(labels: &[u8], out: &mut Vec<u8>) {
    let mut attribute = Writer::new();
    for label in iter(labels).filter(|label| label.name != METRIC_NAME) {
        attribute.clear();
        attribute.key_value(1, label.name, &AnyValueView::String(label.value));
        out.extend_from_slice(attribute.as_slice());
    }
}

/// Appends a text as an entry of an encoded `KeyValueList`.
pub(crate) fn push_text(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let mut entry = Writer::new();
    entry.key_value(1, key, &AnyValueView::String(value));
    out.extend_from_slice(entry.as_slice());
}

#[cfg(test)]
mod tests {
    use kymo_wire::kvlist_entries;
    use kymo_wire::remote_write::write_label;

    use super::*;

    #[test]
    fn labels_are_encoded_as_senders_do_whatever_their_length() {
        for length in [1, 100, 119, 120, 121, 122, 127, 128, 20_000] {
            let value = vec![b'x'; length];
            let mut expected = Writer::new();
            write_label(b"job", &value, &mut expected);
            let mut labels = Vec::new();
            push(b"job", &value, &mut labels);
            assert_eq!(labels, expected.as_slice(), "{length}");
        }
    }

    #[test]
    fn labels_that_came_in_another_form_are_the_same() {
        let mut usual = Vec::new();
        push(b"__name__", b"up", &mut usual);
        push(b"job", b"a", &mut usual);
        let mut unusual = Writer::new();
        unusual.message(1, |w| {
            w.bytes_field(2, b"a");
            w.bytes_field(1, b"job");
        });
        unusual.message(2, |_| ());
        write_label(b"gone", b"", &mut unusual);
        write_label(b"__name__", b"up", &mut unusual);
        let mut labels = Vec::new();
        of_series(&SeriesView::parse(unusual.as_slice()).unwrap(), &mut labels).unwrap();
        assert_eq!(labels, usual);
        assert_eq!(metric_name(&labels), Some(&b"up"[..]));
        let mut attributes = Vec::new();
        push_attributes(&labels, &mut attributes);
        let entries: Vec<_> = kvlist_entries(&attributes).map(Result::unwrap).collect();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].key, b"job");
    }
}
