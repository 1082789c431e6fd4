// anabranch: SCTP (RFC 9260) in user space.
//
// Two ways to use it. `anabranch_endpoint_...` is the protocol without I/O: packets, the time and
// commands go in; packets, events and the time to wake go out. It suits event loops, DTLS (WebRTC) and
// simulators. `anabranch_driver_...` and `anabranch_association_...` are calls that block, on UDP sockets.
//
// `anabranch_..._new`, `connect` and `accept` give a handle that the library looks up: one that was
// freed, or never made, is answered with ANABRANCH_STATUS_ERROR_HANDLE. Every call says how it went; after
// an error `anabranch_last_error` has a sentence. Times are nanoseconds. Nothing is encrypted.
//
// Link with -lanabranch, or take the flags from pkg-config (anabranch.pc).


#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The result of a call: 0, something that is no error (above 0), or an error (below 0). `anabranch_last_error` has a
// sentence for the error.
typedef enum {
  // It was done.
  ANABRANCH_STATUS_OK = 0,
  // There is nothing now: no packet, no event, no message, no timer.
  ANABRANCH_STATUS_NOTHING = 1,
  // There will be nothing more: the peer sends nothing any more and all was read; the endpoint has been closed.
  ANABRANCH_STATUS_END = 2,
  // A pointer that must not be null is null.
  ANABRANCH_STATUS_ERROR_NULL = -1,
  // A handle was freed, or never made, or is of another type.
  ANABRANCH_STATUS_ERROR_HANDLE = -2,
  // A value is out of its range, or a text is no UTF-8.
  ANABRANCH_STATUS_ERROR_ARGUMENT = -3,
  // There is no such option or profile, or the option does not take that value.
  ANABRANCH_STATUS_ERROR_OPTION = -4,
  // There is no association with that number.
  ANABRANCH_STATUS_ERROR_ASSOCIATION = -5,
  // The buffer is too small: how much is needed was written. Nothing is lost, ask again.
  ANABRANCH_STATUS_ERROR_BUFFER = -6,
  // The send buffer is full: an event tells when it has room.
  ANABRANCH_STATUS_ERROR_FULL = -7,
  // The association is closing, or has ended.
  ANABRANCH_STATUS_ERROR_CLOSED = -8,
  // The stack does not do this now.
  ANABRANCH_STATUS_ERROR_REFUSED = -9,
  // The operating system does not give what is needed.
  ANABRANCH_STATUS_ERROR_SYSTEM = -10,
  // It took too long.
  ANABRANCH_STATUS_ERROR_TIMEOUT = -11,
  // A fault of the library.
  ANABRANCH_STATUS_ERROR_INTERNAL = -12,
} anabranch_status;

