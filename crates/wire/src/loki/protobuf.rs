//! `logproto.PushRequest`.

use super::PushError;
use super::assemble::{Assembler, Metadata, Stream};
use super::labels;
use crate::proto::{Reader, WireError};
use crate::tags::{push_entry, push_label, push_request, push_stream, push_time};

const NANOS_PER_SECOND: i128 = 1_000_000_000;

pub(super) fn read(bytes: &[u8], assembler: &mut Assembler) -> Result<(), PushError> {
    let mut reader = Reader::new(bytes);
    let mut metadata = Metadata::default();
    while let Some(tag) = reader.tag()? {
        match tag {
            push_request::STREAMS => stream(reader.message()?, assembler, &mut metadata)?,
            _ => reader.skip_other(tag, push_request::KNOWN & !IGNORED_FORMAT)?,
        }
    }
    Ok(())
}

/// The field `format` is of no use, whatever it is.
const IGNORED_FORMAT: u64 = 1 << (push_request::FORMAT >> 3);

fn stream(
    mut reader: Reader<'_>,
    assembler: &mut Assembler,
    metadata: &mut Metadata,
) -> Result<(), PushError> {
    let mut stream = Stream::default();
    let mut text: &[u8] = &[];
    while let Some(tag) = reader.tag()? {
        match tag {
            push_stream::LABELS => text = reader.bytes()?,
            push_stream::ENTRIES => {
                entry(reader.message()?, assembler, &mut stream, metadata)?;
                assembler.check_size(stream.size_bytes())?;
            }
            push_stream::HASH => drop(reader.varint()?),
            _ => reader.skip_other(tag, push_stream::KNOWN)?,
        }
    }
    assembler.add(stream, labels::parse(text))
}

fn entry(
    mut reader: Reader<'_>,
    assembler: &Assembler,
    stream: &mut Stream,
    metadata: &mut Metadata,
) -> Result<(), WireError> {
    let (mut time_nanos, mut line): (i128, &[u8]) = (0, &[]);
    metadata.clear();
    while let Some(tag) = reader.tag()? {
        match tag {
            push_entry::TIME => time_nanos = time(reader.message()?)?,
            push_entry::LINE => line = reader.bytes()?,
            push_entry::METADATA => {
                let (name, value) = label(reader.message()?)?;
                metadata.push(name, value, assembler.bounds());
            }
            // What a reader of lines found in them is found again when it is asked for.
            push_entry::PARSED => drop(reader.bytes()?),
            _ => reader.skip_other(tag, push_entry::KNOWN)?,
        }
    }
    stream.push(time_nanos, line, metadata);
    Ok(())
}

/// A `google.protobuf.Timestamp`, in nanoseconds since 1970.
fn time(mut reader: Reader<'_>) -> Result<i128, WireError> {
    let (mut secs, mut nanos) = (0, 0);
    while let Some(tag) = reader.tag()? {
        match tag {
            push_time::SECS => secs = reader.varint()?.cast_signed(),
            push_time::NANOS => nanos = reader.varint()? as i32,
            _ => reader.skip_other(tag, push_time::KNOWN)?,
        }
    }
    Ok(i128::from(secs) * NANOS_PER_SECOND + i128::from(nanos))
}

fn label(mut reader: Reader<'_>) -> Result<(&[u8], &[u8]), WireError> {
    let (mut name, mut value): (&[u8], &[u8]) = (&[], &[]);
    while let Some(tag) = reader.tag()? {
        match tag {
            push_label::NAME => name = reader.bytes()?,
            push_label::VALUE => value = reader.bytes()?,
            _ => reader.skip_other(tag, push_label::KNOWN)?,
        }
    }
    Ok((name, value))
}
