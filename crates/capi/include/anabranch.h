// anabranch: SCTP (RFC 9260) in user space.
//
// Two ways to use it. `anabranch_endpoint_...` is the protocol without I/O: packets, the time and
// commands go in; packets, events and the time to wake go out. It suits event loops, DTLS (WebRTC) and
// simulators. `anabranch_driver_...` and `anabranch_association_...` are calls that block, on UDP sockets.
//
// `anabranch_..._new`, `connect` and `accept` give a handle that the library looks up: one that was
// freed, or never made, is answered with ANABRANCH_STATUS_ERROR_HANDLE. Every call returns a status; after
// an error `anabranch_last_error` has a sentence. Times are nanoseconds. Nothing is encrypted.
//
// Link with -lanabranch, or take the flags from pkg-config (anabranch.pc).


#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The result of a call: 0 for success, above 0 for a result that is no error, below 0 for an error.
// `anabranch_last_error` returns a sentence for the error.
typedef enum {
  // Success.
  ANABRANCH_STATUS_OK = 0,
  // There is nothing now: no packet, no event, no message, no timer.
  ANABRANCH_STATUS_NOTHING = 1,
  // No more data will come: the peer has stopped sending and all messages were read, or the driver was closed.
  ANABRANCH_STATUS_END = 2,
  // A pointer that must not be null is null.
  ANABRANCH_STATUS_ERROR_NULL = -1,
  // A handle was freed, was never made, or belongs to another type.
  ANABRANCH_STATUS_ERROR_HANDLE = -2,
  // A value is out of its range, or a text is no UTF-8.
  ANABRANCH_STATUS_ERROR_ARGUMENT = -3,
  // No option or profile has this name, or the option does not allow this value.
  ANABRANCH_STATUS_ERROR_OPTION = -4,
  // No association has this number, or it has ended.
  ANABRANCH_STATUS_ERROR_ASSOCIATION = -5,
  // The buffer is too small. The call has written the needed size, and nothing is lost: repeat it with a larger buffer.
  ANABRANCH_STATUS_ERROR_BUFFER = -6,
  // The send buffer is full. The event WRITABLE reports new room.
  ANABRANCH_STATUS_ERROR_FULL = -7,
  // The association is closing or has ended.
  ANABRANCH_STATUS_ERROR_CLOSED = -8,
  // The stack refuses the call in its present state.
  ANABRANCH_STATUS_ERROR_REFUSED = -9,
  // The operating system refused a resource, such as a socket, a thread or random bytes.
  ANABRANCH_STATUS_ERROR_SYSTEM = -10,
  // The time limit of the call has expired.
  ANABRANCH_STATUS_ERROR_TIMEOUT = -11,
  // An internal fault of the library.
  ANABRANCH_STATUS_ERROR_INTERNAL = -12,
} anabranch_status;

// The kind of an event.
typedef enum {
  // An event without a kind of its own in this version of the header.
  ANABRANCH_EVENT_KIND_OTHER = 0,
  // A peer has begun an association with us; ESTABLISHED follows. Fields: `outbound_streams`, `inbound_streams`.
  ANABRANCH_EVENT_KIND_ACCEPTED = 1,
  // The association is up. Fields: `outbound_streams`, `inbound_streams`.
  ANABRANCH_EVENT_KIND_ESTABLISHED = 2,
  // A message can be read, and before there was none. Field: `stream`.
  ANABRANCH_EVENT_KIND_READABLE = 3,
  // The send buffer has room again, after a call returned ERROR_FULL. Field: `stream`, if one stream was full.
  ANABRANCH_EVENT_KIND_WRITABLE = 4,
  // The amount of buffered data has fallen to the threshold. Field: `stream`, if the threshold belongs to one stream.
  ANABRANCH_EVENT_KIND_BUFFERED_LOW = 5,
  // The peer has acknowledged a message. Fields: `message`, `context`.
  ANABRANCH_EVENT_KIND_DELIVERED = 6,
  // A message was given up because of its policy. Fields: `message`, `context`, `sent`.
  ANABRANCH_EVENT_KIND_ABANDONED = 7,
  // A message cannot be delivered any more. Fields: `message`, `context`, `sent`.
  ANABRANCH_EVENT_KIND_FAILED = 8,
  // Messages cannot be delivered; the program can take them back. Fields with their numbers: `unsent`, `unacknowledged`.
  ANABRANCH_EVENT_KIND_SEND_FAILED = 9,
  // No data is left to be sent or acknowledged.
  ANABRANCH_EVENT_KIND_SENDER_DRY = 10,
  // Streams were reset, or a request for a reset has failed. Fields: `direction`, `stream_count` (0: all), `outcome`.
  ANABRANCH_EVENT_KIND_STREAMS_RESET = 11,
  // Streams were added, or a request for more has failed. Fields: `outbound_streams`, `inbound_streams`, `outcome`.
  ANABRANCH_EVENT_KIND_STREAMS_ADDED = 12,
  // The streams and TSNs of both sides were reset, or a request for it has failed. Field: `outcome`.
  ANABRANCH_EVENT_KIND_ASSOCIATION_RESET = 13,
  // The rest of a partly received message will never come. Fields: `stream`, `message` (the value of `part_of`).
  ANABRANCH_EVENT_KIND_PARTIAL_DELIVERY_ABORTED = 14,
  // The peer has restarted. Fields: `unsent`, `unacknowledged`.
  ANABRANCH_EVENT_KIND_RESTARTED = 15,
  // The peer is shutting down the association: it takes no new messages.
  ANABRANCH_EVENT_KIND_PEER_SHUTDOWN = 16,
  // A path stopped answering. Field: `path`.
  ANABRANCH_EVENT_KIND_PATH_DOWN = 17,
  // A path answers again. Field: `path`.
  ANABRANCH_EVENT_KIND_PATH_UP = 18,
  // The MTU of a path has changed. Fields: `path`, `mtu`.
  ANABRANCH_EVENT_KIND_PATH_MTU = 19,
  // The peer reported an error; the association goes on. Field: `cause`.
  ANABRANCH_EVENT_KIND_PEER_ERROR = 20,
  // The association has ended. Field: `close`. Messages that have arrived can still be read.
  ANABRANCH_EVENT_KIND_CLOSED = 21,
} anabranch_event_kind;