// The kind of an event.
typedef enum {
  // Nothing that this version of the header knows.
  ANABRANCH_EVENT_KIND_OTHER = 0,
  // A peer has begun an association with us; ESTABLISHED follows. `outbound_streams`, `inbound_streams`.
  ANABRANCH_EVENT_KIND_ACCEPTED = 1,
  // It is up. `outbound_streams`, `inbound_streams`.
  ANABRANCH_EVENT_KIND_ESTABLISHED = 2,
  // There is a message where there was none. `stream`.
  ANABRANCH_EVENT_KIND_READABLE = 3,
  // There is room in the send buffer again, after a call answered ERROR_FULL. `stream`, if it was that of one.
  ANABRANCH_EVENT_KIND_WRITABLE = 4,
  // The amount of buffered data has fallen to the threshold. `stream`, if it is that of one.
  ANABRANCH_EVENT_KIND_BUFFERED_LOW = 5,
  // The peer has a message. `message`, `context`.
  ANABRANCH_EVENT_KIND_DELIVERED = 6,
  // A message was given up. `message`, `context`, `sent`.
  ANABRANCH_EVENT_KIND_ABANDONED = 7,
  // A message cannot be delivered any more. `message`, `context`, `sent`.
  ANABRANCH_EVENT_KIND_FAILED = 8,
  // So many messages cannot be delivered; they can be taken back. `unsent`, `unacknowledged`.
  ANABRANCH_EVENT_KIND_SEND_FAILED = 9,
  // Nothing waits to be sent or acknowledged.
  ANABRANCH_EVENT_KIND_SENDER_DRY = 10,
  // Streams began anew, or a request for it has ended otherwise. `direction`, `stream_count` (0: all), `outcome`.
  ANABRANCH_EVENT_KIND_STREAMS_RESET = 11,
  // There are more streams. `outbound_streams`, `inbound_streams`, `outcome`.
  ANABRANCH_EVENT_KIND_STREAMS_ADDED = 12,
  // Streams and TSNs of both sides began anew. `outcome`.
  ANABRANCH_EVENT_KIND_ASSOCIATION_RESET = 13,
  // The rest of a message that is handed over in parts will never come. `stream`, `message` (as `part_of`).
  ANABRANCH_EVENT_KIND_PARTIAL_DELIVERY_ABORTED = 14,
  // The peer has restarted. `unsent`, `unacknowledged`.
  ANABRANCH_EVENT_KIND_RESTARTED = 15,
  // The peer wants to end: no new messages are taken.
  ANABRANCH_EVENT_KIND_PEER_SHUTDOWN = 16,
  // A path stopped answering. `path`.
  ANABRANCH_EVENT_KIND_PATH_DOWN = 17,
  // A path answers again. `path`.
  ANABRANCH_EVENT_KIND_PATH_UP = 18,
  // The MTU of a path has changed. `path`, `mtu`.
  ANABRANCH_EVENT_KIND_PATH_MTU = 19,
  // The peer reported an error; the association goes on. `cause`.
  ANABRANCH_EVENT_KIND_PEER_ERROR = 20,
  // The end: `close`. Messages that have arrived can still be read.
  ANABRANCH_EVENT_KIND_CLOSED = 21,
} anabranch_event_kind;

// The direction of the streams, as this side sees it.
typedef enum {
  // Ours.
  ANABRANCH_DIRECTION_OUTGOING = 0,
  // The peer's.
  ANABRANCH_DIRECTION_INCOMING = 1,
  // Ours and the peer's.
  ANABRANCH_DIRECTION_BOTH = 2,
} anabranch_direction;

// The result of a request (RFC 6525).
typedef enum {
  // It was performed.
  ANABRANCH_OUTCOME_PERFORMED = 0,
  // There was nothing to do.
  ANABRANCH_OUTCOME_NOTHING = 1,
  // The peer does not want it.
  ANABRANCH_OUTCOME_DENIED = 2,
  // It failed.
  ANABRANCH_OUTCOME_FAILED = 3,
} anabranch_outcome;

// The reason for the end of an association.
typedef enum {
  // In order: everything was delivered.
  ANABRANCH_CLOSE_GRACEFUL = 0,
  // We aborted.
  ANABRANCH_CLOSE_ABORTED_LOCALLY = 1,
  // The peer aborted.
  ANABRANCH_CLOSE_ABORTED_BY_PEER = 2,
  // The peer did not answer.
  ANABRANCH_CLOSE_UNREACHABLE = 3,
  // The peer broke the protocol.
  ANABRANCH_CLOSE_PROTOCOL_VIOLATION = 4,
  // The shutdown took too long.
  ANABRANCH_CLOSE_SHUTDOWN_TIMEOUT = 5,
} anabranch_close;

