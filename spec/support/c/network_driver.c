// SPDX-License-Identifier: Apache-2.0
#include "network_driver.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/pool.h"
#include "network/response.h"
#include "network/server.h"
#include "network/server_private.h"
#include "os/clock.h"
#include "wire/writer.h"

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

enum { ECHO_COUNTERS = ECHO_BUSIEST + 1, ECHO_TEXT_MAX = 63, DESCRIPTORS_MAX = 65536 };

struct echo {
  struct server *server;
  struct pool *pool;
  int file_fd;
  _Atomic(int64_t) counters[ECHO_COUNTERS];
};

/// A frame that waits for its release, or for the pool, or a resume on its way.
struct held {
  struct list node; ///< in the worker's list, or alone
  struct frame *frame;
  struct echo *echo;
  char text[ECHO_TEXT_MAX + 1];
  bool closes;          ///< the connection ends with its answer
  int64_t region_bytes; ///< the answer is a region of the file
  struct pool_job job;
  struct mail mail;
  struct timer timer;
  struct connection *conn;
};

/// What a connection that sent an "m" frame leaves behind for another worker.
struct parting {
  struct mail mail;
  struct echo *echo;
  struct worker *worker;
};

static void echo_add(struct echo *echo, enum echo_counter counter)
{
  atomic_fetch_add(&echo->counters[counter], 1);
}

// ---- answers ----

/// Memory that counts its release.
struct counted {
  struct echo *echo;
  uint8_t bytes[];
};

static void counted_release(void *arg)
{
  struct counted *counted = arg;
  echo_add(counted->echo, ECHO_RELEASED);
  mem_free(counted);
}

static struct counted *counted_new(struct echo *echo, size_t size)
{
  struct counted *counted = mem_alloc(sizeof *counted + size);
  counted->echo = echo;
  echo_add(echo, ECHO_MADE);
  return counted;
}

static void region_release(void *arg)
{
  echo_add(arg, ECHO_RELEASED);
}

static struct response *echo_text(struct echo *echo, const void *text, size_t size)
{
  struct response *resp = response_new();
  struct counted *counted = counted_new(echo, 4 + size);
  memcpy(counted->bytes + 4, text, size);
  response_add_memory(resp, counted->bytes, 4 + size, counted_release, counted);
  CHECK(response_finish(resp) == 0);
  return resp;
}

static struct response *echo_many(struct echo *echo, size_t count)
{
  struct response *resp = response_new();
  struct counted *counted = counted_new(echo, 4 + count);
  for (size_t i = 0; i < count; i++) {
    counted->bytes[4 + i] = (uint8_t)('a' + i % 26);
  }
  response_add_memory(resp, counted->bytes, 4 + count, counted_release, counted);
  CHECK(response_finish(resp) == 0);
  return resp;
}

static struct response_region echo_region(struct echo *echo, int64_t pos, int64_t length)
{
  echo_add(echo, ECHO_MADE);
  return (struct response_region){
      .fd = echo->file_fd, .pos = pos, .length = length, .release = region_release, .arg = echo};
}

static struct response *echo_file(struct echo *echo, int64_t pos, int64_t length)
{
  struct response *resp = response_new();
  struct counted *counted = counted_new(echo, 5);
  counted->bytes[4] = '<';
  struct response_region region = echo_region(echo, pos, length);
  response_add_memory(resp, counted->bytes, 5, counted_release, counted);
  response_add_region(resp, &region);
  response_add_memory(resp, ">", 1, NULL, NULL);
  CHECK(response_finish(resp) == 0);
  return resp;
}

