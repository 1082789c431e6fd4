/* Driver of usrsctp, FreeBSD's SCTP in user space, and with -DKERNEL of the Linux kernel's: the command line and the report are those of
 * ../README.md. One stack, one process, one encapsulation port. */
#include <errno.h>
#include <unistd.h>
#ifdef KERNEL
#include "kernel.h"
#else
#include <usrsctp.h>
#define STACK "usrsctp"
/* Its own header does not name the option (RFC 8260, 4.3.1); the stack has it. */
#define INTERLEAVING_SUPPORTED 0x00001206
/* Bytes of an SCTP packet that it does not count in spp_pathmtu. */
#define PATHMTU_WITHOUT 12
/* It looks for what a path carries only where ICMP tells it. */
#define PMTUD(mtu) ((void)(mtu), SPP_PMTUD_DISABLE)
/* Whether what comes with SCTP_COMM_LOST is an ABORT: the chunk. */
#define IS_ABORT(info) ((info)[0] == 6)
#endif

#include "plan.h"
#include "tally.h"

#define PORT 5000

static struct plan plan;
static struct report report = {.stack = STACK};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int finished;
/* Of the association at hand. */
static int over, reset_done, began_anew;
static uint64_t read_before;

static void touch(void)
{
	report.last = clock_ns();
}

static void set(struct socket *so, int level, int option, const void *value, socklen_t len, const char *what)
{
	if (usrsctp_setsockopt(so, level, option, value, len) < 0)
		report_note(&report, what, strerror(errno));
}

static void end(unsigned long long *how)
{
	if (!over) {
		over = 1;
		(*how)++;
	}
	touch();
	pthread_cond_broadcast(&changed);
}

static void changed_to(const struct sctp_assoc_change *change)
{
	switch (change->sac_state) {
	case SCTP_RESTART:
		report.restarts++;
		tally_clear(&report.received);
		tally_clear(&report.sent);
		began_anew = 1;
		read_before = 0;
		break;
	case SCTP_SHUTDOWN_COMP:
		end(&report.graceful);
		break;
	case SCTP_COMM_LOST:
		/* sac_info has the ABORT of the peer, if there was one (RFC 6458, 6.1.1). */
		if (change->sac_length > sizeof(*change) && IS_ABORT(change->sac_info))
			end(&report.aborted);
		else
			end(&report.lost);
		break;
	case SCTP_CANT_STR_ASSOC:
		report_note(&report, "association", "could not be started");
		end(&report.lost);
		break;
	default:
		break;
	}
}

static void notified(const union sctp_notification *told)
{
	pthread_mutex_lock(&lock);
	switch (told->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		changed_to(&told->sn_assoc_change);
		break;
	case SCTP_STREAM_RESET_EVENT: {
		uint16_t flags = told->sn_strreset_event.strreset_flags;
		if (flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED))
			report_note(&report, "reset", "denied or failed");
		else
			report.resets++;
		if (flags & SCTP_STREAM_RESET_OUTGOING_SSN)
			reset_done = 1;
		pthread_cond_broadcast(&changed);
		break;
	}
	default:
		break;
	}
	pthread_mutex_unlock(&lock);
}