// Where an association stands (RFC 9260, 4).
typedef enum {
  // It has ended, or there is none of that number.
  ANABRANCH_STATE_CLOSED = 0,
  // INIT was sent.
  ANABRANCH_STATE_COOKIE_WAIT = 1,
  // COOKIE ECHO was sent.
  ANABRANCH_STATE_COOKIE_ECHOED = 2,
  // It is up.
  ANABRANCH_STATE_ESTABLISHED = 3,
  // We want to end; outstanding data comes first.
  ANABRANCH_STATE_SHUTDOWN_PENDING = 4,
  // SHUTDOWN was sent.
  ANABRANCH_STATE_SHUTDOWN_SENT = 5,
  // The peer wants to end; outstanding data comes first.
  ANABRANCH_STATE_SHUTDOWN_RECEIVED = 6,
  // SHUTDOWN ACK was sent.
  ANABRANCH_STATE_SHUTDOWN_ACK_SENT = 7,
} anabranch_state;

// How long a message is worth sending.
typedef enum {
  // As its stream has it; a stream that nothing was said of is reliable.
  ANABRANCH_POLICY_OF_STREAM = 0,
  // Until it is acknowledged.
  ANABRANCH_POLICY_RELIABLE = 1,
  // `policy_value` nanoseconds (RFC 3758).
  ANABRANCH_POLICY_LIFETIME = 2,
  // Each of its chunks is sent again `policy_value` times at most (RFC 7496).
  ANABRANCH_POLICY_RETRANSMISSIONS = 3,
  // Where the send buffer is full those with the largest `policy_value` make room (RFC 7496).
  ANABRANCH_POLICY_PRIORITY = 4,
} anabranch_policy;

// An association of a driver. Any thread may use it, and wait in it beside others: one may receive while another sends.
typedef struct anabranch_association anabranch_association;

// Options of associations, as `--set` of the command line has them. It is read when a call gets it: what is changed later counts for
// later calls.
typedef struct anabranch_config anabranch_config;

// An endpoint on UDP sockets, with a thread that drives it. Any thread may use it, and wait in it beside others.
typedef struct anabranch_driver anabranch_driver;

// An endpoint without I/O: associations at an SCTP port. Any thread may use it, one at a time: calls wait for each other.
typedef struct anabranch_endpoint anabranch_endpoint;

// An IP address and a UDP port. Without UDP (in DTLS, or right on IP) the port is 0.
typedef struct {
  // 4 or 6.
  uint8_t version;
  // The address in network order: 4 or 16 bytes of it.
  uint8_t bytes[16];
  // UDP port, in the order of the host.
  uint16_t port;
  // The interface that a link-local address is of, or 0.
  uint32_t scope;
} anabranch_address;

// The fixed options of an endpoint. Fill it with zeros, then set what differs.
typedef struct {
  // Our address. In DTLS any unicast address will do, and another one for the peer.
  anabranch_address local;
  // Our SCTP port; 5000 for WebRTC.
  uint16_t port;
  // Associations beyond which peers are turned away; 0 for 1,048,576.
  size_t max_associations;
  // 32 bytes that nobody knows, from which tags and keys are drawn; null to take them from the operating system. With the same seed, times
  // and packets the same bytes come out.
  const uint8_t *seed;
} anabranch_endpoint_options;

// The addresses and IP fields of a received packet.
typedef struct {
  // The address of its sender.
  anabranch_address source;
  // The local address that it was sent to.
  anabranch_address destination;
  // Code point (upper six bits) and ECN field (lower two), as the IP header has them; 0 where nothing is known.
  uint8_t traffic_class;
} anabranch_meta;

// A packet that is to leave.
typedef struct {
  // The address to send to.
  anabranch_address destination;
  // Whether it matters from which of our addresses.
  bool has_source;
  // From which.
  anabranch_address source;
  // Code point (upper six bits) and ECN field (lower two) for the IP header.
  uint8_t traffic_class;
  // Nobody on the way may fragment it.
  bool dont_fragment;
  // Its bytes.
  size_t size;
} anabranch_transmit;

