//! The pcapng of the packets that reached the relay. Each packet gets IPv4 and UDP headers with the port of RFC 6951, so that every program
//! reads it: the side that connects is 10.0.0.1, the one that listens 10.0.0.2.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

/// Which side a packet has come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Connecting,
    Listening,
}

/// "the well-known UDP port for SCTP encapsulation" (RFC 6951, 5.1).
const PORT: u16 = 9899;

pub(crate) struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
}

fn to_io(error: pcap_file::PcapError) -> io::Error {
    io::Error::other(error.to_string())
}

impl Capture {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(BufWriter::new(File::create(path)?)).map_err(to_io)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(9)],
        };
        writer.write_pcapng_block(interface).map_err(to_io)?;
        Ok(Self { writer })
    }

    pub(crate) fn packet(&mut self, from: Side, packet: &[u8], comment: Option<&'static str>) {
        let bytes = with_headers(from, packet);
        let options = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            original_len: bytes.len() as u32,
            data: Cow::Owned(bytes),
            options: options.into_iter().collect(),
        };
        if let Err(error) = self.writer.write_pcapng_block(block) {
            eprintln!("the capture is not complete: {error}");
        }
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

fn with_headers(from: Side, packet: &[u8]) -> Vec<u8> {
    let (source, destination) = match from {
        Side::Connecting => ([10, 0, 0, 1], [10, 0, 0, 2]),
        Side::Listening => ([10, 0, 0, 2], [10, 0, 0, 1]),
    };
    let length = (packet.len() + 8) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend((length + 20).to_be_bytes());
    // No identification, do not fragment, 64 hops, UDP, no checksum yet.
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(source);
    bytes.extend(destination);
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(PORT.to_be_bytes());
    bytes.extend(PORT.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    // "an all zero transmitted checksum value means that the transmitter generated no checksum" (RFC 768).
    bytes.extend([0, 0]);
    bytes.extend(packet);
    bytes
}
