//! Packets of the stack, translated into the notation of scripts.

use anabranch_wire::cause::Causes;
use anabranch_wire::param::Params;
use anabranch_wire::{Checksum, Packet, RawChunk, RawTlv};

use super::shapes::{Family, Shape, Tail};
use crate::value::{Field, Value};

/// The chunks of a packet. Where `expected` names a chunk, parameter or cause by its number only, the actual one is
/// shown by its number, too.
pub(crate) fn chunks(bytes: &[u8], expected: &[Value]) -> Result<Vec<Value>, String> {
    let packet = Packet::parse(bytes, Checksum::Ignore).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for (index, raw) in packet.chunks().enumerate() {
        let raw = raw.map_err(|error| error.to_string())?;
        found.push(chunk(raw, expected.get(index)));
    }
    Ok(found)
}

fn number(bytes: &[u8]) -> Value {
    Value::Number(bytes.iter().fold(0, |sum, byte| (sum << 8) | i64::from(*byte)))
}

fn is_generic(family: Family, expected: Option<&Value>) -> bool {
    matches!(expected, Some(Value::Node(name, _)) if name == family.generic())
}

fn chunk(raw: RawChunk<'_>, expected: Option<&Value>) -> Value {
    let shape =
        if is_generic(Family::Chunk, expected) { None } else { Family::Chunk.by_code(u16::from(raw.kind)) };
    let mut fields = Vec::new();
    if shape.is_none() {
        fields.push(Field::keyed("type", Value::Number(i64::from(raw.kind))));
    }
    fields.push(Field::keyed("flgs", Value::Number(i64::from(raw.flags))));
    fields.push(Field::keyed("len", Value::Number(raw.bytes.len() as i64)));
    let Some(shape) = shape else {
        fields.push(Field::keyed("val", Value::from_bytes(raw.value)));
        return Value::Node("CHUNK".to_owned(), fields);
    };
    body(shape, raw.value, raw.flags, expected, &mut fields);
    Value::Node(shape.name.to_owned(), fields)
}

/// A parameter or cause.
fn tlv(family: Family, raw: &RawTlv<'_>, expected: Option<&Value>) -> Value {
    let shape = if is_generic(family, expected) { None } else { family.by_code(raw.kind) };
    let mut fields = Vec::new();
    if shape.is_none() {
        fields.push(Field::keyed(family.code_key(), Value::Number(i64::from(raw.kind))));
    }
    fields.push(Field::keyed("len", Value::Number((raw.value.len() + RawTlv::HEADER) as i64)));
    let Some(shape) = shape else {
        fields.push(Field::keyed(family.value_key(), Value::from_bytes(raw.value)));
        return Value::Node(family.generic().to_owned(), fields);
    };
    body(shape, raw.value, 0, expected, &mut fields);
    Value::Node(shape.name.to_owned(), fields)
}

/// Parameters or causes; one that cannot be read becomes a `malformed_` node with the error.
fn tlvs(family: Family, region: &[u8], expected: &[Value]) -> Vec<Value> {
    let iter = match family {
        Family::Cause => Causes::new(region).iter(),
        _ => Params::new(region).iter(),
    };
    iter.enumerate()
        .map(|(index, item)| match item {
            Ok(raw) => tlv(family, &raw, expected.get(index)),
            Err(error) => Value::Node(
                format!("malformed_{}", family.word()),
                vec![Field::bare(Value::Text(error.to_string()))],
            ),
        })
        .collect()
}

/// The children that a script expects, without keys.
fn children(expected: Option<&Value>) -> Vec<Value> {
    let fields = expected.map(Value::fields).unwrap_or_default();
    fields.iter().filter(|field| field.key.is_none()).map(|field| field.value.clone()).collect()
}

fn listed(expected: Option<&Value>, key: &str) -> Vec<Value> {
    match expected.and_then(|expected| expected.get(key)) {
        Some(Value::List(items)) => items.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    }
}

