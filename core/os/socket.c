// SPDX-License-Identifier: Apache-2.0
#include "os/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"

/// ERR_* of a failed transfer. What a peer can cause at will is not recorded: recording formats text.
static int socket_transfer_error(int err)
{
  switch (err) {
    case EAGAIN:
      return ERR_AGAIN;
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
    case ECONNABORTED:
      return ERR_CLOSED;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return ERR_TIMEOUT;
    default:
      return error_set_errno(err, "socket transfer failed");
  }
}

/// The address to bind for a host name; of several the first IPv4 one, or the first.
static int socket_resolve(const char *host, uint16_t port, struct sockaddr_storage *address, socklen_t *size)
{
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  int failed = getaddrinfo(host, service, &hints, &found);
  if (failed != 0 || found == NULL) {
    return error_set(ERR_NOT_FOUND, "host %s is unknown: %s", host, gai_strerror(failed));
  }
  const struct addrinfo *chosen = found;
  for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
    if (each->ai_family == AF_INET) {
      chosen = each;
      break;
    }
  }
  memcpy(address, chosen->ai_addr, chosen->ai_addrlen);
  *size = chosen->ai_addrlen;
  freeaddrinfo(found);
  return 0;
}

/// Opens and binds a socket; returns 0 or an errno.
static int socket_bind_to(const struct sockaddr_storage *address, socklen_t size, int *fd)
{
  int opened = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (opened < 0) {
    return errno;
  }
  int on = 1;
  int off = 0;
  setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->ss_family == AF_INET6) {
    setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(opened, (const struct sockaddr *)address, size) != 0) {
    int err = errno;
    close(opened);
    return err;
  }
  *fd = opened;
  return 0;
}

/// Binds to all interfaces: a socket for both families, or for IPv4 where there is no IPv6; returns 0 or an errno.
static int socket_bind_all(uint16_t port, int *fd)
{
  struct sockaddr_storage address = {0};
  struct sockaddr_in6 *both = (struct sockaddr_in6 *)&address;
  both->sin6_family = AF_INET6;
  both->sin6_port = htons(port);
  both->sin6_addr = in6addr_any;
  int err = socket_bind_to(&address, sizeof *both, fd);
  if (err == EAFNOSUPPORT || err == EADDRNOTAVAIL) {
    memset(&address, 0, sizeof address);
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    four->sin_addr.s_addr = htonl(INADDR_ANY);
    err = socket_bind_to(&address, sizeof *four, fd);
  }
  return err;
}

int socket_bind(const char *host, uint16_t port, int *fd, uint16_t *real_port)
{
  const char *shown = host[0] == '\0' ? "all interfaces" : host;
  int opened = -1;
  int err;
  if (host[0] == '\0') {
    err = socket_bind_all(port, &opened);
  } else {
    struct sockaddr_storage address = {0};
    socklen_t size = 0;
    TRY(socket_resolve(host, port, &address, &size));
    err = socket_bind_to(&address, size, &opened);
  }
  if (err == EADDRNOTAVAIL) {
    return error_set(ERR_NOT_FOUND, "%s is no address of this machine", host);
  }
  if (err == EADDRINUSE) {
    return error_set(ERR_BUSY, "port %u of %s is in use", port, shown);
  }
  if (err != 0) {
    return error_set_errno(err, "cannot listen on port %u of %s", port, shown);
  }
  struct sockaddr_storage bound = {0};
  socklen_t size = sizeof bound;
  if (getsockname(opened, (struct sockaddr *)&bound, &size) != 0) {
    err = errno;
    close(opened);
    return error_set_errno(err, "getsockname failed");
  }
  // The analyzer does not follow the cast. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  *real_port = ntohs(bound.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&bound)->sin6_port
                                                 : ((const struct sockaddr_in *)&bound)->sin_port);
  *fd = opened;
  return 0;
}

int socket_listen(int fd, int backlog)
{
  if (listen(fd, backlog) != 0) {
    return error_set_errno(errno, "cannot listen");
  }
  return 0;
}

static void socket_format(const struct sockaddr_storage *address, char text[SOCKET_PEER_SIZE])
{
  char host[INET6_ADDRSTRLEN] = "?";
  if (address->ss_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
    snprintf(text, SOCKET_PEER_SIZE, "%s:%u", host, ntohs(four->sin_port));
    return;
  }
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
  // The analyzer does not follow the cast. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
  if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
    inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], host, sizeof host);
    snprintf(text, SOCKET_PEER_SIZE, "%s:%u", host, ntohs(six->sin6_port));
  } else {
    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
    snprintf(text, SOCKET_PEER_SIZE, "[%s]:%u", host, ntohs(six->sin6_port));
  }
}

