//! Messages that wait to be sent, and how large the send buffer is.

use std::sync::Arc;

use super::Sender;
use super::deferred::Deferred;
use super::lane::Lane;
use crate::config::SendBufferCounts;
use crate::context::Context;
use crate::error::SendError;
use crate::stream::outbound::{Queued, Removed};

/// The send buffer, bytes: it grows with the window of the lane that the data leaves on, so that there is always as much to
/// send as a round trip takes; and not where the endpoint has little memory left.
#[cold]
#[inline(never)]
pub(super) fn send_buffer(cx: &Context, lane: Option<&Lane>) -> usize {
    let limits = &cx.config.limits;
    if limits.max_send_buffer <= limits.send_buffer
        || cx.budget.as_ref().is_some_and(|budget| budget.is_tight())
    {
        return limits.send_buffer;
    }
    // What was sent counts, or not: a window waits in either case.
    let unacknowledged = limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
    let windows = if unacknowledged { 2 } else { 1 };
    let wanted = windows * lane.map_or(0, |lane| lane.window.cwnd());
    usize::try_from(wanted).unwrap_or(usize::MAX).clamp(limits.send_buffer, limits.max_send_buffer)
}

impl Sender {
    /// Sets the value (priority or weight) of a stream for the scheduling of streams.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_stream_value(
        &mut self,
        cx: &mut Context,
        stream: u16,
        value: u16,
    ) -> Result<(), SendError> {
        if stream >= self.stream_map.streams() {
            return Err(SendError::NoSuchStream { stream, streams: self.stream_map.streams() });
        }
        // Subflows that are opened later begin with it, too.
        let values = &mut Arc::make_mut(&mut cx.config).streams.values;
        values.retain(|(id, _)| *id != stream);
        values.push((stream, value));
        for subflow in self.tables.subflows.rows_mut() {
            subflow.out.set_stream_value(stream, value);
        }
        Ok(())
    }

    /// Takes a message, or the rest of one, out of its queue.
    pub(super) fn remove_queued(&mut self, stream: u16, number: u32) -> Option<Removed> {
        let interleaves = self.numbering.identifies();
        let subflow = self.stream_map.subflow_of(stream);
        let removed = self.tables.subflows.get_mut(subflow)?.out.remove(stream, number, interleaves);
        if let Some((_, removed)) = removed {
            return Some(removed);
        }
        let message = self.deferred.as_mut()?.remove(number)?;
        Some(Removed { begun: None, unordered: message.unordered })
    }

    /// Takes a message of which nothing has left out of its queue.
    pub(super) fn take_queued(&mut self, stream: u16, number: u32) -> Option<Queued> {
        let interleaves = self.numbering.identifies();
        let subflow = self.stream_map.subflow_of(stream);
        let removed = self.tables.subflows.get_mut(subflow)?.out.remove(stream, number, interleaves);
        removed.map(|(message, _)| message).or_else(|| self.deferred.as_mut()?.remove(number))
    }

    /// Memory of what was accepted and has not left, payload and bookkeeping, bytes.
    pub(crate) fn waiting_memory(&self) -> usize {
        let queued: usize = self.tables.subflows.rows().iter().map(|subflow| subflow.out.memory()).sum();
        queued + self.deferred.as_ref().map_or(0, |deferred| deferred.memory())
    }

    /// Bytes accepted and not yet sent.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.tables.subflows.rows().iter().map(|s| s.out.queued_bytes()).sum::<usize>()
            + self.deferred_bytes()
    }

    /// Bytes of messages that wait for a stream reset.
    pub(crate) fn deferred_bytes(&self) -> usize {
        self.deferred.as_ref().map_or(0, |deferred| deferred.bytes())
    }

    /// Which streams must wait has changed, perhaps: messages that need not wait any more go on.
    pub(crate) fn defer(&mut self, cx: &Context, all: bool, mut streams: Vec<u16>) {
        if self.deferred.is_none() && !all && streams.is_empty() {
            return;
        }
        streams.sort_unstable();
        streams.dedup();
        let mut deferred = Deferred::of(all, streams);
        let before = self.deferred.take().map(|before| before.into_messages()).unwrap_or_default();
        let arrival = cx.stats.messages_accepted;
        for message in before {
            if deferred.defers(message.stream) {
                deferred.push(message);
                continue;
            }
            let subflow = self.stream_map.subflow_of(message.stream);
            if let Some(subflow) = self.tables.subflows.get_mut(subflow) {
                subflow.out.push(message, arrival);
            }
        }
        if deferred.is_any() {
            self.deferred = Some(Box::new(deferred));
        }
    }
}
