//! The content of a capture file, the same for all formats.

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

/// An interface at which packets were recorded.
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
    /// The bytes that the file has of it: at most `original`.
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
    /// Sentences about parts that could not be read, and about assumptions.
    pub notes: Vec<String>,
}

impl Capture<'_> {
    pub(super) fn new(format: Format) -> Self {
        Self { format, interfaces: Vec::new(), frames: Vec::new(), notes: Vec::new() }
    }

    /// The name of an interface, or its number.
    #[must_use]
    pub fn interface_name(&self, index: u32) -> String {
        let interface = usize::try_from(index).ok().and_then(|index| self.interfaces.get(index));
        interface.and_then(|interface| interface.name.clone()).unwrap_or_else(|| index.to_string())
    }
}