static struct response *echo_written(struct echo *echo, int64_t pos, int64_t length, bool is_pair)
{
  struct wire_writer w = {0};
  struct response_region first = echo_region(echo, pos, length);
  struct response_region second = {0};
  struct wire_records records = {.length = (int32_t)length, .region = &first};
  wire_writer_i32(&w, 0);
  wire_writer_records(&w, 0, records, "first");
  if (is_pair) {
    second = echo_region(echo, 20, 10);
    records.region = &second;
    wire_writer_records(&w, 0, records, "second");
  } else {
    wire_writer_raw(&w, ">", 1);
  }
  struct response *resp = response_new();
  CHECK(response_take_writer(resp, &w) == 0);
  memset(&first, 0xff, sizeof first); // it was copied
  memset(&second, 0xff, sizeof second);
  wire_writer_destroy(&w);
  return resp;
}

// ---- frames that wait ----

static void held_answer(struct held *held)
{
  list_remove(&held->node);
  char text[ECHO_TEXT_MAX + 4];
  int size = snprintf(text, sizeof text, "%c %s", held->closes ? 'C' : 'h', held->text);
  struct response *resp = echo_text(held->echo, text, (size_t)size);
  if (held->closes) {
    connection_respond_and_close(held->frame, resp);
  } else {
    connection_respond(held->frame, resp);
  }
  mem_free(held);
}

/// Answers what is held on a worker: under a text, or of a connection, or all.
static int echo_release(struct worker *worker, const char *text, const struct connection *conn)
{
  struct list *all = worker->user;
  int count = 0;
  for (struct list *link = all->next; link != all;) {
    struct held *held = CONTAINER(link, struct held, node);
    link = link->next;
    if ((text == NULL || strcmp(held->text, text) == 0) && (conn == NULL || held->frame->conn == conn)) {
      held_answer(held);
      count++;
    }
  }
  return count;
}

static struct held *held_new(struct echo *echo, struct frame *frame, const char *text)
{
  struct held *held = mem_zalloc(sizeof *held);
  list_create(&held->node);
  held->frame = frame;
  held->echo = echo;
  snprintf(held->text, sizeof held->text, "%s", text);
  return held;
}

static void echo_reverse(struct pool_job *job)
{
  struct frame *frame = CONTAINER(job, struct held, job)->frame;
  uint8_t *bytes = frame->bytes + 2;
  int32_t size = frame->size - 2;
  for (int32_t i = 0; i < size / 2; i++) {
    uint8_t byte = bytes[i];
    bytes[i] = bytes[size - 1 - i];
    bytes[size - 1 - i] = byte;
  }
}

static void echo_reversed(struct pool_job *job)
{
  struct held *held = CONTAINER(job, struct held, job);
  struct frame *frame = held->frame;
  connection_respond(frame, echo_text(held->echo, frame->bytes + 2, (size_t)frame->size - 2));
  mem_free(held);
}

static void echo_on_time(struct timer *timer)
{
  struct held *held = CONTAINER(timer, struct held, timer);
  connection_respond(held->frame, held->region_bytes > 0 ? echo_file(held->echo, 0, held->region_bytes)
                                                         : echo_text(held->echo, "t", 1));
  mem_free(held);
}

static void echo_resume(struct mail *mail)
{
  struct held *held = CONTAINER(mail, struct held, mail);
  connection_resume(held->conn);
  connection_unref(held->conn);
  mem_free(held);
}

// ---- callbacks ----

static void echo_on_open(void *arg, struct connection *conn)
{
  (void)conn;
  echo_add(arg, ECHO_OPENED);
}

static void parting_run(struct mail *mail)
{
  struct parting *parting = CONTAINER(mail, struct parting, mail);
  echo_add(parting->echo, parting->worker->user == NULL ? ECHO_MAILED_LATE : ECHO_MAILED);
  mem_free(parting);
}

static void echo_part(struct echo *echo, const struct worker *from)
{
  for (int i = 0; i < server_worker_count(echo->server); i++) {
    if (i != from->index) {
      struct parting *parting = mem_zalloc(sizeof *parting);
      parting->mail.run = parting_run;
      parting->echo = echo;
      parting->worker = server_worker(echo->server, i);
      event_loop_post(&parting->worker->loop, &parting->mail);
    }
  }
}

