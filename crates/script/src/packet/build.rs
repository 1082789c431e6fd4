//! Encodes the packets of a script into bytes, also where no well-formed chunk has such bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::flags;
use super::shapes::{Family, Shape, Tail};
use crate::value::Value;

/// The values that replace `...` in a packet that the script sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    /// The State Cookie of the stack's last INIT ACK, or that of the script's.
    pub(crate) cookie: Option<Vec<u8>>,
    /// The Heartbeat Info of the stack's last HEARTBEAT.
    pub(crate) heartbeat: Option<Vec<u8>>,
    /// The highest TSN that the stack has sent, in its own numbers.
    pub(crate) cumulative: u32,
    /// The TSN after the highest that the script has sent.
    pub(crate) next_tsn: u32,
}

/// Bytes of user data where a script gives no length.
const PAYLOAD: usize = 16;
/// Bytes of a cookie, of information or of padding where a script gives no length.
const VALUE: usize = 8;

/// A chunk, padded.
pub(crate) fn chunk(node: &Value, defaults: &Defaults) -> Result<Vec<u8>, String> {
    one(Family::Chunk, node, defaults).map(padded)
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A chunk, parameter or cause, without padding.
fn one(family: Family, node: &Value, defaults: &Defaults) -> Result<Vec<u8>, String> {
    let Value::Node(name, _) = node else {
        return Err(format!("expected a {}, found {node}", family.word()));
    };
    let shape = family.by_name(name);
    let code = match shape {
        Some(shape) => shape.code,
        None => node
            .number_of(family.code_key())
            .and_then(|code| u16::try_from(code).ok())
            .ok_or_else(|| format!("{name}: `{}` must be a number", family.code_key()))?,
    };
    let mut out = Vec::new();
    let mut flags = 0;
    if family == Family::Chunk {
        let given = node.get("flgs").map_or(Ok(None), |value| flags::number(name, value))?;
        flags = given.unwrap_or(if matches!(name.as_str(), "DATA" | "I_DATA") { 3 } else { 0 });
        out.extend_from_slice(&[code as u8, flags, 0, 0]);
    } else {
        let [hi, lo] = code.to_be_bytes();
        out.extend_from_slice(&[hi, lo, 0, 0]);
    }
    let mut length = node.number_of("len").map(|len| len as usize & 0xffff);
    // `COOKIE_ECHO[len=0, val=...]`: the cookie that is known, with the length that it has.
    let known =
        name == "COOKIE_ECHO" && node.get("val").is_some_and(Value::is_any) && defaults.cookie.is_some();
    if known && length.is_some_and(|length| length < 4) {
        length = None;
    }
    match shape {
        Some(shape) => {
            fixed(shape, node, flags, defaults, &mut out);
            tail(shape, node, length, defaults, &mut out)?;
        }
        None => out.extend(value_bytes(node, family.value_key(), length, None, 4)?),
    }
    let length = length.unwrap_or(out.len());
    if let Some(field) = out.get_mut(2..4) {
        field.copy_from_slice(&(length as u16).to_be_bytes());
    }
    Ok(out)
}

fn fixed(shape: &Shape, node: &Value, flags: u8, defaults: &Defaults, out: &mut Vec<u8>) {
    for field in shape.fixed {
        let key =
            if shape.name == "I_DATA" && field.key == "ppid" && flags & 2 == 0 { "fsn" } else { field.key };
        // Both names stand for one place in the chunk (RFC 8260, 2.1), and scripts write the one that the flags do not call for.
        let given = node.number_of(key).or_else(|| (key == "fsn").then(|| node.number_of("ppid")).flatten());
        if field.optional && given.is_none() {
            continue;
        }
        let default = match (shape.name, key) {
            ("SACK" | "NR_SACK" | "SHUTDOWN", "cum_tsn") => defaults.cumulative,
            ("DATA" | "I_DATA", "tsn") => defaults.next_tsn,
            _ => field.default,
        };
        let number = given.unwrap_or(i64::from(default)) as u32;
        let bytes = number.to_be_bytes();
        out.extend_from_slice(bytes.get(4 - field.size..).unwrap_or(&bytes));
    }
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node.fields()
        .iter()
        .filter(|field| field.key.is_none() && !field.value.is_any())
        .map(|field| &field.value)
}

/// Parameters or causes one after the other: padding between them counts, that of the last does not.
fn tlvs<'a>(
    family: Family,
    items: impl Iterator<Item = &'a Value>,
    defaults: &Defaults,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    for item in items {
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(one(family, item, defaults)?);
    }
    Ok(())
}

