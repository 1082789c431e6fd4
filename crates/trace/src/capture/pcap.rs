//! Classic pcap: a header of 24 bytes, then records.
//!
//! ```text
//! magic (4) | version (2 + 2) | zone (4) | accuracy (4) | snap length (4) | link type (4)
//! seconds (4) | fraction (4) | captured (4) | original (4) | bytes ...
//! ```

use super::contents::{Capture, Format, Frame, Interface};
use super::order::Order;

const HEADER: usize = 24;
const RECORD: usize = 16;

/// The properties of the file from the magic number and the rest of the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    order: Order,
    /// Nanoseconds of one unit of the fraction.
    unit: i64,
    /// Bytes of a record's header: A. Kuznetzov's variant has eight more.
    record: usize,
    snap_length: u32,
    link_type: u16,
}

impl Header {
    /// Byte order, unit of the fraction, length of a record's header.
    fn kind(magic: [u8; 4]) -> Option<(Order, i64, usize)> {
        let kind = |magic: u32| match magic {
            0xa1b2_c3d4 => Some((1000, RECORD)),
            0xa1b2_3c4d => Some((1, RECORD)),
            0xa1b2_cd34 => Some((1000, RECORD + 8)),
            _ => None,
        };
        let little = kind(u32::from_le_bytes(magic)).map(|(unit, record)| (Order::Little, unit, record));
        little.or_else(|| kind(u32::from_be_bytes(magic)).map(|(unit, record)| (Order::Big, unit, record)))
    }

    pub(super) fn known(magic: [u8; 4]) -> bool {
        Self::kind(magic).is_some()
    }

    pub(super) fn read(magic: [u8; 4], file: &[u8]) -> Option<Self> {
        let (order, unit, record) = Self::kind(magic)?;
        // The upper half of the link type says whether frames have a check sequence; IP lengths make that plain.
        let link_type = order.u32(file, 20)? as u16;
        Some(Self { order, unit, record, snap_length: order.u32(file, 16)?, link_type })
    }
}

pub(super) fn read(header: Header, file: &[u8]) -> Capture<'_> {
    let mut capture = Capture::new(Format::Pcap);
    capture.interfaces.push(Interface {
        index: 0,
        name: None,
        link_type: header.link_type,
        snap_length: header.snap_length,
    });
    let mut at = HEADER;
    while at < file.len() {
        let Some((frame, next)) = record(header, file, at, capture.frames.len() as u64 + 1) else {
            capture.notes.push(format!("the file is cut or damaged at byte {at}: what follows is not read"));
            break;
        };
        capture.frames.push(frame);
        at = next;
    }
    capture
}

fn record(header: Header, file: &[u8], at: usize, number: u64) -> Option<(Frame<'_>, usize)> {
    let u32_at = |offset: usize| header.order.u32(file, at.checked_add(offset)?);
    let time_ns = i64::from(u32_at(0)?) * 1_000_000_000 + i64::from(u32_at(4)?) * header.unit;
    let (captured, original) = (usize::try_from(u32_at(8)?).ok()?, u32_at(12)?);
    let start = at.checked_add(header.record)?;
    let end = start.checked_add(captured)?;
    let bytes = file.get(start..end)?;
    Some((Frame { number, interface: 0, time_ns, original: original.max(captured as u32), bytes }, end))
}
