// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/// An address for a path. One that is too long for it goes by way of its folder, which is opened for that.
struct unix_address {
  struct sockaddr_un address; ///< for bind and connect
  int folder;                 ///< open folder that the address leads through; -1: none
};

static int unix_address_create(struct unix_address *made, const char *path)
{
  *made = (struct unix_address){.address.sun_family = AF_UNIX, .folder = -1};
  if (strlen(path) < sizeof made->address.sun_path) {
    snprintf(made->address.sun_path, sizeof made->address.sun_path, "%s", path);
    return 0;
  }
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  char *folder = slash != NULL ? mem_strdup(path) : mem_strdup(".");
  if (slash != NULL) {
    folder[slash - path + 1] = '\0';
  }
  made->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int err = errno;
  mem_free(folder);
  if (made->folder < 0) {
    return error_set_errno(err, "cannot open the folder of %s", path);
  }
  int length =
      snprintf(made->address.sun_path, sizeof made->address.sun_path, "/proc/self/fd/%d/%s", made->folder, name);
  if (length >= (int)sizeof made->address.sun_path) {
    close(made->folder);
    return error_set(ERR_INVALID, "the name %s is too long for a socket", name);
  }
  return 0;
}

static void unix_address_destroy(struct unix_address *made)
{
  if (made->folder >= 0) {
    close(made->folder);
  }
}

/// Whether somebody listens at the address: a full queue is somebody too.
static bool unix_socket_is_alive(const struct sockaddr_un *address)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return true;
  }
  int result = connect(fd, (const struct sockaddr *)address, sizeof *address);
  int err = errno;
  close(fd);
  return result == 0 || (err != ECONNREFUSED && err != ENOENT);
}

/// Binds; a socket that nobody listens at makes way.
static int unix_socket_bind(int fd, const char *path, const struct sockaddr_un *address)
{
  if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
    return 0;
  }
  struct stat found;
  if (errno != EADDRINUSE || lstat(path, &found) != 0) {
    return error_set_errno(errno, "cannot make the socket %s", path);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return error_set(ERR_EXISTS, "%s is there and is no socket", path);
  }
  if (unix_socket_is_alive(address)) {
    return error_set(ERR_BUSY, "another process listens on %s", path);
  }
  if (unlink(path) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
    return error_set_errno(errno, "cannot replace the socket %s", path);
  }
  return 0;
}

/// The mode is set before there is a name, which somebody might put something else at.
static int unix_socket_open(int fd, const char *path, const struct sockaddr_un *address, int backlog, uint64_t *inode)
{
  if (fchmod(fd, S_IRUSR | S_IWUSR) != 0) {
    return error_set_errno(errno, "cannot set the mode of the socket %s", path);
  }
  TRY(unix_socket_bind(fd, path, address));
  struct stat made;
  if (lstat(path, &made) != 0 || listen(fd, backlog) != 0) {
    int err = errno;
    unlink(path);
    return error_set_errno(err, "cannot open the socket %s", path);
  }
  *inode = made.st_ino;
  return 0;
}

int unix_socket_listen(const char *path, int backlog, int *fd, uint64_t *inode)
{
  struct unix_address address;
  TRY(unix_address_create(&address, path));
  int result = 0;
  int opened = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (opened < 0) {
    result = error_set_errno(errno, "cannot make a socket");
  } else {
    result = unix_socket_open(opened, path, &address.address, backlog, inode);
  }
  unix_address_destroy(&address);
  if (result < 0) {
    if (opened >= 0) {
      close(opened);
    }
    return result;
  }
  *fd = opened;
  return 0;
}

void unix_socket_remove(const char *path, uint64_t inode)
{
  struct stat found;
  if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode) && found.st_ino == inode) {
    unlink(path);
  }
}

int unix_socket_accept(int fd, int *client)
{
  int accepted;
  do {
    accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (accepted < 0) {
    return errno == EAGAIN ? ERR_AGAIN : error_set_errno(errno, "cannot accept a connection");
  }
  *client = accepted;
  return 0;
}

int unix_socket_pair(int fds[2])
{
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
    return error_set_errno(errno, "cannot make a pair of sockets");
  }
  return 0;
}
