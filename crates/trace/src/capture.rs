//! Capture files: pcapng and classic pcap, as any program may have written them.
//!
//! A capture is read from memory; frames borrow its bytes. What is damaged ends the reading, and [`Capture::notes`]
//! says where: what came before it counts.

mod pcap;
mod pcapng;

use serde::Serialize;

/// The kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Classic pcap, time stamps in microseconds or nanoseconds.
    Pcap,
    /// pcapng (draft-ietf-opsawg-pcapng).
    Pcapng,
}

/// Where packets were seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its place in the file, over all sections, from 0.
    pub index: u32,
    /// Its name, where the file has one.
    pub name: Option<String>,
    /// Link type by its number (`LINKTYPE_`...).
    pub link_type: u16,
    /// No more bytes of a packet were kept; 0 is no limit.
    pub snap_length: u32,
}

/// A packet as it was seen on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its place in the file, from 1.
    pub number: u64,
    /// Index of its interface.
    pub interface: u32,
    /// Nanoseconds since 1970; of the packet before it, where the file has no time for it.
    pub time_ns: i64,
    /// Bytes that it had on the link.
    pub original: u32,
    /// What was kept of it.
    pub bytes: &'a [u8],
}

/// A file, taken apart into its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture<'a> {
    /// The kind of file.
    pub format: Format,
    /// Interfaces in the order of the file.
    pub interfaces: Vec<Interface>,
    /// Frames in the order of the file.
    pub frames: Vec<Frame<'a>>,
    /// What could not be read, and what had to be assumed: a sentence each.
    pub notes: Vec<String>,
}

/// Why a file is no capture that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// Shorter than the header of any capture.
    #[error("{0} bytes are no capture; allowed: pcapng, pcap")]
    Short(usize),
    /// Known, but not a capture as it stands.
    #[error("a file compressed with {0}: decompress it first; allowed: pcapng, pcap")]
    Compressed(&'static str),
    /// Known, but not read here.
    #[error("a capture in the format {0}; allowed: pcapng, pcap (editcap converts it)")]
    Foreign(&'static str),
    /// Anything else.
    #[error("no capture: it begins with {0:02x?}; allowed: pcapng, pcap")]
    Unknown([u8; 4]),
    /// The first header of a pcapng file does not hold together.
    #[error("pcapng: {0}")]
    Header(String),
}

impl<'a> Capture<'a> {
    /// Reads a whole file.
    ///
    /// # Errors
    /// It is no capture. Damage behind the file's header is a note, not an error.
    pub fn read(file: &'a [u8]) -> Result<Self, CaptureError> {
        let Some(magic) = file.first_chunk::<4>() else {
            return Err(CaptureError::Short(file.len()));
        };
        match *magic {
            [0x0a, 0x0d, 0x0d, 0x0a] => pcapng::read(file),
            [0x1f, 0x8b, ..] => Err(CaptureError::Compressed("gzip")),
            [0x28, 0xb5, 0x2f, 0xfd] => Err(CaptureError::Compressed("zstd")),
            [0xfd, b'7', b'z', b'X'] => Err(CaptureError::Compressed("xz")),
            [0x04, 0x22, 0x4d, 0x18] => Err(CaptureError::Compressed("lz4")),
            [b's', b'n', b'o', b'o'] => Err(CaptureError::Foreign("snoop")),
            magic => match pcap::Header::read(magic, file) {
                Some(header) => Ok(pcap::read(header, file)),
                None if pcap::Header::known(magic) => Err(CaptureError::Short(file.len())),
                None => Err(CaptureError::Unknown(magic)),
            },
        }
    }

    fn new(format: Format) -> Self {
        Self { format, interfaces: Vec::new(), frames: Vec::new(), notes: Vec::new() }
    }

    /// The name of an interface, or its number.
    #[must_use]
    pub fn interface_name(&self, index: u32) -> String {
        let interface = usize::try_from(index).ok().and_then(|index| self.interfaces.get(index));
        interface.and_then(|interface| interface.name.clone()).unwrap_or_else(|| index.to_string())
    }
}

/// Numbers in the byte order of whoever wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk::<2>()?;
        Some(if self == Self::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self == Self::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn i64(self, bytes: &[u8]) -> Option<i64> {
        let bytes = *bytes.first_chunk::<8>()?;
        Some(if self == Self::Little { i64::from_le_bytes(bytes) } else { i64::from_be_bytes(bytes) })
    }
}
