//! What a user is told of the send buffer: how much is in it, of each stream and in all, when a stream is full, and when what is
//! buffered has fallen to a threshold. Who does not ask pays a branch for it.

use std::collections::BTreeMap;

use anabranch_base::Dscp;

use super::Sender;
use super::buffer_watch::Low;
use super::flight::Flight;
use super::queue::send_buffer;
use crate::config::{LimitConfig, SendBufferCounts};
use crate::context::Context;
use crate::error::SendError;
use crate::event::Event;

impl Sender {
    /// The configuration may ask for more than a limit on what waits.
    pub(super) fn follow_buffers(&mut self, cx: &Context) {
        let limits = &cx.config.limits;
        self.weighs_all = self.is_tight || limits.stream_send_minimum != 0;
        if limits.stream_send_buffer != 0 || limits.send_buffer_counts != SendBufferCounts::Unsent {
            self.backpressure.get_or_insert_default();
        }
        if limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream();
        }
        self.note_gone();
    }

    /// Bytes that count against the send buffer: of a stream, or of all.
    pub(crate) fn buffered_bytes(&self, cx: &Context, stream: Option<u16>) -> usize {
        let unacknowledged = cx.config.limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        let flights = || self.tables.spaces.rows().iter().map(|space| &space.flight);
        let (queued, sent) = match stream {
            None => {
                (self.queued_bytes(), if unacknowledged { flights().map(Flight::bytes).sum() } else { 0 })
            }
            Some(stream) => {
                let queued: usize = self.tables.subflows.rows().iter().map(|s| s.out.queued_on(stream)).sum();
                let deferred = self.deferred.as_ref().map_or(0, |deferred| deferred.bytes_of(stream));
                let sent = if unacknowledged { flights().map(|f| f.bytes_of(stream)).sum() } else { 0 };
                (queued + deferred, sent)
            }
        };
        queued.saturating_add(usize::try_from(sent).unwrap_or(usize::MAX))
    }

    /// `send` has refused a message because others of its stream are under way with another code point: Writable is owed.
    pub(crate) fn owe_idle(&mut self, stream: u16) {
        self.count_by_stream();
        let dscp = self.stream_map.dscp_of_stream(&self.tables, stream);
        self.backpressure.get_or_insert_default().busy.insert(stream, dscp);
    }

    /// Tells of streams that wait for nothing to be under way, where that has come, or where they have another code point meanwhile.
    #[inline(never)]
    fn tell_idle_streams(&mut self, cx: &mut Context, busy: &mut BTreeMap<u16, Dscp>) {
        self.count_by_stream();
        busy.retain(|stream, before| {
            let waits = self.stream_map.dscp_of_stream(&self.tables, *stream) == *before
                && self.is_under_way(*stream);
            if !waits {
                cx.tell(Event::Writable { stream: Some(*stream) });
            }
            waits
        });
    }

    /// The user wants to learn when what is buffered of a stream, or of all, has fallen to `threshold` or below; or not any more.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_low_threshold(
        &mut self,
        cx: &Context,
        stream: Option<u16>,
        threshold: Option<usize>,
    ) -> Result<(), SendError> {
        if let Some(stream) = stream.filter(|stream| *stream >= self.stream_map.streams()) {
            return Err(SendError::NoSuchStream { stream, streams: self.stream_map.streams() });
        }
        let above = threshold.is_some_and(|threshold| self.buffered_bytes(cx, stream) > threshold);
        let backpressure = self.backpressure.get_or_insert_default();
        match threshold {
            Some(threshold) => {
                backpressure.low.insert(stream, Low { threshold, above });
            }
            None => {
                backpressure.low.remove(&stream);
            }
        }
        if cx.config.limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream();
        }
        Ok(())
    }

    /// What has left and is not acknowledged is counted for each stream from now on, also in spaces that were opened since this was
    /// said last.
    pub(super) fn count_by_stream(&mut self) {
        let mut anew = false;
        for space in self.tables.spaces.rows_mut() {
            anew |= space.flight.count_by_stream();
        }
        // What was acknowledged before that is not known stream by stream.
        if anew {
            self.note_gone();
        }
    }

    /// A message was accepted: what is buffered may have risen above a threshold.
    #[inline(never)]
    pub(super) fn note_accepted(&mut self, cx: &Context, stream: u16) {
        for which in [None, Some(stream)] {
            let known = self.backpressure.as_ref().and_then(|all| all.low.get(&which));
            let Some(low) = known.filter(|low| !low.above) else { continue };
            let above = self.buffered_bytes(cx, which) > low.threshold;
            if let Some(low) = self.backpressure.as_mut().and_then(|all| all.low.get_mut(&which)) {
                low.above = above;
            }
        }
    }

    /// Messages have gone in another way than by leaving: all thresholds are looked at.
    pub(crate) fn note_gone(&mut self) {
        if let Some(backpressure) = &mut self.backpressure {
            backpressure.all_touched = true;
        }
    }

    /// `send` said Full and there is room again: tells the user once.
    #[inline]
    pub(crate) fn tell_writable(&mut self, cx: &mut Context) {
        if self.writable_owed && !self.is_full_for_sure(cx) {
            self.tell_writable_if_room(cx);
        }
        if self.backpressure.is_some() {
            self.tell_backpressure(cx);
        }
    }

    /// Whether the only subflow has more than half of any send buffer that there may be now: the question asked with every packet.
    #[inline]
    fn is_full_for_sure(&self, cx: &Context) -> bool {
        let [subflow] = self.tables.subflows.rows() else { return false };
        let limits = &cx.config.limits;
        let weight = subflow.out.weight(false);
        if !subflow.writable_owed || weight <= limits.send_buffer / 2 {
            return false;
        }
        limits.max_send_buffer <= limits.send_buffer || weight > self.largest_now(limits) / 2
    }

    /// A send buffer that grows with the window, as large as it may be now.
    #[inline]
    fn largest_now(&self, limits: &LimitConfig) -> usize {
        let [lane] = self.tables.lanes.rows() else { return usize::MAX };
        let windows = usize::try_from(2 * lane.window.cwnd()).unwrap_or(usize::MAX);
        windows.clamp(limits.send_buffer, limits.max_send_buffer)
    }

    #[inline(never)]
    fn tell_writable_if_room(&mut self, cx: &mut Context) {
        let limit =
            send_buffer(cx, self.tables.lanes.rows().iter().max_by_key(|lane| lane.window.cwnd())) / 2;
        if self.deferred_bytes() > limit {
            return;
        }
        let unacknowledged = cx.config.limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        if unacknowledged && self.buffered_bytes(cx, None) > limit {
            return;
        }
        let (mut told, mut owed) = (false, false);
        for subflow in self.tables.subflows.rows_mut() {
            // Whatever counts, half of the buffer has room for what is kept besides.
            if subflow.writable_owed && subflow.out.weight(false) <= limit {
                subflow.writable_owed = false;
                told = true;
            }
            owed |= subflow.writable_owed;
        }
        self.writable_owed = owed;
        if told {
            cx.tell(Event::Writable { stream: None });
        }
    }

    /// Tells the user of streams that take messages again, and of thresholds that were reached.
    #[inline(never)]
    fn tell_backpressure(&mut self, cx: &mut Context) {
        if cx.config.limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream();
        }
        let Some(mut backpressure) = self.backpressure.take() else { return };
        let mut touched = std::mem::take(&mut backpressure.touched);
        for space in self.tables.spaces.rows_mut() {
            space.flight.take_fallen(&mut touched);
        }
        let all = std::mem::take(&mut backpressure.all_touched);
        if all {
            touched.extend(backpressure.full.iter());
            touched.extend(backpressure.low.keys().flatten());
        }
        touched.sort_unstable();
        touched.dedup();
        // With no limit on streams any more whoever waits for one may go on.
        let room = match cx.config.limits.stream_send_buffer {
            0 => usize::MAX,
            most => most / 2,
        };
        for stream in touched.drain(..) {
            let is_full = backpressure.full.contains(&stream);
            let low = backpressure.low.get_mut(&Some(stream)).filter(|low| low.above);
            if !is_full && low.is_none() {
                continue;
            }
            let bytes = self.buffered_bytes(cx, Some(stream));
            if is_full && bytes <= room {
                backpressure.full.remove(&stream);
                cx.tell(Event::Writable { stream: Some(stream) });
            }
            if let Some(low) = low.filter(|low| bytes <= low.threshold) {
                low.above = false;
                cx.tell(Event::BufferedLow { stream: Some(stream) });
            }
        }
        backpressure.touched = touched;
        if !backpressure.busy.is_empty() {
            self.tell_idle_streams(cx, &mut backpressure.busy);
        }
        if let Some(low) = backpressure.low.get_mut(&None).filter(|low| low.above) {
            if self.buffered_bytes(cx, None) <= low.threshold {
                low.above = false;
                cx.tell(Event::BufferedLow { stream: None });
            }
        }
        self.backpressure = Some(backpressure);
    }
}