// An event. Fields that do not belong to its kind are 0.
typedef struct {
  // The kind of the event.
  anabranch_event_kind kind;
  // The association, of an endpoint without I/O.
  uint64_t association;
  // The number of the message, as `anabranch_endpoint_send` gave it.
  uint64_t message;
  // Messages of which nothing was sent.
  uint64_t unsent;
  // Messages of which at least a part was sent.
  uint64_t unacknowledged;
  // The program's own mark of the message.
  uint32_t context;
  // Streams that we may send on.
  uint16_t outbound_streams;
  // Streams that the peer may send on.
  uint16_t inbound_streams;
  // Whether it is about one stream.
  bool has_stream;
  // The stream.
  uint16_t stream;
  // Number of streams listed.
  size_t stream_count;
  // A part of the message was sent.
  bool sent;
  // Number of the path.
  uint8_t path;
  // Largest IP packet of the path, bytes.
  uint16_t mtu;
  // Cause code (RFC 9260, 3.3.10).
  uint16_t cause;
  // The direction of the streams, as this side sees it.
  anabranch_direction direction;
  // The result of the request.
  anabranch_outcome outcome;
  // The reason for the end of the association.
  anabranch_close close;
} anabranch_event;

// A message to be sent. Fill it with zeros, then say what differs from an ordered, reliable message on stream 0.
typedef struct {
  // The payload, which is copied.
  const uint8_t *data;
  // Its bytes; at least one.
  size_t size;
  // Payload protocol identifier.
  uint32_t ppid;
  // Stream id.
  uint16_t stream;
  // It may overtake others of its stream.
  bool unordered;
  // The peer is asked to acknowledge it at once.
  bool immediate;
  // One of `anabranch_policy`.
  uint32_t policy;
  // The parameter of the policy.
  uint64_t policy_value;
  // Where the peer cannot skip abandoned messages, this one is sent reliably; otherwise it is refused there.
  bool or_reliable;
  // An event tells its fate: DELIVERED, ABANDONED or FAILED.
  bool tell_fate;
  // The program's own mark, which that event has.
  uint32_t context;
  // Whether it leaves with a code point of its own, and its stream with it.
  bool has_dscp;
  // The code point, 0 to 63.
  uint8_t dscp;
} anabranch_message;

// A message that has arrived, or a part of one; or one that was taken back.
typedef struct {
  // Its bytes; where the buffer is too small, those that it needs.
  size_t size;
  // Payload protocol identifier.
  uint32_t ppid;
  // Stream id.
  uint16_t stream;
  // Whether it was sent unordered.
  bool unordered;
  // More of this message follows: it is handed over in parts, as it is longer than the receive buffer allows.
  bool more;
  // Tells apart messages that are handed over in parts at the same time; 0 for a message in one piece.
  uint32_t part_of;
  // Its number in its stream: the low 16 bits are its SSN.
  uint32_t number;
  // Of a message that was taken back: its context.
  uint32_t context;
} anabranch_received;

// The fixed options of a driver. Fill it with zeros, then set what differs.
typedef struct {
  // Local addresses with UDP ports: 0 lets the system choose, 9899 is where peers look.
  const anabranch_address *addresses;
  // Number of addresses; at least one.
  size_t address_count;
  // SCTP port; 0 for one that nobody can guess.
  uint16_t port;
  // Associations beyond which peers are turned away; 0 for 1,048,576.
  size_t max_associations;
} anabranch_driver_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a configuration: a profile by its name ("modern", "rfc9260", ...; `anabranch engines` lists them), or, for null, that for networks:
// "modern" with probes of the path MTU and partial reliability. For data channels of WebRTC call `anabranch_config_for_webrtc` next.
//
// # Safety
// `profile` is null or ends with a zero byte; a pointer can be written to `config`.
anabranch_status anabranch_config_new(const char *profile,
                                      anabranch_config **config);

// Sets an option, such as "rto_min" to "200 ms"; `anabranch engines` lists them all.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_config_set(anabranch_config *config, const char *key, const char *value);

// Sets the options that data channels of WebRTC need (RFC 8831) over a path within DTLS: resets of streams, partial
// reliability, I-DATA where the peer has it, 65,535 streams, IP packets of 1,200 bytes without probes, no ECN.
anabranch_status anabranch_config_for_webrtc(anabranch_config *config);

