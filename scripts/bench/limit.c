// SPDX-License-Identifier: Apache-2.0
//
// What this machine can do at all: the least that any broker must do with the bytes, in one thread on one epoll. `load
// --raw` is the peer: the same generator, batches, connections, depth and receives as for a broker.
//   limit receive FILE [answer]  receives 256 KiB at a time, CRC-32C over them, appends them with pwrite(2)
//   limit map FILE [answer]      the same, but receives into a mapping of the file
//   limit send FILE              sendfile(2) of FILE, round and round in pieces of 1 MiB, to whoever connects
//   limit echo                   no log: answers each frame, the floor of a small request
// With `answer`, as in echo, each request gets a Produce response (version 9, partition 0), so no more is under way
// than with a broker. Prints its port of 127.0.0.1; when all who connected are gone, one line of JSON.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/crc.h"
#include "os/socket.h"

enum { PIECE = 256 * 1024, SEND_PIECE = 1024 * 1024, WINDOW = 64 * 1024 * 1024, HEAD = 12, FD_MAX = 20000 };
static const uint8_t ANSWER[56] = {0, 0, 0, 52, 0, 0, 0, 0, 0, 2, 6, 'l', 'i', 'm', 'i', 't', 2, [47] = 1};
static struct connection {
  uint8_t head[HEAD]; // of the frame that is coming: size, api key and version, correlation id
  size_t size, have;  // of the frame, and how much of it is here
  off_t at;           // send: where in the file
} connections[FD_MAX];
static uint8_t buffer[PIECE], answers[PIECE / HEAD * sizeof ANSWER], *window;
static int mode, file, answers_too;           // first letter of the word; whether each frame gets an answer
static off_t file_bytes, window_at = -WINDOW; // of the file that is sent; where the mapping is
static long long total, requests;             // bytes received or sent; answers
static uint32_t crc;                          // of all that was received
#define MUST(condition) ((condition) ? (void)0 : (perror("limit: " #condition), exit(1)))

/// Puts an answer for each frame that ends here into `answers`; returns the bytes of them.
static ssize_t answer(struct connection *connection, const uint8_t *bytes, size_t size)
{
  ssize_t made = 0;
  for (size_t take = 0; size > 0; bytes += take, size -= take) {
    take = (connection->have < HEAD ? HEAD : connection->size) - connection->have;
    take = take < size ? take : size;
    if (connection->have < HEAD) { // whole frames of a peer that is trusted: `load`
      memcpy(connection->head + connection->have, bytes, take);
      connection->size = 4 + (size_t)bytes_get_u32(connection->head);
    }
    connection->have += take;
    if (connection->have >= HEAD && connection->have == connection->size) {
      memcpy(memcpy(answers + made, ANSWER, sizeof ANSWER) + 4, connection->head + 8, 4);
      made += sizeof ANSWER, requests++;
      connection->have = 0;
    }
  }
  return made;
}

/// Takes or gives what one event is about; returns the bytes, 0 when the peer is gone.
static ssize_t serve(int fd)
{
  if (mode == 's') {
    connections[fd].at %= file_bytes;
    return sendfile(fd, file, &connections[fd].at, SEND_PIECE);
  }
  if (mode == 'm' && total + PIECE > window_at + WINDOW) {
    MUST(window == NULL || munmap(window, WINDOW) == 0);
    MUST(ftruncate(file, (window_at = total & ~4095) + WINDOW) == 0);
    MUST((window = mmap(NULL, WINDOW, PROT_WRITE | PROT_READ, MAP_SHARED, file, window_at)) != MAP_FAILED);
  }
  uint8_t *into = mode == 'm' ? window + (total - window_at) : buffer;
  ssize_t n = recv(fd, into, PIECE, 0);
  if (n > 0) {
    crc = mode == 'e' ? 0 : crc32c_update(crc, into, (size_t)n);
    MUST(mode != 'r' || pwrite(file, into, (size_t)n, total) == n);
    ssize_t made = answers_too ? answer(&connections[fd], into, (size_t)n) : 0;
    MUST(made == 0 || send(fd, answers, (size_t)made, 0) == made);
  }
  return n;
}

int main(int argc, char **argv)
{
  mode = argc > 1 ? argv[1][0] : '?';
  answers_too = mode == 'e' || argc > 3;
  file = open(argc > 2 ? argv[2] : "/dev/null", mode == 's' ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC, 0644);
  MUST(strchr("rmse", mode) != NULL && file >= 0 && (mode != 's' || (file_bytes = lseek(file, 0, SEEK_END)) > 0));
  int listener = -1, epoll = epoll_create1(0), served = 0, peers = 0;
  uint16_t port = 0;
  MUST(socket_bind("127.0.0.1", 0, &listener, &port) == 0 && socket_listen(listener, 4096) == 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[64];
  MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  MUST(printf("%d\n", port) > 0 && fflush(stdout) == 0);
  while (served == 0 || peers > 0) {
    int count = epoll_wait(epoll, ready, 64, -1);
    for (int i = 0; i < count; i++) {
      int fd = ready[i].data.fd;
      if (fd == listener) {
        MUST(socket_accept(listener, &fd, (char[SOCKET_PEER_SIZE]){0}) == 0 && fd < FD_MAX);
        socket_tune(fd, 0, 0);
        connections[fd] = (struct connection){0};
        event = (struct epoll_event){.events = mode == 's' ? EPOLLOUT : EPOLLIN, .data.fd = fd};
        MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
        served++, peers++;
      } else {
        ssize_t n = serve(fd);
        total += n > 0 ? n : 0;
        peers -= (n == 0 || (n < 0 && errno != EAGAIN)) && close(fd) == 0;
      }
    }
  }
  struct timespec used = {0}; // by the clock of `load --cpu-of`
  MUST((window == NULL || ftruncate(file, total) == 0) && clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
  printf("{\"bytes\":%lld,\"requests\":%lld,\"crc32c\":%u,\"cpu_s\":%.6f}\n", total, requests, crc,
         (double)used.tv_sec + (double)used.tv_nsec / 1e9);
  return 0;
}
