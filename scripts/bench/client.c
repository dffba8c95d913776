// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/apis.h"
#include "wire/header.h"
#include "wire/reader.h"
#include "wire/writer.h"

static bool is_loopback(const struct sockaddr *address)
{
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *in = (const void *)address;
    return ntohl(in->sin_addr.s_addr) >> 24 == 127;
  }
  const struct sockaddr_in6 *in6 = (const void *)address;
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

int client_resolve(const char *host, const char *port, bool allow_remote, struct client_address *address)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  int failed = getaddrinfo(host, port, &hints, &found);
  if (failed != 0) {
    return error_set(ERR_NOT_FOUND, "%s:%s: %s", host, port, gai_strerror(failed));
  }
  int result = 0;
  if (!allow_remote && !is_loopback(found->ai_addr)) {
    result =
        error_set(ERR_PERMISSION, "%s:%s is not on this machine; --allow-remote says that this is meant", host, port);
  } else {
    memcpy(&address->bytes, found->ai_addr, found->ai_addrlen);
    address->size = found->ai_addrlen;
  }
  freeaddrinfo(found);
  return result;
}

int client_connect(const struct client_address *address, int *fd)
{
  int opened = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (opened < 0) {
    return error_set_errno(errno, "socket failed");
  }
  if (connect(opened, (const struct sockaddr *)&address->bytes, address->size) != 0) {
    int err = errno;
    close(opened);
    return error_set_errno(err, "cannot connect");
  }
  int on = 1;
  setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct timeval timeout = {.tv_sec = CLIENT_TIMEOUT_S};
  setsockopt(opened, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  *fd = opened;
  return 0;
}

static int send_all(int fd, const uint8_t *bytes, size_t size)
{
  while (size > 0) {
    ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return error_set_errno(errno, "send failed");
    }
    bytes += n;
    size -= (size_t)n;
  }
  return 0;
}

static int receive_all(int fd, uint8_t *bytes, size_t size)
{
  while (size > 0) {
    ssize_t n = recv(fd, bytes, size, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n == 0) {
      return error_set(ERR_CLOSED, "the broker closed the connection");
    }
    if (n < 0) {
      return errno == EAGAIN ? error_set(ERR_TIMEOUT, "no answer within %d s", CLIENT_TIMEOUT_S)
                             : error_set_errno(errno, "recv failed");
    }
    bytes += n;
    size -= (size_t)n;
  }
  return 0;
}

int client_call(int fd, int16_t key, int16_t version, const void *request, void *response, struct arena *arena)
{
  const struct wire_api *api = wire_api_find(key);
  struct wire_writer writer = {0};
  struct wire_request_header header;
  wire_request_header_init(&header);
  header.request_api_key = key;
  header.request_api_version = version;
  header.client_id = wire_string_from("load");
  wire_writer_i32(&writer, 0);
  int result = wire_request_header_write(&header, &writer, wire_request_header_version(key, version));
  if (result == 0) {
    result = api->request->write(request, &writer, version);
  }
  if (result == 0) {
    wire_writer_patch_i32(&writer, 0, (int32_t)writer.size - 4);
    result = send_all(fd, writer.data, writer.size);
  }
  wire_writer_destroy(&writer);
  TRY(result);
  uint8_t prefix[4];
  TRY(receive_all(fd, prefix, sizeof prefix));
  uint32_t size = bytes_get_u32(prefix);
  if (size < 4 || size > CLIENT_FRAME_BYTES_MAX) {
    return error_set(ERR_MALFORMED, "the broker announces an answer of %u bytes", size);
  }
  uint8_t *frame = arena_alloc(arena, size);
  TRY(receive_all(fd, frame, size));
  struct wire_reader reader;
  struct wire_response_header answer;
  wire_reader_init(&reader, frame, size);
  TRY(wire_response_header_read(&answer, &reader, wire_response_header_version(key, version), arena));
  return api->response->read(response, &reader, version, arena);
}