// Writes the value of an option as a text with a zero byte behind it.
//
// # Safety
// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_config_get(const anabranch_config *config,
                                      const char *key,
                                      char *buffer,
                                      size_t room,
                                      size_t *needed);

// Gives a configuration back. Associations and endpoints begun with it go on.
anabranch_status anabranch_config_free(anabranch_config *config);

// Makes an endpoint.
//
// # Safety
// Options can be read at `options`, and their seed, where there is one, has 32 bytes; a pointer can be written to `endpoint`.
anabranch_status anabranch_endpoint_new(const anabranch_endpoint_options *options,
                                        anabranch_endpoint **endpoint);

// Gives an endpoint back with all of its associations. Peers are told nothing: abort or shut down before.
anabranch_status anabranch_endpoint_free(anabranch_endpoint *endpoint);

// Lets peers in, with what `config` says; null: the configuration for networks.
anabranch_status anabranch_endpoint_listen(anabranch_endpoint *endpoint,
                                           const anabranch_config *config);

// Begins an association with the SCTP port `port` of a peer. Its number, from 1 on, goes to `association`. Where both sides begin, as WebRTC has
// it, one association comes of it. Call `anabranch_endpoint_listen` first there: else a peer that is faster is turned away. If it was let in
// already, ACCEPTED tells, and this call answers ERROR_REFUSED.
//
// # Safety
// An address can be read at `remote`; a number can be written to `association`.
anabranch_status anabranch_endpoint_connect(anabranch_endpoint *endpoint,
                                            uint64_t now,
                                            const anabranch_address *remote,
                                            uint16_t port,
                                            const anabranch_config *config,
                                            uint64_t *association);

// Takes a packet, from the common header of SCTP on. A damaged or unexpected packet is dropped; that is not an error.
// `now`, here and everywhere, is nanoseconds of a clock of the program's that never goes back.
//
// # Safety
// A structure can be read at `meta`, and `size` bytes at `packet`.
anabranch_status anabranch_endpoint_handle_packet(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  const anabranch_meta *meta,
                                                  const uint8_t *packet,
                                                  size_t size);

// Takes an ICMP message (`version` 4) or ICMPv6 message (`version` 6) from its type on. A message that does not report
// an error of one of our packets is ignored.
//
// # Safety
// `size` bytes can be read at `message`.
anabranch_status anabranch_endpoint_handle_icmp(anabranch_endpoint *endpoint,
                                                uint64_t now,
                                                uint8_t version,
                                                const uint8_t *message,
                                                size_t size);

// Runs every timer that is due.
anabranch_status anabranch_endpoint_handle_timeout(anabranch_endpoint *endpoint, uint64_t now);

// When `anabranch_endpoint_handle_timeout` is to be called next; NOTHING where no timer runs. It changes with every call: ask again. It is
// never late, and may be early.
//
// # Safety
// A number can be written to `at`.
anabranch_status anabranch_endpoint_poll_timeout(anabranch_endpoint *endpoint,
                                                 uint64_t *at);

// The next packet that is to leave; NOTHING when there is none. Ask until there is none, after each call that hands something in. 1,500 bytes
// are enough for a path of that MTU, 65,536 for any; with ERROR_BUFFER `transmit` says how much is needed, and the packet is kept.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `transmit`.
anabranch_status anabranch_endpoint_poll_transmit(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint8_t *buffer,
                                                  size_t room,
                                                  anabranch_transmit *transmit);

// The next event of any association; NOTHING when there is none. Ask until there is none.
//
// # Safety
// A structure can be written to `event`.
anabranch_status anabranch_endpoint_poll_event(anabranch_endpoint *endpoint,
                                               anabranch_event *event);

// The last event in words, with a zero byte behind them.
//
// # Safety
// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_text(anabranch_endpoint *endpoint,
                                               char *buffer,
                                               size_t room,
                                               size_t *needed);

