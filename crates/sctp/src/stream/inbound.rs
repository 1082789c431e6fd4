//! Messages on their way in: reassembly, then delivery in the order of their stream.

use std::collections::{BTreeMap, VecDeque};

pub(crate) use super::reassembly::Arrived;
use super::reassembly::{Inconsistent, Reassembly, Whole};
use crate::event::Received;

/// Memory charged for a message beside its payload, so that tiny messages cannot hold more than they advertise.
const OVERHEAD: usize = 128;

#[derive(Debug, Default)]
struct Stream {
    /// SSN of the next message to deliver.
    next: u16,
    /// Whole messages that wait for an earlier one, by TSN. Within a stream the order of TSNs is the order of SSNs,
    /// and TSNs do not come round after 65,536 messages.
    held: BTreeMap<u64, Whole>,
}

/// Everything received and not yet taken by the user.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    reassembly: Reassembly,
    streams: Vec<Stream>,
    ready: VecDeque<Received>,
    /// User data held, in reassembly, in order or ready, bytes.
    held_bytes: usize,
    /// Pieces held, for the memory bound.
    held_pieces: usize,
}

impl Inbound {
    /// User data held, bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Of what is held, the part of the message growing at `next` that exceeds `limit`: bytes of payload, and of
    /// memory.
    pub(crate) fn excess(&self, next: u64, limit: usize) -> (usize, usize) {
        let Some((len, fragments)) = self.reassembly.waiting_for(next) else { return (0, 0) };
        let excess = len.saturating_sub(limit);
        (excess, excess + (fragments as u64 * excess as u64 / len.max(1) as u64) as usize * OVERHEAD)
    }

    /// Memory that is held, payload and bookkeeping, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.held_bytes + self.held_pieces * OVERHEAD
    }

    /// Whether `chunk` would make the message that it continues longer than `limit`.
    pub(crate) fn message_would_exceed(&self, chunk: &Arrived<'_>, limit: usize) -> bool {
        !chunk.beginning
            && self
                .reassembly
                .waiting_for(chunk.seq)
                .is_some_and(|(len, _)| len + chunk.payload.len() > limit)
    }

    /// Takes a new chunk. True when a message became ready where none was.
    ///
    /// # Errors
    /// When fragments contradict each other.
    pub(crate) fn add(&mut self, chunk: &Arrived<'_>) -> Result<bool, Inconsistent> {
        self.held_bytes += chunk.payload.len();
        self.held_pieces += 1;
        let was_empty = self.ready.is_empty();
        // A message that has to wait must not keep alive the memory of others that are read and gone.
        let waits = !chunk.unordered
            && self.streams.get(usize::from(chunk.stream)).map_or(0, |s| s.next) != chunk.ssn;
        let Some(whole) = self.reassembly.add(chunk, waits)? else { return Ok(false) };
        // From here on the message counts as one piece however many fragments it came in.
        self.held_pieces = self.held_pieces.saturating_sub(whole.fragments - 1);
        if whole.message.unordered {
            self.ready.push_back(whole.message);
        } else {
            self.deliver_in_order(whole);
        }
        Ok(was_empty && !self.ready.is_empty())
    }

    fn deliver_in_order(&mut self, whole: Whole) {
        let id = usize::from(whole.message.stream);
        if id >= self.streams.len() {
            self.streams.resize_with(id + 1, Stream::default);
        }
        let Some(stream) = self.streams.get_mut(id) else { return };
        if whole.ssn == stream.next
            && stream.held.first_key_value().is_none_or(|(seq, _)| *seq > whole.first_seq)
        {
            stream.next = stream.next.wrapping_add(1);
            self.ready.push_back(whole.message);
        } else {
            stream.held.insert(whole.first_seq, whole);
        }
        while let Some(entry) = stream.held.first_entry() {
            if entry.get().ssn != stream.next {
                break;
            }
            stream.next = stream.next.wrapping_add(1);
            self.ready.push_back(entry.remove().message);
        }
    }

    /// The next message for the user.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let message = self.ready.pop_front()?;
        self.held_bytes = self.held_bytes.saturating_sub(message.len());
        self.held_pieces = self.held_pieces.saturating_sub(1);
        Some(message)
    }

    /// Drops a fragment that waits for its predecessor, to make room; false when `seq` is not such a one.
    pub(crate) fn forget_orphan(&mut self, seq: u64) -> bool {
        let Some(len) = self.reassembly.forget_orphan(seq) else { return false };
        self.held_bytes = self.held_bytes.saturating_sub(len);
        self.held_pieces = self.held_pieces.saturating_sub(1);
        true
    }

    /// Begins sequence spaces anew (restart); what is ready stays readable.
    pub(crate) fn restart(&mut self) {
        self.reassembly = Reassembly::default();
        self.streams.clear();
        self.held_bytes = self.ready.iter().map(Received::len).sum();
        self.held_pieces = self.ready.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u64, ssn: u16) -> Arrived<'static> {
        Arrived {
            seq,
            stream: 0,
            ssn,
            ppid: 0,
            unordered: false,
            beginning: true,
            ending: true,
            payload: b"m",
        }
    }

    #[test]
    fn a_hole_near_the_wrap_of_the_ssn_stalls_nothing_after_it_is_filled() {
        let mut inbound = Inbound::default();
        let mut delivered = 0_u64;
        let lost = 65_530_u64;
        for seq in 0..140_000_u64 {
            if seq == lost {
                continue;
            }
            inbound.add(&message(seq, seq as u16)).unwrap();
            if seq == lost + 70_000 {
                // More than 65,536 messages behind the hole: SSNs alone could not tell them apart.
                while inbound.pop().is_some() {
                    delivered += 1;
                }
                assert_eq!(delivered, lost);
                inbound.add(&message(lost, lost as u16)).unwrap();
            }
            while inbound.pop().is_some() {
                delivered += 1;
            }
        }
        assert_eq!(delivered, 140_000);
        assert_eq!((inbound.held_bytes(), inbound.memory()), (0, 0));
    }

    #[test]
    fn unordered_messages_do_not_wait() {
        let mut inbound = Inbound::default();
        assert!(!inbound.add(&message(1, 1)).unwrap());
        assert!(inbound.add(&Arrived { unordered: true, ..message(2, 0) }).unwrap());
        assert!(inbound.pop().unwrap().unordered);
        assert!(inbound.add(&message(0, 0)).unwrap());
        assert_eq!(inbound.held_bytes(), 2);
        assert!(inbound.pop().is_some() && inbound.pop().is_some() && inbound.pop().is_none());
    }
}
