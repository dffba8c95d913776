// SPDX-License-Identifier: Apache-2.0
//
// What a connection does with its socket, as a small table, so that encryption can take the place of plain TCP. Calls
// never block. Only on the worker's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct transport;

/// Each returns 0 or an ERR_*: ERR_AGAIN when the socket has to become ready first, ERR_CLOSED when the peer is gone.
struct transport_ops {
  /// Reads up to `size` bytes; `got` is 0 at the end of the peer's data.
  int (*receive)(struct transport *transport, void *bytes, size_t size, size_t *got);
  /// Sends from `parts`; `has_more` says that more follows at once.
  int (*send)(struct transport *transport, const struct iovec *parts, int count, bool has_more, size_t *sent);
  /// Sends from a file; `sent` is 0 when the file ends before `pos`.
  int (*send_file)(struct transport *transport, int fd, int64_t pos, size_t size, size_t *sent);
};

/// Embedded in a connection.
struct transport {
  const struct transport_ops *ops; ///< how
  int fd;                          ///< the socket
};

/// Plain TCP.
extern const struct transport_ops transport_tcp;
