//! The trace of a run, one column a field.

use crate::scenario::EventKind;

/// Events of a run in the order of time, column by column: the n-th event is the n-th value of every column.
/// `docs/reference/trace.md` explains the columns for each kind of event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Nanoseconds since the start of the run.
    pub time_ns: Vec<u64>,
    /// The end or link of the event: an index into `entities`.
    pub entity: Vec<u16>,
    /// The kind of the event: an index into [`Columns::kinds`].
    pub kind: Vec<u8>,
    /// The flow: an index into `flows`; [`Columns::NO_FLOW`] when none.
    pub flow: Vec<u32>,
    /// Number of its subflow.
    pub subflow: Vec<u8>,
    /// Number of the subflow's path.
    pub path: Vec<u8>,
    /// The reason: an index into [`Columns::reasons`]; 0 for no particular reason.
    pub reason: Vec<u8>,
    /// Sequence number.
    pub seq: Vec<u64>,
    /// Bytes.
    pub size: Vec<u32>,
    /// First value of the kind.
    pub a: Vec<u64>,
    /// Second value of the kind.
    pub b: Vec<u64>,
    /// Third value of the kind.
    pub c: Vec<u64>,
    /// Names of the entities: `link:NAME` and `FLOW:sender`, `FLOW:receiver`.
    pub entities: Vec<String>,
    /// Names of the flows.
    pub flows: Vec<String>,
}

/// One event, on its way into the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) time_ns: u64,
    pub(crate) entity: u16,
    pub(crate) kind: EventKind,
    pub(crate) flow: u32,
    pub(crate) subflow: u8,
    pub(crate) path: u8,
    pub(crate) reason: Reason,
    pub(crate) seq: u64,
    pub(crate) size: u32,
    pub(crate) values: [u64; 3],
}

/// The reason for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    None,
    FastRetransmit,
    Recovery,
    Timeout,
    Probe,
    Duplicate,
    QueueFull,
    Error,
    Other,
    Early,
    Forced,
    Sojourn,
    Policed,
}

impl Columns {
    /// The flow of an event that belongs to none.
    pub const NO_FLOW: u32 = u32::MAX;

    /// Names of the kinds, by number.
    #[must_use]
    pub fn kinds() -> Vec<&'static str> {
        EventKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    /// Names of the reasons, by number; the first is empty.
    #[must_use]
    pub const fn reasons() -> [&'static str; 13] {
        [
            "",
            "fast-retransmit",
            "recovery",
            "timeout",
            "probe",
            "duplicate",
            "queue-full",
            "error",
            "other",
            "early",
            "forced",
            "sojourn",
            "policed",
        ]
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// A fingerprint of every value and name: FNV-1a, taken over 64-bit words instead of bytes. Two runs with the same
    /// fingerprint did the same.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.word(self.len() as u64);
        self.time_ns.iter().for_each(|v| hash.word(*v));
        self.entity.iter().for_each(|v| hash.word(u64::from(*v)));
        for column in [&self.kind, &self.subflow, &self.path, &self.reason] {
            column.iter().for_each(|v| hash.word(u64::from(*v)));
        }
        for column in [&self.flow, &self.size] {
            column.iter().for_each(|v| hash.word(u64::from(*v)));
        }
        for column in [&self.seq, &self.a, &self.b, &self.c] {
            column.iter().for_each(|v| hash.word(*v));
        }
        for name in self.entities.iter().chain(&self.flows) {
            hash.word(name.len() as u64);
            name.bytes().for_each(|b| hash.word(u64::from(b)));
        }
        hash.0
    }

    pub(crate) fn push(&mut self, row: &Row) {
        self.time_ns.push(row.time_ns);
        self.entity.push(row.entity);
        // The position in `EventKind::ALL` is the order of its declaration.
        self.kind.push(row.kind as u8);
        self.flow.push(row.flow);
        self.subflow.push(row.subflow);
        self.path.push(row.path);
        self.reason.push(row.reason as u8);
        self.seq.push(row.seq);
        self.size.push(row.size);
        let [a, b, c] = row.values;
        self.a.push(a);
        self.b.push(b);
        self.c.push(c);
    }

    /// Puts the events into the order of time; events at one time stay in the order in which they were recorded.
    /// Links catch up with the past, so they record past events.
    pub(crate) fn sort(&mut self) {
        if self.time_ns.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&i| self.time_ns[i]);
        reorder(&mut self.time_ns, &order);
        reorder(&mut self.entity, &order);
        reorder(&mut self.flow, &order);
        reorder(&mut self.size, &order);
        for column in [&mut self.kind, &mut self.subflow, &mut self.path, &mut self.reason] {
            reorder(column, &order);
        }
        for column in [&mut self.seq, &mut self.a, &mut self.b, &mut self.c] {
            reorder(column, &order);
        }
    }
}

fn reorder<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
    *column = order.iter().map(|&i| column[i]).collect();
}

struct Fnv(u64);

impl Fnv {
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
        // The multiplication only carries upwards: bring the upper half down, or high bits of a word would count less.
        self.0 ^= self.0 >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: u64, seq: u64) -> Row {
        Row {
            time_ns,
            entity: 3,
            kind: EventKind::Sent,
            flow: 1,
            subflow: 0,
            path: 0,
            reason: Reason::None,
            seq,
            size: 100,
            values: [seq, 2, 3],
        }
    }

    #[test]
    fn kinds_and_reasons_have_the_numbers_of_their_names() {
        for (i, kind) in EventKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i);
        }
        assert_eq!(Columns::reasons()[Reason::Other as usize], "other");
        assert_eq!(Columns::reasons()[Reason::QueueFull as usize], "queue-full");
        assert_eq!(Columns::reasons()[Reason::Probe as usize], "probe");
    }

    #[test]
    fn sorting_is_by_time_and_keeps_the_order_within_one_time() {
        let mut columns = Columns::default();
        for (time, seq) in [(5, 0), (3, 1), (5, 2), (1, 3), (3, 4)] {
            columns.push(&row(time, seq));
        }
        columns.sort();
        assert_eq!(columns.time_ns, [1, 3, 3, 5, 5]);
        assert_eq!(columns.seq, [3, 1, 4, 0, 2]);
        assert_eq!(columns.a, columns.seq);
    }

    #[test]
    fn the_hash_sees_every_column() {
        let base = {
            let mut columns = Columns::default();
            columns.push(&row(1, 2));
            columns.push(&row(1, 3));
            columns
        };
        let changes: [fn(&mut Columns); 8] = [
            |c| c.time_ns[0] ^= 1 << 63,
            |c| c.entity[1] = 9,
            |c| c.kind[0] = 1,
            |c| c.flow[0] = 7,
            |c| c.reason[1] = 2,
            |c| c.c[1] += 1,
            |c| c.seq.swap(0, 1),
            |c| c.entities.push("link:x".into()),
        ];
        for change in changes {
            let mut other = base.clone();
            change(&mut other);
            assert_ne!(other.hash(), base.hash());
        }
        assert_eq!(base.clone().hash(), base.hash());
    }
}