static void *read_all(void *argument)
{
	struct socket *so = argument;
	size_t room = 1 << 20;
	char *buffer = malloc(room);
	ssize_t len = 0;
	usleep((useconds_t)plan.pause * 1000);
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t infolen = sizeof(info), fromlen = 0;
		unsigned int infotype = 0;
		int flags = 0;
		memset(&info, 0, sizeof(info));
		len = usrsctp_recvv(so, buffer, room, NULL, &fromlen, &info, &infolen, &infotype, &flags);
		if (len < 0 && (errno == EINTR || errno == EAGAIN) && !over)
			continue;
		if (len <= 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			notified((const union sctp_notification *)buffer);
			continue;
		}
		tally_part(&report.received, info.rcv_sid, buffer, (size_t)len, flags & MSG_EOR);
		touch();
		if (plan.expect) {
			pthread_mutex_lock(&lock);
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&lock);
		}
	}
	int error = errno;
	free(buffer);
	pthread_mutex_lock(&lock);
	/* The kernel says by the end of what can be read that the peer has shut down. */
	if (!over)
		end(len == 0 ? &report.graceful : error == ECONNRESET ? &report.aborted : &report.lost);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static struct socket *open_socket(void)
{
	struct socket *so = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!so) {
		perror("usrsctp_socket");
		exit(2);
	}
	int on = 1, size = plan.window ? plan.window : 1 << 20, interleave = 2;
	set(so, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size), "SO_RCVBUF");
	size = 1 << 20;
	set(so, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size), "SO_SNDBUF");
	set(so, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on), "SCTP_NODELAY");
	set(so, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof(on), "SCTP_RECVRCVINFO");
	set(so, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, &interleave, sizeof(interleave), "SCTP_FRAGMENT_INTERLEAVE");
	struct sctp_initmsg init = {.sinit_num_ostreams = (uint16_t)plan.streams, .sinit_max_instreams = 2048};
	set(so, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof(init), "SCTP_INITMSG");
	struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 7};
	set(so, IPPROTO_SCTP, SCTP_ENABLE_STREAM_RESET, &value, sizeof(value), "SCTP_ENABLE_STREAM_RESET");
	if (plan.interleaving) {
		value.assoc_value = 1;
		if (usrsctp_setsockopt(so, IPPROTO_SCTP, INTERLEAVING_SUPPORTED, &value, sizeof(value)) < 0) {
			report_cannot(report.stack, "this release does not let I-DATA be switched on");
			exit(0);
		}
	}
	struct sctp_udpencaps encaps;
	memset(&encaps, 0, sizeof(encaps));
	encaps.sue_address.ss_family = AF_INET;
	encaps.sue_port = plan.remote.sin_port;
	set(so, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps), "SCTP_REMOTE_UDP_ENCAPS_PORT");
	struct sctp_paddrparams path;
	memset(&path, 0, sizeof(path));
	path.spp_address.ss_family = AF_INET;
	path.spp_flags = PMTUD(plan.mtu);
	path.spp_pathmtu = (uint32_t)(plan.mtu - PATHMTU_WITHOUT);
	set(so, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path), "SCTP_PEER_ADDR_PARAMS");
	static const uint16_t events[] = {SCTP_ASSOC_CHANGE, SCTP_STREAM_RESET_EVENT};
	for (size_t at = 0; at < sizeof(events) / sizeof(events[0]); at++) {
		struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = events[at], .se_on = 1};
		set(so, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof(event), "SCTP_EVENT");
	}
	struct sockaddr_in local = plan.local;
	/* The other end of an association may still be there: the side that connects takes any port. */
	local.sin_port = plan.connects && plan.associations > 1 ? 0 : htons(PORT);
	if (usrsctp_bind(so, (struct sockaddr *)&local, sizeof(local)) < 0) {
		perror("usrsctp_bind");
		exit(2);
	}
	return so;
}

static void wait_reset(struct socket *so)
{
	size_t len = sizeof(struct sctp_reset_streams) + (size_t)plan.streams * sizeof(uint16_t);
	struct sctp_reset_streams *request = calloc(1, len);
	request->srs_flags = SCTP_STREAM_RESET_OUTGOING;
	request->srs_number_streams = (uint16_t)plan.streams;
	for (int at = 0; at < plan.streams; at++)
		request->srs_stream_list[at] = (uint16_t)at;
	/* It refuses while messages are queued. */
	int refused = 1;
	for (int tries = 0; refused && tries < 2000; tries++) {
		refused = usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_RESET_STREAMS, request, (socklen_t)len) < 0;
		if (refused)
			usleep(1000);
	}
	free(request);
	if (refused)
		report_note(&report, "SCTP_RESET_STREAMS", strerror(errno));
	pthread_mutex_lock(&lock);
	while (!reset_done && !over)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void write_all(struct socket *so)
{
	unsigned char *message = malloc((size_t)plan.size);
	for (int at = 0; at < plan.size; at++)
		message[at] = (unsigned char)(at * 31 + 7);
	for (unsigned long long number = 0; number < plan.send && !over; number++) {
		if (plan.reset && number == plan.send / 2)
			wait_reset(so);
		struct sctp_sendv_spa spa;
		memset(&spa, 0, sizeof(spa));
		spa.sendv_flags = SCTP_SEND_SNDINFO_VALID;
		spa.sendv_sndinfo.snd_sid = (uint16_t)(number % (unsigned long long)plan.streams);
		spa.sendv_sndinfo.snd_flags = plan.unordered ? SCTP_UNORDERED : 0;
		if (plan.rtx >= 0) {
			spa.sendv_flags |= SCTP_SEND_PRINFO_VALID;
			spa.sendv_prinfo.pr_policy = SCTP_PR_SCTP_RTX;
			spa.sendv_prinfo.pr_value = (uint32_t)plan.rtx;
		}
		plan_message(&plan, message, number);
		if (usrsctp_sendv(so, message, (size_t)plan.size, NULL, 0, &spa, sizeof(spa), SCTP_SENDV_SPA, 0) < 0) {
			report_note(&report, "send", strerror(errno));
			break;
		}
		tally_part(&report.sent, spa.sendv_sndinfo.snd_sid, message, (size_t)plan.size, 1);
		touch();
	}
	free(message);
}

static void *close_socket(void *argument)
{
	usrsctp_close(argument);
	return NULL;
}

