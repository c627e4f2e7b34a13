//! The same request in other bytes: fields in any order, lists unpacked, earlier values that do
//! not count, fields nobody knows.

use super::random::Random;
use crate::encode::Writer;
use crate::proto::{LEN, Reader};
use crate::schema::{Kind, Message};

/// Encodes a valid message again in a way prost itself never would.
pub(super) fn scramble(message: &[u8], schema: &'static Message, random: &mut Random) -> Vec<u8> {
    let mut fields: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut reader = Reader::new(message);
    loop {
        let start = reader.rest();
        let Some(tag) = reader.tag().expect("input is valid") else { break };
        let number = tag >> 3;
        let index = schema.index_of(number).expect("prost writes known fields only");
        let field = &schema.fields[index];
        let mut writer = Writer::new();
        if let Some(inner) = field.kind.message() {
            let nested = reader.bytes().expect("input is valid");
            writer.bytes_field(number, &scramble(nested, inner, random));
        } else if field.is_repeated && tag & 7 != field.kind.wire_type() && random.chance(2) {
            unpack(&mut reader, number, field.kind, &mut fields);
            continue;
        } else {
            reader.skip(tag).expect("input is valid");
            let bytes = &start[..start.len() - reader.rest().len()];
            if !field.is_repeated && random.below(10) == 0 {
                fields.push((number, earlier_value(number, field.kind)));
            }
            writer.raw(bytes);
        }
        fields.push((number, writer.into_bytes()));
    }
    if random.below(4) == 0 {
        fields.push((0, unknown_field(random)));
    }
    shuffle(fields, random)
}

fn unpack(reader: &mut Reader<'_>, number: u32, kind: Kind, fields: &mut Vec<(u32, Vec<u8>)>) {
    let mut packed = reader.message().expect("input is valid");
    while !packed.is_empty() {
        let mut writer = Writer::new();
        if kind.wire_type() == 0 {
            writer.varint_field(number, packed.varint().expect("input is valid"));
        } else {
            writer.fixed64_field(number, packed.fixed64().expect("input is valid"));
        }
        fields.push((number, writer.into_bytes()));
    }
}

/// A value of a field that is overruled by a later one.
fn earlier_value(number: u32, kind: Kind) -> Vec<u8> {
    let mut writer = Writer::new();
    match kind.wire_type() {
        0 => writer.varint_field(number, 1),
        1 => writer.fixed64_field(number, 1),
        LEN => writer.bytes_field(number, b"overruled"),
        _ => writer.fixed32_field(number, 1),
    }
    writer.into_bytes()
}

fn unknown_field(random: &mut Random) -> Vec<u8> {
    let mut writer = Writer::new();
    let number = *random.pick(&[17, 100, 536_870_911]);
    match random.below(4) {
        0 => writer.varint_field(number, random.next()),
        1 => writer.fixed64_field(number, random.next()),
        2 => writer.bytes_field(number, b"\xff\x00 unknown"),
        _ => writer.fixed32_field(number, 1),
    }
    writer.into_bytes()
}

/// Mixes the fields, but keeps the order among those of one number.
fn shuffle(fields: Vec<(u32, Vec<u8>)>, random: &mut Random) -> Vec<u8> {
    let mut numbers: Vec<u32> = fields.iter().map(|(number, _)| *number).collect();
    if random.chance(2) {
        for index in (1..numbers.len()).rev() {
            numbers.swap(index, random.below(index as u64 + 1) as usize);
        }
    }
    let mut fields: Vec<Option<(u32, Vec<u8>)>> = fields.into_iter().map(Some).collect();
    let mut out = Vec::new();
    for number in numbers {
        let next = fields
            .iter_mut()
            .find(|field| field.as_ref().is_some_and(|(found, _)| *found == number))
            .and_then(Option::take);
        out.extend(next.map(|(_, bytes)| bytes).unwrap_or_default());
    }
    out
}
