//! Subflow of each stream, and streams that move to another one.

use anabranch_base::Dscp;

use super::tables::Tables;
use crate::config::Config;
use crate::context::Context;
use crate::error::SubflowError;
use crate::ids::{Id, SubflowId};

/// The outgoing streams of an association.
#[derive(Debug)]
pub(crate) struct StreamMap {
    /// Streams on which messages may be sent.
    streams: u16,
    /// The subflow of each stream; streams beyond the end belong to `unmapped`.
    subflows: Box<[SubflowId]>,
    /// The subflow of streams that are not in the table: the first, or the one that took its streams when it was removed.
    unmapped: SubflowId,
    /// Streams that move to a subflow as soon as the message that has begun to leave has left whole.
    moves: Vec<(u16, SubflowId)>,
}

impl StreamMap {
    pub(super) fn new(streams: u16) -> Self {
        Self { streams, subflows: Box::default(), unmapped: SubflowId::FIRST, moves: Vec::new() }
    }

    /// The subflows that the configuration asks for have been opened: assigns the streams to them.
    pub(super) fn begin(&mut self, config: &Config, count: usize) {
        self.subflows = Box::default();
        self.unmapped = SubflowId::FIRST;
        self.moves.clear();
        let specs = &config.subflows.open[..];
        if specs.iter().all(|spec| spec.streams.is_empty()) {
            if count > 1 {
                let streams = usize::from(config.streams.outbound);
                self.subflows = (0..streams).map(|stream| SubflowId::at(stream % count)).collect();
            }
        } else {
            for (id, spec) in (0..count).map(SubflowId::at).zip(specs) {
                for &stream in &spec.streams {
                    self.map_stream(stream, id);
                }
            }
        }
    }

    /// True if a stream waits to move.
    #[inline]
    pub(super) fn any_moves(&self) -> bool {
        !self.moves.is_empty()
    }

    /// The association has ended: nothing waits to move.
    pub(super) fn forget_moves(&mut self) {
        self.moves.clear();
    }

    /// Streams on which messages may be sent.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// So many streams may be used from now on.
    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.streams = streams;
    }

    /// The subflow of a stream.
    #[inline]
    pub(super) fn subflow_of(&self, stream: u16) -> SubflowId {
        self.subflows.get(usize::from(stream)).copied().unwrap_or(self.unmapped)
    }

    /// Makes the table at least so long: streams that it did not name belong to `unmapped`.
    fn name_streams_below(&mut self, count: usize) {
        if count > self.subflows.len() {
            let mut longer = std::mem::take(&mut self.subflows).into_vec();
            longer.resize(count, self.unmapped);
            self.subflows = longer.into_boxed_slice();
        }
    }

    /// A stream belongs to a subflow from now on.
    pub(super) fn map_stream(&mut self, stream: u16, subflow: SubflowId) {
        let index = usize::from(stream);
        self.name_streams_below(index + 1);
        if let Some(slot) = self.subflows.get_mut(index) {
            *slot = subflow;
        }
    }

    /// Moves a stream and its waiting messages to a subflow. A message that has begun to leave ends on the old one; others follow once it
    /// has left whole: later messages in the peer's buffer could not be read before it, and might take the room that it needs.
    pub(crate) fn move_stream(&mut self, tables: &mut Tables, cx: &Context, stream: u16, to: SubflowId) {
        self.moves.retain(|(moving, _)| *moving != stream);
        let from = self.subflow_of(stream);
        if from == to {
            return;
        }
        if tables.subflows.get(from).is_some_and(|subflow| subflow.out.has_begun(stream)) {
            self.moves.push((stream, to));
            return;
        }
        self.map_stream(stream, to);
        let moved = match tables.subflows.get_mut(from) {
            Some(subflow) => subflow.out.take_stream(stream),
            None => return,
        };
        let arrival = cx.report.stats.messages_accepted;
        if let Some(subflow) = tables.subflows.get_mut(to) {
            for message in moved {
                subflow.out.push(message, arrival);
            }
        }
    }

    /// A message has left whole: its stream may be waiting to move. A drained subflow is not gone before its last
    /// chunk is acknowledged.
    #[inline(never)]
    pub(super) fn move_waiting_stream(&mut self, tables: &mut Tables, cx: &Context, stream: u16) {
        if let Some(&(_, to)) = self.moves.iter().find(|(moving, _)| *moving == stream) {
            self.move_stream(tables, cx, stream, to);
        }
    }

    /// All streams of a subflow move to another, with those that were about to move there and those that are not in the table.
    pub(super) fn move_all_streams(
        &mut self,
        tables: &mut Tables,
        cx: &Context,
        from: SubflowId,
        to: SubflowId,
    ) {
        for (_, target) in self.moves.iter_mut().filter(|(_, target)| *target == from) {
            *target = to;
        }
        let mut streams: Vec<u16> = tables
            .subflows
            .get(from)
            .map_or_else(Vec::new, |subflow| subflow.out.waiting_streams().collect());
        if from == self.unmapped {
            // Streams that are not in the table, and those that are added later.
            self.name_streams_below(self.streams.into());
            self.unmapped = to;
        }
        let mapped = self.subflows.iter().enumerate().filter(|(_, subflow)| **subflow == from);
        streams.extend(mapped.map(|(stream, _)| stream as u16));
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            if self.subflow_of(stream) == from {
                self.move_stream(tables, cx, stream, to);
            }
        }
    }

    /// Code point with which the next message of a stream leaves: that of its subflow, or of the one that it is about to move to.
    pub(crate) fn dscp_of_stream(&self, tables: &Tables, stream: u16) -> Dscp {
        let moving = self.moves.iter().find(|(moving, _)| *moving == stream).map(|(_, to)| *to);
        let id = moving.unwrap_or_else(|| self.subflow_of(stream));
        tables.subflows.get(id).map(|subflow| subflow.dscp).unwrap_or_default()
    }

    /// # Errors
    /// When there is no such stream.
    pub(crate) fn check_stream(&self, stream: u16) -> Result<(), SubflowError> {
        if stream < self.streams {
            return Ok(());
        }
        Err(SubflowError::NoSuchStream { stream, streams: self.streams })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SubflowSpec;

    #[test]
    fn streams_take_turns_where_nobody_has_named_them() {
        let config = Config::rfc9260().with(|c| {
            c.streams.outbound = 5;
            c.subflows.open = (0..2).map(|_| SubflowSpec::new(Dscp::default())).collect();
        });
        let mut map = StreamMap::new(5);
        map.begin(&config, 2);
        let of: Vec<u8> = (0..6).map(|stream| map.subflow_of(stream).get()).collect();
        assert_eq!(of, [0, 1, 0, 1, 0, 0], "beyond the streams the first has all");
        map.map_stream(7, SubflowId::new(1));
        assert_eq!((map.subflow_of(6).get(), map.subflow_of(7).get()), (0, 1));
        assert!(map.check_stream(4).is_ok() && map.check_stream(5).is_err());
    }
}
