//! Errors of files that are no readable captures.

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
