/* The command line of ../README.md. */
#ifndef PLAN_H
#define PLAN_H

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan {
	int connects;
	struct sockaddr_in local, remote; /* UDP */
	unsigned long long send, expect, associations;
	int size, streams, pause, rtx, mtu, window;
	int until_up, unordered, reset, interleaving, zero_checksum, quiet;
	enum { END_WAIT, END_SHUTDOWN, END_ABORT } end;
	double deadline;
};

static struct sockaddr_in plan_address(const char *text)
{
	struct sockaddr_in address;
	char host[64];
	int port = 0;
	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	if (sscanf(text, "%63[^:]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &address.sin_addr) != 1) {
		fprintf(stderr, "%s: IP:PORT is expected\n", text);
		exit(2);
	}
	address.sin_port = htons((uint16_t)port);
	return address;
}

static struct plan plan_read(int argc, char **argv)
{
	struct plan plan;
	memset(&plan, 0, sizeof(plan));
	plan.associations = 1;
	plan.size = 1024;
	plan.streams = 1;
	plan.rtx = -1;
	plan.mtu = 1228;
	plan.deadline = 30;
	if (argc < 2 || (strcmp(argv[1], "listen") && strcmp(argv[1], "connect"))) {
		fprintf(stderr, "listen or connect is expected\n");
		exit(2);
	}
	plan.connects = !strcmp(argv[1], "connect");
	static const struct option options[] = {
		{"local", 1, 0, 'l'}, {"remote", 1, 0, 'r'}, {"case", 1, 0, 'c'}, {"send", 1, 0, 's'},
		{"expect", 1, 0, 'e'}, {"size", 1, 0, 'z'}, {"streams", 1, 0, 't'}, {"unordered", 0, 0, 'u'},
		{"rtx", 1, 0, 'x'}, {"reset", 0, 0, 'R'}, {"associations", 1, 0, 'a'}, {"end", 1, 0, 'E'},
		{"at-once", 0, 0, 'A'}, {"pause", 1, 0, 'p'}, {"deadline", 1, 0, 'd'}, {"mtu", 1, 0, 'm'},
		{"window", 1, 0, 'w'}, {"until-up", 0, 0, 'U'}, {"interleaving", 0, 0, 'i'}, {"zero-checksum", 0, 0, 'Z'},
		{"no-digest", 0, 0, 'q'}, {0, 0, 0, 0},
	};
	int option;
	optind = 2;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'l': plan.local = plan_address(optarg); break;
		case 'r': plan.remote = plan_address(optarg); break;
		case 's': plan.send = strtoull(optarg, NULL, 10); break;
		case 'e': plan.expect = strtoull(optarg, NULL, 10); break;
		case 'z': plan.size = atoi(optarg); break;
		case 't': plan.streams = atoi(optarg); break;
		case 'U': plan.until_up = 1; break;
		case 'u': plan.unordered = 1; break;
		case 'x': plan.rtx = atoi(optarg); break;
		case 'R': plan.reset = 1; break;
		case 'a': plan.associations = strtoull(optarg, NULL, 10); break;
		case 'E':
			plan.end = !strcmp(optarg, "shutdown") ? END_SHUTDOWN : !strcmp(optarg, "abort") ? END_ABORT : END_WAIT;
			break;
		case 'p': plan.pause = atoi(optarg); break;
		case 'd': plan.deadline = atof(optarg); break;
		case 'm': plan.mtu = atoi(optarg); break;
		case 'w': plan.window = atoi(optarg); break;
		case 'i': plan.interleaving = 1; break;
		case 'Z': plan.zero_checksum = 1; break;
		case 'q': plan.quiet = 1; break;
		case 'c':
		case 'A': break;
		default: exit(2);
		}
	}
	return plan;
}

/* Message number n: n in little-endian order, then a pattern. */
static void plan_message(const struct plan *plan, unsigned char *message, unsigned long long number)
{
	for (int at = 0; at < 8 && at < plan->size; at++)
		message[at] = plan->quiet ? (unsigned char)(at * 31 + 7) : (unsigned char)(number >> (8 * at));
}

#endif
