//! Negotiation of the extension SF in INIT and INIT ACK. Where one piece is missing there is no extension: plain SCTP
//! results, and no error.

use anabranch_wire::chunk::kind;
use anabranch_wire::param::{SfCap, SfCapFlags, SfCapHead, SfOpen};
use anabranch_wire::sf::CodePoints;

/// Chunk types of other RFCs that the extension stands on: I-DATA and I-FORWARD-TSN (RFC 8260), RE-CONFIG (RFC 6525).
const FOUNDATIONS: [u8; 3] = [kind::I_DATA, kind::I_FORWARD_TSN, kind::RE_CONFIG];

/// Capabilities that one side announces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capability {
    pub(crate) head: SfCapHead,
    /// Subflows to open at once, in the order of the list.
    pub(crate) opens: Vec<SfOpen>,
}

impl Capability {
    pub(crate) fn read(cap: &SfCap<'_>) -> Self {
        Self { head: cap.head, opens: cap.opens().collect() }
    }
}

/// Outcome of the handshake for the extension SF, known to both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SfAgreement {
    /// Subflows that we may have open, subflow 0 included.
    pub(crate) outbound: u8,
    /// Subflows that the peer may have open, subflow 0 included.
    pub(crate) inbound: u8,
    /// Bytes that we may have outstanding on a new subflow.
    pub(crate) peer_credit: u32,
    /// Bytes that the peer keeps free for each of our subflows.
    pub(crate) peer_floor: u32,
    /// The peer puts ECN counters into SF-SACKs.
    pub(crate) peer_counts: bool,
    /// FIDs that we have open from the start, besides 0.
    pub(crate) our_opens: Vec<u8>,
    /// FIDs that the peer has open from the start, besides 0.
    pub(crate) peer_opens: Vec<u8>,
}

/// Outcome of both sides' capabilities; `extensions` is the peer's list of chunk types. `None`: no extension.
pub(crate) fn agree(
    codes: &CodePoints,
    ours: &Capability,
    peer: &Capability,
    extensions: &[u8],
) -> Option<SfAgreement> {
    let lists = |kind: &u8| extensions.contains(kind);
    if !codes.chunk_types().iter().all(lists) || !FOUNDATIONS.iter().all(lists) {
        return None;
    }
    if peer.head.version != SfCap::VERSION || ours.head.max_inbound == 0 || peer.head.max_inbound == 0 {
        return None;
    }
    // There is no AUTH here and no DTLS below that we know of.
    if peer.head.flags.authenticated {
        return None;
    }
    let outbound = ours.head.outbound.min(peer.head.max_inbound);
    let inbound = peer.head.outbound.min(ours.head.max_inbound);
    // With subflow 0 alone in both directions there is nothing to extend.
    if outbound < 2 && inbound < 2 {
        return None;
    }
    Some(SfAgreement {
        outbound: outbound.max(1),
        inbound: inbound.max(1),
        peer_credit: peer.head.credit,
        peer_floor: peer.head.floor,
        peer_counts: peer.head.flags.ecn_counters,
        our_opens: granted(&ours.opens, outbound),
        peer_opens: granted(&peer.opens, inbound),
    })
}

/// The FIDs of a list that are open from the start where `limit` subflows are agreed: the first ones, each once. Both
/// sides come to the same.
fn granted(opens: &[SfOpen], limit: u8) -> Vec<u8> {
    let mut fids = Vec::new();
    for open in opens {
        if fids.len() + 1 >= usize::from(limit) {
            break;
        }
        if open.fid != 0 && !fids.contains(&open.fid) {
            fids.push(open.fid);
        }
    }
    fids
}

/// Chunk types that an endpoint with the extension lists, in ascending order.
pub(crate) fn chunk_types(codes: &CodePoints) -> Vec<u8> {
    let mut types: Vec<u8> = codes.chunk_types().into_iter().chain(FOUNDATIONS).collect();
    types.sort_unstable();
    types
}

/// Fixed part of the capabilities of an endpoint that wants `outbound` subflows, accepts `max_inbound` and divides
/// its buffer by `credit` and `floor`. `counts`: each SF-SACK reports the number of packets that came marked.
pub(crate) fn head(outbound: u8, max_inbound: u8, credit: u32, floor: u32, counts: bool) -> SfCapHead {
    SfCapHead {
        version: SfCap::VERSION,
        flags: SfCapFlags {
            timestamps: true,
            ecn_counters: counts,
            windows_enforced: true,
            authenticated: false,
        },
        outbound,
        max_inbound,
        credit,
        floor,
    }
}