// The direction of the streams, as this side sees it.
typedef enum {
  // Our outgoing streams.
  ANABRANCH_DIRECTION_OUTGOING = 0,
  // The peer's outgoing streams, which are our incoming ones.
  ANABRANCH_DIRECTION_INCOMING = 1,
  // The outgoing streams of both sides.
  ANABRANCH_DIRECTION_BOTH = 2,
} anabranch_direction;

// The result of a request (RFC 6525).
typedef enum {
  // The request was performed.
  ANABRANCH_OUTCOME_PERFORMED = 0,
  // The request needed no change.
  ANABRANCH_OUTCOME_NOTHING = 1,
  // The peer has denied the request.
  ANABRANCH_OUTCOME_DENIED = 2,
  // The request failed.
  ANABRANCH_OUTCOME_FAILED = 3,
} anabranch_outcome;

// The reason for the end of an association.
typedef enum {
  // A shutdown in order: all messages were delivered.
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

// The state of an association (RFC 9260, 4).
typedef enum {
  // The association has ended, or no association has this number.
  ANABRANCH_STATE_CLOSED = 0,
  // INIT was sent.
  ANABRANCH_STATE_COOKIE_WAIT = 1,
  // COOKIE ECHO was sent.
  ANABRANCH_STATE_COOKIE_ECHOED = 2,
  // The association is up.
  ANABRANCH_STATE_ESTABLISHED = 3,
  // Our program has called for a shutdown; outstanding data is delivered first.
  ANABRANCH_STATE_SHUTDOWN_PENDING = 4,
  // SHUTDOWN was sent.
  ANABRANCH_STATE_SHUTDOWN_SENT = 5,
  // The peer has called for a shutdown; outstanding data is delivered first.
  ANABRANCH_STATE_SHUTDOWN_RECEIVED = 6,
  // SHUTDOWN ACK was sent.
  ANABRANCH_STATE_SHUTDOWN_ACK_SENT = 7,
} anabranch_state;

// The limit of the stack's attempts to deliver a message.
typedef enum {
  // The policy of the stream of the message, which is RELIABLE by default.
  ANABRANCH_POLICY_OF_STREAM = 0,
  // No limit: the message is sent again until the peer has acknowledged it.
  ANABRANCH_POLICY_RELIABLE = 1,
  // The message is given up after `policy_value` nanoseconds (RFC 3758).
  ANABRANCH_POLICY_LIFETIME = 2,
  // Each chunk of the message is sent again `policy_value` times at most (RFC 7496).
  ANABRANCH_POLICY_RETRANSMISSIONS = 3,
  // If the send buffer is full, messages with the largest `policy_value` are given up to make room (RFC 7496).
  ANABRANCH_POLICY_PRIORITY = 4,
} anabranch_policy;

// An association of a driver. Several threads may use it at the same time: one may receive while another sends.
typedef struct anabranch_association anabranch_association;

// The options of associations, with the keys and values of the command line's `--set`. A call that takes a configuration
// copies it: a later change affects only later calls.
typedef struct anabranch_config anabranch_config;

// An endpoint on UDP sockets, with a thread that drives it. Several threads may use it, and wait in its calls, at the same time.
typedef struct anabranch_driver anabranch_driver;

// An endpoint without I/O: associations at one SCTP port. Several threads may use it; each call waits for the end of another.
typedef struct anabranch_endpoint anabranch_endpoint;

// An IP address and a UDP port. Without UDP (SCTP within DTLS, or directly on IP) the port is 0.
typedef struct {
  // The IP version: 4 or 6.
  uint8_t version;
  // The address in network byte order: the first 4 bytes for IPv4, all 16 for IPv6.
  uint8_t bytes[16];
  // The UDP port in host byte order.
  uint16_t port;
  // The index of the interface of a link-local IPv6 address; 0 for other addresses.
  uint32_t scope;
} anabranch_address;

// The fixed options of an endpoint. Fill the structure with zeros, then set the fields that need another value.
typedef struct {
  // Our address. Within DTLS it may be any unicast address other than the one of the peer.
  anabranch_address local;
  // Our SCTP port, 1 to 65535; 5000 for WebRTC.
  uint16_t port;
  // The largest number of associations: more peers are refused. 0 stands for 1,048,576.
  size_t max_associations;
  // 32 secret random bytes, from which the endpoint derives tags and keys; null to take them from the operating system.
  // The same seed, times and packets give the same output, byte for byte. The endpoint copies the bytes.
  const uint8_t *seed;
} anabranch_endpoint_options;

// The addresses and IP fields of a received packet.
typedef struct {
  // The address of the packet's sender.
  anabranch_address source;
  // The local address to which the packet was sent.
  anabranch_address destination;
  // The traffic class of the IP header: code point (upper six bits) and ECN field (lower two); 0 if unknown.
  uint8_t traffic_class;
} anabranch_meta;

// A packet for the program to send.
typedef struct {
  // The address to send to.
  anabranch_address destination;
  // True if the packet must leave from the address `source`; false if any of our addresses will do.
  bool has_source;
  // The local address to send from, if `has_source` is true.
  anabranch_address source;
  // The traffic class for the IP header: code point (upper six bits) and ECN field (lower two).
  uint8_t traffic_class;
  // True if routers must not fragment the packet.
  bool dont_fragment;
  // The size of the packet in bytes.
  size_t size;
} anabranch_transmit;

// An event. Fields that do not belong to its kind are 0.
typedef struct {
  // The kind of the event.
  anabranch_event_kind kind;
  // The number of the association at an endpoint without I/O; 0 with a driver.
  uint64_t association;
  // The number of the message: `anabranch_endpoint_send` and `anabranch_association_send` have written it to `id`.
  uint64_t message;
  // The number of messages of which no part was sent.
  uint64_t unsent;
  // The number of messages of which at least a part was sent.
  uint64_t unacknowledged;
  // The program's own mark of the message: its field `context`.
  uint32_t context;
  // The number of streams on which we may send.
  uint16_t outbound_streams;
  // The number of streams on which the peer may send.
  uint16_t inbound_streams;
  // True if the event concerns one stream, which is in `stream`.
  bool has_stream;
  // The stream id, if `has_stream` is true.
  uint16_t stream;
  // The number of streams in the list of the event, which `anabranch_endpoint_event_streams` gives.
  size_t stream_count;
  // True if a part of the message was sent: then the peer may have received it.
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

// A message to be sent. A structure filled with zeros stands for an ordered, reliable message on stream 0: fill it with zeros,
// then set the payload and the fields that need another value.
typedef struct {
  // The payload. The call copies it.
  const uint8_t *data;
  // The size of the payload in bytes; at least 1.
  size_t size;
  // Payload protocol identifier.
  uint32_t ppid;
  // Stream id.
  uint16_t stream;
  // True for an unordered message: it may overtake other messages of its stream.
  bool unordered;
  // True to ask the peer for an immediate acknowledgement.
  bool immediate;
  // A value of `anabranch_policy`: the limit of the attempts to deliver the message.
  uint32_t policy;
  // The parameter of the policy; see `anabranch_policy` for its unit.
  uint64_t policy_value;
  // True to send the message reliably to a peer without partial reliability; false to refuse the call in that case.
  bool or_reliable;
  // True to ask for an event about the fate of the message: DELIVERED, ABANDONED or FAILED.
  bool tell_fate;
  // The program's own mark, which events about the message contain.
  uint32_t context;
  // True to send this message, and its stream from now on, with the code point `dscp`.
  bool has_dscp;
  // The code point for the IP header, 0 to 63, if `has_dscp` is true.
  uint8_t dscp;
} anabranch_message;

// A received message, a part of a received message, or a message that was taken back.
typedef struct {
  // The size in bytes. After ERROR_BUFFER: the number of bytes that the buffer needs.
  size_t size;
  // Payload protocol identifier.
  uint32_t ppid;
  // Stream id.
  uint16_t stream;
  // True if the message was sent unordered.
  bool unordered;
  // True if another part of this message follows: a message that is too long for the receive buffer comes in parts.
  bool more;
  // The same number for all parts of one message, so that parts of different messages can be told apart; 0 for a whole message.
  uint32_t part_of;
  // The number of the message in its stream; the low 16 bits are its SSN.
  uint32_t number;
  // The field `context` of a message that was taken back; 0 for received messages.
  uint32_t context;
} anabranch_received;

// The fixed options of a driver. Fill the structure with zeros, then set the fields that need another value.
typedef struct {
  // Local addresses with UDP ports. With port 0 the operating system chooses one; 9899 is the port of SCTP in UDP (RFC 6951).
  const anabranch_address *addresses;
  // The number of addresses: 1 to 64.
  size_t address_count;
  // The SCTP port; 0 for a random one.
  uint16_t port;
  // The largest number of associations: more peers are refused. 0 stands for 1,048,576.
  size_t max_associations;
} anabranch_driver_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a configuration, and writes its handle to `config`; free it with `anabranch_config_free`. `profile` is the name of a
// profile ("modern", "rfc9260", ...; `anabranch engines` lists all), or null for the configuration for networks: "modern" with probes
// of the path MTU and partial reliability. For data channels of WebRTC call `anabranch_config_for_webrtc` next. An unknown
// profile gives ERROR_OPTION.
//
// # Safety
// `profile` is null or ends with a zero byte; a pointer can be written to `config`.
anabranch_status anabranch_config_new(const char *profile,
                                      anabranch_config **config);

// Sets the option `key` to `value`, such as "rto_min" to "200 ms"; `anabranch engines` lists all options. An unknown
// option or a wrong value gives ERROR_OPTION.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_config_set(anabranch_config *config,
                                      const char *key,
                                      const char *value);

// Sets the options that data channels of WebRTC need (RFC 8831) over a path within DTLS: resets of streams, partial
// reliability, I-DATA if the peer supports it, 65,535 streams, IP packets of 1,200 bytes without probes, no ECN.
anabranch_status anabranch_config_for_webrtc(anabranch_config *config);

// Writes the value of the option `key` to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
// An unknown option gives ERROR_OPTION; if `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
//
// # Safety
// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_config_get(const anabranch_config *config,
                                      const char *key,
                                      char *buffer,
                                      size_t room,
                                      size_t *needed);

