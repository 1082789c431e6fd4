use crate::builder::{ChecksumOut, PacketBuilder};
use crate::header::CommonHeader;
use crate::packet::{Checksum, Packet};

fn line(chunks: &[u8]) -> String {
    let header = CommonHeader { source_port: 5000, destination_port: 9, verification_tag: 42 };
    let mut bytes = Vec::new();
    let mut builder = PacketBuilder::new(&mut bytes, header);
    builder.buffer().extend_from_slice(chunks);
    builder.finish(ChecksumOut::Zero);
    let line = Packet::parse(&bytes, Checksum::Ignore).unwrap().to_string();
    line.strip_prefix("5000 > 9 tag=0x0000002a").unwrap().to_owned()
}

#[test]
fn chunks_on_one_line() {
    assert_eq!(line(&[]), "");
    assert_eq!(
        line(&[11, 0, 0, 4, 0, 15, 0, 17, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 53, b'x', 0, 0, 0]),
        " COOKIE ACK; DATA IUBE tsn=9 stream=1 ssn=2 ppid=53 len=1"
    );
    assert_eq!(
        line(&[3, 0, 0, 28, 0, 0, 0, 7, 0, 1, 0, 0, 0, 2, 0, 1, 0, 2, 0, 3, 0, 5, 0, 5, 0, 0, 0, 6]),
        " SACK cum=7 a_rwnd=65536 gaps=[2-3 5-5] dups=[6]"
    );
    assert_eq!(line(&[14, 1, 0, 4]), " SHUTDOWN COMPLETE T");
    assert_eq!(line(&[12, 0, 0, 8, 0, 0, 0, 5]), " ECNE tsn=5");
    assert_eq!(
        line(&[0xC5, 1, 0, 4]),
        " CHUNK 197 flags=0x01 value=0B (unknown: a receiver skips it and reports it)"
    );
}

#[test]
fn parameters_and_causes() {
    assert_eq!(
        line(&[
            1, 0, 0, 44, 0, 0, 0, 1, 0, 0, 5, 0xDC, 0, 1, 0, 2, 0, 0, 0, 3, 0, 5, 0, 8, 192, 0, 2, 1, 0, 12,
            0, 8, 0, 5, 0, 6, 0x80, 0, 0, 4, 0xC0, 0, 0, 4
        ]),
        " INIT tag=0x00000001 a_rwnd=1500 os=1 is=2 tsn=3 params: ipv4=192.0.2.1, address-types=[5 6], \
         ecn-capable, forward-tsn"
    );
    assert_eq!(line(&[9, 0, 0, 12, 0, 3, 0, 8, 0, 0, 0, 9]), " ERROR causes: stale cookie by 9us");
    assert_eq!(
        line(&[6, 1, 0, 9, 0, 12, 0, 5, b'\n', 0, 0, 0]),
        " ABORT T causes: user abort \"\\n\"",
        "what a peer writes cannot break the line"
    );
}

#[test]
fn the_subflow_extension() {
    assert_eq!(
        line(&[0x5F, 3, 0, 21, 0, 0, 0, 9, 0, 1, 2, 3, 0, 0, 0, 4, 0, 0, 0, 53, b'x', 0, 0, 0]),
        " SF-DATA BE fid=2 epoch=3 stsn=9 stream=1 mid=4 ppid=53 len=1"
    );
    assert_eq!(
        line(&[0x5F, 0, 0, 21, 0, 0, 0, 9, 0, 1, 2, 3, 0, 0, 0, 4, 0, 0, 0, 5, b'x', 0, 0, 0]),
        " SF-DATA  fid=2 epoch=3 stsn=9 stream=1 mid=4 fsn=5 len=1"
    );
    assert_eq!(
        line(&[
            0x9F, 7, 0, 52, 5, 6, 0, 0, 0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0x20, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0,
            0, 9, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 14, 0, 0, 0, 15
        ]),
        " SF-SACK N fid=5 epoch=6 cum=7 a_rwnd=65536 a_fwnd=8192 gaps=[2-3] dups=[9] received=11us delay=12us \
         ect0=13 ect1=14 ce=15"
    );
    assert_eq!(
        line(&[0xDF, 0, 0, 20, 5, 6, 0, 0, 0, 0, 0, 7, 0, 3, 0, 1, 0, 0, 0, 4]),
        " SF-FORWARD fid=5 epoch=6 cum=7 skipped=[3:4U]"
    );
    assert_eq!(
        line(&[
            1, 0, 0, 40, 0, 0, 0, 1, 0, 0, 5, 0xDC, 0, 1, 0, 2, 0, 0, 0, 3, 0xB0, 0x5F, 0, 20, 1, 10, 4, 16,
            0, 1, 0, 0, 0, 0, 11, 184, 1, 46, 0, 1
        ]),
        " INIT tag=0x00000001 a_rwnd=1500 os=1 is=2 tsn=3 params: sf-cap v1 of=4 mif=16 credit=65536 floor=3000 \
         TW open=[1:dscp=46:weight=1]"
    );
    assert_eq!(
        line(&[9, 0, 0, 14, 0x5F, 1, 0, 10, 3, 4, 0, 2, b'h', b'i', 0, 0]),
        " ERROR causes: sf violation fid=3 epoch=4: never sent (2) \"hi\""
    );
}