fn body(shape: &Shape, value: &[u8], flags: u8, expected: Option<&Value>, fields: &mut Vec<Field>) {
    let mut rest = value;
    for fixed in shape.fixed {
        let Some((bytes, behind)) = rest.split_at_checked(fixed.size) else { return };
        rest = behind;
        // The last number of an I-DATA chunk is a PPID in the first fragment only.
        let key =
            if shape.name == "I_DATA" && fixed.key == "ppid" && flags & 2 == 0 { "fsn" } else { fixed.key };
        if !key.is_empty() {
            fields.push(Field::keyed(key, number(bytes)));
        }
    }
    let mut keyed = |key: &str, value| fields.push(Field::keyed(key, value));
    match shape.tail {
        Tail::Nothing | Tail::Payload => {}
        Tail::Value => keyed("val", Value::from_bytes(rest)),
        Tail::Info(key) => keyed(key, Value::from_bytes(rest)),
        Tail::Params => {
            let children = children(expected);
            fields.extend(tlvs(Family::Param, rest, &children).into_iter().map(Field::bare));
        }
        Tail::Causes => {
            let children = children(expected);
            fields.extend(tlvs(Family::Cause, rest, &children).into_iter().map(Field::bare));
        }
        Tail::ParamList(key) => {
            keyed(key, Value::List(tlvs(Family::Param, rest, &listed(expected, key))));
        }
        Tail::Chunk(key) => {
            let inner = embedded(rest, expected.and_then(|expected| expected.get(key)));
            keyed(key, inner);
        }
        Tail::Gaps | Tail::NrGaps => gaps(shape.tail == Tail::NrGaps, rest, fields),
        Tail::Ids => keyed("ids", ids(rest, &[("sid", 2), ("ssn", 2)])),
        Tail::MessageIds => keyed("ids", ids(rest, &[("sid", 2), ("flgs", 2), ("mid", 4)])),
        Tail::Words(key) => keyed(key, words(rest, 2)),
        Tail::CountedWords(key) => keyed(key, words(rest.get(4..).unwrap_or_default(), 2)),
        Tail::Types(key) => keyed(key, words(rest, 1)),
        Tail::Ipv4 | Tail::Ipv6 => keyed("addr", address(rest)),
        Tail::Host => {
            let text = String::from_utf8_lossy(rest).trim_end_matches('\0').to_owned();
            keyed("addr", Value::Text(text));
        }
    }
}

/// A chunk inside a cause: it may be cut.
fn embedded(bytes: &[u8], expected: Option<&Value>) -> Value {
    match bytes {
        [kind, flags, _, _, value @ ..] if !matches!(expected, Some(Value::List(_))) => {
            chunk(RawChunk { kind: *kind, flags: *flags, value, bytes }, expected)
        }
        _ => Value::from_bytes(bytes),
    }
}

fn words(bytes: &[u8], size: usize) -> Value {
    Value::List(bytes.chunks_exact(size).map(number).collect())
}

fn ids(bytes: &[u8], layout: &[(&str, usize)]) -> Value {
    let size = layout.iter().map(|(_, size)| size).sum();
    let record = |bytes: &[u8]| {
        let mut rest = bytes;
        let mut fields = Vec::new();
        for (key, size) in layout {
            if let Some((head, behind)) = rest.split_at_checked(*size) {
                fields.push(Field::keyed(key, number(head)));
                rest = behind;
            }
        }
        Value::Record(fields)
    };
    Value::List(bytes.chunks_exact(size).map(record).collect())
}

fn address(bytes: &[u8]) -> Value {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Value::Text(std::net::Ipv4Addr::from(octets).to_string());
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(octets) => Value::Text(std::net::Ipv6Addr::from(octets).to_string()),
        Err(_) => Value::from_bytes(bytes),
    }
}

/// The counts and the lists behind the fixed part of a SACK.
fn gaps(nr: bool, bytes: &[u8], fields: &mut Vec<Field>) {
    let count = |at: usize| -> usize {
        bytes.get(at..at + 2).map_or(0, |two| two.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)))
    };
    let (gap_count, nr_count, dup_count, head) =
        if nr { (count(0), count(2), count(4), 8) } else { (count(0), 0, count(2), 4) };
    let mut rest = bytes.get(head..).unwrap_or_default();
    let mut blocks = |count: usize| {
        let (blocks, behind) = rest.split_at_checked(4 * count).unwrap_or((rest, &[]));
        rest = behind;
        let range = |four: &[u8]| match four {
            [a, b, c, d] => {
                Value::Range(i64::from(u16::from_be_bytes([*a, *b])), i64::from(u16::from_be_bytes([*c, *d])))
            }
            _ => Value::Any,
        };
        Value::List(blocks.chunks_exact(4).map(range).collect())
    };
    fields.push(Field::keyed("gaps", blocks(gap_count)));
    if nr {
        fields.push(Field::keyed("nr_gaps", blocks(nr_count)));
    }
    let dups = rest.get(..4 * dup_count).unwrap_or(rest);
    fields.push(Field::keyed("dups", words(dups, 4)));
}
