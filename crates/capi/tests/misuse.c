// Null pointers, handles that were freed or never made, lengths and values out of range: each call returns an error.
//
// It prints:
// every misuse was answered

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anabranch.h"

static int wrong;

static void check(int line, anabranch_status status, anabranch_status expected) {
    // `anabranch_last_error` has a sentence for each error.
    if (status != expected || (status < 0 && strlen(anabranch_last_error()) < 10)) {
        fprintf(stderr, "line %d: %d, not %d: %s\n", line, (int)status, (int)expected, anabranch_last_error());
        wrong = 1;
    }
}

static void holds(int line, bool condition) {
    if (!condition) {
        fprintf(stderr, "line %d: it is otherwise\n", line);
        wrong = 1;
    }
}
#define HOLDS(condition) holds(__LINE__, condition)
#define EXPECT(expected, call) check(__LINE__, call, ANABRANCH_STATUS_##expected)

static void of_configurations(void) {
    anabranch_config *config;
    char value[64];
    size_t needed;
    EXPECT(ERROR_NULL, anabranch_config_new(NULL, NULL));
    EXPECT(ERROR_OPTION, anabranch_config_new("nobody", &config));
    EXPECT(ERROR_ARGUMENT, anabranch_config_new("\xff", &config));
    EXPECT(OK, anabranch_config_new("rfc9260", &config));
    EXPECT(OK, anabranch_config_set(config, "rto_min", "200 ms"));
    EXPECT(OK, anabranch_config_get(config, "rto_min", value, sizeof value, &needed));
    HOLDS(strcmp(value, "200 ms") == 0 && needed == 7);
    EXPECT(ERROR_BUFFER, anabranch_config_get(config, "rto_min", value, 6, &needed));
    EXPECT(ERROR_BUFFER, anabranch_config_get(config, "rto_min", NULL, 0, NULL));
    EXPECT(ERROR_NULL, anabranch_config_get(config, "rto_min", NULL, 64, NULL));
    EXPECT(ERROR_OPTION, anabranch_config_set(config, "rto_mun", "200 ms"));
    EXPECT(ERROR_OPTION, anabranch_config_set(config, "rto_min", "soon"));
    EXPECT(ERROR_NULL, anabranch_config_set(config, NULL, "1 s"));
    EXPECT(ERROR_NULL, anabranch_config_set(NULL, "rto_min", "1 s"));
    EXPECT(ERROR_HANDLE, anabranch_config_set((anabranch_config *)(uintptr_t)12345, "rto_min", "1 s"));
    EXPECT(ERROR_HANDLE, anabranch_endpoint_free((anabranch_endpoint *)config));
    EXPECT(OK, anabranch_config_free(config));
    EXPECT(ERROR_HANDLE, anabranch_config_free(config));
    EXPECT(ERROR_NULL, anabranch_config_free(NULL));
    // The place of a freed handle in the table is used again, its value is not.
    anabranch_config *another;
    EXPECT(OK, anabranch_config_new(NULL, &another));
    EXPECT(ERROR_HANDLE, anabranch_config_set(config, "rto_min", "1 s"));
    EXPECT(OK, anabranch_config_for_webrtc(another));
    EXPECT(OK, anabranch_config_free(another));
}

