// SPDX-License-Identifier: Apache-2.0
//
// What this machine can do at all: the least that any broker must do with the bytes, in one thread on one epoll. `load
// --raw` is the peer: the same generator, batches, connections, depth and receives as for a broker.
//   limit receive FILE  receives 256 KiB at a time, CRC-32C over them, appends them with pwrite(2)
//   limit map FILE      the same, but receives into a mapping of the file
//   limit send FILE     answers each request with 4 MiB by sendfile(2) of FILE, round and round
//   limit echo          no log: answers each frame, the floor of a small request
// All but send answer each request with a Produce response, so no more is under way than with a broker: without answers
// full sockets cost twice the time. Prints its port of 127.0.0.1; when all who connected are gone, one line of JSON.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/crc.h"
#include "os/socket.h"
enum { PIECE = 256 * 1024, SENT = 4 * 1024 * 1024, HEAD = 12, FD_MAX = 20000 };
#define MAP_BYTES (INT64_C(16) << 30) // more than is ever appended; the file is cut at the end
static const uint8_t ANSWER[56] = {0, 0, 0, 52, 0, 0, 0, 0, 0, 2, 6, 'l', 'i', 'm', 'i', 't', 2, [47] = 1};
static struct connection {
  uint8_t head[HEAD]; // of the frame that is coming: size, api key and version, correlation id
  size_t size, have;  // of the frame, and how much of it is here
  off_t at;           // send: where in the file
} connections[FD_MAX];
static uint8_t buffer[PIECE], answers[PIECE / HEAD * sizeof ANSWER], *map;
static int mode, file;                        // first letter of the word; what is appended to or sent
static long long total, requests, file_bytes; // bytes received or sent; answers; size of the file that is sent
static uint32_t crc;                          // of all that was received
#define MUST(condition) ((condition) ? (void)0 : (perror("limit: " #condition), exit(1)))

/// Puts an answer for each frame that ends here into `answers`; returns the bytes of them.
static ssize_t answer(struct connection *connection, const uint8_t *bytes, size_t size)
{
  ssize_t made = 0;
  for (size_t take = 0; size > 0; bytes += take, size -= take) {
    size_t missing = (connection->have < HEAD ? HEAD : connection->size) - connection->have;
    take = missing < size ? missing : size;
    if (connection->have < HEAD) { // whole frames of a peer that is trusted: `load`
      memcpy(connection->head + connection->have, bytes, take);
      connection->size = 4 + (size_t)bytes_get_u32(connection->head);
    }
    connection->have += take;
    if (connection->have >= HEAD && connection->have == connection->size) {
      memcpy(memcpy(answers + made, ANSWER, sizeof ANSWER) + 4, connection->head + 8, 4);
      made += sizeof ANSWER, requests++, connection->have = 0;
    }
  }
  return made;
}

/// Takes a request, which is a head alone, and goes on with what it asked for: size, correlation id, SENT bytes.
static ssize_t give(int fd, struct connection *connection)
{
  ssize_t n = recv(fd, connection->head, HEAD, 0), sent = 0, all = 0;
  if (n == HEAD) {
    bytes_put_u32(connection->head + 4, (uint32_t)(connection->size = SENT) + 4);
    MUST(send(fd, connection->head + 4, 8, MSG_MORE) == 8 && ++requests > 0);
  }
  while (connection->size > 0 && (sent = sendfile(fd, file, &connection->at, connection->size)) > 0) {
    connection->at %= file_bytes;
    connection->size -= (size_t)sent, all += sent;
  }
  return n == 0 ? 0 : all > 0 ? all : -1;
}

/// Receives, and does what a broker must.
static ssize_t take(int fd, struct connection *connection)
{
  MUST(total + PIECE <= MAP_BYTES || mode != 'm');
  uint8_t *into = mode == 'm' ? map + total : buffer;
  ssize_t n = recv(fd, into, PIECE, 0);
  if (n > 0) {
    crc = mode == 'e' ? 0 : crc32c_update(crc, into, (size_t)n);
    MUST(mode != 'r' || pwrite(file, into, (size_t)n, total) == n);
    ssize_t made = answer(connection, into, (size_t)n);
    MUST(made == 0 || send(fd, answers, (size_t)made, 0) == made);
  }
  return n;
}

int main(int argc, char **argv)
{
  mode = argc > 1 ? argv[1][0] : '?';
  file = open(argc > 2 ? argv[2] : "/dev/null", mode == 's' ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC, 0644);
  MUST(strchr("rmse", mode) != NULL && file >= 0 && (mode != 's' || (file_bytes = lseek(file, 0, SEEK_END)) > 0));
  MUST(mode != 'm' || ftruncate(file, MAP_BYTES) == 0);
  map = mode == 'm' ? mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : NULL;
  int listener = -1, epoll = epoll_create1(0), peers = 0;
  uint16_t port = 0;
  MUST(map != MAP_FAILED && socket_bind("127.0.0.1", 0, &listener, &port) == 0 && socket_listen(listener, 4096) == 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[64];
  MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  MUST(printf("%d\n", port) > 0 && fflush(stdout) == 0);
  do {
    for (int i = 0, count = epoll_wait(epoll, ready, 64, -1); i < count; i++) {
      int fd = ready[i].data.fd;
      if (fd == listener) {
        MUST(socket_accept(listener, &fd, (char[SOCKET_PEER_SIZE]){0}) == 0 && fd < FD_MAX);
        socket_tune(fd, 0, 0);
        connections[fd] = (struct connection){0};
        event = (struct epoll_event){.events = mode == 's' ? EPOLLIN | EPOLLOUT | EPOLLET : EPOLLIN, .data.fd = fd};
        MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 && ++peers > 0);
      } else {
        ssize_t n = mode == 's' ? give(fd, &connections[fd]) : take(fd, &connections[fd]);
        total += n > 0 ? n : 0;
        peers -= (n == 0 || (n < 0 && errno != EAGAIN)) && close(fd) == 0;
      }
    }
  } while (peers > 0);
  MUST(mode != 'm' || ftruncate(file, total) == 0);
  printf("{\"bytes\":%lld,\"requests\":%lld,\"crc32c\":%u,\"cpu_s\":%.6f}\n", total, requests, crc, clock() / 1e6);
}
