/* The calls of usrsctp on the sockets of the Linux kernel, so that one driver serves both: the two interfaces are those of RFC 6458,
 * but for the names. */
#ifndef KERNEL_H
#define KERNEL_H

#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define STACK "linux"
#define INTERLEAVING_SUPPORTED SCTP_INTERLEAVING_SUPPORTED
/* Headers that it does not count in spp_pathmtu: none. */
#define PATHMTU_WITHOUT (-28)

/* As much as the device carries: then its probes (RFC 8899) look for what the path carries, if net.sctp.plpmtud_probe_interval is set. */
#define PMTUD(mtu) ((mtu) + 28 >= 1500 ? SPP_PMTUD_ENABLE : SPP_PMTUD_DISABLE)

/* Nothing but an ABORT of the peer comes with SCTP_COMM_LOST, and of that the kernel leaves the chunk header out. */
#define IS_ABORT(info) ((void)(info), 1)

struct socket; /* a descriptor in a pointer's clothes */

static inline int fd_of(struct socket *so)
{
	return (int)(intptr_t)so - 1;
}

static inline struct socket *socket_of(int fd)
{
	return fd < 0 ? NULL : (struct socket *)(intptr_t)(fd + 1);
}

static inline struct socket *usrsctp_socket(int domain, int type, int protocol, void *receive, void *send, uint32_t low, void *info)
{
	(void)receive, (void)send, (void)low, (void)info;
	return socket_of(socket(domain, type, protocol));
}

static inline int usrsctp_setsockopt(struct socket *so, int level, int option, const void *value, socklen_t len)
{
	return setsockopt(fd_of(so), level, option, value, len);
}

static inline int usrsctp_bind(struct socket *so, struct sockaddr *address, socklen_t len)
{
	return bind(fd_of(so), address, len);
}

static inline int usrsctp_listen(struct socket *so, int backlog)
{
	return listen(fd_of(so), backlog);
}

static inline struct socket *usrsctp_accept(struct socket *so, struct sockaddr *address, socklen_t *len)
{
	return socket_of(accept(fd_of(so), address, len));
}

static inline int usrsctp_connect(struct socket *so, struct sockaddr *address, socklen_t len)
{
	return connect(fd_of(so), address, len);
}

static inline int usrsctp_shutdown(struct socket *so, int how)
{
	return shutdown(fd_of(so), how);
}

static inline void usrsctp_close(struct socket *so)
{
	close(fd_of(so));
}

static inline ssize_t usrsctp_sendv(struct socket *so, const void *data, size_t len, struct sockaddr *to, int count, void *info,
				    socklen_t infolen, unsigned int infotype, int flags)
{
	struct iovec vector = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	return sctp_sendv(fd_of(so), &vector, 1, to, count, info, infolen, infotype, flags);
}

static inline ssize_t usrsctp_recvv(struct socket *so, void *data, size_t len, struct sockaddr *from, socklen_t *fromlen, void *info,
				    socklen_t *infolen, unsigned int *infotype, int *flags)
{
	struct iovec vector = {.iov_base = data, .iov_len = len};
	(void)fromlen;
	return sctp_recvv(fd_of(so), &vector, 1, from, NULL, info, infolen, infotype, flags);
}

/* The UDP port is the kernel's (net.sctp.udp_port): whoever starts the driver sets it. */
static inline void usrsctp_init(uint16_t port, void *send, void *debug)
{
	(void)port, (void)send, (void)debug;
}

static inline void usrsctp_sysctl_set_sctp_ecn_enable(uint32_t on)
{
	(void)on;
}

static inline void usrsctp_sysctl_set_sctp_no_csum_on_loopback(uint32_t on)
{
	(void)on;
}

#endif