// Frees a configuration. Associations and endpoints that were made with it go on.
anabranch_status anabranch_config_free(anabranch_config *config);

// Makes an endpoint, and writes its handle to `endpoint`; free it with `anabranch_endpoint_free`. A wrong option gives
// ERROR_ARGUMENT.
//
// # Safety
// Options can be read at `options`, and their `seed` is null or points to 32 bytes; a pointer can be written to `endpoint`.
anabranch_status anabranch_endpoint_new(const anabranch_endpoint_options *options,
                                        anabranch_endpoint **endpoint);

// Frees an endpoint and all of its associations. Peers get no packet about it: shut down or abort the associations before.
anabranch_status anabranch_endpoint_free(anabranch_endpoint *endpoint);

// Accepts associations from peers from now on. Each begins with the configuration `config`; null stands for the one for networks.
// A configuration with values that are not allowed gives ERROR_REFUSED.
anabranch_status anabranch_endpoint_listen(anabranch_endpoint *endpoint,
                                           const anabranch_config *config);

// Begins an association with the SCTP port `port` of the peer at `remote`, with the configuration `config`; null stands for the
// one for networks. Its number, from 1 on, goes to `association`. If both sides connect to each other, as with WebRTC, the
// result is one association. In that case call `anabranch_endpoint_listen` before, or the INIT of a faster peer is refused. If the
// peer's association exists already, this call gives ERROR_REFUSED, and the event ACCEPTED has its number.
//
// # Safety
// An address can be read at `remote`; a number can be written to `association`.
anabranch_status anabranch_endpoint_connect(anabranch_endpoint *endpoint,
                                            uint64_t now,
                                            const anabranch_address *remote,
                                            uint16_t port,
                                            const anabranch_config *config,
                                            uint64_t *association);

