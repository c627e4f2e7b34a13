//! Requests written again: without some records, or with other attributes.
//!
//! [`retain`] leaves records out. [`edit`] is for those who change more: an [`Editor`] says of each
//! record what becomes of it ([`Fate`]), and may put it under another version of its resource or its
//! scope. A request of which everything stays as it is is not written at all.
//!
//! ```text
//! request ─> walk ─> Editor ─> Fate of each record ─> regroup ─> request
//!                      │                                │
//!                      └─ attributes (change one list)  └─ copies what stays, byte for byte
//! ```
//!
//! Fields that are not known here are kept, in the place where they were. Groups that have no record
//! left vanish.
//!
//! | module | what it is for |
//! |---|---|
//! | `walk` | the records of a request, with their resources and scopes |
//! | `regroup` | a group written again, as its records' fates want it |
//! | [`Attributes`] | the attributes of one message, changed |
//! | [`value`] | values of attributes, written and changed |
//! | [`field`] | numbers of the fields that are touched |

mod attributes;
pub mod field;
mod regroup;
pub mod value;
mod walk;

use kymo_wire::encode::Writer;
use kymo_wire::groups::{RequestView, ResourceGroupView};
use kymo_wire::{ResourceView, ScopeView, Signal, View, WireError};

pub use attributes::{Attributes, change_attributes, change_each, each_field};
pub use walk::records;

use crate::record::Record;
use regroup::Regroup;

/// A resource and its records, which are not read yet.
pub(crate) type Group<'a> = ResourceGroupView<'a, &'a [u8]>;

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It stays as it is.
    Same,
    /// It is left out.
    Gone,
    /// Something is changed.
    Changed {
        /// The version of its resource: 0 for that which came, else a number of
        /// [`Editor::version`].
        resource: u32,
        /// The version of its scope, likewise.
        scope: u32,
        /// The message of the record, if that is another.
        record: Option<Vec<u8>>,
    },
}

/// Says what becomes of records.
pub trait Editor<'a, E> {
    /// The records that follow belong to this resource. Versions of the one before are not asked for
    /// any more.
    fn begin_resource(&mut self, resource: Option<&ResourceView<'a>>);

    /// The records that follow belong to this scope.
    fn begin_scope(&mut self, scope: Option<&ScopeView<'a>>);

    /// What becomes of a record. They come in their order.
    ///
    /// # Errors
    ///
    /// Nothing of the request can be kept.
    fn record(&mut self, record: &Record<'a>) -> Result<Fate, E>;

    /// The message of a changed resource or scope, by the number that a [`Fate`] gave it.
    fn version(&self, number: u32) -> &[u8];

    /// Whether groups that came without a record are a reason to write the request again. They say
    /// something of somebody, and no record would ever tell.
    fn removes_empty_groups(&self) -> bool {
        false
    }
}

/// A request that was gone through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The request, if it is another now. It is empty if no record is left.
    pub body: Option<Vec<u8>>,
    /// How many records are left.
    pub items: u64,
    /// How many records were left out.
    pub gone: u64,
}

/// Goes through a request, and writes it again if something changes.
///
/// # Errors
///
/// The request is not well-formed, or the editor says that nothing of it can be kept.
pub fn edit<'a, E: From<WireError>>(
    signal: Signal,
    request: &'a [u8],
    editor: &mut impl Editor<'a, E>,
) -> Result<Edited, E> {
    let view = RequestView::<&[u8]>::parse(request)?;
    let mut regroup = Regroup::new(signal);
    let mut out: Option<Writer> = None;
    let (mut items, mut gone) = (0, 0);
    let groups: Vec<&[u8]> = view.resources.raws().collect::<Result<_, _>>()?;
    for (nth, raw) in groups.iter().enumerate() {
        let group = Group::parse(raw)?;
        regroup.judge(&group, editor)?;
        items += regroup.kept();
        gone += regroup.gone();
        if !regroup.is_changed(editor.removes_empty_groups()) {
            if let Some(out) = &mut out {
                out.bytes_field(field::RESOURCE_GROUPS, raw);
            }
            continue;
        }
        let out = out.get_or_insert_with(|| {
            let mut writer = Writer::with_capacity(request.len());
            for before in groups.iter().take(nth) {
                writer.bytes_field(field::RESOURCE_GROUPS, before);
            }
            writer
        });
        regroup.write(&group, |number| editor.version(number), out)?;
    }
    if let Some(out) = &mut out {
        copy_others(request, out)?;
    }
    let body = out.map(|out| if items == 0 { Vec::new() } else { out.into_bytes() });
    Ok(Edited { body, items, gone })
}

/// Fields of a request that are no groups: none that OTLP has.
fn copy_others(request: &[u8], out: &mut Writer) -> Result<(), WireError> {
    attributes::each_field(request, |number, _, whole| {
        if number != field::RESOURCE_GROUPS {
            out.raw(whole);
        }
        Ok(())
    })
}

/// What is left of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retained {
    /// Everything: the bytes are as they were.
    All,
    /// No record.
    None,
    /// A request with the records that were wanted.
    Some(Vec<u8>),
}

/// A request with the records that are wanted alone. `keep` is asked once for each, in their order.
/// A request without records is kept whole.
///
/// # Errors
///
/// The request is not well-formed.
pub fn retain(
    signal: Signal,
    request: &[u8],
    keep: &mut dyn FnMut(&Record<'_>) -> bool,
) -> Result<Retained, WireError> {
    let edited = edit(signal, request, &mut Retain { keep })?;
    Ok(match edited.body {
        None => Retained::All,
        Some(_) if edited.items == 0 => Retained::None,
        Some(body) => Retained::Some(body),
    })
}

struct Retain<'k> {
    keep: &'k mut dyn FnMut(&Record<'_>) -> bool,
}

impl<'a> Editor<'a, WireError> for Retain<'_> {
    fn begin_resource(&mut self, _resource: Option<&ResourceView<'a>>) {}

    fn begin_scope(&mut self, _scope: Option<&ScopeView<'a>>) {}

    fn record(&mut self, record: &Record<'a>) -> Result<Fate, WireError> {
        Ok(if (self.keep)(record) { Fate::Same } else { Fate::Gone })
    }

    fn version(&self, _number: u32) -> &[u8] {
        &[]
    }
}

#[cfg(test)]
mod tests;
