// SPDX-License-Identifier: Apache-2.0
#include "network/transport.h"

#include "os/sendfile.h"
#include "os/socket.h"

static int tcp_receive(struct transport *transport, void *bytes, size_t size, size_t *got)
{
  return socket_receive(transport->fd, bytes, size, got);
}

static int tcp_send(struct transport *transport, const struct iovec *parts, int count, bool has_more, size_t *sent)
{
  return socket_send(transport->fd, parts, count, has_more, sent);
}

static int tcp_send_file(struct transport *transport, int fd, int64_t pos, size_t size, size_t *sent)
{
  return sendfile_to_socket(transport->fd, fd, pos, size, sent);
}

const struct transport_ops transport_tcp = {.receive = tcp_receive, .send = tcp_send, .send_file = tcp_send_file};