// Processes a received packet of `size` bytes, which begins with the common header of SCTP. A damaged or unexpected packet is
// dropped; that is not an error. `now`, in this call and all others, is the time in nanoseconds of a clock of the program that
// never goes back.
//
// # Safety
// A structure can be read at `meta`, and `size` bytes at `packet`.
anabranch_status anabranch_endpoint_handle_packet(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  const anabranch_meta *meta,
                                                  const uint8_t *packet,
                                                  size_t size);

// Processes a received ICMP message (`version` 4) or ICMPv6 message (`version` 6) of `size` bytes, which begins with its type
// field. A message that does not report an error of one of our packets is ignored.
//
// # Safety
// `size` bytes can be read at `message`.
anabranch_status anabranch_endpoint_handle_icmp(anabranch_endpoint *endpoint,
                                                uint64_t now,
                                                uint8_t version,
                                                const uint8_t *message,
                                                size_t size);

// Runs every timer that is due at the time `now`.
anabranch_status anabranch_endpoint_handle_timeout(anabranch_endpoint *endpoint, uint64_t now);

// Writes to `at` the time, in nanoseconds, of the next necessary call of `anabranch_endpoint_handle_timeout`; gives NOTHING if
// no timer runs. Every other call may change this time: ask again after it. The time is never late, and may be early.
//
// # Safety
// A number can be written to `at`.
anabranch_status anabranch_endpoint_poll_timeout(anabranch_endpoint *endpoint,
                                                 uint64_t *at);