static void echo_on_close(void *arg, struct connection *conn)
{
  CHECK(!connection_is_open(conn));
  if (connection_user(conn) == arg) {
    echo_part(arg, connection_worker(conn));
  }
  echo_add(arg, ECHO_CLOSED);
  echo_release(connection_worker(conn), NULL, conn);
}

/// Frames of a connection that are held, from 0.
static int echo_held_by(const struct connection *conn)
{
  const struct list *all = connection_worker(conn)->user;
  int count = 0;
  for (const struct list *link = all->next; link != all; link = link->next) {
    count += CONTAINER(link, struct held, node)->frame->conn == conn ? 1 : 0;
  }
  return count;
}

static enum frame_verdict echo_defer_once(struct echo *echo, struct connection *conn, struct frame *frame)
{
  if (connection_user(conn) == frame) {
    connection_set_user(conn, NULL);
    connection_respond(frame, echo_text(echo, frame->bytes + 2, (size_t)frame->size - 2));
    return FRAME_TAKEN;
  }
  connection_set_user(conn, frame);
  struct held *held = held_new(echo, NULL, "");
  held->conn = conn;
  held->mail.run = echo_resume;
  connection_ref(conn);
  event_loop_post(&connection_worker(conn)->loop, &held->mail);
  return FRAME_DEFER;
}

static enum frame_verdict echo_on_frame(void *arg, struct connection *conn, struct frame *frame)
{
  struct echo *echo = arg;
  echo_add(echo, ECHO_OFFERED);
  char text[ECHO_TEXT_MAX + 1] = "";
  size_t length = frame->size > 2 ? (size_t)frame->size - 2 : 0;
  memcpy(text, frame->bytes + (length > 0 ? 2 : 0), length < ECHO_TEXT_MAX ? length : ECHO_TEXT_MAX);
  struct held *held = NULL;
  long long pos = 0;
  long long size = 0;
  switch (frame->bytes[0]) {
    case 'e':
      connection_respond(frame, echo_text(echo, frame->bytes + 2, length));
      return FRAME_TAKEN;
    case 'n':
      connection_respond(frame, NULL);
      return FRAME_TAKEN;
    case 'k':
      frame_drop_bytes(frame);
      CHECK(frame->bytes == NULL);
      // fall through
    case 'C':
    case 'h':
      held = held_new(echo, frame, text);
      held->closes = frame->bytes != NULL && frame->bytes[0] == 'C';
      list_append(connection_worker(conn)->user, &held->node);
      return FRAME_TAKEN;
    case 'r':
      echo_release(connection_worker(conn), text, NULL);
      connection_respond(frame, echo_text(echo, "r", 1));
      return FRAME_TAKEN;
    case 'p':
      held = held_new(echo, frame, "");
      pool_submit(echo->pool, &held->job, echo_reverse, &connection_worker(conn)->loop, echo_reversed);
      return FRAME_TAKEN;
    case 't':
      held = held_new(echo, frame, "");
      sscanf(text, "%lld %lld", &pos, &size);
      held->region_bytes = size;
      timer_start(&connection_worker(conn)->loop, &held->timer, pos, echo_on_time);
      return FRAME_TAKEN;
    case 'm':
      connection_set_user(conn, echo);
      connection_respond(frame, NULL);
      return FRAME_TAKEN;
    case 'b':
      connection_respond(frame, echo_many(echo, (size_t)atoll(text)));
      return FRAME_TAKEN;
    case 'f':
    case 'w':
      CHECK(sscanf(text, "%lld %lld", &pos, &size) == 2);
      connection_respond(frame,
                         frame->bytes[0] == 'f' ? echo_file(echo, pos, size) : echo_written(echo, pos, size, false));
      return FRAME_TAKEN;
    case 'W':
      connection_respond(frame, echo_written(echo, 0, 10, true));
      return FRAME_TAKEN;
    case 'c':
      connection_respond_and_close(frame, echo_text(echo, frame->bytes + 2, length));
      return FRAME_TAKEN;
    case 'q':
      connection_close(conn);
      connection_respond(frame, echo_text(echo, "never", 5));
      return FRAME_TAKEN;
    case 'd':
      if (echo_held_by(conn) > 0) {
        return FRAME_DEFER;
      }
      connection_respond(frame, echo_text(echo, frame->bytes + 2, length));
      return FRAME_TAKEN;
    case 'D':
      return echo_defer_once(echo, conn, frame);
    default:
      return FRAME_CLOSE;
  }
}

