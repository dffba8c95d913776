// SPDX-License-Identifier: Apache-2.0
#include "groups_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/header.h"
#include "wire/reader.h"

enum {
  RECEIVE_BYTES = 16 * 1024, ///< room for one recv(2)
  EVENTS = 256,
};

static void lose(struct groups_link *link, int error)
{
  if (link->loop->error == 0) {
    link->loop->error = error;
  }
}

static void watch(struct groups_link *link, bool is_blocked)
{
  if (link->is_blocked == is_blocked) {
    return;
  }
  link->is_blocked = is_blocked;
  struct epoll_event event = {.events = EPOLLIN | (is_blocked ? EPOLLOUT : 0), .data.ptr = link};
  epoll_ctl(link->loop->epoll_fd, EPOLL_CTL_MOD, link->fd, &event);
}

static void flush(struct groups_link *link)
{
  while (link->sent < link->output.size) {
    ssize_t n = send(link->fd, link->output.data + link->sent, link->output.size - link->sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && errno == EAGAIN) {
      watch(link, true);
      return;
    }
    if (n < 0) {
      lose(link, error_set_errno(errno, "send failed"));
      return;
    }
    link->sent += (size_t)n;
  }
  wire_writer_truncate(&link->output, 0);
  link->sent = 0;
  watch(link, false);
}

static struct groups_call *add_call(struct groups_link *link)
{
  if (link->next - link->oldest == link->call_room) {
    uint32_t room = link->call_room == 0 ? 16 : 2 * link->call_room;
    struct groups_call *calls = mem_array(room, sizeof *calls);
    for (uint32_t at = link->oldest; at != link->next; at++) {
      calls[at & (room - 1)] = link->calls[at & (link->call_room - 1)];
    }
    mem_free(link->calls);
    link->calls = calls;
    link->call_room = room;
  }
  return &link->calls[link->next++ & (link->call_room - 1)];
}

void groups_link_send(struct groups_link *link, int16_t key, int16_t version, const void *request,
                      groups_answered_fn *answered, void *owner, int64_t planned_ns)
{
  struct wire_request_header header;
  wire_request_header_init(&header);
  header.request_api_key = key;
  header.request_api_version = version;
  header.correlation_id = (int32_t)link->next;
  header.client_id = wire_string_from("groups");
  size_t start = link->output.size;
  wire_writer_i32(&link->output, 0);
  int result = wire_request_header_write(&header, &link->output, wire_request_header_version(key, version));
  if (result == 0) {
    result = wire_api_find(key)->request->write(request, &link->output, version);
  }
  if (result != 0) {
    lose(link, result);
    return;
  }
  wire_writer_patch_i32(&link->output, start, (int32_t)(link->output.size - start) - 4);
  *add_call(link) = (struct groups_call){answered, owner, planned_ns, key, version};
  link->loop->calls++;
  if (!link->is_blocked) {
    flush(link);
  }
}

/// Handles one answer; `size` is that of the frame.
static int answer(struct groups_link *link, const uint8_t *frame, size_t size)
{
  struct groups_loop *loop = link->loop;
  struct groups_call call = link->calls[link->oldest & (link->call_room - 1)];
  struct wire_reader reader;
  struct wire_response_header header;
  wire_reader_init(&reader, frame, size);
  TRY(wire_response_header_read(&header, &reader, wire_response_header_version(call.key, call.version), &loop->arena));
  if (link->oldest == link->next || header.correlation_id != (int32_t)link->oldest) {
    return error_set(ERR_MALFORMED, "an answer to another request");
  }
  const struct wire_codec *codec = wire_api_find(call.key)->response;
  void *response = arena_zalloc(&loop->arena, codec->size);
  TRY(codec->read(response, &reader, call.version, &loop->arena));
  link->oldest++;
  loop->calls--;
  call.answered(call.owner, response, call.planned_ns);
  arena_reset(&loop->arena);
  return 0;
}

static int take_answers(struct groups_link *link)
{
  size_t at = 0;
  while (link->loop->error == 0 && link->input_size - at >= 4) {
    uint32_t size = bytes_get_u32(link->input + at);
    if (size < 4 || size > CLIENT_FRAME_BYTES_MAX || link->oldest == link->next) {
      return error_set(ERR_MALFORMED, "an answer that makes no sense");
    }
    if (link->input_size - at - 4 < size) {
      break;
    }
    TRY(answer(link, link->input + at + 4, size));
    at += 4 + (size_t)size;
  }
  memmove(link->input, link->input + at, link->input_size - at);
  link->input_size -= at;
  return 0;
}

static void receive(struct groups_link *link)
{
  size_t wanted = link->input_size + RECEIVE_BYTES;
  if (link->input_size >= 4 && bytes_get_u32(link->input) <= CLIENT_FRAME_BYTES_MAX) {
    size_t whole = 4 + (size_t)bytes_get_u32(link->input);
    wanted = whole > wanted ? whole : wanted;
  }
  if (link->input_room < wanted) {
    link->input = mem_realloc(link->input, wanted);
    link->input_room = wanted;
  }
  ssize_t n = recv(link->fd, link->input + link->input_size, link->input_room - link->input_size, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    return; // epoll says again what is left
  }
  if (n <= 0) {
    lose(link,
         n == 0 ? error_set(ERR_CLOSED, "the broker closed a connection") : error_set_errno(errno, "recv failed"));
    return;
  }
  link->input_size += (size_t)n;
  link->loop->now_ns = clock_mono_ns();
  int result = take_answers(link);
  if (result != 0) {
    lose(link, result);
  }
}

int groups_loop_turn(struct groups_loop *loop, int64_t until_ns)
{
  struct epoll_event events[EVENTS];
  struct itimerspec when = {.it_value = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000}};
  timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
  int count = epoll_wait(loop->epoll_fd, events, EVENTS, -1);
  for (int i = 0; i < count && loop->error == 0; i++) {
    struct groups_link *link = events[i].data.ptr;
    uint64_t ticks;
    if (link == NULL) {
      (void)!read(loop->timer_fd, &ticks, sizeof ticks); // only wakes
      continue;
    }
    if ((events[i].events & EPOLLOUT) != 0) {
      flush(link);
    }
    if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
      receive(link);
    }
  }
  loop->now_ns = clock_mono_ns();
  return loop->error;
}

int groups_loop_open(struct groups_loop *loop, const struct client_address *address, int count)
{
  loop->links = mem_array((size_t)count, sizeof *loop->links);
  loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
      epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &event) != 0) {
    return error_set_errno(errno, "epoll failed");
  }
  for (; loop->count < count; loop->count++) {
    struct groups_link *link = &loop->links[loop->count];
    link->loop = loop;
    TRY(client_connect(address, &link->fd));
    fcntl(link->fd, F_SETFL, fcntl(link->fd, F_GETFL) | O_NONBLOCK);
    event.data.ptr = link;
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, link->fd, &event) != 0) {
      close(link->fd);
      return error_set_errno(errno, "epoll_ctl failed");
    }
  }
  loop->now_ns = clock_mono_ns();
  return 0;
}

void groups_loop_close(struct groups_loop *loop)
{
  for (int i = 0; i < loop->count; i++) {
    close(loop->links[i].fd);
    wire_writer_destroy(&loop->links[i].output);
    mem_free(loop->links[i].input);
    mem_free(loop->links[i].calls);
  }
  mem_free(loop->links);
  arena_destroy(&loop->arena);
  if (loop->epoll_fd > 0) {
    close(loop->epoll_fd);
  }
  if (loop->timer_fd > 0) {
    close(loop->timer_fd);
  }
}