// The streams that the last event lists.
//
// # Safety
// `room` numbers can be written to `streams`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_streams(anabranch_endpoint *endpoint,
                                                  uint16_t *streams,
                                                  size_t room,
                                                  size_t *needed);

// The reason that the peer's user gave when it aborted, if the last event is that end.
//
// # Safety
// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_reason(anabranch_endpoint *endpoint,
                                                 uint8_t *buffer,
                                                 size_t room,
                                                 size_t *needed);

// Hands in a message, whose number in its association goes to `id` where that is not null. ERROR_FULL: the send buffer has no room; WRITABLE
// tells when it has.
//
// # Safety
// A message can be read at `message`, with its payload.
anabranch_status anabranch_endpoint_send(anabranch_endpoint *endpoint,
                                         uint64_t now,
                                         uint64_t association,
                                         const anabranch_message *message,
                                         uint64_t *id);

// The next message of stream `stream`, or of any for -1; NOTHING when there is none. With ERROR_BUFFER `received` says how much is needed,
// and the message is kept. After CLOSED what has arrived can still be read; an association that is not read to its end stays until
// `anabranch_endpoint_release`.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_endpoint_receive(anabranch_endpoint *endpoint,
                                            uint64_t association,
                                            int32_t stream,
                                            uint8_t *buffer,
                                            size_t room,
                                            anabranch_received *received);

// The next message that could not be delivered, after SEND_FAILED, STREAMS_RESET or CLOSED: those of which nothing was sent first. NOTHING when
// there is none.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_endpoint_take_back(anabranch_endpoint *endpoint,
                                              uint64_t association,
                                              uint8_t *buffer,
                                              size_t room,
                                              anabranch_received *received);

// Ends an association in order: what was handed in is delivered first. `patience`: nanoseconds after which it is aborted, 0 for never.
anabranch_status anabranch_endpoint_shutdown(anabranch_endpoint *endpoint,
                                             uint64_t now,
                                             uint64_t association,
                                             uint64_t patience);

// Ends an association at once. The peer is told `reason`, which may be null where `size` is 0; what was not delivered is not.
//
// # Safety
// `size` bytes can be read at `reason`.
anabranch_status anabranch_endpoint_abort(anabranch_endpoint *endpoint,
                                          uint64_t now,
                                          uint64_t association,
                                          const uint8_t *reason,
                                          size_t size);

// Forgets an association that has ended, with what was not read of it; ERROR_REFUSED while its last packet has not left.
anabranch_status anabranch_endpoint_release(anabranch_endpoint *endpoint,
                                            uint64_t association);

// Says how reliable messages are that do not say so themselves: of one stream, or, for -1, of all that were not named. `policy`: one of
// `anabranch_policy`.
anabranch_status anabranch_endpoint_set_reliability(anabranch_endpoint *endpoint,
                                                    uint64_t association,
                                                    int32_t stream,
                                                    uint32_t policy,
                                                    uint64_t policy_value);

// Sets what the option `stream_scheduling` looks at for a stream: its priority (the smaller goes first) or its weight.
anabranch_status anabranch_endpoint_set_stream_value(anabranch_endpoint *endpoint,
                                                     uint64_t association,
                                                     uint16_t stream,
                                                     uint16_t value);

// Begins streams anew (RFC 6525): those that are listed, or all where `count` is 0. `direction`: one of `anabranch_direction`. STREAMS_RESET
// tells what became of it. A data channel is closed with the reset of its outgoing stream.
//
// # Safety
// `count` numbers can be read at `streams`.
anabranch_status anabranch_endpoint_reset_streams(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint64_t association,
                                                  uint32_t direction,
                                                  const uint16_t *streams,
                                                  size_t count);

// Asks for more streams (RFC 6525). STREAMS_ADDED tells what became of it.
anabranch_status anabranch_endpoint_add_streams(anabranch_endpoint *endpoint,
                                                uint64_t now,
                                                uint64_t association,
                                                uint16_t outgoing,
                                                uint16_t incoming);

