// SPDX-License-Identifier: Apache-2.0
//
// Unix stream sockets that never block. What is sent and received on them: os/socket.h.
#pragma once

#include <stdint.h>

/// Makes a listening socket at a path, which only its owner can connect to: the mode is 0600 before anybody can. What a
/// process left there that is gone is replaced. Any length of path that the file system takes is fine, as long as its
/// last part is not longer than about 80 bytes.
///
/// @param[out] fd     owned: close(2)
/// @param[out] inode  number of the file, for unix_socket_remove()
/// @return 0; ERR_BUSY: somebody listens there; ERR_EXISTS: a file that is no socket; ERR_NOT_FOUND (no such folder),
/// ERR_PERMISSION, ERR_NO_SPACE, ERR_READ_ONLY, ERR_INVALID (last part of the path too long) ...
int unix_socket_listen(const char *path, int backlog, int *fd, uint64_t *inode);

/// Removes the file, if it is still the same.
void unix_socket_remove(const char *path, uint64_t inode);

/// Takes a waiting connection (close-on-exec, non-blocking).
///
/// @param[out] client  owned: close(2)
/// @return 0, ERR_AGAIN, ERR_NO_FILES, ERR_NOMEM, ERR_IO
int unix_socket_accept(int fd, int *client);

/// Two ends of a connection (close-on-exec, non-blocking).
///
/// @param[out] fds  owned: close(2)
/// @return 0, ERR_NO_FILES ...
int unix_socket_pair(int fds[2]);
