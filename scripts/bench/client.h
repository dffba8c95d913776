// SPDX-License-Identifier: Apache-2.0
//
// A blocking client of the measuring programs: one request, one answer. What they do before and after the clock runs;
// what is measured has event loops of its own (load_worker.c, groups_link.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"

enum {
  CLIENT_TIMEOUT_S = 15,                       ///< for one answer
  CLIENT_FRAME_BYTES_MAX = 1024 * 1024 * 1024, ///< longest answer that is taken
};

/// Where a broker listens.
struct client_address {
  struct sockaddr_storage bytes; ///< resolved
  socklen_t size;                ///< bytes of it
};

/// Looks up a host and a port.
///
/// @param allow_remote  false: an address that is not of this machine is refused
/// @return 0, ERR_NOT_FOUND, ERR_PERMISSION
int client_resolve(const char *host, const char *port, bool allow_remote, struct client_address *address);

/// Connects to a broker. The descriptor is owned: close(2).
int client_connect(const struct client_address *address, int *fd);

/// Sends a request of any kind and waits for its response; the structs are those of the generated codec.
///
/// @param arena  the response's strings, arrays and frame; borrowed until it is reset
int client_call(int fd, int16_t key, int16_t version, const void *request, void *response, struct arena *arena);