#[test]
fn requests_of_the_subflow_extension() {
    let show = |bytes: &[u8]| {
        let raw = crate::param::Params::new(bytes).iter().next().unwrap().unwrap();
        crate::param::Param::parse(raw).unwrap().to_string()
    };
    assert_eq!(
        show(&[0x40, 0x5F, 0, 24, 0, 0, 0, 1, 5, 6, 46, 0, 0, 0, 0, 9, 0, 2, 0, 0, 0, 0, 16, 0]),
        "sf-add req=1 fid=5 epoch=6 dscp=46 weight=2 stsn=9 a_fwnd=4096"
    );
    assert_eq!(
        show(&[0x40, 0x60, 0, 16, 0, 0, 0, 1, 5, 6, 0, 0, 0, 0, 0, 9]),
        "sf-del req=1 fid=5 epoch=6 last=9"
    );
}

#[test]
fn malformed_parts_say_what_is_wrong() {
    assert_eq!(
        line(&[11, 0, 0, 4, 7, 0, 0, 4]),
        " COOKIE ACK; MALFORMED (chunk type 7: length 4, must be 8)"
    );
    assert_eq!(
        line(&[9, 0, 0, 8, 0, 3, 0, 4]),
        " ERROR causes: MALFORMED (parameter or cause type 3: length 4, must be 8)"
    );
    assert_eq!(
        line(&[7, 0, 0, 12, 0, 0, 0, 4]),
        " MALFORMED (chunk type 7: length field 12, but only 8 bytes are left in the packet)"
    );
}

#[test]
fn messages_with_identifiers_and_re_configuration() {
    assert_eq!(
        line(&[0x40, 3, 0, 21, 0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 53, b'x', 0, 0, 0]),
        " I-DATA BE tsn=9 stream=1 mid=4 ppid=53 len=1"
    );
    assert_eq!(
        line(&[0x82, 0, 0, 16, 0, 16, 0, 12, 0, 0, 0, 7, 0, 0, 0, 6]),
        " RE-CONFIG params: reconfig-response req=7 result=6"
    );
    assert_eq!(
        line(&[
            0x82, 0, 0, 34, 0, 14, 0, 10, 0, 0, 0, 8, 0, 3, 0, 0, 0, 13, 0, 18, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0,
            0, 5, 0, 4, 0, 0
        ]),
        " RE-CONFIG params: incoming-reset req=8 streams=[3], outgoing-reset req=7 resp=6 last=5 streams=[4]"
    );
    assert_eq!(
        line(&[0x82, 0, 0, 28, 0, 17, 0, 12, 0, 0, 0, 7, 0, 2, 0, 0, 0, 18, 0, 12, 0, 0, 0, 8, 0, 3, 0, 0]),
        " RE-CONFIG params: add-outgoing req=7 count=2, add-incoming req=8 count=3"
    );
    assert_eq!(line(&[0x82, 0, 0, 12, 0, 15, 0, 8, 0, 0, 0, 7]), " RE-CONFIG params: ssn-tsn-reset req=7");
    assert_eq!(line(&[0xC0, 0, 0, 12, 0, 0, 0, 9, 0, 1, 0, 2]), " FORWARD-TSN cum=9 skipped=[1:2]");
    assert_eq!(
        line(&[0xC2, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 1, 0, 0, 0, 2]),
        " I-FORWARD-TSN cum=9 skipped=[1:2U]"
    );
}

