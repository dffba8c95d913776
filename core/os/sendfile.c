// SPDX-License-Identifier: Apache-2.0
#include "os/sendfile.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/types.h>

#include "base/error.h"

int sendfile_to_socket(int socket_fd, int file_fd, int64_t pos, size_t size, size_t *sent)
{
  off_t offset = pos;
  ssize_t n;
  do {
    n = sendfile(socket_fd, file_fd, &offset, size);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    switch (errno) {
      case EAGAIN:
        return ERR_AGAIN;
      case EPIPE:
      case ECONNRESET:
      case ENOTCONN:
        return ERR_CLOSED;
      case ETIMEDOUT:
        return ERR_TIMEOUT;
      default:
        return error_set_errno(errno, "sendfile failed");
    }
  }
  *sent = (size_t)n;
  return 0;
}
