// SPDX-License-Identifier: Apache-2.0
//
// TCP sockets that never block. ERR_AGAIN is an ordinary answer and is not recorded as an error; the peer's reset or
// end is ERR_CLOSED. Any thread, one at a time per socket.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;

enum { SOCKET_PEER_SIZE = 64 }; ///< "[address]:port" with its NUL

/// Binds a stream socket; may wait for name resolution. "" is all interfaces, IPv6 and IPv4 where the machine has both.
/// Of a name's addresses the first IPv4 one is taken, or the first there is.
///
/// @param port            0: the kernel chooses
/// @param[out] fd         owned: close(2)
/// @param[out] real_port  the port bound
/// @return 0, ERR_BUSY (in use), ERR_PERMISSION, ERR_NOT_FOUND (unknown host, or no address of this machine) ...
int socket_bind(const char *host, uint16_t port, int *fd, uint16_t *real_port);

/// @return 0, ERR_BUSY when another process listens there since the bind
int socket_listen(int fd, int backlog);

/// Takes a waiting connection (close-on-exec, non-blocking).
///
/// @param[out] client  owned: close(2)
/// @param[out] peer    the client's address as text; IPv4 without an IPv6 prefix
/// @return 0, ERR_AGAIN, ERR_NO_FILES, ERR_NOMEM (these two: try later), ERR_CLOSED (that one is gone: try the next),
/// ERR_IO
int socket_accept(int fd, int *client, char peer[SOCKET_PEER_SIZE]);

/// Small packets at once, keep-alive probes, buffer sizes (0: the kernel's choice). Failures do not matter.
void socket_tune(int fd, int send_buffer_bytes, int receive_buffer_bytes);

/// Reads up to `size` bytes; `got` is 0 at the end of the peer's data.
/// @return 0, ERR_AGAIN, ERR_CLOSED, ERR_TIMEOUT, ERR_IO
int socket_receive(int fd, void *bytes, size_t size, size_t *got);

/// Sends from `count` parts with one sendmsg(2), no signal when the peer is gone.
///
/// @param has_more  more follows at once: the kernel may wait for it to fill a packet
/// @return 0, ERR_AGAIN, ERR_CLOSED, ERR_TIMEOUT, ERR_IO
int socket_send(int fd, const struct iovec *parts, int count, bool has_more, size_t *sent);

/// Throws away what has arrived (up to 256 KiB), so that closing ends the connection properly instead of resetting it.
void socket_discard(int fd);

/// True when the text is a numeric address that stands for all interfaces (0.0.0.0, ::, ::ffff:0.0.0.0 ...), or "".
bool socket_is_wildcard(const char *host);

/// The address of a host, as socket_accept() gives it but without the port: "10.0.0.1", "[::1]". May wait for name
/// resolution; of a name's addresses the first IPv4 one, or the first there is.
/// @return 0, ERR_NOT_FOUND
int socket_find_address(const char *host, char text[SOCKET_PEER_SIZE]);

/// The canonical name of this machine; "localhost" when its host name does not resolve. May wait for resolution.
void socket_host_name(char *name, size_t size);