impl SfAgreement {
    /// For the State Cookie, which "must contain everything negotiated".
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let flags = u8::from(self.peer_counts);
        out.extend_from_slice(&[self.outbound, self.inbound, flags]);
        out.extend_from_slice(&self.peer_credit.to_be_bytes());
        out.extend_from_slice(&self.peer_floor.to_be_bytes());
        for fids in [&self.our_opens, &self.peer_opens] {
            // FIDs are distinct bytes other than 0: there are 255 at most.
            out.push(fids.len() as u8);
            out.extend_from_slice(fids);
        }
    }

    /// Reads the output of [`SfAgreement::encode`]; returns the bytes behind it, too.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[outbound, inbound, flags, c0, c1, c2, c3, f0, f1, f2, f3], rest) =
            bytes.split_first_chunk::<11>()?;
        let (our_opens, rest) = list(rest)?;
        let (peer_opens, rest) = list(rest)?;
        let agreed = Self {
            outbound,
            inbound,
            peer_credit: u32::from_be_bytes([c0, c1, c2, c3]),
            peer_floor: u32::from_be_bytes([f0, f1, f2, f3]),
            peer_counts: flags & 1 != 0,
            our_opens,
            peer_opens,
        };
        Some((agreed, rest))
    }
}

fn list(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (&count, rest) = bytes.split_first()?;
    let (fids, rest) = rest.split_at_checked(usize::from(count))?;
    Some((fids.to_vec(), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CODES: CodePoints = CodePoints::DEFAULT;

    fn capability(outbound: u8, max_inbound: u8) -> Capability {
        let opens = (1..outbound).map(|fid| SfOpen { fid, dscp: 0, weight: 1 }).collect();
        Capability { head: head(outbound, max_inbound, 65_536, 3000, false), opens }
    }

    fn all() -> Vec<u8> {
        chunk_types(&CODES)
    }

    #[test]
    fn both_sides_come_to_the_same() {
        let (a, b) = (capability(4, 8), capability(16, 3));
        let at_a = agree(&CODES, &a, &b, &all()).unwrap();
        let at_b = agree(&CODES, &b, &a, &all()).unwrap();
        assert_eq!((at_a.outbound, at_a.inbound), (3, 8));
        assert_eq!((at_b.outbound, at_b.inbound), (8, 3));
        assert_eq!(at_a.our_opens, [1, 2]);
        assert_eq!(at_a.our_opens, at_b.peer_opens);
        assert_eq!(at_b.our_opens, at_a.peer_opens);
    }

    #[test]
    fn one_missing_piece_and_there_is_no_extension() {
        let (a, b) = (capability(4, 8), capability(4, 8));
        for missing in all() {
            let list: Vec<u8> = all().into_iter().filter(|kind| *kind != missing).collect();
            assert_eq!(agree(&CODES, &a, &b, &list), None, "without {missing:#x}");
        }
        let none = Capability { head: SfCapHead { max_inbound: 0, ..b.head }, opens: Vec::new() };
        assert_eq!(agree(&CODES, &a, &none, &all()), None);
        let version = Capability { head: SfCapHead { version: 2, ..b.head }, opens: Vec::new() };
        assert_eq!(agree(&CODES, &a, &version, &all()), None);
        let flags = SfCapFlags { authenticated: true, ..b.head.flags };
        let auth = Capability { head: SfCapHead { flags, ..b.head }, opens: Vec::new() };
        assert_eq!(agree(&CODES, &a, &auth, &all()), None);
        assert_eq!(agree(&CODES, &capability(1, 1), &capability(1, 1), &all()), None);
        assert!(agree(&CODES, &a, &b, &all()).is_some());
    }

    #[test]
    fn lists_with_nonsense() {
        let open = |fid| SfOpen { fid, dscp: 0, weight: 0 };
        let list = [open(0), open(7), open(7), open(0), open(200), open(9)];
        assert_eq!(granted(&list, 3), [7, 200]);
        assert_eq!(granted(&list, 255), [7, 200, 9]);
        assert_eq!(granted(&list, 1), []);
        assert_eq!(granted(&list, 0), []);
    }

    proptest! {
        #[test]
        fn through_the_cookie(
            numbers: (u8, u8, u32, u32, bool),
            ours in prop::collection::vec(1_u8.., 0..50),
            peers in prop::collection::vec(1_u8.., 0..50),
        ) {
            let agreed = SfAgreement {
                outbound: numbers.0,
                inbound: numbers.1,
                peer_credit: numbers.2,
                peer_floor: numbers.3,
                peer_counts: numbers.4,
                our_opens: ours,
                peer_opens: peers,
            };
            let mut out = Vec::new();
            agreed.encode(&mut out);
            out.push(99);
            prop_assert_eq!(SfAgreement::decode(&out), Some((agreed, &[99][..])));
        }

        #[test]
        fn symmetric_whatever_is_offered(a: (u8, u8), b: (u8, u8)) {
            let (a, b) = (capability(a.0, a.1), capability(b.0, b.1));
            match (agree(&CODES, &a, &b, &all()), agree(&CODES, &b, &a, &all())) {
                (Some(a), Some(b)) => {
                    prop_assert_eq!((a.outbound, a.inbound), (b.inbound, b.outbound));
                    prop_assert_eq!((a.our_opens, a.peer_opens), (b.peer_opens, b.our_opens));
                }
                (None, None) => {}
                half => prop_assert!(false, "half negotiated: {half:?}"),
            }
        }

        #[test]
        fn any_bytes_as_a_cookie(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some((agreed, rest)) = SfAgreement::decode(&bytes) {
                let mut out = Vec::new();
                agreed.encode(&mut out);
                prop_assert_eq!(out.len() + rest.len(), bytes.len());
            }
        }
    }
}
