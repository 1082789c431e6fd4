// An echo server in a thread, and a client, over SCTP in UDP on the loopback, with calls that block.
//
//     cc echo.c $(pkg-config --cflags --libs anabranch) -lpthread -o echo
//
// It prints:
// stream 0: one
// stream 1: two
// stream 2: three
// the server has sent back 3 messages
// the client has counted 3 messages

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anabranch.h"

#define SECONDS UINT64_C(1000000000)

static anabranch_status must(anabranch_status status) {
    if (status < 0) {
        fprintf(stderr, "error %d: %s\n", (int)status, anabranch_last_error());
        exit(1);
    }
    return status;
}

// Sends every message of one peer back to it, until the peer stops sending.
static void *serve(void *given) {
    anabranch_driver *driver = given;
    anabranch_association *association;
    must(anabranch_driver_accept(driver, 10 * SECONDS, &association));
    static size_t count;
    uint8_t data[4096];
    anabranch_received received;
    while (must(anabranch_association_receive(association, -1, 10 * SECONDS, data, sizeof data, &received)) !=
           ANABRANCH_STATUS_END) {
        anabranch_message back = {0};
        back.data = data;
        back.size = received.size;
        back.stream = received.stream;
        back.ppid = received.ppid;
        must(anabranch_association_send(association, &back, 10 * SECONDS, NULL));
        count++;
    }
    must(anabranch_association_free(association));
    return &count;
}

static anabranch_driver *open_at(const char *text, uint16_t port) {
    anabranch_address address;
    must(anabranch_address_parse(text, &address));
    anabranch_driver_options options = {0};
    options.addresses = &address;
    options.address_count = 1;
    options.port = port;
    anabranch_driver *driver;
    must(anabranch_driver_new(&options, NULL, &driver));
    return driver;
}

int main(void) {
    // With UDP port 0 the system chooses one. A public server uses 9899, the port of SCTP in UDP (RFC 6951).
    anabranch_driver *server = open_at("127.0.0.1:0", 7), *client = open_at("127.0.0.1:0", 0);
    must(anabranch_driver_listen(server));
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, server) != 0) {
        return 1;
    }

    anabranch_address address;
    must(anabranch_driver_address(server, 0, &address));
    anabranch_association *association;
    must(anabranch_driver_connect(client, &address, 7, NULL, 10 * SECONDS, &association));
    const char *words[] = {"one", "two", "three"};
    for (uint16_t stream = 0; stream < 3; stream++) {
        anabranch_message message = {0};
        message.data = (const uint8_t *)words[stream];
        message.size = strlen(words[stream]);
        message.stream = stream;
        must(anabranch_association_send(association, &message, 10 * SECONDS, NULL));
        uint8_t data[4096];
        anabranch_received received;
        must(anabranch_association_receive(association, stream, 10 * SECONDS, data, sizeof data, &received));
        printf("stream %u: %.*s\n", received.stream, (int)received.size, (const char *)data);
    }
    uint64_t accepted = 0;
    must(anabranch_association_statistic(association, "messages_accepted", &accepted));
    must(anabranch_association_shutdown(association, 10 * SECONDS, NULL));
    must(anabranch_association_free(association));

    void *count;
    pthread_join(thread, &count);
    printf("the server has sent back %zu messages\n", *(size_t *)count);
    printf("the client has counted %" PRIu64 " messages\n", accepted);
    must(anabranch_driver_close(client, 5 * SECONDS));
    must(anabranch_driver_free(client));
    must(anabranch_driver_close(server, 5 * SECONDS));
    must(anabranch_driver_free(server));
    return 0;
}
