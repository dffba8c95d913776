// SPDX-License-Identifier: Apache-2.0
//
// Bytes from a file to a socket without passing through the process. Any thread that owns the socket; SIGPIPE has to be
// blocked or ignored there (os/thread.h does). What is not in the page cache is waited for: probe first.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Sends up to `size` bytes of `file_fd` from `pos`.
///
/// @param[out] sent  0 when the file ends at or before `pos`
/// @return 0, ERR_AGAIN, ERR_CLOSED, ERR_TIMEOUT, ERR_IO
int sendfile_to_socket(int socket_fd, int file_fd, int64_t pos, size_t size, size_t *sent);
