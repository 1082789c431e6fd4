//! Limits on the memory for sent data, and for waiting messages besides their payload ("Bounds on memory",
//! docs/explanation/engines.md).

use super::flight::CHUNK;
use super::subflow::Subflow;
use crate::config::{Config, LimitConfig};

/// Messages, or fragments of one, that may be in flight: "MUST NOT have more than 2**31 - 1" (RFC 8260, 2.1), so that their numbers, and the
/// TSNs, can be told apart from older ones.
pub(super) const MOST_IN_FLIGHT: u64 = (1 << 31) - 1;

/// The most bytes that may be kept of sent data. Every chunk counts [`CHUNK`] and its payload, so buffers of up to 180 GB are the
/// limit themselves; larger ones are limited by the numbers.
// rfc8260:2.1-4 rfc8260:2.1-6
pub(super) fn most_retained(config: &Config) -> u64 {
    let limits = &config.limits;
    let (send, receive) = (limits.largest_send_buffer() as u64, u64::from(limits.largest_receive_window()));
    send.saturating_add(receive).min(MOST_IN_FLIGHT * CHUNK)
}

/// The most bytes of bookkeeping where the receive window is below 32 KiB: small windows have a least room ("Bounds on memory",
/// docs/explanation/engines.md), and a send buffer beside one takes as many messages as beside any other.
pub(super) fn least_room(config: &Config) -> u64 {
    (32_u64 << 10).saturating_sub(config.limits.largest_receive_window().into())
}

/// Bytes of one subflow beyond its send buffer: the bookkeeping of messages besides their payload, and the room that streams have as their
/// least part of a full buffer. The message that exceeds it is not counted: a long one must not keep sent data from being retained. Where
/// streams have a least part that message cannot be told apart, and the count is at most the size of the buffer.
#[inline]
pub(super) fn beyond_buffer(subflow: &Subflow, limits: &LimitConfig) -> u64 {
    let besides = subflow.out.bookkeeping();
    let is_plain = limits.stream_send_minimum == 0;
    // The bookkeeping of a few long messages is less than one packet, which may be in flight whatever the limits.
    if is_plain && besides < 1500 {
        return 0;
    }
    let (payload, buffer) = (subflow.out.queued_bytes(), limits.largest_send_buffer());
    let beyond = (payload + besides).saturating_sub(buffer);
    if is_plain { beyond.min(besides) as u64 } else { beyond.min(buffer) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "MUST NOT have more than 2**31 - 1 ordered messages", nor unordered ones, nor fragments "in flight" (RFC 8260, 2.1), however large the
    /// buffers are; smaller buffers are the limit themselves.
    // rfc8260:2.1-4 rfc8260:2.1-6
    #[test]
    fn so_many_messages_are_in_flight_at_most() {
        let config = Config::rfc9260();
        let (send, receive) = (config.limits.send_buffer as u64, u64::from(config.limits.receive_window));
        assert_eq!(most_retained(&config), send + receive);
        let (size, numbers) = (CHUNK + 1, (1_u64 << 31) - 1);
        for send_buffer in [1 << 36, 1 << 40, usize::MAX] {
            let boundless = config.clone().with(|c| {
                c.limits.send_buffer = send_buffer;
                c.limits.receive_window = u32::MAX;
            });
            assert!(most_retained(&boundless) / size <= numbers, "{send_buffer}");
        }
    }
}