// Bytes handed in and not acknowledged, of one stream or, for -1, of all.
//
// # Safety
// A number can be written to `bytes`.
anabranch_status anabranch_endpoint_buffered(anabranch_endpoint *endpoint,
                                             uint64_t association,
                                             int32_t stream,
                                             size_t *bytes);

// Asks for BUFFERED_LOW each time what is buffered of a stream, or, for -1, of all, falls to `bytes` or below.
anabranch_status anabranch_endpoint_set_low_threshold(anabranch_endpoint *endpoint,
                                                      uint64_t association,
                                                      int32_t stream,
                                                      size_t bytes);

// Asks for SENDER_DRY each time that nothing waits to be sent or acknowledged any more.
anabranch_status anabranch_endpoint_tell_when_dry(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint64_t association,
                                                  bool on);

// Changes an option of a living association.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_endpoint_set(anabranch_endpoint *endpoint,
                                        uint64_t now,
                                        uint64_t association,
                                        const char *key,
                                        const char *value);

// A counter or gauge of an association by its name (`anabranch_statistic_name`); NOTHING where it has no sample yet.
//
// # Safety
// `name` ends with a zero byte; a number can be written to `value`.
anabranch_status anabranch_endpoint_statistic(anabranch_endpoint *endpoint,
                                              uint64_t association,
                                              const char *name,
                                              uint64_t *value);

// Where an association stands.
//
// # Safety
// A number can be written to `state`.
anabranch_status anabranch_endpoint_state(const anabranch_endpoint *endpoint,
                                          uint64_t association,
                                          anabranch_state *state);

// Writes the value that an option of an association has now, as a text with a zero byte behind it.
//
// # Safety
// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_get(const anabranch_endpoint *endpoint,
                                        uint64_t association,
                                        const char *key,
                                        char *buffer,
                                        size_t room,
                                        size_t *needed);

// Opens the sockets, and starts the thread. `config`: what associations begin with; null for what real networks want.
//
// # Safety
// Options can be read at `options`, with their addresses; a pointer can be written to `driver`.
anabranch_status anabranch_driver_new(const anabranch_driver_options *options,
                                      const anabranch_config *config,
                                      anabranch_driver **driver);

// One of the addresses of a driver, with the UDP port that the system has chosen. NOTHING behind the last.
//
// # Safety
// An address can be written to `address`.
anabranch_status anabranch_driver_address(const anabranch_driver *driver,
                                          size_t number,
                                          anabranch_address *address);

// The SCTP port of a driver; 0 where it is none.
uint16_t anabranch_driver_port(const anabranch_driver *driver);

// Lets peers in: `anabranch_driver_accept` gives them.
anabranch_status anabranch_driver_listen(anabranch_driver *driver);

// Begins an association with the SCTP port `port` of a peer, whose UDP port is that of `remote`, and waits until it is up, for `patience`
// nanoseconds at most; UINT64_MAX for as long as the handshake takes. A peer that is a driver is up when it has accepted. `config`: null for that of the driver.
//
// # Safety
// An address can be read at `remote`; a pointer can be written to `association`.
anabranch_status anabranch_driver_connect(anabranch_driver *driver,
                                          const anabranch_address *remote,
                                          uint16_t port,
                                          const anabranch_config *config,
                                          uint64_t patience,
                                          anabranch_association **association);

// Waits for a peer that begins an association, for `patience` nanoseconds at most. END when the driver has been closed.
//
// # Safety
// A pointer can be written to `association`.
anabranch_status anabranch_driver_accept(anabranch_driver *driver,
                                         uint64_t patience,
                                         anabranch_association **association);

// Ends all associations in order, for `patience` nanoseconds at most, then by force; lets nobody in any more. Waits until all have ended.
anabranch_status anabranch_driver_close(anabranch_driver *driver,
                                        uint64_t patience);

// Gives a driver back. Its sockets are closed when its associations have been given back, too; what they have not delivered then is lost: call
// `anabranch_driver_close` before.
anabranch_status anabranch_driver_free(anabranch_driver *driver);

