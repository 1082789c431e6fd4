//! One line a packet, for people: as [`Packet`] shows itself, with the chunks of the thesis.

use core::fmt::{self, Display, Formatter};

use super::{Data, Sack, SubflowCapable, split_cookie};
use crate::chunk::raw::RawChunk;
use crate::chunk::{Chunk, Init, kind};
use crate::error::ChunkError;
use crate::packet::Packet;
use crate::param::Param;
use crate::pretty::letters;

/// Shows a packet whose sender and receiver speak this encoding.
#[derive(Clone, Copy, Debug)]
pub struct Show<'a>(pub Packet<'a>);

impl Display for Show<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let header = self.0.header();
        write!(
            f,
            "{} > {} tag={:#010x}",
            header.source_port, header.destination_port, header.verification_tag
        )?;
        for (i, raw) in self.0.chunks().enumerate() {
            f.write_str(if i == 0 { " " } else { "; " })?;
            if let Err(error) = raw.and_then(|raw| chunk(f, raw)) {
                write!(f, "MALFORMED ({error})")?;
            }
        }
        Ok(())
    }
}

/// Shows one chunk. The two kinds of errors are kept apart: a formatter that fails has nothing more to say.
fn chunk(f: &mut Formatter<'_>, raw: RawChunk<'_>) -> Result<(), ChunkError> {
    let _shown: fmt::Result = match raw.kind {
        kind::DATA => Data::parse(raw)?.fmt(f),
        kind::SACK => Sack::parse(raw)?.fmt(f),
        kind::INIT => init(f, "INIT", &Init::parse(raw)?),
        kind::INIT_ACK => init(f, "INIT ACK", &Init::parse(raw)?),
        kind::COOKIE_ECHO => {
            let (cookie, params) = split_cookie(raw.value);
            write!(f, "COOKIE ECHO cookie={}B", cookie.len()).and_then(|()| setup(f, params.read()))
        }
        kind::COOKIE_ACK => {
            f.write_str("COOKIE ACK").and_then(|()| setup(f, super::SetupParams::new(raw.value).read()))
        }
        _ => Chunk::parse(raw)?.fmt(f),
    };
    Ok(())
}

impl Display for Data<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DATA/2007 {} asn={} fid={} fsn={} stream={} ssn={} ppid={} len={}",
            letters(self.flags),
            self.asn,
            self.fid,
            self.fsn,
            self.stream,
            self.ssn,
            self.ppid,
            self.payload.len()
        )
    }
}

impl Display for Sack<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SACK/2007 asn={} fid={} cum={} a_fwnd={}",
            self.head.cumulative_asn, self.head.fid, self.head.cumulative_fsn, self.head.a_fwnd
        )?;
        let mut separator = " gaps=[";
        for gap in self.gaps() {
            write!(f, "{separator}{}-{}", gap.start, gap.end)?;
            separator = " ";
        }
        f.write_str(if separator == " " { "]" } else { "" })?;
        separator = " dups=[";
        for fsn in self.duplicates() {
            write!(f, "{separator}{fsn}")?;
            separator = " ";
        }
        f.write_str(if separator == " " { "]" } else { "" })
    }
}

fn init(f: &mut Formatter<'_>, name: &str, init: &Init<'_>) -> fmt::Result {
    write!(
        f,
        "{name} tag={:#010x} a_rwnd={} os={} is={} tsn={}",
        init.initiate_tag, init.a_rwnd, init.outbound_streams, init.inbound_streams, init.initial_tsn
    )?;
    for raw in init.params.iter().flatten() {
        match (SubflowCapable::parse(raw), Param::parse(raw)) {
            (Ok(capable), _) if raw.kind == super::SUBFLOW_CAPABLE => {
                write!(f, " subflow-capable of={} mis={}", capable.outbound, capable.max_inbound)?;
            }
            (_, Ok(param)) => write!(f, " {param}")?,
            (_, Err(error)) => write!(f, " MALFORMED ({error})")?,
        }
    }
    Ok(())
}

fn setup(f: &mut Formatter<'_>, all: Option<Vec<super::Setup>>) -> fmt::Result {
    let Some(all) = all else { return f.write_str(" MALFORMED (subflow parameters out of order)") };
    for (fid, one) in all.iter().enumerate() {
        write!(f, " {fid}:a_fwnd={}:fsn={}", one.a_fwnd, one.initial_fsn)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{ChecksumOut, PacketBuilder};
    use crate::header::CommonHeader;
    use crate::packet::Checksum;

    fn line(chunks: &[u8]) -> String {
        let header = CommonHeader { source_port: 5000, destination_port: 9, verification_tag: 42 };
        let mut bytes = Vec::new();
        let mut builder = PacketBuilder::new(&mut bytes, header);
        builder.buffer().extend_from_slice(chunks);
        builder.finish(ChecksumOut::Zero);
        let line = Show(Packet::parse(&bytes, Checksum::Ignore).unwrap()).to_string();
        line.strip_prefix("5000 > 9 tag=0x0000002a").unwrap().to_owned()
    }

    #[test]
    fn chunks_on_one_line() {
        assert_eq!(
            line(&[0, 3, 0, 21, 0, 0, 0, 9, 2, 0, 0, 7, 0, 1, 0, 3, 0, 0, 0, 0, b'x', 0, 0, 0]),
            " DATA/2007 BE asn=9 fid=2 fsn=7 stream=1 ssn=3 ppid=0 len=1"
        );
        assert_eq!(
            line(&[3, 0, 0, 28, 0, 0, 0, 9, 2, 0, 0, 7, 0, 0, 1, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 6]),
            " SACK/2007 asn=9 fid=2 cum=7 a_fwnd=256 gaps=[2-3] dups=[6]"
        );
        assert_eq!(
            line(&[
                1, 0, 0, 26, 0, 0, 0, 1, 0, 0, 5, 0xDC, 0, 1, 0, 2, 0, 0, 0, 3, 0x80, 2, 0, 6, 4, 16, 0, 0
            ]),
            " INIT tag=0x00000001 a_rwnd=1500 os=1 is=2 tsn=3 subflow-capable of=4 mis=16"
        );
        assert_eq!(
            line(&[
                10, 0, 0, 22, 1, 2, 0x8F, 1, 0, 8, 0, 0, 0, 9, 0x8F, 2, 0, 8, 0, 0, 0, 7, 0, 0, 11, 0, 0, 4
            ]),
            " COOKIE ECHO cookie=2B 0:a_fwnd=9:fsn=7; COOKIE ACK"
        );
        assert_eq!(
            line(&[0, 3, 0, 16, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 0]),
            " MALFORMED (chunk type 0: length 16, its fixed fields need 20)"
        );
    }
}