#[test]
fn extensions_of_others_are_named_and_read() {
    assert_eq!(
        line(&[16, 0, 0, 28, 0, 0, 0, 7, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 5, 0, 6]),
        " NR-SACK cum=7 a_rwnd=65536 gaps=[2-3] nr-gaps=[5-6]"
    );
    assert_eq!(
        line(&[
            15, 0, 0, 12, 0, 2, 0, 1, 9, 8, 7, 6, 0xC1, 0, 0, 32, 0, 0, 0, 5, 0, 5, 0, 8, 192, 0, 2, 9, 0xC0,
            1, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1
        ]),
        " AUTH key=2 hash=1(SHA-1) hmac=4B; ASCONF seq=5 params: ipv4=192.0.2.9, add-address id=1 192.0.2.1"
    );
    assert_eq!(line(&[0x80, 0, 0, 8, 0, 0, 0, 5]), " ASCONF-ACK seq=5");
    // The example of RFC 5061, section 4.3.1.
    assert_eq!(
        line(&[
            0x80, 0, 0, 44, 0, 0, 0, 5, 0xC0, 5, 0, 8, 0, 0, 0, 1, 0xC0, 3, 0, 28, 0, 0, 0, 2, 0, 0xA0, 0,
            20, 0xC0, 2, 0, 16, 0, 0, 0, 2, 0, 5, 0, 8, 192, 0, 2, 1
        ]),
        " ASCONF-ACK seq=5 params: done id=1, refused id=2 causes: request to delete last remaining ip address 16B"
    );
    assert_eq!(
        line(&[
            0x81, 6, 0, 44, 0, 1, 0, 0, 0, 0, 0, 100, 5, 220, 0, 0, 0x13, 0x88, 0, 9, 0, 0, 0, 42, 0, 0, 0,
            0, 3, 0, 0, 4, 0x81, 0, 0, 4, 0, 3, 4, 0, 0, 0, 0, 7
        ]),
        " PKTDROP by the peer for its checksum bandwidth=65536 queue=100 truncated from 1500B packet=[5000 > 9 \
         tag=0x0000002a SACK PKTDROP DATA]"
    );
    assert_eq!(
        line(&[0x81, 1, 0, 20, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 3, 4]),
        " PKTDROP by a router bandwidth=1 queue=2 packet=4B"
    );
    assert_eq!(
        line(&[
            1, 0, 0, 52, 0, 0, 0, 1, 0, 0, 5, 0xDC, 0, 1, 0, 2, 0, 0, 0, 3, 0x80, 2, 0, 8, 1, 2, 3, 4, 0x80,
            3, 0, 7, 0xC1, 0x80, 77, 0, 0x80, 4, 0, 8, 0, 3, 0, 1, 0x80, 5, 0, 4, 0xC9, 9, 0, 4
        ]),
        " INIT tag=0x00000001 a_rwnd=1500 os=1 is=2 tsn=3 params: random=4B, authenticate=[ASCONF ASCONF-ACK 77], \
         hashes=[3(SHA-256) 1(SHA-1)], padding=0B, 0xc909=0B (unknown: a receiver skips it and reports it)"
    );
    assert_eq!(line(&[9, 0, 0, 10, 1, 5, 0, 6, 0, 2, 0, 0]), " ERROR causes: unsupported HMAC identifier 2");
    assert_eq!(
        line(&[16, 0, 0, 8, 0, 0, 0, 7]),
        " MALFORMED (chunk type 16: length 8, its fixed fields need 20)"
    );
}

#[test]
fn an_unknown_chunk_says_what_its_upper_bits_ask_of_a_receiver() {
    for (kind, said) in [
        (0x30, "a receiver discards it and all behind it"),
        (0x70, "a receiver discards it and all behind it, and reports it"),
        (0xB0, "a receiver skips it"),
        (0xF0, "a receiver skips it and reports it"),
    ] {
        assert_eq!(line(&[kind, 0, 0, 4]), format!(" CHUNK {kind} flags=0x00 value=0B (unknown: {said})"));
    }
}