// Sends a message, and waits for room in the send buffer for `patience` nanoseconds at most; 0: ERROR_TIMEOUT at once. Its number goes to `id`
// where that is not null. It is on its way then: whether it was delivered an event tells, if `tell_fate` asks for it.
//
// # Safety
// A message can be read at `message`, with its payload.
anabranch_status anabranch_association_send(anabranch_association *association,
                                            const anabranch_message *message,
                                            uint64_t patience,
                                            uint64_t *id);

// Waits for the next message of stream `stream`, or of any for -1, for `patience` nanoseconds at most. END when the peer sends nothing any more
// and all was read. With ERROR_BUFFER `received` says how much is needed, and the message is the next that any call of this kind gives.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_association_receive(anabranch_association *association,
                                               int32_t stream,
                                               uint64_t patience,
                                               uint8_t *buffer,
                                               size_t room,
                                               anabranch_received *received);

// Waits for the next event, of those that come after the first call, for `patience` nanoseconds at most. Messages are read with
// `anabranch_association_receive`. END after CLOSED.
//
// # Safety
// A structure can be written to `event`.
anabranch_status anabranch_association_next_event(anabranch_association *association,
                                                  uint64_t patience,
                                                  anabranch_event *event);

// The last event in words, with a zero byte behind them.
//
// # Safety
// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
anabranch_status anabranch_association_event_text(anabranch_association *association,
                                                  char *buffer,
                                                  size_t room,
                                                  size_t *needed);

// Ends an association in order: what was sent is delivered first. Waits for the end; after `patience` nanoseconds it is aborted. How it ended
// goes to `close`, where that is not null; it is an error when that was not in order.
//
// # Safety
// Where it is not null, a number can be written to `close`.
anabranch_status anabranch_association_shutdown(anabranch_association *association,
                                                uint64_t patience,
                                                anabranch_close *close);

// Ends an association at once. The peer is told `reason`; what was not delivered is not.
//
// # Safety
// `size` bytes can be read at `reason`, which may be null where that is 0.
anabranch_status anabranch_association_abort(anabranch_association *association,
                                             const uint8_t *reason,
                                             size_t size);

// Changes an option of a living association.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_association_set(anabranch_association *association,
                                           const char *key,
                                           const char *value);

// A counter or gauge of an association by its name (`anabranch_statistic_name`); NOTHING where it has no sample yet.
//
// # Safety
// `name` ends with a zero byte; a number can be written to `value`.
anabranch_status anabranch_association_statistic(anabranch_association *association,
                                                 const char *name,
                                                 uint64_t *value);

// Gives an association back. If it has not ended it goes on ending in order for 30 seconds, as long as its driver lives.
anabranch_status anabranch_association_free(anabranch_association *association);

// The name of a counter or gauge by its number from 0; null behind the last. docs/reference/results.md says what each is; those that end in `_ns` are
// times in nanoseconds.
const char *anabranch_statistic_name(size_t number);

// The last error of this thread in a sentence; empty when there was none. The text is the library's, and stays until this thread's next
// error.
const char *anabranch_last_error(void);

// The version of the library, such as "0.1.0".
const char *anabranch_version(void);

// Reads an address from a text such as "192.0.2.1:9899", "[2001:db8::1]:9899", or an IP address alone, whose port is 0. Names are not
// looked up.
//
// # Safety
// `text` ends with a zero byte; an address can be written to `address`.
anabranch_status anabranch_address_parse(const char *text,
                                         anabranch_address *address);

// Writes an address as a text with a zero byte behind it; `needed`, where it is not null, gets the bytes of both.
//
// # Safety
// An address can be read at `address`, `room` bytes can be written to `buffer`, and a number to `needed`.
anabranch_status anabranch_address_text(const anabranch_address *address,
                                        char *buffer,
                                        size_t room,
                                        size_t *needed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ANABRANCH_H */