static void echo_on_start(void *arg, struct worker *worker)
{
  echo_add(arg, ECHO_STARTED);
  struct list *all = mem_alloc(sizeof *all);
  list_create(all);
  worker->user = all;
}

static void echo_on_drain(void *arg, struct worker *worker)
{
  (void)arg;
  echo_release(worker, "drains", NULL);
}

static void echo_on_stop(void *arg, struct worker *worker)
{
  echo_add(arg, ECHO_STOPPED);
  CHECK(list_is_empty(worker->user));
  mem_free(worker->user);
  worker->user = NULL;
}

// ---- the server ----

struct echo *echo_new(const struct echo_options *options)
{
  struct echo *echo = mem_zalloc(sizeof *echo);
  echo->file_fd = options->file == NULL ? -1 : open(options->file, O_RDONLY | O_CLOEXEC);
  echo->pool = pool_new(2);
  struct server_options server_options = {.workers = options->workers,
                                          .max_request_bytes = options->max_request_bytes,
                                          .max_unsent_bytes = options->max_unsent_bytes,
                                          .max_inflight = options->max_inflight,
                                          .max_idle_ms = options->max_idle_ms,
                                          .max_half_closed_ms = options->max_half_closed_ms,
                                          .max_request_memory = options->max_request_memory,
                                          .max_answer_memory = options->max_answer_memory,
                                          .progress_ms = options->progress_ms,
                                          .min_progress_bytes = options->min_progress_bytes,
                                          .max_connections = options->max_connections,
                                          .connection_room = options->connection_room,
                                          .max_per_ip = options->max_per_ip,
                                          .ip_overrides = options->ip_overrides,
                                          .send_buffer_bytes = options->send_buffer_bytes};
  struct connection_callbacks callbacks = {.on_open = echo_on_open,
                                           .on_frame = echo_on_frame,
                                           .on_close = echo_on_close,
                                           .on_start = echo_on_start,
                                           .on_drain = echo_on_drain,
                                           .on_stop = echo_on_stop,
                                           .arg = echo};
  if (server_new(&server_options, &callbacks, &echo->server) < 0 ||
      server_bind(echo->server, options->listen == NULL ? "127.0.0.1:0" : options->listen, NULL) < 0 ||
      server_accept(echo->server) < 0) {
    fprintf(stderr, "echo_new: %s\n", error_last()->message);
    echo_delete(echo);
    return NULL;
  }
  return echo;
}

struct server *echo_server(struct echo *echo)
{
  return echo->server;
}

int echo_port(const struct echo *echo)
{
  return server_listener(echo->server, 0)->address.port;
}

int echo_attach(struct echo *echo)
{
  int fd = -1;
  int result = server_attach(echo->server, &fd);
  return result < 0 ? result : fd;
}

/// Asks a worker for what only its thread may look at.
struct buffer_question {
  struct mail mail;
  struct worker *worker;
  int64_t bytes;
  _Atomic(bool) is_done;
};

static void buffer_question_run(struct mail *mail)
{
  struct buffer_question *question = CONTAINER(mail, struct buffer_question, mail);
  question->bytes = (int64_t)question->worker->pool.used_bytes;
  memory_share_settle(&question->worker->pool.share);
  memory_share_settle(&question->worker->answers);
  atomic_store(&question->is_done, true);
}

static int64_t echo_buffer_bytes(struct worker *worker)
{
  struct buffer_question question = {.mail.run = buffer_question_run, .worker = worker};
  event_loop_post(&worker->loop, &question.mail);
  struct timespec pause = {.tv_nsec = 100000};
  while (!atomic_load(&question.is_done)) {
    nanosleep(&pause, NULL);
  }
  return question.bytes;
}

