//! Sequence numbers: on the wire 32 bits from a random beginning, within a connection unwrapped.

/// Initial sequence numbers of both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    iss: u32,
    irs: u32,
}

impl Numbers {
    /// Ours begin at `iss`.
    pub(super) fn new(iss: u32) -> Self {
        Self { iss, irs: 0 }
    }

    /// The peer's begin at `irs`, its SYN says.
    pub(super) fn peer_begins(&mut self, irs: u32) {
        self.irs = irs;
    }

    /// Our SYN's number.
    pub(super) fn own_syn(&self) -> u32 {
        self.iss
    }

    /// The number of the peer's SYN.
    pub(super) fn peer_syn(&self) -> u32 {
        self.irs
    }

    /// True if `ack` acknowledges our SYN and nothing else.
    pub(super) fn acknowledges_syn(&self, ack: u32) -> bool {
        ack == self.iss.wrapping_add(1)
    }

    /// A sequence number of ours, for the wire.
    #[inline]
    pub(super) fn own(&self, seq: u64) -> u32 {
        self.iss.wrapping_add(seq as u32)
    }

    /// A sequence number of the peer's, for the wire.
    #[inline]
    pub(super) fn peer(&self, seq: u64) -> u32 {
        self.irs.wrapping_add(seq as u32)
    }

    /// A sequence number of ours near `near`, unwrapped. Negative when before the SYN.
    #[inline]
    pub(super) fn unwrap_own(&self, near: u64, wire: u32) -> i64 {
        unwrap(self.iss, near, wire)
    }

    /// A sequence number of the peer's near `near`, unwrapped. Negative when before its SYN.
    #[inline]
    pub(super) fn unwrap_peer(&self, near: u64, wire: u32) -> i64 {
        unwrap(self.irs, near, wire)
    }
}

fn unwrap(initial: u32, near: u64, wire: u32) -> i64 {
    let expected = initial.wrapping_add(near as u32);
    near as i64 + i64::from(wire.wrapping_sub(expected) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unwrapped_around_the_turn_of_the_wire() {
        let mut numbers = Numbers::new(u32::MAX - 1);
        numbers.peer_begins(7);
        assert!(numbers.acknowledges_syn(u32::MAX));
        assert_eq!((numbers.own(3), numbers.peer(3)), (1, 10));
        assert_eq!(numbers.unwrap_own(2, 1), 3);
        assert_eq!(numbers.unwrap_own(2, u32::MAX - 3), -2);
        let far = 5 << 32;
        assert_eq!(numbers.unwrap_peer(far, numbers.peer(far + 100)), far as i64 + 100);
    }
}