static void of_endpoints(void) {
    anabranch_endpoint_options options = {0};
    anabranch_endpoint *endpoint;
    anabranch_address address;
    anabranch_transmit transmit;
    anabranch_event event;
    anabranch_received received;
    anabranch_message message = {0};
    anabranch_meta meta = {0};
    uint8_t buffer[1500];
    uint64_t association, number;
    size_t bytes;
    EXPECT(ERROR_ARGUMENT, anabranch_address_parse("localhost:9000", &address));
    EXPECT(ERROR_NULL, anabranch_address_parse("192.0.2.1", NULL));
    EXPECT(OK, anabranch_address_parse("192.0.2.1", &address));
    EXPECT(ERROR_NULL, anabranch_endpoint_new(NULL, &endpoint));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_new(&options, &endpoint));
    options.port = 5000;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_new(&options, &endpoint)); // without an address
    options.local = address;
    EXPECT(ERROR_NULL, anabranch_endpoint_new(&options, NULL));
    EXPECT(OK, anabranch_endpoint_new(&options, &endpoint));

    EXPECT(NOTHING, anabranch_endpoint_poll_transmit(endpoint, 0, buffer, sizeof buffer, &transmit));
    EXPECT(NOTHING, anabranch_endpoint_poll_event(endpoint, &event));
    EXPECT(NOTHING, anabranch_endpoint_poll_timeout(endpoint, &number));
    EXPECT(ERROR_NULL, anabranch_endpoint_poll_event(endpoint, NULL));
    EXPECT(ERROR_ASSOCIATION, anabranch_endpoint_shutdown(endpoint, 0, 77, 0));
    EXPECT(ERROR_ASSOCIATION, anabranch_endpoint_receive(endpoint, 0, -1, buffer, sizeof buffer, &received));
    EXPECT(ERROR_REFUSED, anabranch_endpoint_connect(endpoint, 0, &address, 0, NULL, &association));
    EXPECT(ERROR_NULL, anabranch_endpoint_connect(endpoint, 0, NULL, 5000, NULL, &association));
    EXPECT(ERROR_NULL, anabranch_endpoint_connect(endpoint, 0, &address, 5000, NULL, NULL));
    EXPECT(OK, anabranch_address_parse("224.0.0.1", &address));
    EXPECT(ERROR_REFUSED, anabranch_endpoint_connect(endpoint, 0, &address, 5000, NULL, &association));
    EXPECT(OK, anabranch_address_parse("192.0.2.2", &address));
    EXPECT(OK, anabranch_endpoint_connect(endpoint, 0, &address, 5000, NULL, &association));
    EXPECT(ERROR_REFUSED, anabranch_endpoint_connect(endpoint, 0, &address, 5000, NULL, &number));

    // A packet that does not fit into the buffer is kept.
    EXPECT(ERROR_BUFFER, anabranch_endpoint_poll_transmit(endpoint, 0, buffer, 10, &transmit));
    EXPECT(ERROR_NULL, anabranch_endpoint_poll_transmit(endpoint, 0, NULL, sizeof buffer, &transmit));
    EXPECT(ERROR_NULL, anabranch_endpoint_poll_transmit(endpoint, 0, buffer, sizeof buffer, NULL));
    size_t size = transmit.size;
    EXPECT(OK, anabranch_endpoint_poll_transmit(endpoint, 0, buffer, sizeof buffer, &transmit));
    HOLDS(transmit.size == size && size >= 32);

    EXPECT(ERROR_NULL, anabranch_endpoint_send(endpoint, 0, association, NULL, NULL));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL)); // empty
    message.size = 5;
    EXPECT(ERROR_NULL, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    message.data = (const uint8_t *)"hello";
    message.size = SIZE_MAX;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    message.size = 5;
    message.policy = 99;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    message.policy = ANABRANCH_POLICY_RETRANSMISSIONS;
    message.policy_value = 65536;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    message.policy = 0;
    message.has_dscp = true;
    message.dscp = 64;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    message.has_dscp = false;
    message.stream = 60000;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_send(endpoint, 0, association, &message, NULL));
    EXPECT(ERROR_REFUSED, anabranch_endpoint_reset_streams(endpoint, 0, association, 0, NULL, 0)); // not up yet
    EXPECT(ERROR_NULL, anabranch_endpoint_reset_streams(endpoint, 0, association, 0, NULL, 3));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_reset_streams(endpoint, 0, association, 7, NULL, 0));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_buffered(endpoint, association, -2, &bytes));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_buffered(endpoint, association, 65536, &bytes));
    EXPECT(OK, anabranch_endpoint_buffered(endpoint, association, -1, &bytes));
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_statistic(endpoint, association, "nothing", &number));
    EXPECT(NOTHING, anabranch_endpoint_statistic(endpoint, association, "srtt_ns", &number));
    EXPECT(OK, anabranch_endpoint_statistic(endpoint, association, "packets_sent", &number));
    EXPECT(ERROR_OPTION, anabranch_endpoint_set(endpoint, 0, association, "streams", "soon"));
    EXPECT(NOTHING, anabranch_endpoint_take_back(endpoint, association, buffer, sizeof buffer, &received));

    // Random packets are dropped: they give no error, and do no harm.
    for (unsigned seed = 1; seed < 2000; seed++) {
        uint8_t noise[64];
        unsigned state = seed;
        for (size_t at = 0; at < sizeof noise; at++) {
            state = state * 1103515245u + 12345u;
            noise[at] = (uint8_t)(state >> 16);
        }
        meta.source = address;
        meta.destination = options.local;
        EXPECT(OK, anabranch_endpoint_handle_packet(endpoint, 0, &meta, noise, seed % sizeof noise));
        EXPECT(OK, anabranch_endpoint_handle_icmp(endpoint, 0, seed % 2 ? 4 : 6, noise, seed % sizeof noise));
    }
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_handle_icmp(endpoint, 0, 5, buffer, 8));
    EXPECT(ERROR_NULL, anabranch_endpoint_handle_packet(endpoint, 0, &meta, NULL, 8));
    EXPECT(OK, anabranch_endpoint_handle_packet(endpoint, 0, &meta, NULL, 0));
    meta.source.version = 9;
    EXPECT(ERROR_ARGUMENT, anabranch_endpoint_handle_packet(endpoint, 0, &meta, buffer, 8));

    EXPECT(ERROR_REFUSED, anabranch_endpoint_release(endpoint, association));
    EXPECT(OK, anabranch_endpoint_abort(endpoint, 0, association, NULL, 0));
    while (anabranch_endpoint_poll_transmit(endpoint, 0, buffer, sizeof buffer, &transmit) == ANABRANCH_STATUS_OK) {
    }
    EXPECT(OK, anabranch_endpoint_poll_event(endpoint, &event));
    HOLDS(event.kind == ANABRANCH_EVENT_KIND_CLOSED && event.close == ANABRANCH_CLOSE_ABORTED_LOCALLY);
    EXPECT(NOTHING, anabranch_endpoint_poll_event(endpoint, &event));
    EXPECT(ERROR_ASSOCIATION, anabranch_endpoint_release(endpoint, association));
    EXPECT(OK, anabranch_endpoint_free(endpoint));
    EXPECT(ERROR_HANDLE, anabranch_endpoint_free(endpoint));
    EXPECT(ERROR_HANDLE, anabranch_endpoint_poll_event(endpoint, &event));
}

