// The use of the stack by the data channels of a WebRTC library: both sides begin at once, packets go through a function (DTLS there), loss,
// channels of each kind, back-pressure, the closing of a channel, and an end by force.
//
// It prints:
// both are up: 65535 streams
// a channel was opened: stream 1
// ordered and reliable: 100 of 100 in order
// unordered, never sent again: some of 100
// what was buffered fell to the threshold
// a message that has no room waits
// the channel is closed on both sides
// stream 1 begins anew: SSN 0
// the peer was told: going away

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anabranch.h"

#define MS 1000000
#define DELAY (20 * MS)
#define DCEP 50
#define BINARY 53
#define MOST 4096

static void must(int line, anabranch_status status) {
    if (status < 0) {
        fprintf(stderr, "line %d: error %d: %s\n", line, (int)status, anabranch_last_error());
        exit(1);
    }
}
#define MUST(call) must(__LINE__, call)

static void expect(int line, bool holds) {
    if (!holds) {
        fprintf(stderr, "line %d: it is otherwise\n", line);
        exit(1);
    }
}
#define EXPECT(holds) expect(__LINE__, holds)

typedef struct {
    anabranch_endpoint *endpoint;
    anabranch_address address;
    uint64_t association;
    // The numbers of events that the peer has received, by kind.
    unsigned up, low, outgoing_reset, incoming_reset, closed, streams;
    anabranch_close close;
    char reason[32];
} peer;

typedef struct {
    uint64_t at;
    int to;
    size_t size;
    uint8_t bytes[1300];
} packet;

static peer peers[2];
static packet *wire; // a queue: the delay is the same for all
static size_t first, last, sent;
static unsigned lose_every;
static uint64_t now;

static void tell(int side) {
    peer *one = &peers[side];
    anabranch_event event;
    while (anabranch_endpoint_poll_event(one->endpoint, &event) == ANABRANCH_STATUS_OK) {
        EXPECT(event.association == one->association);
        switch (event.kind) {
        case ANABRANCH_EVENT_KIND_ESTABLISHED:
            one->up++;
            one->streams = event.outbound_streams;
            break;
        case ANABRANCH_EVENT_KIND_BUFFERED_LOW:
            one->low++;
            break;
        case ANABRANCH_EVENT_KIND_STREAMS_RESET: {
            uint16_t streams[4] = {0};
            size_t count;
            MUST(anabranch_endpoint_event_streams(one->endpoint, streams, 4, &count));
            EXPECT(count == 1 && streams[0] == 1 && event.stream_count == 1);
            EXPECT(event.outcome == ANABRANCH_OUTCOME_PERFORMED);
            if (event.direction == ANABRANCH_DIRECTION_OUTGOING) {
                one->outgoing_reset++;
            } else {
                one->incoming_reset++;
            }
            break;
        }
        case ANABRANCH_EVENT_KIND_CLOSED: {
            size_t size;
            MUST(anabranch_endpoint_event_reason(one->endpoint, (uint8_t *)one->reason, sizeof one->reason, &size));
            one->closed++;
            one->close = event.close;
            break;
        }
        default:
            break;
        }
    }
}

static void pump(int side) {
    anabranch_transmit transmit;
    for (;;) {
        tell(side);
        EXPECT(last - first < MOST);
        packet *next = &wire[last % MOST];
        anabranch_status status =
            anabranch_endpoint_poll_transmit(peers[side].endpoint, now, next->bytes, sizeof next->bytes, &transmit);
        MUST(status);
        if (status == ANABRANCH_STATUS_NOTHING) {
            return;
        }
        if (lose_every > 0 && ++sent % lose_every == 0) {
            continue;
        }
        next->at = now + DELAY;
        next->to = 1 - side;
        next->size = transmit.size;
        last++;
    }
}

static void run(uint64_t time) {
    uint64_t end = now + time;
    for (;;) {
        pump(0);
        pump(1);
        uint64_t next = first < last ? wire[first % MOST].at : UINT64_MAX;
        for (int side = 0; side < 2; side++) {
            uint64_t at;
            if (anabranch_endpoint_poll_timeout(peers[side].endpoint, &at) == ANABRANCH_STATUS_OK && at < next) {
                next = at;
            }
        }
        if (next > end) {
            now = end;
            return;
        }
        now = next > now ? next : now;
        while (first < last && wire[first % MOST].at <= now) {
            packet *arrived = &wire[first++ % MOST];
            anabranch_meta meta = {0};
            meta.source = peers[1 - arrived->to].address;
            meta.destination = peers[arrived->to].address;
            MUST(anabranch_endpoint_handle_packet(peers[arrived->to].endpoint, now, &meta, arrived->bytes, arrived->size));
        }
        MUST(anabranch_endpoint_handle_timeout(peers[0].endpoint, now));
        MUST(anabranch_endpoint_handle_timeout(peers[1].endpoint, now));
    }
}

static anabranch_status say(int side, anabranch_message message, const void *data, size_t size) {
    message.data = data;
    message.size = size;
    return anabranch_endpoint_send(peers[side].endpoint, now, peers[side].association, &message, NULL);
}

static bool hear(int side, int stream, void *data, size_t room, anabranch_received *received) {
    anabranch_status status = anabranch_endpoint_receive(
        peers[side].endpoint, peers[side].association, stream, data, room, received);
    MUST(status);
    return status == ANABRANCH_STATUS_OK;
}

