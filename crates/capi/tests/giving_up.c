// A connect that fails with a timeout leaves nothing behind: the program can connect to the same peer again at once, and the peer got an ABORT.
//
// It prints:
// nothing was left behind

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "anabranch.h"

#define MILLISECONDS UINT64_C(1000000)
#define AGAIN 100

static void expect(int line, anabranch_status status, anabranch_status expected) {
    if (status != expected) {
        fprintf(stderr, "line %d: %d, not %d: %s\n", line, (int)status, (int)expected, anabranch_last_error());
        exit(1);
    }
}
#define EXPECT(expected, call) expect(__LINE__, call, ANABRANCH_STATUS_##expected)

// Opens a driver on the loopback. With a fixed SCTP port it has at most one association with each port of a peer.
static anabranch_driver *open_at(uint16_t port) {
    anabranch_address address;
    EXPECT(OK, anabranch_address_parse("127.0.0.1:0", &address));
    anabranch_driver_options options = {0};
    options.addresses = &address;
    options.address_count = 1;
    options.port = port;
    anabranch_driver *driver;
    EXPECT(OK, anabranch_driver_new(&options, NULL, &driver));
    return driver;
}

// Opens a UDP socket that never answers.
static int silent(anabranch_address *address) {
    int made = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || bind(made, (struct sockaddr *)&at, size) != 0 ||
        getsockname(made, (struct sockaddr *)&at, &size) != 0) {
        perror("a socket");
        exit(1);
    }
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(at.sin_port));
    EXPECT(OK, anabranch_address_parse(text, address));
    return made;
}

// Nobody answers the INIT.
static void nobody_answers(void) {
    anabranch_address address;
    int socket = silent(&address);
    anabranch_driver *client = open_at(6000);
    for (uint64_t turn = 0; turn < AGAIN; turn++) {
        anabranch_association *association = NULL;
        EXPECT(ERROR_TIMEOUT,
               anabranch_driver_connect(client, &address, 5000, NULL, turn * MILLISECONDS / 100, &association));
        if (association) {
            exit(1);
        }
    }
    close(socket);
    EXPECT(OK, anabranch_driver_free(client));
}

struct asking {
    anabranch_driver *driver;
    anabranch_address address;
};

static void *asks(void *given) {
    struct asking *asking = given;
    anabranch_association *association;
    anabranch_message message = {0};
    message.data = (const uint8_t *)"hello";
    message.size = 5;
    EXPECT(OK, anabranch_driver_connect(asking->driver, &asking->address, 5000, NULL, UINT64_MAX, &association));
    EXPECT(OK, anabranch_association_send(association, &message, UINT64_MAX, NULL));
    EXPECT(OK, anabranch_association_shutdown(association, UINT64_MAX, NULL));
    EXPECT(OK, anabranch_association_free(association));
    return NULL;
}

// The server accepts the next association and reads its message. If the client has given up, its ABORT must have told the server so.
static anabranch_status read_next(anabranch_driver *server, uint64_t patience) {
    anabranch_association *accepted;
    anabranch_status status = anabranch_driver_accept(server, patience, &accepted);
    if (status != ANABRANCH_STATUS_OK) {
        return status;
    }
    uint8_t data[16];
    anabranch_received received;
    status = anabranch_association_receive(accepted, -1, UINT64_MAX, data, sizeof data, &received);
    if (status == ANABRANCH_STATUS_ERROR_CLOSED && !strstr(anabranch_last_error(), "no answer in time")) {
        fprintf(stderr, "the peer was not told: %s\n", anabranch_last_error());
        exit(1);
    }
    if (status == ANABRANCH_STATUS_OK && (received.size != 5 || memcmp(data, "hello", 5) != 0)) {
        exit(1);
    }
    EXPECT(OK, anabranch_association_free(accepted));
    return status;
}

// The server answers the INIT, and has not accepted the association yet when the client gives up.
static void nobody_decides(void) {
    anabranch_driver *server = open_at(5000), *client = open_at(6000);
    struct asking asking = {client, {0}};
    EXPECT(OK, anabranch_driver_listen(server));
    EXPECT(OK, anabranch_driver_address(server, 0, &asking.address));
    for (uint64_t turn = 0; turn < AGAIN; turn++) {
        anabranch_association *association;
        EXPECT(ERROR_TIMEOUT, anabranch_driver_connect(client, &asking.address, 5000, NULL,
                                                       turn * MILLISECONDS / 20, &association));
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, asks, &asking) != 0) {
        exit(1);
    }
    anabranch_status status;
    while ((status = read_next(server, UINT64_MAX)) == ANABRANCH_STATUS_ERROR_CLOSED) {
    }
    EXPECT(OK, status);
    pthread_join(thread, NULL);
    // The server gets the ABORT even if the program frees the client's driver at once.
    anabranch_association *association;
    EXPECT(ERROR_TIMEOUT, anabranch_driver_connect(client, &asking.address, 5000, NULL, 200 * MILLISECONDS,
                                                   &association));
    EXPECT(OK, anabranch_driver_free(client));
    while ((status = read_next(server, 200 * MILLISECONDS)) == ANABRANCH_STATUS_ERROR_CLOSED) {
    }
    EXPECT(ERROR_TIMEOUT, status);
    EXPECT(OK, anabranch_driver_free(server));
}

int main(void) {
    nobody_answers();
    nobody_decides();
    puts("nothing was left behind");
    return 0;
}
