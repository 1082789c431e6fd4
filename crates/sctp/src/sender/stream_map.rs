//! Which subflow a stream belongs to, and streams that move to another one.

use super::Sender;
use crate::context::Context;
use crate::ids::SubflowId;

impl Sender {
    /// The subflow of a stream.
    #[inline]
    pub(super) fn subflow_of(&self, stream: u16) -> SubflowId {
        self.stream_map.get(usize::from(stream)).copied().unwrap_or(self.unmapped)
    }

    /// Makes the table of streams so long at least: streams that it does not name belong to `unmapped`.
    fn name_streams_below(&mut self, count: usize) {
        if count > self.stream_map.len() {
            let mut longer = std::mem::take(&mut self.stream_map).into_vec();
            longer.resize(count, self.unmapped);
            self.stream_map = longer.into_boxed_slice();
        }
    }

    pub(super) fn map_stream(&mut self, stream: u16, subflow: SubflowId) {
        let index = usize::from(stream);
        self.name_streams_below(index + 1);
        if let Some(slot) = self.stream_map.get_mut(index) {
            *slot = subflow;
        }
    }

    /// Messages that wait move along. One that has begun to leave ends where it began, and the others follow when it has
    /// left whole: later messages in the peer's buffer could not be read before it, and might take the room that it needs.
    pub(crate) fn move_stream(&mut self, cx: &Context, stream: u16, to: SubflowId) {
        self.moves.retain(|(moving, _)| *moving != stream);
        let from = self.subflow_of(stream);
        if from == to {
            return;
        }
        if self.tables.subflows.get(from).is_some_and(|subflow| subflow.out.has_begun(stream)) {
            self.moves.push((stream, to));
            return;
        }
        self.map_stream(stream, to);
        let moved = match self.tables.subflows.get_mut(from) {
            Some(subflow) => subflow.out.take_stream(stream),
            None => return,
        };
        let arrival = cx.stats.messages_accepted;
        if let Some(subflow) = self.tables.subflows.get_mut(to) {
            for message in moved {
                subflow.out.push(message, arrival);
            }
        }
    }

    /// A message has left whole: its stream may be waiting to move. A subflow that is drained by it is not gone before its last
    /// chunk is acknowledged.
    #[inline(never)]
    pub(super) fn move_waiting_stream(&mut self, cx: &Context, stream: u16) {
        if let Some(&(_, to)) = self.moves.iter().find(|(moving, _)| *moving == stream) {
            self.move_stream(cx, stream, to);
        }
    }

    pub(super) fn move_all_streams(&mut self, cx: &Context, from: SubflowId, to: SubflowId) {
        for (_, target) in self.moves.iter_mut().filter(|(_, target)| *target == from) {
            *target = to;
        }
        let mut streams: Vec<u16> = self
            .tables
            .subflows
            .get(from)
            .map_or_else(Vec::new, |subflow| subflow.out.waiting_streams().collect());
        if from == self.unmapped {
            // Streams that nobody has named, those that are added later among them.
            self.name_streams_below(self.streams.into());
            self.unmapped = to;
        }
        let mapped = self.stream_map.iter().enumerate().filter(|(_, subflow)| **subflow == from);
        streams.extend(mapped.map(|(stream, _)| stream as u16));
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            if self.subflow_of(stream) == from {
                self.move_stream(cx, stream, to);
            }
        }
    }
}
