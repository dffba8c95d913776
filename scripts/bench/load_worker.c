// SPDX-License-Identifier: Apache-2.0
#include "load_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_options.h"
#include "os/clock.h"

enum {
  SEND_SLOTS = 64,            ///< requests of one sendmsg(2)
  RECEIVE_BYTES = 256 * 1024, ///< room for one recv(2)
  EVENTS = 256,
};

void load_count_error(struct load_counts *counts, const char *format, ...)
{
  if (counts->errors++ == 0) {
    va_list args;
    va_start(args, format);
    vsnprintf(counts->first_error, sizeof counts->first_error, format, args);
    va_end(args);
  }
}

/// Nothing more will be sent on it.
static void retire(struct load_connection *connection)
{
  connection->worker->active_count -= !connection->is_done;
  connection->is_done = true;
}

static void drop(struct load_connection *connection, const char *why)
{
  struct load_worker *worker = connection->worker;
  struct load_counts *counts = &worker->counts;
  if (counts->disconnects++ == 0 && counts->errors == 0) {
    snprintf(counts->first_error, sizeof counts->first_error, "connection lost: %s", why);
  }
  counts->unanswered += connection->next - connection->oldest;
  worker->outstanding -= connection->next - connection->oldest;
  close(connection->fd);
  connection->fd = -1;
  connection->oldest = connection->unsent = connection->next;
  retire(connection);
}

