// SPDX-License-Identifier: Apache-2.0
#include "os/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/clock.h"

enum { STREAM_READ_BYTES = 16 * 1024 };

/// Bytes so far.
struct stream_buffer {
  char *bytes; ///< owned
  size_t size; ///< in use
};

/// Waits until there is something to read, or the end.
static int stream_wait(int fd, const char *path, int silence_ms, int64_t deadline_ms)
{
  struct pollfd wanted = {.fd = fd, .events = POLLIN};
  for (;;) {
    int64_t rest_ms = deadline_ms - clock_mono_ms();
    int patience_ms = rest_ms < silence_ms ? (int)rest_ms : silence_ms;
    int ready = poll(&wanted, 1, patience_ms > 0 ? patience_ms : 0);
    if (ready > 0) {
      return 0;
    }
    if (ready == 0) {
      return error_set(ERR_TIMEOUT, "%s does not come to an end", path);
    }
    if (errno != EINTR) {
      return error_set_errno(errno, "cannot wait for %s", path);
    }
  }
}

static int stream_fill(int fd, const char *path, size_t limit, int silence_ms, int64_t deadline_ms,
                       struct stream_buffer *buffer)
{
  for (;;) {
    TRY(stream_wait(fd, path, silence_ms, deadline_ms));
    buffer->bytes = mem_realloc(buffer->bytes, buffer->size + STREAM_READ_BYTES + 1);
    ssize_t got = read(fd, buffer->bytes + buffer->size, STREAM_READ_BYTES);
    if (got == 0) {
      buffer->bytes[buffer->size] = '\0';
      return 0;
    }
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return error_set_errno(errno, "cannot read %s", path);
    }
    buffer->size += got > 0 ? (size_t)got : 0;
    if (buffer->size > limit) {
      return error_set(ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
    }
  }
}

int stream_read_all(const char *path, size_t limit, int silence_ms, int total_ms, char **text, size_t *size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    return error_set_errno(errno, "cannot open %s", path);
  }
  struct stream_buffer buffer = {.bytes = NULL};
  struct stat found;
  int result = 0;
  if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && (uint64_t)found.st_size > limit) {
    result = error_set(ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
  } else {
    result = stream_fill(fd, path, limit, silence_ms, clock_mono_ms() + total_ms, &buffer);
  }
  close(fd);
  if (result < 0) {
    mem_free(buffer.bytes);
    return result;
  }
  *text = buffer.bytes;
  *size = buffer.size;
  return 0;
}