// Writes the next packet to send to `buffer`, and its addresses and size to `transmit`; gives NOTHING if there is none. Repeat it
// until NOTHING after each call that gives the endpoint a packet, a command or the time. `room` is the size of the buffer in
// bytes: 1,500 are enough for a path of that MTU, 65,536 for any. After ERROR_BUFFER, `transmit` has the needed size, and the
// next call gives the same packet.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `transmit`.
anabranch_status anabranch_endpoint_poll_transmit(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint8_t *buffer,
                                                  size_t room,
                                                  anabranch_transmit *transmit);

// Writes the next event of any association to `event`; gives NOTHING if there is none. Repeat the call until NOTHING.
//
// # Safety
// A structure can be written to `event`.
anabranch_status anabranch_endpoint_poll_event(anabranch_endpoint *endpoint,
                                               anabranch_event *event);

// Writes a description of the last event to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
//
// # Safety
// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_text(anabranch_endpoint *endpoint,
                                               char *buffer,
                                               size_t room,
                                               size_t *needed);

// Writes the stream ids of the last event to `streams`, and their number to `needed`. If `room`, the size of the array in
// elements, is too small, the call gives ERROR_BUFFER.
//
// # Safety
// `room` numbers can be written to `streams`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_streams(anabranch_endpoint *endpoint,
                                                  uint16_t *streams,
                                                  size_t room,
                                                  size_t *needed);

// If the last event is CLOSED after an abort by the peer: writes to `buffer` the reason that the peer's program gave, without a
// zero byte. `needed` gets its size in bytes, 0 if there is none. If `room`, the size of the buffer in bytes, is too small, the
// call gives ERROR_BUFFER.
//
// # Safety
// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_event_reason(anabranch_endpoint *endpoint,
                                                 uint8_t *buffer,
                                                 size_t room,
                                                 size_t *needed);

// Sends a message. Its number in the association goes to `id`, which may be null. The call copies the payload. If the send
// buffer has no room the call gives ERROR_FULL, and the event WRITABLE reports new room later.
//
// # Safety
// A message can be read at `message`, with its payload.
anabranch_status anabranch_endpoint_send(anabranch_endpoint *endpoint,
                                         uint64_t now,
                                         uint64_t association,
                                         const anabranch_message *message,
                                         uint64_t *id);

// Writes the next received message of the stream `stream` (-1: of any stream) to `buffer`, and its description to `received`;
// gives NOTHING if there is none. `room` is the size of the buffer in bytes. After ERROR_BUFFER, `received` has the needed size,
// and the next call gives the same message. After CLOSED the messages that have arrived can still be read; an association with
// unread messages stays in memory until `anabranch_endpoint_release`.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_endpoint_receive(anabranch_endpoint *endpoint,
                                            uint64_t association,
                                            int32_t stream,
                                            uint8_t *buffer,
                                            size_t room,
                                            anabranch_received *received);

// Takes back the next message that could not be delivered, after SEND_FAILED, STREAMS_RESET or CLOSED: writes its payload to
// `buffer` and its description to `received`. Messages of which no part was sent come first; NOTHING means that none is left. `room`
// is the size of the buffer in bytes. After ERROR_BUFFER, `received` has the needed size, and the next call gives the same message.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_endpoint_take_back(anabranch_endpoint *endpoint,
                                              uint64_t association,
                                              uint8_t *buffer,
                                              size_t room,
                                              anabranch_received *received);