static void watch(struct load_connection *connection, bool is_blocked)
{
  if (connection->is_blocked == is_blocked) {
    return;
  }
  connection->is_blocked = is_blocked;
  struct epoll_event event = {.events = EPOLLIN | (is_blocked ? EPOLLOUT : 0), .data.ptr = connection};
  epoll_ctl(connection->worker->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

static void count_answer(struct load_worker *worker, const struct load_slot *slot, int64_t now_ns)
{
  worker->counts.requests++;
  worker->counts.last_ns = now_ns;
  histogram_add(&worker->counts.latency, now_ns - slot->planned_ns);
}

/// True when requests get no answer.
static bool is_unanswered(const struct load_worker *worker)
{
  return worker->role == &load_produce_role && worker->options->acks == 0;
}

/// Takes `sent` bytes off the requests that wait to be sent. Without acknowledgements a sent request is done.
static void advance(struct load_connection *connection, size_t sent)
{
  while (connection->unsent != connection->next) {
    struct load_slot *slot = &connection->slots[connection->unsent & (connection->slot_count - 1)];
    size_t left = LOAD_PREFIX_SIZE + slot->body_size - connection->sent_bytes;
    if (sent < left) {
      connection->sent_bytes += sent;
      return;
    }
    sent -= left;
    connection->sent_bytes = 0;
    connection->unsent++;
    if (is_unanswered(connection->worker)) {
      connection->worker->role->answered(connection, slot, NULL, 0);
      count_answer(connection->worker, slot, clock_mono_ns());
      connection->worker->outstanding--;
      connection->oldest++;
    }
  }
}

/// Sends what waits, as far as the socket takes it.
static void flush(struct load_connection *connection)
{
  while (connection->fd >= 0 && connection->unsent != connection->next) {
    struct iovec parts[2 * SEND_SLOTS];
    int count = 0;
    size_t skip = connection->sent_bytes;
    for (uint32_t at = connection->unsent; at != connection->next && count < 2 * SEND_SLOTS; at++) {
      struct load_slot *slot = &connection->slots[at & (connection->slot_count - 1)];
      size_t prefix_skip = skip < LOAD_PREFIX_SIZE ? skip : LOAD_PREFIX_SIZE;
      parts[count++] = (struct iovec){slot->prefix + prefix_skip, LOAD_PREFIX_SIZE - prefix_skip};
      parts[count++] = (struct iovec){(void *)(uintptr_t)(slot->body + (skip - prefix_skip)),
                                      slot->body_size - (skip - prefix_skip)};
      skip = 0;
    }
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t n = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && errno == EAGAIN) {
      watch(connection, true);
      return;
    }
    if (n < 0) {
      drop(connection, strerror(errno));
      return;
    }
    advance(connection, (size_t)n);
  }
  if (connection->fd >= 0) {
    // Without answers, room in the socket is what asks for the next request.
    watch(connection, is_unanswered(connection->worker) && connection->worker->rate <= 0);
  }
}

/// Open loop: when the request with a number of the whole run is planned.
static int64_t planned_at(const struct load_worker *worker, double number)
{
  return worker->start_ns + (int64_t)(number * 1e9 / worker->rate);
}

/// When the next request of a connection is planned; now for a closed loop.
static int64_t planned_ns(const struct load_connection *connection, int64_t now_ns)
{
  const struct load_worker *worker = connection->worker;
  if (worker->rate <= 0) {
    return now_ns;
  }
  return planned_at(worker, (double)connection->begun * worker->run_connections + connection->index);
}

/// True when the connection's share of --requests is used up.
static bool is_used_up(const struct load_connection *connection)
{
  int64_t limit = connection->worker->options->requests;
  return limit > 0 && connection->begun * connection->worker->run_connections + connection->index >= limit;
}

/// Begins requests as far as depth, plan and end allow, and sends them.
static void fill(struct load_connection *connection, int64_t now_ns)
{
  struct load_worker *worker = connection->worker;
  int depth = worker->role == &load_fetch_role ? 1 : worker->options->depth;
  while (connection->fd >= 0 && !connection->is_done && now_ns < worker->end_ns && !is_used_up(connection) &&
         connection->next - connection->oldest < (uint32_t)depth) {
    int64_t planned = planned_ns(connection, now_ns);
    if (planned > now_ns) {
      break;
    }
    struct load_slot *slot = &connection->slots[connection->next & (connection->slot_count - 1)];
    if (!worker->role->prepare(connection, slot)) {
      retire(connection);
      break;
    }
    slot->planned_ns = planned;
    bytes_put_u32(slot->prefix, (uint32_t)(LOAD_PREFIX_SIZE - 4 + slot->body_size));
    bytes_put_u16(slot->prefix + 4, (uint16_t)worker->role->key);
    bytes_put_u16(slot->prefix + 6, (uint16_t)worker->role->version);
    bytes_put_u32(slot->prefix + 8, connection->next);
    connection->next++;
    connection->begun++;
    worker->outstanding++;
  }
  if (is_used_up(connection)) {
    retire(connection);
  }
  if (!connection->is_blocked) {
    flush(connection);
  }
}

/// Handles the whole answers that have come in. They came at once, so they share one look at the clock.
static void take_answers(struct load_connection *connection, int64_t now_ns)
{
  struct load_worker *worker = connection->worker;
  while (connection->fd >= 0 && connection->input_end - connection->input_start >= 4) {
    const uint8_t *frame = connection->input + connection->input_start;
    uint32_t size = bytes_get_u32(frame);
    if (size < 4 || size > CLIENT_FRAME_BYTES_MAX) {
      drop(connection, "an answer of impossible length");
      return;
    }
    if (connection->input_end - connection->input_start - 4 < size) {
      return;
    }
    if (connection->oldest == connection->unsent || bytes_get_u32(frame + 4) != connection->oldest) {
      drop(connection, "an answer to another request");
      return;
    }
    struct load_slot *slot = &connection->slots[connection->oldest & (connection->slot_count - 1)];
    int result = worker->role->answered(connection, slot, frame + 4, size);
    if (result < 0) {
      load_count_error(&worker->counts, "malformed answer: %s", error_last()->message);
    } else if (result == 0) {
      count_answer(worker, slot, now_ns);
    }
    arena_reset(&worker->arena);
    worker->outstanding--;
    connection->oldest++;
    connection->input_start += 4 + size;
  }
}

/// Makes room for one recv(2), or for the rest of the answer whose length is known.
static void make_room(struct load_connection *connection)
{
  size_t held = connection->input_end - connection->input_start;
  size_t wanted = held + RECEIVE_BYTES;
  if (held >= 4) {
    uint32_t size = bytes_get_u32(connection->input + connection->input_start);
    if (size <= CLIENT_FRAME_BYTES_MAX && 4 + (size_t)size > wanted) {
      wanted = 4 + (size_t)size;
    }
  }
  if (connection->input_start > 0 && connection->input_start + wanted > connection->input_room) {
    memmove(connection->input, connection->input + connection->input_start, held);
    connection->input_start = 0;
    connection->input_end = held;
  }
  if (connection->input_start + wanted > connection->input_room) {
    connection->input_room = connection->input_start + wanted;
    connection->input = mem_realloc(connection->input, connection->input_room);
  }
}

/// Lends the worker's buffer to a connection that holds no part of an answer: those whose answers come whole, thousands
/// of them maybe, share one that stays in the processor's cache.
static void lend_input(struct load_connection *connection)
{
  struct load_worker *worker = connection->worker;
  if (worker->input == NULL) {
    worker->input = mem_alloc(RECEIVE_BYTES);
  }
  if (connection->input == NULL) {
    connection->input = worker->input;
    connection->input_room = RECEIVE_BYTES;
  }
}

/// Takes the worker's buffer back. What is left of an answer goes to a buffer of its own, which the connection keeps.
static void return_input(struct load_connection *connection)
{
  if (connection->input != connection->worker->input) {
    return;
  }
  const uint8_t *left = connection->input + connection->input_start;
  size_t size = connection->input_end - connection->input_start;
  connection->input = NULL;
  connection->input_room = connection->input_start = connection->input_end = 0;
  if (size > 0) {
    connection->input_room = RECEIVE_BYTES;
    connection->input = mem_alloc(connection->input_room);
    memcpy(connection->input, left, size);
    connection->input_end = size;
  }
}

/// Takes what has come: one recv(2), unless it filled all the room there was.
///
/// @return monotonic time at which it had come
static int64_t receive(struct load_connection *connection)
{
  int64_t now_ns = 0;
  size_t room = 0;
  ssize_t n = 0;
  do {
    lend_input(connection);
    make_room(connection);
    room = connection->input_room - connection->input_end;
    n = recv(connection->fd, connection->input + connection->input_end, room, 0);
    now_ns = clock_mono_ns();
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      break; // epoll says again what is left
    }
    if (n <= 0) {
      drop(connection, n == 0 ? "closed by the broker" : strerror(errno));
      break;
    }
    connection->input_end += (size_t)n;
    take_answers(connection, now_ns);
    if (connection->input_start == connection->input_end) {
      connection->input_start = connection->input_end = 0;
    }
    return_input(connection);
  } while (connection->fd >= 0 && (size_t)n == room);
  return_input(connection);
  return now_ns;
}