/* Whether it has closed the socket. */
static int finish_association(struct socket *so)
{
	pthread_mutex_lock(&lock);
	while (!over && tally_messages(&report.received) - read_before < plan.expect)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (plan.end == END_SHUTDOWN) {
		if (usrsctp_shutdown(so, SHUT_WR) < 0)
			report_note(&report, "shutdown", strerror(errno));
	} else if (plan.end == END_ABORT) {
		/* Closing without lingering aborts (RFC 6458, 8.1.4). */
		struct linger none = {.l_onoff = 1, .l_linger = 0};
		set(so, SOL_SOCKET, SO_LINGER, &none, sizeof(none), "SO_LINGER");
		pthread_mutex_lock(&lock);
		end(&report.lost);
		pthread_mutex_unlock(&lock);
		/* The reader may hold it up for ever. */
		pthread_t closer;
		pthread_create(&closer, NULL, close_socket, so);
		usleep(200000);
		return 1;
	}
	pthread_mutex_lock(&lock);
	while (!over)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void one(struct socket *so)
{
	pthread_t reader;
	uint64_t now = clock_ns();
	over = reset_done = began_anew = 0;
	read_before = tally_messages(&report.received);
	report.established++;
	report.last = now;
	if (!report.first_up)
		report.first_up = now;
	if (plan.until_up)
		return;
#ifdef KERNEL
	/* While somebody reads, close() does nothing: the reader looks up now and then. */
	struct timeval moment = {.tv_usec = 50000};
	set(so, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment), "SO_RCVTIMEO");
#endif
	pthread_create(&reader, NULL, read_all, so);
	write_all(so);
	if (finish_association(so)) {
		/* The reader waits for a socket that is gone: only the end of the program wakes it. */
		pthread_detach(reader);
		return;
	}
	/* It ends by itself once the association has. */
	pthread_join(reader, NULL);
	usrsctp_close(so);
}

/* Accepted, and not played yet. An association of Linux that ends before it is accepted keeps its addresses and ports until it is: the
 * COOKIE ECHO of the next one from the same ports is thrown away. So associations are accepted at once, whatever else there is to do. */
static struct socket *waiting[512];
static size_t accepted, played;

static void *accept_all(void *argument)
{
	/* Before any other thread; if it may not, it does its best. */
	struct sched_param first = {.sched_priority = 1};
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	for (;;) {
		struct socket *so = usrsctp_accept(argument, NULL, NULL);
		pthread_mutex_lock(&lock);
		while (accepted - played == sizeof(waiting) / sizeof(waiting[0]))
			pthread_cond_wait(&changed, &lock);
		waiting[accepted++ % (sizeof(waiting) / sizeof(waiting[0]))] = so;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		if (!so)
			return NULL;
	}
}

static struct socket *next_accepted(void)
{
	pthread_mutex_lock(&lock);
	while (accepted == played)
		pthread_cond_wait(&changed, &lock);
	struct socket *so = waiting[played++ % (sizeof(waiting) / sizeof(waiting[0]))];
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return so;
}

static void *watch(void *argument)
{
	(void)argument;
	usleep((useconds_t)(plan.deadline * 1e6));
	pthread_mutex_lock(&lock);
	if (!finished)
		report_print(&report, 1);
	_exit(0);
}

int main(int argc, char **argv)
{
	plan = plan_read(argc, argv);
	crc_init();
	pthread_mutex_init(&report.sent.lock, NULL);
	pthread_mutex_init(&report.received.lock, NULL);
	report.sent.quiet = report.received.quiet = plan.quiet;
	usrsctp_init(ntohs(plan.local.sin_port), NULL, NULL);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	/* Otherwise it neither computes nor looks at checksums here. */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	report.cpu_at_start = cpu_ns(NULL);
	struct socket *listener = NULL;
	if (!plan.connects) {
		listener = open_socket();
		/* Beyond that associations of a peer that is faster than this program are refused. */
		if (usrsctp_listen(listener, 4096) < 0) {
			perror("usrsctp_listen");
			return 2;
		}
	}
	printf("{\"ready\":true}\n");
	fflush(stdout);
	pthread_t watcher;
	pthread_create(&watcher, NULL, watch, NULL);
	if (listener) {
		pthread_t acceptor;
		pthread_create(&acceptor, NULL, accept_all, listener);
	}
	for (unsigned long long ended = 0; ended < plan.associations; ended++) {
		struct socket *so = NULL;
		if (plan.connects) {
			so = open_socket();
			struct sockaddr_in remote = plan.remote;
			remote.sin_port = htons(PORT);
			if (usrsctp_connect(so, (struct sockaddr *)&remote, sizeof(remote)) < 0) {
				report_note(&report, "connect", strerror(errno));
				report.lost++;
				usrsctp_close(so);
				continue;
			}
		} else {
			so = next_accepted();
			if (!so) {
				report_note(&report, "accept", strerror(errno));
				break;
			}
		}
		one(so);
	}
	pthread_mutex_lock(&lock);
	finished = 1;
	report_print(&report, 0);
	pthread_mutex_unlock(&lock);
	/* The last packets of the peer are still answered while somebody waits for this program. */
	char said[64];
	while (read(0, said, sizeof(said)) > 0)
		;
	_exit(0);
}
