//! Output for `tracing`: a span for each endpoint and each association in it, and events for beginnings and ends,
//! losses and timeouts.

use std::net::SocketAddr;

use anabranch_base::{TraceEvent, TraceRecord};
use anabranch_sctp::{CloseReason, Event};
use tracing::{Level, Span, debug, info, trace, warn};

use crate::error::in_words;

/// Whether a subscriber of `tracing` wants losses and timeouts: the core reports them only if so.
pub(crate) fn listens() -> bool {
    tracing::enabled!(target: "anabranch_live", Level::DEBUG)
}

/// The span of an endpoint.
pub(crate) fn endpoint(port: u16, local: &[SocketAddr]) -> Span {
    tracing::info_span!(target: "anabranch_live", "endpoint", port, ?local)
}

/// The span of an association; `None` where no subscriber wants it.
pub(crate) fn association(endpoint: &Span, peer: Option<SocketAddr>) -> Option<Box<Span>> {
    let span = tracing::info_span!(target: "anabranch_live", parent: endpoint, "association", peer = tracing::field::Empty);
    if span.is_disabled() {
        return None;
    }
    if let Some(peer) = peer {
        span.record("peer", tracing::field::display(peer));
    }
    Some(Box::new(span))
}

/// Something that has happened to an association.
pub(crate) fn tell(span: &Span, event: &Event) {
    const T: &str = "anabranch_live";
    match event {
        Event::Readable { .. } | Event::Writable { .. } => {}
        Event::Accepted { outbound_streams, inbound_streams, .. } => {
            info!(target: T, parent: span, outbound_streams, inbound_streams, "accepted");
        }
        Event::Established { outbound_streams, inbound_streams } => {
            info!(target: T, parent: span, outbound_streams, inbound_streams, "established");
        }
        Event::PeerShutdown => info!(target: T, parent: span, "the peer shuts down"),
        Event::Closed(reason @ (CloseReason::Graceful | CloseReason::AbortedLocally)) => {
            info!(target: T, parent: span, reason = in_words(reason), "closed");
        }
        Event::Closed(reason) => warn!(target: T, parent: span, reason = in_words(reason), "closed"),
        Event::Restarted { .. }
        | Event::SendFailed { .. }
        | Event::PathDown { .. }
        | Event::Unreachable { .. }
        | Event::PeerError { .. }
        | Event::ReturnedForgotten { .. }
        | Event::StreamsReduced { .. } => warn!(target: T, parent: span, ?event, "event"),
        other => debug!(target: T, parent: span, event = ?other, "event"),
    }
}

/// Something that the core has reported.
pub(crate) fn record(span: &Span, record: &TraceRecord) {
    const T: &str = "anabranch_live";
    match record.event {
        TraceEvent::Timeout { rto } => {
            debug!(target: T, parent: span, next_rto_ms = rto.as_nanos() as f64 / 1e6, path = record.path, "T3-rtx expired");
        }
        TraceEvent::FastRetransmit { seq } => {
            debug!(target: T, parent: span, seq, subflow = record.subflow, "loss: fast retransmit");
        }
        TraceEvent::Sent { seq, len, retransmit: Some(why) } => {
            debug!(target: T, parent: span, seq, len, why = anabranch_trace::qlog::reason(why), "sent again");
        }
        event => trace!(target: T, parent: span, ?event, "record"),
    }
}