int main(void) {
    wire = calloc(MOST, sizeof *wire);
    anabranch_config *config;
    MUST(anabranch_config_new(NULL, &config));
    MUST(anabranch_config_for_webrtc(config));
    MUST(anabranch_config_set(config, "send_buffer", "200000 B"));
    MUST(anabranch_config_set(config, "max_send_buffer", "0 B"));
    for (int side = 0; side < 2; side++) {
        // Within DTLS the addresses are not sent: any two will do.
        MUST(anabranch_address_parse(side == 0 ? "10.0.0.1" : "10.0.0.2", &peers[side].address));
        uint8_t seed[32] = {(uint8_t)(side + 1)};
        anabranch_endpoint_options options = {0};
        options.local = peers[side].address;
        options.port = 5000;
        options.seed = seed;
        MUST(anabranch_endpoint_new(&options, &peers[side].endpoint));
    }
    for (int side = 0; side < 2; side++) {
        // Both listen first: a side that does not listen yet would refuse the other's INIT.
        MUST(anabranch_endpoint_listen(peers[side].endpoint, config));
    }
    for (int side = 0; side < 2; side++) {
        MUST(anabranch_endpoint_connect(
            peers[side].endpoint, now, &peers[1 - side].address, 5000, config, &peers[side].association));
    }
    MUST(anabranch_config_free(config));
    run(1000 * MS);
    EXPECT(peers[0].up == 1 && peers[1].up == 1);
    printf("both are up: %u streams\n", peers[0].streams);

    // DATA_CHANNEL_OPEN (RFC 8832) on stream 1.
    static uint8_t data[300000];
    anabranch_received received;
    anabranch_message dcep = {.stream = 1, .ppid = DCEP};
    MUST(say(0, dcep, "\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 12));
    run(200 * MS);
    EXPECT(hear(1, -1, data, sizeof data, &received) && received.ppid == DCEP && received.size == 12);
    printf("a channel was opened: stream %u\n", received.stream);

    lose_every = 11;
    anabranch_message reliable = {.stream = 1, .ppid = BINARY};
    anabranch_message lossy = {.stream = 3, .ppid = BINARY, .unordered = true};
    lossy.policy = ANABRANCH_POLICY_RETRANSMISSIONS;
    for (uint8_t number = 0; number < 100; number++) {
        data[0] = number;
        MUST(say(0, reliable, data, 700));
        MUST(say(0, lossy, data, 700));
        run(5 * MS);
    }
    run(60000 * (uint64_t)MS);
    unsigned in_order = 0, arrived = 0;
    while (hear(1, 1, data, sizeof data, &received)) {
        EXPECT(received.size == 700 && data[0] == in_order);
        in_order++;
    }
    while (hear(1, 3, data, sizeof data, &received)) {
        EXPECT(received.unordered);
        arrived++;
    }
    printf("ordered and reliable: %u of 100 in order\n", in_order);
    EXPECT(arrived > 50 && arrived < 100);
    printf("unordered, never sent again: some of 100\n");
    lose_every = 0;

    MUST(anabranch_endpoint_set_low_threshold(peers[0].endpoint, peers[0].association, 1, 50000));
    MUST(say(0, reliable, data, 150000));
    size_t buffered;
    MUST(anabranch_endpoint_buffered(peers[0].endpoint, peers[0].association, 1, &buffered));
    EXPECT(buffered == 150000 && peers[0].low == 0);
    MUST(say(0, reliable, data, 150000)); // one message may exceed the limit of the send buffer
    EXPECT(say(0, reliable, data, 1) == ANABRANCH_STATUS_ERROR_FULL);
    run(20000 * (uint64_t)MS);
    EXPECT(peers[0].low == 1);
    printf("what was buffered fell to the threshold\n");
    EXPECT(anabranch_endpoint_receive(peers[1].endpoint, peers[1].association, 1, data, 1000, &received) ==
           ANABRANCH_STATUS_ERROR_BUFFER);
    EXPECT(received.size == 150000);
    EXPECT(hear(1, -1, data, sizeof data, &received) && received.size == 150000);
    EXPECT(hear(1, 1, data, sizeof data, &received) && received.size == 150000);
    printf("a message that has no room waits\n");

    // RFC 8831, 6.7: a side closes a channel by a reset of its outgoing stream, and the other side then does the same.
    const uint16_t channel = 1;
    MUST(anabranch_endpoint_reset_streams(
        peers[0].endpoint, now, peers[0].association, ANABRANCH_DIRECTION_OUTGOING, &channel, 1));
    run(1000 * MS);
    EXPECT(peers[0].outgoing_reset == 1 && peers[1].incoming_reset == 1);
    MUST(anabranch_endpoint_reset_streams(
        peers[1].endpoint, now, peers[1].association, ANABRANCH_DIRECTION_OUTGOING, &channel, 1));
    run(1000 * MS);
    EXPECT(peers[1].outgoing_reset == 1 && peers[0].incoming_reset == 1);
    printf("the channel is closed on both sides\n");
    MUST(say(0, reliable, "again", 5));
    run(1000 * MS);
    EXPECT(hear(1, 1, data, sizeof data, &received));
    printf("stream 1 begins anew: SSN %u\n", received.number);

    MUST(anabranch_endpoint_abort(peers[0].endpoint, now, peers[0].association, (const uint8_t *)"going away", 10));
    run(1000 * MS);
    EXPECT(peers[1].closed == 1 && peers[1].close == ANABRANCH_CLOSE_ABORTED_BY_PEER);
    printf("the peer was told: %s\n", peers[1].reason);
    MUST(anabranch_endpoint_free(peers[0].endpoint));
    MUST(anabranch_endpoint_free(peers[1].endpoint));
    free(wire);
    return 0;
}