/// Open loop: sends what is due and sets the timer for what is next in the plan.
static void send_due(struct load_worker *worker, int64_t now_ns)
{
  int64_t due_ns = 0;
  while (worker->active_count > 0) {
    struct load_connection *connection = &worker->connections[worker->due_number % worker->connection_count];
    int64_t round = worker->due_number / worker->connection_count;
    due_ns = planned_at(worker, (double)round * worker->run_connections + connection->index);
    if (due_ns > now_ns || due_ns >= worker->end_ns) {
      break;
    }
    fill(connection, now_ns);
    worker->due_number++;
  }
  if (due_ns >= worker->end_ns) {
    return;
  }
  struct itimerspec when = {.it_value = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000}};
  timerfd_settime(worker->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/// Planned requests whose time came and that were never sent.
static void count_leftovers(struct load_worker *worker)
{
  worker->counts.unanswered += worker->outstanding;
  for (int i = 0; i < worker->connection_count; i++) {
    struct load_connection *connection = &worker->connections[i];
    while (worker->rate > 0 && (!connection->is_done || connection->fd < 0) && !is_used_up(connection) &&
           planned_ns(connection, 0) < worker->end_ns) {
      worker->counts.unsent++;
      connection->begun++;
    }
  }
}

static void handle_event(struct load_worker *worker, const struct epoll_event *event)
{
  struct load_connection *connection = event->data.ptr;
  if (connection == NULL) {
    uint64_t ticks;
    if (read(worker->timer_fd, &ticks, sizeof ticks) > 0) {
      send_due(worker, clock_mono_ns());
    }
    return;
  }
  int64_t now_ns = 0;
  if (connection->fd >= 0 && (event->events & EPOLLOUT) != 0) {
    flush(connection);
  }
  if (connection->fd >= 0 && (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    now_ns = receive(connection);
  }
  fill(connection, now_ns > 0 ? now_ns : clock_mono_ns());
}

void *load_worker_run(void *arg)
{
  struct load_worker *worker = arg;
  struct epoll_event events[EVENTS];
  int64_t now_ns = clock_mono_ns();
  worker->active_count = worker->connection_count;
  for (int i = 0; worker->rate <= 0 && i < worker->connection_count; i++) {
    fill(&worker->connections[i], now_ns);
  }
  if (worker->rate > 0) {
    send_due(worker, now_ns);
  }
  while ((worker->outstanding > 0 || (worker->active_count > 0 && now_ns < worker->end_ns)) &&
         now_ns < worker->end_ns + (int64_t)LOAD_DRAIN_MS * 1000000) {
    int64_t left_ms = (worker->end_ns - now_ns) / 1000000 + 1;
    int count = epoll_wait(worker->epoll_fd, events, EVENTS, left_ms > 0 && left_ms < 1000 ? (int)left_ms : 1000);
    for (int i = 0; i < count; i++) {
      handle_event(worker, &events[i]);
    }
    now_ns = clock_mono_ns();
  }
  count_leftovers(worker);
  return NULL;
}

/// Gives partition `p` to the connection of its leader that has the fewest, if there is one.
static bool give(struct load_worker *workers, int count, const struct load_cluster *cluster, int32_t p)
{
  struct load_connection *best = NULL;
  for (int w = 0; w < count; w++) {
    for (int c = 0; c < workers[w].connection_count; c++) {
      struct load_connection *connection = &workers[w].connections[c];
      if (connection->broker == cluster->partitions[p].broker &&
          (best == NULL || connection->partition_count < best->partition_count)) {
        best = connection;
      }
    }
  }
  if (best == NULL) {
    return false;
  }
  best->partitions = mem_realloc(best->partitions, (size_t)(best->partition_count + 1) * sizeof(int32_t));
  best->partitions[best->partition_count++] = p;
  return true;
}

static int open_connection(struct load_connection *connection)
{
  struct load_worker *worker = connection->worker;
  TRY(client_connect(&worker->cluster->brokers[connection->broker].address, &connection->fd));
  fcntl(connection->fd, F_SETFL, fcntl(connection->fd, F_GETFL) | O_NONBLOCK);
  connection->slot_count = 1;
  while (connection->slot_count < (uint32_t)worker->options->depth) {
    connection->slot_count *= 2;
  }
  connection->slots = mem_array(connection->slot_count, sizeof *connection->slots);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
    return error_set_errno(errno, "epoll_ctl failed");
  }
  worker->role->open(connection);
  return 0;
}

static int open_worker(struct load_worker *worker)
{
  worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  worker->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (worker->epoll_fd < 0 || worker->timer_fd < 0 ||
      epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->timer_fd, &event) != 0) {
    return error_set_errno(errno, "epoll failed");
  }
  for (int i = 0; i < worker->connection_count; i++) {
    TRY(open_connection(&worker->connections[i]));
  }
  return 0;
}

