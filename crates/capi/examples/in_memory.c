// Two endpoints without I/O talk in memory and in virtual time: a program with an event loop does the same with packets of
// a network and a real clock.
//
//     cc in_memory.c $(pkg-config --cflags --libs anabranch) -o in_memory
//
// It prints:
// b: Accepted: from 192.0.2.1:0, 2048 streams out, 2048 in
// b: stream 7, ppid 51, unordered: hello
// a: Established: 2048 streams out, 2048 in
// a: message 0 was delivered, context 42
// a: closed in order after 0.06 s

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anabranch.h"

#define DELAY 10000000 // delay of the wire, nanoseconds
#define MOST 64        // largest number of packets on the wire

// Ends the program if a call returns an error.
static anabranch_status must(anabranch_status status) {
    if (status < 0) {
        fprintf(stderr, "error %d: %s\n", (int)status, anabranch_last_error());
        exit(1);
    }
    return status;
}

typedef struct {
    uint64_t at; // arrival time, nanoseconds
    int to;
    size_t size;
    uint8_t bytes[1500];
} packet;

static packet wire[MOST];
static size_t on_the_wire;
static anabranch_address addresses[2];
static anabranch_endpoint *ends[2];

// Moves all packets that an endpoint has to send to the wire.
static void pump(int side, uint64_t now) {
    anabranch_transmit transmit;
    while (on_the_wire < MOST) {
        packet *next = &wire[on_the_wire];
        anabranch_status status =
            must(anabranch_endpoint_poll_transmit(ends[side], now, next->bytes, sizeof next->bytes, &transmit));
        if (status == ANABRANCH_STATUS_NOTHING) {
            return;
        }
        next->at = now + DELAY;
        next->to = 1 - side;
        next->size = transmit.size;
        on_the_wire++;
    }
}

// Reads all events of one endpoint. Returns true if its association has ended.
static bool look(int side, uint64_t now) {
    anabranch_event event;
    char text[200];
    bool ended = false;
    while (must(anabranch_endpoint_poll_event(ends[side], &event)) == ANABRANCH_STATUS_OK) {
        if (event.kind == ANABRANCH_EVENT_KIND_READABLE) {
            uint8_t data[1000];
            anabranch_received received;
            while (must(anabranch_endpoint_receive(ends[side], event.association, -1, data, sizeof data, &received)) ==
                   ANABRANCH_STATUS_OK) {
                printf("%c: stream %u, ppid %" PRIu32 ", %s: %.*s\n", 'a' + side, received.stream, received.ppid,
                       received.unordered ? "unordered" : "ordered", (int)received.size, (const char *)data);
            }
        } else if (event.kind == ANABRANCH_EVENT_KIND_DELIVERED) {
            printf("a: message %" PRIu64 " was delivered, context %" PRIu32 "\n", event.message, event.context);
            must(anabranch_endpoint_shutdown(ends[side], now, event.association, 0));
        } else if (event.kind == ANABRANCH_EVENT_KIND_CLOSED) {
            ended = true;
            if (side == 0 && event.close == ANABRANCH_CLOSE_GRACEFUL) {
                printf("a: closed in order after %.2f s\n", (double)now / 1e9);
            }
        } else if (event.kind == ANABRANCH_EVENT_KIND_ACCEPTED ||
                   (side == 0 && event.kind == ANABRANCH_EVENT_KIND_ESTABLISHED)) {
            must(anabranch_endpoint_event_text(ends[side], text, sizeof text, NULL));
            printf("%c: %s\n", 'a' + side, text);
        }
    }
    return ended;
}

int main(void) {
    const char *texts[2] = {"192.0.2.1", "192.0.2.2"};
    for (int side = 0; side < 2; side++) {
        // The same seed gives the same packets in each run; on a network leave it null.
        uint8_t seed[32] = {0};
        seed[0] = (uint8_t)side;
        must(anabranch_address_parse(texts[side], &addresses[side]));
        anabranch_endpoint_options options = {0};
        options.local = addresses[side];
        options.port = 5000;
        options.seed = seed;
        must(anabranch_endpoint_new(&options, &ends[side]));
    }
    must(anabranch_endpoint_listen(ends[1], NULL));
    uint64_t association, now = 0;
    must(anabranch_endpoint_connect(ends[0], now, &addresses[1], 5000, NULL, &association));

    const char *text = "hello";
    anabranch_message message = {0};
    message.data = (const uint8_t *)text;
    message.size = strlen(text);
    message.stream = 7;
    message.ppid = 51;
    message.unordered = true;
    message.tell_fate = true;
    message.context = 42;
    must(anabranch_endpoint_send(ends[0], now, association, &message, NULL));

    for (bool ended = false; !ended;) {
        for (int side = 0; side < 2; side++) {
            pump(side, now);
            ended |= look(side, now) && side == 0;
            pump(side, now);
        }
        // The time of the next arrival of a packet or expiry of a timer.
        uint64_t next = on_the_wire > 0 ? wire[0].at : UINT64_MAX;
        for (int side = 0; side < 2; side++) {
            uint64_t at;
            if (must(anabranch_endpoint_poll_timeout(ends[side], &at)) == ANABRANCH_STATUS_OK && at < next) {
                next = at;
            }
        }
        if (next == UINT64_MAX) {
            break;
        }
        now = next > now ? next : now;
        while (on_the_wire > 0 && wire[0].at <= now) {
            packet arrived = wire[0];
            memmove(&wire[0], &wire[1], --on_the_wire * sizeof wire[0]);
            anabranch_meta meta = {0};
            meta.source = addresses[1 - arrived.to];
            meta.destination = addresses[arrived.to];
            must(anabranch_endpoint_handle_packet(ends[arrived.to], now, &meta, arrived.bytes, arrived.size));
        }
        for (int side = 0; side < 2; side++) {
            must(anabranch_endpoint_handle_timeout(ends[side], now));
        }
    }
    must(anabranch_endpoint_free(ends[0]));
    must(anabranch_endpoint_free(ends[1]));
    return 0;
}
