//! pcapng (draft-ietf-opsawg-pcapng): blocks of a type, a length, a body and the length again.
//!
//! Sections have a byte order each, and interfaces of their own. Blocks of other kinds are skipped.

use super::contents::{Capture, Format, Frame, Interface};
use super::error::CaptureError;
use super::order::Order;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete: "must not be used in new files" (draft-ietf-opsawg-pcapng, Appendix A), but old ones have it.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_IF_TSOFFSET: u16 = 14;

/// Units of time stamps.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Ticks in a second; the default is 10^6.
    per_second: u128,
    /// Seconds to add.
    offset: i64,
}

impl Clock {
    const DEFAULT: Self = Self { per_second: 1_000_000, offset: 0 };

    /// "If the most significant bit is equal to zero, the remaining bits indicate the resolution as a negative power
    /// of 10", else of 2 (draft-ietf-opsawg-pcapng, section 4.2). Beyond the range of a u128, a tick is too short to matter.
    fn resolution(value: u8) -> u128 {
        let (base, power) = if value & 0x80 == 0 { (10_u128, value) } else { (2, value & 0x7f) };
        base.checked_pow(u32::from(power)).unwrap_or(u128::MAX)
    }

    fn time_ns(self, ticks: u64) -> i64 {
        let ticks = u128::from(ticks);
        let (seconds, rest) = (ticks / self.per_second, ticks % self.per_second);
        // A rest below 2^64 times 10^9 fits; a resolution beyond it leaves no whole second at all.
        let fraction = rest.saturating_mul(1_000_000_000) / self.per_second;
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(self.offset);
        seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(fraction).unwrap_or(0))
    }
}

/// The state of reading, block by block.
struct Reader<'a> {
    capture: Capture<'a>,
    order: Order,
    /// Index of the first interface of this section, and clocks of its interfaces.
    first: usize,
    clocks: Vec<Clock>,
    last_ns: i64,
    untimed: u64,
}

pub(super) fn read(file: &[u8]) -> Result<Capture<'_>, CaptureError> {
    let mut reader = Reader {
        capture: Capture::new(Format::Pcapng),
        order: Order::Little,
        first: 0,
        clocks: Vec::new(),
        last_ns: 0,
        untimed: 0,
    };
    let mut at = 0;
    while at < file.len() {
        match reader.block(file, at) {
            Ok(next) => at = next,
            Err(what) if at == 0 => return Err(CaptureError::Header(what)),
            Err(what) => {
                let note = format!("damaged at byte {at} ({what}): what follows is not read");
                reader.capture.notes.push(note);
                break;
            }
        }
    }
    if reader.untimed > 0 {
        let note = format!("{} packets have no time stamp; each has that of the one before", reader.untimed);
        reader.capture.notes.push(note);
    }
    Ok(reader.capture)
}

impl<'a> Reader<'a> {
    /// Reads the block at `at` and says where the next begins.
    fn block(&mut self, file: &'a [u8], at: usize) -> Result<usize, String> {
        let rest = file.get(at..).unwrap_or_default();
        let cut = || format!("{} bytes are left of a block", rest.len());
        // The type of a section header reads the same in both orders.
        let section = self.order.u32(rest, 0) == Some(SECTION_HEADER);
        if section {
            let magic = rest.get(8..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(cut)?;
            self.order = match magic {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                other => return Err(format!("a section with the byte-order magic {other:02x?}")),
            };
        }
        let kind = self.order.u32(rest, 0).ok_or_else(cut)?;
        let length = self.order.u32(rest, 4).ok_or_else(cut)? as usize;
        if length < 12 || length % 4 != 0 {
            return Err(format!("a block of {length} bytes; allowed: multiples of 4 from 12"));
        }
        let body = rest.get(8..length - 4).ok_or_else(cut)?;
        let again = self.order.u32(rest, length - 4).ok_or_else(cut)? as usize;
        if again != length {
            return Err(format!("a block of {length} bytes says {again} at its end"));
        }
        let read = match kind {
            SECTION_HEADER => self.section(body),
            INTERFACE_DESCRIPTION => self.interface(body),
            PACKET => self.packet(body, true),
            ENHANCED_PACKET => self.packet(body, false),
            SIMPLE_PACKET => self.simple(body),
            _ => Some(()),
        };
        read.ok_or_else(|| format!("a block of type {kind} and {length} bytes does not hold together"))?;
        Ok(at + length)
    }

    fn section(&mut self, body: &[u8]) -> Option<()> {
        self.first = self.capture.interfaces.len();
        self.clocks.clear();
        let major = self.order.u16(body, 4)?;
        if major != 1 {
            let note = format!("a section of version {major}; version 1 is what is known");
            self.capture.notes.push(note);
        }
        Some(())
    }

    fn interface(&mut self, body: &[u8]) -> Option<()> {
        let mut interface = Interface {
            index: u32::try_from(self.capture.interfaces.len()).ok()?,
            name: None,
            link_type: self.order.u16(body, 0)?,
            snap_length: self.order.u32(body, 4)?,
        };
        let mut clock = Clock::DEFAULT;
        let mut options = body.get(8..)?;
        // Options that do not hold together end here; the block itself is sound.
        while let (Some(code), Some(length)) = (self.order.u16(options, 0), self.order.u16(options, 2)) {
            let length = usize::from(length);
            let Some(value) = options.get(4..4 + length) else { break };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_IF_NAME, name) => interface.name = Some(String::from_utf8_lossy(name).into_owned()),
                (OPTION_IF_TSRESOL, &[resolution]) => clock.per_second = Clock::resolution(resolution),
                (OPTION_IF_TSOFFSET, value) => clock.offset = self.order.i64(value).unwrap_or(0),
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.capture.interfaces.push(interface);
        self.clocks.push(clock);
        Some(())
    }

    /// An enhanced packet block, or the obsolete one: 16 bits of interface and 16 of drops instead of 32.
    fn packet(&mut self, body: &'a [u8], obsolete: bool) -> Option<()> {
        let interface =
            if obsolete { u32::from(self.order.u16(body, 0)?) } else { self.order.u32(body, 0)? };
        let ticks = u64::from(self.order.u32(body, 4)?) << 32 | u64::from(self.order.u32(body, 8)?);
        let captured = self.order.u32(body, 12)? as usize;
        let original = self.order.u32(body, 16)?;
        let bytes = body.get(20..)?.get(..captured)?;
        let clock = *self.clocks.get(interface as usize)?;
        self.last_ns = clock.time_ns(ticks);
        self.frame(interface, original, bytes)
    }

    /// "The Simple Packet Block does not contain the Interface ID field. It MUST be assumed that all the blocks have
    /// been captured on the interface previously specified in the first Interface Description Block" (draft-ietf-opsawg-pcapng, section
    /// 4.4).
    fn simple(&mut self, body: &'a [u8]) -> Option<()> {
        let original = self.order.u32(body, 0)?;
        let interface = self.capture.interfaces.get(self.first)?;
        let snap = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let kept = body.get(4..)?;
        let bytes = kept.get(..original.min(snap) as usize)?;
        self.untimed += 1;
        self.frame(0, original, bytes)
    }

    fn frame(&mut self, interface: u32, original: u32, bytes: &'a [u8]) -> Option<()> {
        self.capture.frames.push(Frame {
            number: self.capture.frames.len() as u64 + 1,
            interface: u32::try_from(self.first).ok()?.checked_add(interface)?,
            time_ns: self.last_ns,
            original: original.max(bytes.len() as u32),
            bytes,
        });
        Some(())
    }
}