// Ends an association in order: the stack first delivers all messages that the program has sent. After `patience` nanoseconds
// it aborts the association; 0 stands for no limit. The call does not wait: the event CLOSED reports the end.
anabranch_status anabranch_endpoint_shutdown(anabranch_endpoint *endpoint,
                                             uint64_t now,
                                             uint64_t association,
                                             uint64_t patience);

// Ends an association at once with an ABORT, which tells the peer the `size` bytes at `reason`; `reason` may be null if `size`
// is 0. Messages that are not delivered yet are lost for the peer.
//
// # Safety
// `size` bytes can be read at `reason`.
anabranch_status anabranch_endpoint_abort(anabranch_endpoint *endpoint,
                                          uint64_t now,
                                          uint64_t association,
                                          const uint8_t *reason,
                                          size_t size);

// Frees an ended association and its unread messages. The call gives ERROR_REFUSED if the association has not ended, or if
// its last packet has not left.
anabranch_status anabranch_endpoint_release(anabranch_endpoint *endpoint,
                                            uint64_t association);

// Sets the policy of messages without a policy of their own: of the stream `stream`, or, for -1, of all streams that no such
// call has named. `policy` is a value of `anabranch_policy`, which also gives the unit of `policy_value`.
anabranch_status anabranch_endpoint_set_reliability(anabranch_endpoint *endpoint,
                                                    uint64_t association,
                                                    int32_t stream,
                                                    uint32_t policy,
                                                    uint64_t policy_value);

// Sets the value of a stream for the scheduler that the option `stream_scheduling` selects: its priority (streams with a smaller
// value send first) or its weight.
anabranch_status anabranch_endpoint_set_stream_value(anabranch_endpoint *endpoint,
                                                     uint64_t association,
                                                     uint16_t stream,
                                                     uint16_t value);

// Requests a reset of the `count` streams in the array `streams`, or of all streams if `count` is 0 (RFC 6525). `direction` is a
// value of `anabranch_direction`. The event STREAMS_RESET reports the outcome. The reset of its outgoing stream closes a data
// channel. The call gives ERROR_REFUSED if the association is not up, resets were not agreed on, or a stream does not exist.
//
// # Safety
// `count` numbers can be read at `streams`.
anabranch_status anabranch_endpoint_reset_streams(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint64_t association,
                                                  uint32_t direction,
                                                  const uint16_t *streams,
                                                  size_t count);

// Requests more streams (RFC 6525): `outgoing` more of ours and `incoming` more of the peer's. The event STREAMS_ADDED reports
// the outcome. The call gives ERROR_REFUSED if the association is not up, RE-CONFIG was not agreed on, or the streams would be
// too many.
anabranch_status anabranch_endpoint_add_streams(anabranch_endpoint *endpoint,
                                                uint64_t now,
                                                uint64_t association,
                                                uint16_t outgoing,
                                                uint16_t incoming);

// Writes to `bytes` the number of bytes in the send buffer: of the stream `stream`, or, for -1, of all streams. The option
// `send_buffer_counts` selects the bytes that count: only unsent ones, or all without an acknowledgement.
//
// # Safety
// A number can be written to `bytes`.
anabranch_status anabranch_endpoint_buffered(anabranch_endpoint *endpoint,
                                             uint64_t association,
                                             int32_t stream,
                                             size_t *bytes);

// Asks for the event BUFFERED_LOW each time the amount of buffered data of the stream `stream` (-1: of all streams together)
// falls to `bytes` or below.
anabranch_status anabranch_endpoint_set_low_threshold(anabranch_endpoint *endpoint,
                                                      uint64_t association,
                                                      int32_t stream,
                                                      size_t bytes);

// Turns the event SENDER_DRY on or off. The event comes each time no data is left to be sent or acknowledged.
anabranch_status anabranch_endpoint_tell_when_dry(anabranch_endpoint *endpoint,
                                                  uint64_t now,
                                                  uint64_t association,
                                                  bool on);

// Sets the option `key` of an association to `value` while it is up. An unknown option, a wrong value, or an option that cannot
// change any more gives ERROR_OPTION.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_endpoint_set(anabranch_endpoint *endpoint,
                                        uint64_t now,
                                        uint64_t association,
                                        const char *key,
                                        const char *value);

// Writes to `value` the counter or gauge `name` of an association; `anabranch_statistic_name` lists the names. The call gives
// NOTHING if it has no sample yet, and ERROR_ARGUMENT for an unknown name.
//
// # Safety
// `name` ends with a zero byte; a number can be written to `value`.
anabranch_status anabranch_endpoint_statistic(anabranch_endpoint *endpoint,
                                              uint64_t association,
                                              const char *name,
                                              uint64_t *value);