static int64_t worker_count(struct worker *worker, enum echo_counter counter)
{
  switch (counter) {
    case ECHO_FRAMES:
      return atomic_load(&worker->counters.frames);
    case ECHO_REFUSED:
      return atomic_load(&worker->counters.refused_frames);
    case ECHO_RESPONSES:
      return atomic_load(&worker->counters.responses);
    case ECHO_RECEIVED:
      return atomic_load(&worker->counters.received_bytes);
    case ECHO_SENT_MEMORY:
      return atomic_load(&worker->counters.sent_memory_bytes);
    case ECHO_SENT_FILE:
      return atomic_load(&worker->counters.sent_file_bytes);
    case ECHO_IDLE_CLOSED:
      return atomic_load(&worker->counters.idle_closed);
    case ECHO_BUFFER_BYTES:
      return echo_buffer_bytes(worker);
    default:
      return atomic_load(&worker->counters.connections);
  }
}

int64_t echo_count(struct echo *echo, enum echo_counter counter)
{
  if (counter <= ECHO_STOPPED) {
    return atomic_load(&echo->counters[counter]);
  }
  if (counter == ECHO_CONNECTIONS) {
    return server_connections(echo->server);
  }
  if (counter == ECHO_WAITING) {
    return atomic_load(&echo->server->requests.waiting) + atomic_load(&echo->server->answers.waiting);
  }
  if (counter == ECHO_REQUEST_MEMORY || counter == ECHO_ANSWER_MEMORY) {
    echo_count(echo, ECHO_BUFFER_BYTES);
    return atomic_load(counter == ECHO_REQUEST_MEMORY ? &echo->server->requests.used : &echo->server->answers.used);
  }
  int64_t sum = 0;
  int64_t most = 0;
  for (int i = 0; i < server_worker_count(echo->server); i++) {
    int64_t count = worker_count(server_worker(echo->server, i), counter);
    sum += count;
    most = count > most ? count : most;
  }
  return counter == ECHO_BUSIEST ? most : sum;
}

int echo_set_limits(struct echo *echo, int max_connections, int max_per_ip, const char *ip_overrides)
{
  struct server_limits limits = {.max_per_ip = max_per_ip, .ip_overrides = ip_overrides};
  struct server_limits_read *read = NULL;
  int result = server_read_limits(&limits, &read);
  if (result == 0) {
    server_apply_limits(echo->server, read);
    server_set_max_connections(echo->server, max_connections);
  }
  return result;
}

int64_t echo_drain(struct echo *echo, int64_t deadline_ms)
{
  int64_t start_ms = clock_mono_ms();
  server_drain(echo->server, deadline_ms);
  return clock_mono_ms() - start_ms;
}

void echo_stop(struct echo *echo)
{
  server_stop(echo->server);
}

void echo_delete(struct echo *echo)
{
  server_delete(echo->server);
  pool_delete(echo->pool);
  if (echo->file_fd >= 0) {
    close(echo->file_fd);
  }
  mem_free(echo);
}

static int descriptors_used[DESCRIPTORS_MAX];
static int descriptors_count;
static struct rlimit descriptors_limit;

void echo_use_up_descriptors(int left)
{
  getrlimit(RLIMIT_NOFILE, &descriptors_limit);
  struct rlimit low = {.rlim_cur = 256, .rlim_max = descriptors_limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0 && descriptors_count < DESCRIPTORS_MAX;
       fd = open("/dev/null", O_RDONLY)) {
    descriptors_used[descriptors_count++] = fd;
  }
  while (left-- > 0 && descriptors_count > 0) {
    close(descriptors_used[--descriptors_count]);
  }
}

void echo_give_descriptors_back(void)
{
  while (descriptors_count > 0) {
    close(descriptors_used[--descriptors_count]);
  }
  setrlimit(RLIMIT_NOFILE, &descriptors_limit);
}
