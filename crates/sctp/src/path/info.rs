//! Heartbeat Information of our HEARTBEATs.

use anabranch_base::Instant;

use crate::ids::PathId;

/// Bytes of our Heartbeat Info: path, nonce, time. Nothing in it is secret; the nonce makes it unguessable.
pub(crate) const HEARTBEAT_INFO_LEN: usize = 1 + 8 + 8;

/// Heartbeat Info, as the answer brings it back.
pub(super) fn heartbeat_info(id: PathId, nonce: u64, now: Instant) -> [u8; HEARTBEAT_INFO_LEN] {
    let mut info = [0; HEARTBEAT_INFO_LEN];
    info[0] = id.get();
    info[1..9].copy_from_slice(&nonce.to_be_bytes());
    info[9..].copy_from_slice(&now.as_nanos().to_be_bytes());
    info
}
