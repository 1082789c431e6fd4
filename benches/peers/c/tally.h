/* What is common to the drivers in C: the command line and the report of ../README.md. */
#ifndef TALLY_H
#define TALLY_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct tally {
	pthread_mutex_t lock;
	uint64_t messages, bytes, sum;
	uint32_t streams[65536]; /* running CRC-32 of each stream */
	uint32_t current;        /* of the message that is not whole yet */
	int quiet;
};

static uint32_t crc_table[256];

static void crc_init(void)
{
	for (uint32_t n = 0; n < 256; n++) {
		uint32_t crc = n;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
		crc_table[n] = crc;
	}
}

/* The CRC-32 of zlib, going on from an earlier part. */
static uint32_t crc_update(uint32_t crc, const unsigned char *bytes, size_t len)
{
	crc = ~crc;
	for (size_t at = 0; at < len; at++)
		crc = crc_table[(crc ^ bytes[at]) & 0xff] ^ (crc >> 8);
	return ~crc;
}

static void tally_part(struct tally *tally, uint16_t stream, const void *bytes, size_t len, int whole)
{
	pthread_mutex_lock(&tally->lock);
	tally->bytes += len;
	if (!tally->quiet) {
		tally->streams[stream] = crc_update(tally->streams[stream], bytes, len);
		tally->current = crc_update(tally->current, bytes, len);
	}
	if (whole) {
		tally->messages++;
		tally->sum += tally->current;
		tally->current = 0;
	}
	pthread_mutex_unlock(&tally->lock);
}

static uint64_t tally_messages(struct tally *tally)
{
	pthread_mutex_lock(&tally->lock);
	uint64_t messages = tally->messages;
	pthread_mutex_unlock(&tally->lock);
	return messages;
}

static void tally_clear(struct tally *tally)
{
	pthread_mutex_lock(&tally->lock);
	tally->messages = tally->bytes = tally->sum = 0;
	tally->current = 0;
	memset(tally->streams, 0, sizeof(tally->streams));
	pthread_mutex_unlock(&tally->lock);
}

static void tally_print(struct tally *tally, const char *name)
{
	uint64_t digest = 0;
	pthread_mutex_lock(&tally->lock);
	for (uint32_t stream = 0; stream < 65536; stream++)
		digest += (2 * (uint64_t)stream + 1) * tally->streams[stream];
	printf("\"%s\":{\"messages\":%llu,\"bytes\":%llu,\"digest\":\"%016llx\",\"sum\":\"%016llx\"},", name,
	       (unsigned long long)tally->messages, (unsigned long long)tally->bytes, (unsigned long long)digest,
	       (unsigned long long)tally->sum);
	pthread_mutex_unlock(&tally->lock);
}

struct report {
	const char *stack;
	unsigned long long established, graceful, aborted, lost, restarts, resets;
	struct tally sent, received;
	uint64_t first_up, last, cpu_at_start;
	char notes[2048];
};

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(long *rss)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	if (rss)
		*rss = used.ru_maxrss;
	return ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000u;
}

static void report_note(struct report *report, const char *what, const char *why)
{
	size_t used = strlen(report->notes);
	if (used + strlen(what) + strlen(why) + 8 < sizeof(report->notes))
		sprintf(report->notes + used, "%s\"%s: %s\"", used ? "," : "", what, why);
}

static void report_cannot(const char *stack, const char *why)
{
	printf("{\"stack\":\"%s\",\"cannot\":\"%s\"}\n", stack, why);
	fflush(stdout);
}

static void report_print(struct report *report, int deadline)
{
	long rss = 0;
	uint64_t cpu = cpu_ns(&rss) - report->cpu_at_start;
	printf("{\"stack\":\"%s\",\"established\":%llu,\"graceful\":%llu,\"aborted\":%llu,\"lost\":%llu,\"restarts\":%llu,"
	       "\"resets\":%llu,\"deadline\":%s,",
	       report->stack, report->established, report->graceful, report->aborted, report->lost, report->restarts,
	       report->resets, deadline ? "true" : "false");
	tally_print(&report->sent, "sent");
	tally_print(&report->received, "received");
	printf("\"elapsed_ns\":%llu,\"cpu_ns\":%llu,\"max_rss_kib\":%ld,\"notes\":[%s]}\n",
	       (unsigned long long)(report->first_up ? report->last - report->first_up : 0), (unsigned long long)cpu, rss,
	       report->notes);
	fflush(stdout);
}

#endif
