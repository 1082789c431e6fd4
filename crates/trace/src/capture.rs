//! Capture files: pcapng and classic pcap, as any program may have written them.
//!
//! A capture is read from memory; frames borrow its bytes. A damaged part ends the reading, and [`Capture::notes`] says
//! where: the frames before it count.

mod contents;
mod error;
mod order;
mod pcap;
mod pcapng;

pub use contents::{Capture, Format, Frame, Interface};
pub use error::CaptureError;

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
}