int load_workers_open(struct load_worker *workers, int count)
{
  const struct load_options *options = workers[0].options;
  const struct load_cluster *cluster = workers[0].cluster;
  for (int w = 0; w < count; w++) {
    workers[w].epoll_fd = workers[w].timer_fd = -1;
    workers[w].run_connections = options->connections;
    // What is produced at a rate is fetched as it comes.
    workers[w].rate = options->mode == LOAD_BOTH && workers[w].role == &load_fetch_role ? 0 : options->rate;
    workers[w].connections = mem_array((size_t)options->connections, sizeof(struct load_connection));
  }
  // One partition each, round and round; then the partitions that have no connection yet.
  int32_t used = workers[0].role == &load_produce_role ? options->active : cluster->partition_count;
  for (int i = 0; i < options->connections; i++) {
    struct load_worker *worker = &workers[i % count];
    struct load_connection *connection = &worker->connections[worker->connection_count++];
    connection->worker = worker;
    connection->index = i;
    connection->fd = -1;
    connection->broker = cluster->partitions[i % used].broker;
    if (i >= used) {
      connection->partitions = mem_alloc(sizeof(int32_t));
      connection->partitions[connection->partition_count++] = i % used;
    }
  }
  for (int32_t p = 0; p < used; p++) {
    if (!give(workers, count, cluster, p)) {
      return error_set(ERR_INVALID, "partition %d's leader has no connection: use more --connections", p);
    }
  }
  for (int w = 0; w < count; w++) {
    TRY(open_worker(&workers[w]));
  }
  return 0;
}

void load_worker_close(struct load_worker *worker)
{
  for (int i = 0; i < worker->connection_count; i++) {
    struct load_connection *connection = &worker->connections[i];
    if (connection->state != NULL) {
      worker->role->close(connection);
    }
    for (uint32_t s = 0; s < connection->slot_count; s++) {
      wire_writer_destroy(&connection->slots[s].own);
    }
    if (connection->fd >= 0) {
      close(connection->fd);
    }
    mem_free(connection->slots);
    mem_free(connection->input);
    mem_free(connection->partitions);
  }
  mem_free(worker->connections);
  mem_free(worker->input);
  arena_destroy(&worker->arena);
  if (worker->epoll_fd >= 0) {
    close(worker->epoll_fd);
  }
  if (worker->timer_fd >= 0) {
    close(worker->timer_fd);
  }
}