// Writes the state of an association to `state`: CLOSED also if no association has this number.
//
// # Safety
// A number can be written to `state`.
anabranch_status anabranch_endpoint_state(const anabranch_endpoint *endpoint,
                                          uint64_t association,
                                          anabranch_state *state);

// Writes the present value of the option `key` of an association to `buffer`, as text with a zero byte at its end. `needed` gets
// the size of both in bytes. An unknown option gives ERROR_OPTION; if `room`, the size of the buffer in bytes, is too small, the
// call gives ERROR_BUFFER.
//
// # Safety
// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_endpoint_get(const anabranch_endpoint *endpoint,
                                        uint64_t association,
                                        const char *key,
                                        char *buffer,
                                        size_t room,
                                        size_t *needed);

// Makes a driver: opens its sockets, starts its thread, and writes its handle to `driver`; free it with `anabranch_driver_free`.
// `config` is the initial configuration of its associations; null stands for the default of drivers, which suits real networks.
// If the operating system refuses a socket or the thread, the call gives ERROR_SYSTEM.
//
// # Safety
// Options can be read at `options`, and `address_count` addresses at their `addresses`; a pointer can be written to `driver`.
anabranch_status anabranch_driver_new(const anabranch_driver_options *options,
                                      const anabranch_config *config,
                                      anabranch_driver **driver);

// Writes to `address` the local address `number` of a driver, counted from 0, with its UDP port, also if the operating system
// has chosen it. The call gives NOTHING if the driver has fewer addresses.
//
// # Safety
// An address can be written to `address`.
anabranch_status anabranch_driver_address(const anabranch_driver *driver,
                                          size_t number,
                                          anabranch_address *address);

// Returns the SCTP port of a driver; 0 if `driver` is not the handle of a driver.
uint16_t anabranch_driver_port(const anabranch_driver *driver);

// Lets peers ask for associations from now on: `anabranch_driver_accept` accepts the next one. If the configuration has values
// that are not allowed, or the driver was closed, the call gives ERROR_REFUSED.
anabranch_status anabranch_driver_listen(anabranch_driver *driver);

// Begins an association with the SCTP port `port` of a peer, whose IP address and UDP port are in `remote`, and waits until it is
// up. The handle goes to `association`; free it with `anabranch_association_free`. The wait takes at most `patience` nanoseconds;
// UINT64_MAX stands for the time limits of the handshake. If the peer is a driver, the handshake ends only after its call of
// `anabranch_driver_accept`. `config` is the configuration of the association; null stands for the one of the driver. The call
// gives ERROR_TIMEOUT after `patience`, ERROR_CLOSED if the handshake fails, and ERROR_REFUSED if the stack does not begin it.
//
// # Safety
// An address can be read at `remote`; a pointer can be written to `association`.
anabranch_status anabranch_driver_connect(anabranch_driver *driver,
                                          const anabranch_address *remote,
                                          uint16_t port,
                                          const anabranch_config *config,
                                          uint64_t patience,
                                          anabranch_association **association);

// Waits at most `patience` nanoseconds for a peer to begin an association, and accepts it; UINT64_MAX stands for no limit. The handle goes
// to `association`; free it with `anabranch_association_free`. The call gives ERROR_TIMEOUT after `patience`, and END if the
// driver was closed.
//
// # Safety
// A pointer can be written to `association`.
anabranch_status anabranch_driver_accept(anabranch_driver *driver,
                                         uint64_t patience,
                                         anabranch_association **association);

// Ends all associations of a driver in order, and accepts no more peers. After `patience` nanoseconds it aborts the remaining
// associations. The call returns after the end of the last association.
anabranch_status anabranch_driver_close(anabranch_driver *driver,
                                        uint64_t patience);

// Frees a driver. Its sockets close after its associations are freed, too; messages that are not delivered by then are lost.
// Call `anabranch_driver_close` before to deliver them.
anabranch_status anabranch_driver_free(anabranch_driver *driver);

// Puts a message into the send buffer, and waits at most `patience` nanoseconds for room in it; then the call gives ERROR_TIMEOUT.
// 0 stands for no wait, UINT64_MAX for no limit. The number of the message goes to `id`, which may be null. The call copies the payload, and
// does not wait for the delivery: if `tell_fate` is true, an event reports it.
//
// # Safety
// A message can be read at `message`, with its payload.
anabranch_status anabranch_association_send(anabranch_association *association,
                                            const anabranch_message *message,
                                            uint64_t patience,
                                            uint64_t *id);