int socket_find_address(const char *host, char text[SOCKET_PEER_SIZE])
{
  struct sockaddr_storage address = {0};
  socklen_t size = 0;
  TRY(socket_resolve(host, 0, &address, &size));
  socket_format(&address, text);
  *strrchr(text, ':') = '\0';
  return 0;
}

int socket_accept(int fd, int *client, char peer[SOCKET_PEER_SIZE])
{
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  int accepted;
  do {
    accepted = accept4(fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (accepted < 0 && errno == EINTR);
  if (accepted < 0) {
    switch (errno) {
      case EAGAIN:
        return ERR_AGAIN;
      case EMFILE:
      case ENFILE:
        return error_set_errno(errno, "cannot accept a connection");
      case ENOMEM:
      case ENOBUFS:
        return error_set_errno(ENOMEM, "cannot accept a connection");
      case ECONNABORTED:
      case EPROTO:
      case EPERM:
      case ENETDOWN:
      case ENOPROTOOPT:
      case EHOSTDOWN:
      case ENONET:
      case EHOSTUNREACH:
      case EOPNOTSUPP:
      case ENETUNREACH:
        return ERR_CLOSED;
      default:
        return error_set_errno(errno, "cannot accept a connection");
    }
  }
  socket_format(&address, peer);
  *client = accepted;
  return 0;
}

void socket_tune(int fd, int send_buffer_bytes, int receive_buffer_bytes)
{
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (send_buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
  }
  if (receive_buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
}

int socket_receive(int fd, void *bytes, size_t size, size_t *got)
{
  ssize_t n;
  do {
    n = recv(fd, bytes, size, 0);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    return socket_transfer_error(errno);
  }
  *got = (size_t)n;
  return 0;
}

int socket_send(int fd, const struct iovec *parts, int count, bool has_more, size_t *sent)
{
  struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
  int flags = MSG_NOSIGNAL | (has_more ? MSG_MORE : 0);
  ssize_t n;
  do {
    // One piece, the usual case of a small answer, spares the kernel copying a header and a vector.
    n = count == 1 ? send(fd, parts[0].iov_base, parts[0].iov_len, flags) : sendmsg(fd, &message, flags);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    return socket_transfer_error(errno);
  }
  *sent = (size_t)n;
  return 0;
}

void socket_discard(int fd)
{
  enum { DISCARD_LIMIT_BYTES = 256 * 1024 };
  char unused[16 * 1024];
  ssize_t n = 1;
  for (size_t total = 0; n > 0 && total < DISCARD_LIMIT_BYTES; total += sizeof unused) {
    n = recv(fd, unused, sizeof unused, MSG_DONTWAIT);
  }
}

bool socket_is_wildcard(const char *host)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
  struct addrinfo *found = NULL;
  if (host[0] == '\0') {
    return true;
  }
  if (getaddrinfo(host, NULL, &hints, &found) != 0) {
    return false;
  }
  bool is_wildcard = false;
  if (found->ai_family == AF_INET) {
    is_wildcard = ((const struct sockaddr_in *)found->ai_addr)->sin_addr.s_addr == htonl(INADDR_ANY);
  } else if (found->ai_family == AF_INET6) {
    static const unsigned char mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
    const struct in6_addr *address = &((const struct sockaddr_in6 *)found->ai_addr)->sin6_addr;
    is_wildcard = IN6_IS_ADDR_UNSPECIFIED(address) || memcmp(address, mapped, sizeof mapped) == 0;
  }
  freeaddrinfo(found);
  return is_wildcard;
}

void socket_host_name(char *name, size_t size)
{
  char own[HOST_NAME_MAX + 1] = "";
  snprintf(name, size, "localhost");
  if (gethostname(own, sizeof own) != 0 || own[0] == '\0') {
    return;
  }
  own[sizeof own - 1] = '\0';
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
  struct addrinfo *found = NULL;
  if (getaddrinfo(own, NULL, &hints, &found) != 0) {
    return;
  }
  const char *canonical = found->ai_canonname != NULL && found->ai_canonname[0] != '\0' ? found->ai_canonname : own;
  if (strlen(canonical) < size) {
    snprintf(name, size, "%s", canonical);
  }
  freeaddrinfo(found);
}