fn tail(
    shape: &Shape,
    node: &Value,
    length: Option<usize>,
    defaults: &Defaults,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let head = 4 + shape.fixed_len();
    match shape.tail {
        Tail::Nothing => {}
        Tail::Payload => {
            let payload = length.map_or(PAYLOAD, |length| length.saturating_sub(head));
            out.resize(out.len() + payload, 0);
        }
        Tail::Value => {
            let remembered = match shape.name {
                "COOKIE_ECHO" => defaults.cookie.as_deref(),
                "HEARTBEAT_INFORMATION" => defaults.heartbeat.as_deref(),
                _ => None,
            };
            out.extend(value_bytes(node, "val", length, remembered, VALUE)?);
        }
        Tail::Info(key) => out.extend(value_bytes(node, key, length, None, 0)?),
        Tail::Params => {
            let named_info = children(node).next().is_none();
            if named_info && shape.name.starts_with("HEARTBEAT") && length.is_none() {
                let info = Value::Node("HEARTBEAT_INFORMATION".to_owned(), Vec::new());
                return tlvs(Family::Param, std::iter::once(&info), defaults, out);
            }
            tlvs(Family::Param, children(node), defaults, out)?;
            // With `...`, an INIT ACK without a cookie gets one; without `...` none is added.
            let open = node.fields().iter().any(|field| field.value.is_any() && field.key.is_none());
            let has_cookie =
                children(node).any(|child| matches!(child, Value::Node(name, _) if name == "STATE_COOKIE"));
            if shape.name == "INIT_ACK" && open && !has_cookie {
                let cookie = Value::Node("STATE_COOKIE".to_owned(), Vec::new());
                tlvs(Family::Param, std::iter::once(&cookie), defaults, out)?;
            }
        }
        Tail::Causes => tlvs(Family::Cause, children(node), defaults, out)?,
        Tail::ParamList(key) => match node.get(key) {
            Some(Value::List(items)) => {
                tlvs(Family::Param, items.iter().filter(|item| !item.is_any()), defaults, out)?;
            }
            Some(item @ Value::Node(..)) => tlvs(Family::Param, std::iter::once(item), defaults, out)?,
            _ => {}
        },
        Tail::Chunk(key) => match node.get(key) {
            Some(inner @ Value::Node(..)) => out.extend(one(Family::Chunk, inner, defaults)?),
            Some(other) => out.extend(other.bytes().unwrap_or_default()),
            None => {}
        },
        Tail::Gaps | Tail::NrGaps => gaps(shape.tail == Tail::NrGaps, node, out)?,
        Tail::Ids => ids(node, &[("sid", 2), ("ssn", 2)], out),
        Tail::MessageIds => ids(node, &[("sid", 2), ("flgs", 2), ("mid", 4)], out),
        Tail::Words(key) => words(node, key, 2, out)?,
        Tail::CountedWords(key) => {
            let at = out.len();
            words(node, key, 2, out)?;
            let count = ((out.len() - at) / 2) as u32;
            out.splice(at..at, count.to_be_bytes());
        }
        Tail::Types(key) => words(node, key, 1, out)?,
        Tail::Ipv4 => {
            let address = text_of(node, "addr").map_or(Ok(Ipv4Addr::new(192, 0, 2, 1)), |text| text.parse());
            out.extend(
                address
                    .map_err(|_| "IPV4_ADDRESS: `addr` must be an address such as \"192.0.2.1\"")?
                    .octets(),
            );
        }
        Tail::Ipv6 => {
            let address = text_of(node, "addr").map_or(Ok(Ipv6Addr::LOCALHOST), |text| text.parse());
            out.extend(
                address
                    .map_err(|_| "IPV6_ADDRESS: `addr` must be an address such as \"2001:db8::1\"")?
                    .octets(),
            );
        }
        Tail::Host => {
            out.extend(text_of(node, "addr").unwrap_or_else(|| "localhost".to_owned()).into_bytes());
            out.push(0);
        }
    }
    Ok(())
}

fn text_of(node: &Value, key: &str) -> Option<String> {
    match node.get(key)? {
        Value::Text(text) => Some(text.clone()),
        Value::Call(_, args) => match args.last()? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The bytes of `key`: as given; else the remembered bytes, if the length allows it; else zeros.
fn value_bytes(
    node: &Value,
    key: &str,
    length: Option<usize>,
    remembered: Option<&[u8]>,
    unless: usize,
) -> Result<Vec<u8>, String> {
    let wanted = length.map(|length| length.saturating_sub(4));
    match node.get(key) {
        None | Some(Value::Any) => {
            Ok(match remembered.filter(|bytes| wanted.is_none_or(|wanted| wanted == bytes.len())) {
                Some(bytes) => bytes.to_vec(),
                None => vec![0; wanted.unwrap_or(unless)],
            })
        }
        Some(value) => {
            value.bytes().ok_or_else(|| format!("`{key}` must be a list of bytes or a text, found {value}"))
        }
    }
}

fn words(node: &Value, key: &str, size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let items = match node.get(key) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    for item in items.iter().filter(|item| !item.is_any()) {
        let number = item.number().ok_or_else(|| format!("`{key}`: {item} is not a number"))? as u32;
        out.extend(number.to_be_bytes().get(4 - size..).unwrap_or_default());
    }
    Ok(())
}

fn ids(node: &Value, layout: &[(&str, usize)], out: &mut Vec<u8>) {
    let Some(Value::List(items)) = node.get("ids") else { return };
    for item in items {
        for (index, (key, size)) in layout.iter().enumerate() {
            let by_place = || item.fields().get(index).filter(|field| field.key.is_none())?.value.number();
            let number = item.number_of(key).or_else(by_place).unwrap_or(0) as u32;
            out.extend(number.to_be_bytes().get(4 - size..).unwrap_or_default());
        }
    }
}

fn gaps(nr: bool, node: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let blocks = |key: &str| -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        if let Some(Value::List(items)) = node.get(key) {
            for item in items {
                let Value::Range(from, to) = item else {
                    return Err(format!("`{key}`: a gap block is written 2:3, found {item}"));
                };
                bytes.extend((*from as u16).to_be_bytes());
                bytes.extend((*to as u16).to_be_bytes());
            }
        }
        Ok(bytes)
    };
    let (gaps, nr_gaps) = (blocks("gaps")?, blocks("nr_gaps")?);
    let mut dups = Vec::new();
    words(node, "dups", 4, &mut dups)?;
    let count = |bytes: &[u8]| ((bytes.len() / 4) as u16).to_be_bytes();
    out.extend(count(&gaps));
    if nr {
        out.extend(count(&nr_gaps));
    }
    out.extend(count(&dups));
    if nr {
        out.extend([0, 0]);
    }
    out.extend(gaps);
    out.extend(nr_gaps);
    out.extend(dups);
    Ok(())
}