// Waits at most `patience` nanoseconds for the next message of the stream `stream` (-1: of any stream), and writes it to `buffer`
// and its description to `received`; UINT64_MAX stands for no limit. `room` is the size of the buffer in bytes. After ERROR_BUFFER,
// `received` has the needed size, and the next call of this function gives the same message, whatever its stream. The call gives
// ERROR_TIMEOUT after `patience`; if all messages were read, it gives END after the peer has stopped sending, and ERROR_CLOSED
// after an end that was not in order.
//
// # Safety
// `room` bytes can be written to `buffer`, and a structure to `received`.
anabranch_status anabranch_association_receive(anabranch_association *association,
                                               int32_t stream,
                                               uint64_t patience,
                                               uint8_t *buffer,
                                               size_t room,
                                               anabranch_received *received);

// Waits at most `patience` nanoseconds for the next event, and writes it to `event`; UINT64_MAX stands for no limit. The driver
// collects events from the first call on: earlier ones are not reported, except CLOSED. Read messages with
// `anabranch_association_receive`. The call gives ERROR_TIMEOUT after `patience`, and END after CLOSED.
//
// # Safety
// A structure can be written to `event`.
anabranch_status anabranch_association_next_event(anabranch_association *association,
                                                  uint64_t patience,
                                                  anabranch_event *event);

// Writes a description of the last event to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
//
// # Safety
// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_association_event_text(anabranch_association *association,
                                                  char *buffer,
                                                  size_t room,
                                                  size_t *needed);

// Ends an association in order, and waits for the end: the stack first delivers all messages that the program has sent. After
// `patience` nanoseconds it aborts the association; UINT64_MAX stands for no limit. The reason for the end goes to `close`, which
// may be null. If the association did not end in order the call gives ERROR_CLOSED. Free the handle afterwards.
//
// # Safety
// `close` is null, or a number can be written to it.
anabranch_status anabranch_association_shutdown(anabranch_association *association,
                                                uint64_t patience,
                                                anabranch_close *close);

// Ends an association at once with an ABORT, which tells the peer the `size` bytes at `reason`. Messages that are not delivered
// yet are lost. Free the handle afterwards.
//
// # Safety
// `size` bytes can be read at `reason`, which may be null if `size` is 0.
anabranch_status anabranch_association_abort(anabranch_association *association,
                                             const uint8_t *reason,
                                             size_t size);

// Sets the option `key` of an association to `value` while it is up. An unknown option, a wrong value, or an option that cannot
// change any more gives ERROR_OPTION.
//
// # Safety
// `key` and `value` end with a zero byte.
anabranch_status anabranch_association_set(anabranch_association *association,
                                           const char *key,
                                           const char *value);

// Writes to `value` the counter or gauge `name` of an association; `anabranch_statistic_name` lists the names. The call gives
// NOTHING if it has no sample yet, and ERROR_ARGUMENT for an unknown name.
//
// # Safety
// `name` ends with a zero byte; a number can be written to `value`.
anabranch_status anabranch_association_statistic(anabranch_association *association,
                                                 const char *name,
                                                 uint64_t *value);

// Frees an association. If it has not ended, the driver shuts it down in order, and aborts it after 30 seconds; if the driver
// was freed before, messages that are not delivered yet may be lost.
anabranch_status anabranch_association_free(anabranch_association *association);

// Returns the name of the counter or gauge `number`, counted from 0; null if there are fewer. The text belongs to the library, and
// stays valid. docs/reference/results.md explains each name; values whose names end in `_ns` are times in nanoseconds.
const char *anabranch_statistic_name(size_t number);

// Returns a sentence about the last error of this thread; empty if there was none. The text belongs to the library, and stays
// valid until the next error of this thread.
const char *anabranch_last_error(void);

// Returns the version of the library, such as "0.1.0". The text belongs to the library, and stays valid.
const char *anabranch_version(void);

// Parses a text such as "192.0.2.1:9899" or "[2001:db8::1]:9899", and writes the result to `address`. The port of an IP address
// alone is 0. Host names are not looked up: another text gives ERROR_ARGUMENT.
//
// # Safety
// `text` ends with a zero byte; an address can be written to `address`.
anabranch_status anabranch_address_parse(const char *text,
                                         anabranch_address *address);

// Writes an address to `buffer`, as text with a zero byte at its end. `needed`, which may be null, gets the size of both in bytes.
// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
//
// # Safety
// An address can be read at `address`; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
anabranch_status anabranch_address_text(const anabranch_address *address,
                                        char *buffer,
                                        size_t room,
                                        size_t *needed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ANABRANCH_H */
