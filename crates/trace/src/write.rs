//! Captures in the making: packets with headers made for them, written as they come. The simulator records packets as they enter its
//! links; an endpoint on real sockets records the packets that it sends and receives.
//!
//! pcapng (draft-ietf-opsawg-pcapng) has one section, one interface for each recorded link (or socket), and a packet block for each
//! packet. pcap (draft-ietf-opsawg-pcap) knows no interfaces: the packets of all recorded links stand in one list.
//! Every interface is an Ethernet: libpcap refuses a file whose interfaces differ, has its own idea of which numbers
//! are equal (raw IP is not), and older programs know no other link type for both versions of IP.

mod headers;
mod packet;

use std::fmt;
use std::io::Write;

use anabranch_base::Instant;
pub use packet::{Interface, Packet, Way};

const LINKTYPE_ETHERNET: u16 = 1;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_PACKET_FLAGS: u16 = 2;
const OPTION_STATISTICS_RECEIVED: u16 = 4;
const OPTION_STATISTICS_DROPPED: u16 = 5;
const OPTION_IF_SPEED: u16 = 8;
const OPTION_IF_TSRESOL: u16 = 9;
/// pcap with time stamps in nanoseconds.
const PCAP_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The snapshot length in pcap that means no limit, bytes.
const PCAP_LONGEST: u32 = 262_144;

/// The format of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureFormat {
    /// pcapng: every link has its name.
    #[default]
    Pcapng,
    /// pcap, for older programs: it does not say which packet was seen where.
    Pcap,
}

impl CaptureFormat {
    /// The usual end of a file's name.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Pcapng => "pcapng",
            Self::Pcap => "pcap",
        }
    }
}

/// Where a capture goes while the run makes it: nothing of it stays in memory.
pub struct CaptureFile {
    /// The format of the file.
    pub format: CaptureFormat,
    /// The output. Blocks are written one by one: a buffer around it pays.
    pub out: Box<dyn Write + Send>,
}

impl fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureFile").field("format", &self.format).finish_non_exhaustive()
    }
}

enum Sink {
    Memory(Vec<u8>),
    Stream(Box<dyn Write + Send>),
}

/// A capture in the making.
pub struct Capture {
    format: CaptureFormat,
    interfaces: Vec<Interface>,
    /// Bytes of a packet that are kept, without the Ethernet header; `None`: all.
    snaplen: Option<u32>,
    /// The block being made.
    block: Vec<u8>,
    sink: Sink,
    /// The reason why writing stopped.
    failed: Option<String>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("format", &self.format)
            .field("interfaces", &self.interfaces)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// A capture on these interfaces; a packet names its interface by its place in this list. Without a file it is a
    /// pcapng file in memory.
    #[must_use]
    pub fn new(interfaces: Vec<Interface>, snaplen: Option<u32>, file: Option<CaptureFile>) -> Self {
        let (format, sink) = match file {
            Some(file) => (file.format, Sink::Stream(file.out)),
            None => (CaptureFormat::Pcapng, Sink::Memory(Vec::new())),
        };
        let mut capture = Self { format, interfaces, snaplen, block: Vec::new(), sink, failed: None };
        match format {
            CaptureFormat::Pcapng => capture.pcapng_head(),
            CaptureFormat::Pcap => capture.pcap_head(),
        }
        capture.write();
        capture
    }

    fn pcapng_head(&mut self) {
        block(&mut self.block, SECTION_HEADER, |out| {
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            // Length of the section: unknown.
            out.extend(u64::MAX.to_le_bytes());
        });
        for interface in &self.interfaces {
            block(&mut self.block, INTERFACE_DESCRIPTION, |out| {
                out.extend(LINKTYPE_ETHERNET.to_le_bytes());
                out.extend(0_u16.to_le_bytes());
                // 0 is no limit on the length of a packet.
                out.extend(self.snaplen.map_or(0, |kept| kept + ETHERNET).to_le_bytes());
                option(out, OPTION_IF_NAME, interface.name.as_bytes());
                if let Some(speed) = interface.speed {
                    option(out, OPTION_IF_SPEED, &speed.to_le_bytes());
                }
                // Time stamps in units of 10^-9 s.
                option(out, OPTION_IF_TSRESOL, &[9]);
                option(out, OPTION_END, &[]);
            });
        }
    }