static anabranch_association *shared, *accepted;

static void *accepts(void *driver) {
    EXPECT(OK, anabranch_driver_accept(driver, UINT64_MAX, &accepted));
    return NULL;
}

static void *waits(void *unused) {
    uint8_t buffer[16];
    anabranch_received received;
    (void)unused;
    anabranch_status status = anabranch_association_receive(shared, -1, UINT64_MAX, buffer, sizeof buffer, &received);
    // The main thread frees the association during this wait: the wait ends with it, and uses no freed memory. On a busy machine it
    // was freed before this wait began.
    if (status != ANABRANCH_STATUS_ERROR_HANDLE) {
        EXPECT(ERROR_CLOSED, status);
    }
    return NULL;
}

static void of_drivers(void) {
    anabranch_driver_options options = {0};
    anabranch_driver *driver;
    anabranch_association *association;
    anabranch_address address;
    anabranch_received received;
    anabranch_message message = {0};
    anabranch_event event;
    uint8_t buffer[16];
    EXPECT(OK, anabranch_address_parse("127.0.0.1:0", &address));
    EXPECT(ERROR_NULL, anabranch_driver_new(NULL, NULL, &driver));
    EXPECT(ERROR_ARGUMENT, anabranch_driver_new(&options, NULL, &driver));
    options.address_count = 1;
    EXPECT(ERROR_NULL, anabranch_driver_new(&options, NULL, &driver));
    options.addresses = &address;
    options.port = 5000;
    EXPECT(ERROR_HANDLE, anabranch_driver_new(&options, (anabranch_config *)(uintptr_t)4, &driver));
    EXPECT(OK, anabranch_driver_new(&options, NULL, &driver));
    EXPECT(OK, anabranch_driver_listen(driver));
    EXPECT(ERROR_TIMEOUT, anabranch_driver_accept(driver, 1000000, &association));
    EXPECT(NOTHING, anabranch_driver_address(driver, 1, &address));
    EXPECT(OK, anabranch_driver_address(driver, 0, &address));
    anabranch_driver *client;
    options.port = 0;
    anabranch_address local;
    EXPECT(OK, anabranch_address_parse("127.0.0.1:0", &local));
    options.addresses = &local;
    EXPECT(OK, anabranch_driver_new(&options, NULL, &client));
    EXPECT(ERROR_REFUSED, anabranch_driver_connect(client, &address, 0, NULL, UINT64_MAX, &association));
    // Nothing listens at that SCTP port.
    EXPECT(ERROR_CLOSED, anabranch_driver_connect(client, &address, 5001, NULL, UINT64_MAX, &association));
    pthread_t thread;
    if (pthread_create(&thread, NULL, accepts, driver) != 0) {
        exit(1);
    }
    anabranch_config *config;
    EXPECT(OK, anabranch_config_new(NULL, &config));
    anabranch_association *refused = NULL;
    EXPECT(OK, anabranch_driver_connect(client, &address, 5000, config, UINT64_MAX, &association));
    EXPECT(OK, anabranch_config_free(config));
    EXPECT(ERROR_HANDLE, anabranch_driver_connect(client, &address, 5000, config, UINT64_MAX, &refused));
    HOLDS(refused == NULL);
    pthread_join(thread, NULL);
    EXPECT(ERROR_TIMEOUT, anabranch_association_receive(association, -1, 1000000, buffer, sizeof buffer, &received));
    EXPECT(ERROR_ARGUMENT, anabranch_association_receive(association, -5, 0, buffer, sizeof buffer, &received));
    EXPECT(ERROR_ARGUMENT, anabranch_association_send(association, &message, UINT64_MAX, NULL));
    message.data = (const uint8_t *)"longer than the buffer of the receiver";
    message.size = 38;
    EXPECT(OK, anabranch_association_send(association, &message, UINT64_MAX, NULL));
    EXPECT(ERROR_BUFFER, anabranch_association_receive(accepted, -1, UINT64_MAX, buffer, sizeof buffer, &received));
    uint8_t larger[64];
    HOLDS(received.size == 38);
    EXPECT(OK, anabranch_association_receive(accepted, -1, UINT64_MAX, larger, sizeof larger, &received));
    EXPECT(ERROR_TIMEOUT, anabranch_association_next_event(accepted, 1000000, &event));

    shared = association;
    if (pthread_create(&thread, NULL, waits, NULL) != 0) {
        exit(1);
    }
    // Gives the thread time to begin its wait, which cannot be observed.
    anabranch_received none;
    for (int i = 0; i < 200; i++) {
        anabranch_association_receive(accepted, -1, 1000000, larger, sizeof larger, &none);
    }
    EXPECT(OK, anabranch_association_free(association));
    EXPECT(ERROR_HANDLE, anabranch_association_free(association));
    EXPECT(ERROR_HANDLE, anabranch_association_send(association, &message, UINT64_MAX, NULL));
    EXPECT(OK, anabranch_association_abort(accepted, (const uint8_t *)"enough", 6));
    pthread_join(thread, NULL);
    EXPECT(ERROR_CLOSED, anabranch_association_send(accepted, &message, UINT64_MAX, NULL));
    EXPECT(OK, anabranch_driver_close(driver, 0));
    EXPECT(END, anabranch_driver_accept(driver, UINT64_MAX, &association));
    EXPECT(OK, anabranch_driver_free(driver));
    EXPECT(ERROR_HANDLE, anabranch_driver_free(driver));
    // Calls with an association of a freed driver have no effect, and do no harm.
    EXPECT(ERROR_CLOSED, anabranch_association_send(accepted, &message, UINT64_MAX, NULL));
    EXPECT(OK, anabranch_association_free(accepted));
    EXPECT(OK, anabranch_driver_free(client));
}

int main(void) {
    of_configurations();
    of_endpoints();
    of_drivers();
    if (!wrong) {
        puts("every misuse was answered");
    }
    return wrong;
}