    fn pcap_head(&mut self) {
        let out = &mut self.block;
        out.extend(PCAP_NANOSECONDS.to_le_bytes());
        // Version 2.4; two fields of zeros; the limit; the link type.
        out.extend(2_u16.to_le_bytes());
        out.extend(4_u16.to_le_bytes());
        out.extend([0; 8]);
        out.extend(self.snaplen.map_or(PCAP_LONGEST, |kept| kept + ETHERNET).to_le_bytes());
        out.extend(u32::from(LINKTYPE_ETHERNET).to_le_bytes());
    }

    /// Adds a packet.
    pub fn packet(&mut self, now: Instant, interface: u32, packet: &Packet<'_>) {
        let Some(link) = self.interfaces.get(interface as usize) else { return };
        if self.failed.is_some() {
            return;
        }
        let at = now.as_nanos();
        let snaplen = self.snaplen;
        let frame = |out: &mut Vec<u8>| {
            // The two lengths, kept and original, stand in front of the frame in both formats.
            let length_at = out.len();
            out.extend([0; 8]);
            let start = out.len();
            headers::ethernet(out, link, packet);
            headers::datagram(out, packet);
            let original = out.len() - start;
            if let Some(snaplen) = snaplen {
                out.truncate(start + original.min((snaplen + ETHERNET) as usize));
            }
            let kept = out.len() - start;
            for (at, length) in [(length_at, kept), (length_at + 4, original)] {
                if let Some(field) = out.get_mut(at..at + 4) {
                    field.copy_from_slice(&(length as u32).to_le_bytes());
                }
            }
            start
        };
        match self.format {
            CaptureFormat::Pcapng => block(&mut self.block, ENHANCED_PACKET, |out| {
                out.extend(interface.to_le_bytes());
                out.extend(((at >> 32) as u32).to_le_bytes());
                out.extend((at as u32).to_le_bytes());
                let start = frame(out);
                pad(out, start);
                if let Some(way) = packet.way {
                    option(out, OPTION_PACKET_FLAGS, &way.flags().to_le_bytes());
                    option(out, OPTION_END, &[]);
                }
            }),
            CaptureFormat::Pcap => {
                self.block.extend(((at / 1_000_000_000) as u32).to_le_bytes());
                self.block.extend(((at % 1_000_000_000) as u32).to_le_bytes());
                frame(&mut self.block);
            }
        }
        self.write();
    }

    /// Says at the end how many packets an interface has seen, and how many of them are not in the file. pcap has no place for that.
    pub fn statistics(&mut self, now: Instant, interface: u32, seen: u64, dropped: u64) {
        if self.format == CaptureFormat::Pcap || self.failed.is_some() {
            return;
        }
        let at = now.as_nanos();
        block(&mut self.block, INTERFACE_STATISTICS, |out| {
            out.extend(interface.to_le_bytes());
            out.extend(((at >> 32) as u32).to_le_bytes());
            out.extend((at as u32).to_le_bytes());
            option(out, OPTION_STATISTICS_RECEIVED, &seen.to_le_bytes());
            option(out, OPTION_STATISTICS_DROPPED, &dropped.to_le_bytes());
            option(out, OPTION_END, &[]);
        });
        self.write();
    }

    /// Hands the block on.
    fn write(&mut self) {
        match &mut self.sink {
            Sink::Memory(file) => file.append(&mut self.block),
            Sink::Stream(out) => {
                if let Err(error) = out.write_all(&self.block) {
                    self.failed = Some(error.to_string());
                }
                self.block.clear();
            }
        }
    }

    /// The reason why nothing more can be written.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The file, if it was made in memory.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn finish(self) -> Result<Option<Vec<u8>>, String> {
        match (self.failed, self.sink) {
            (Some(failed), _) => Err(failed),
            (None, Sink::Memory(file)) => Ok(Some(file)),
            (None, Sink::Stream(mut out)) => out.flush().map(|()| None).map_err(|error| error.to_string()),
        }
    }
}

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// A block: type, length, body, length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

/// Fills up to a multiple of four bytes since `start`.
fn pad(out: &mut Vec<u8>, start: usize) {
    while (out.len() - start) % 4 != 0 {
        out.push(0);
    }
}

#[cfg(test)]
mod tests;
