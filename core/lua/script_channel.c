// SPDX-License-Identifier: Apache-2.0
//
// Connections to this broker from inside: words of the console ask it what any client could, in Kafka's protocol
// (lua/luka/script/channel.lua). A connection carries one request at a time; one whose answer nobody waits for any more
// is closed, as the answer would be taken for the next one's.
#include <lauxlib.h>
#include <lua.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "lua/script_private.h"
#include "os/socket.h"

enum {
  CHANNEL_HEADER_BYTES = 4,
  CHANNEL_REQUEST_MAX = 100 * 1024 * 1024, ///< longest request
  CHANNEL_IDLE_MAX = 4,                    ///< connections kept for the next request
  CHANNEL_ROOM_MIN = 16 * 1024,            ///< first size of the buffer of an answer
};

struct channel {
  struct list node;          ///< in script->channels
  struct script *script;     ///< whose
  int fd;                    ///< the socket
  uv_poll_t poll;            ///< watches it
  int poll_events;           ///< what for
  struct channel_call *call; ///< what is asked; NULL: idle
};

/// channel(request)
struct channel_call {
  struct script_call base;                    ///< what Lua waits for
  struct channel *channel;                    ///< where it is asked; NULL: it is over
  char *request;                              ///< with its length in front, owned
  size_t request_size;                        ///< bytes
  size_t sent;                                ///< bytes of it
  unsigned char header[CHANNEL_HEADER_BYTES]; ///< length of the answer
  size_t header_got;                          ///< bytes of it
  char *answer;                               ///< owned; NULL: not begun
  size_t answer_size;                         ///< bytes it will have
  size_t answer_room;                         ///< allocated
  size_t got;                                 ///< bytes of it
  char *failure;                              ///< what went wrong, owned; NULL: nothing
};

static void channel_on_poll(uv_poll_t *poll, int status, int events);

static void channel_on_closed(uv_handle_t *handle)
{
  mem_free(handle->data);
}

static void channel_close(struct channel *channel)
{
  list_remove(&channel->node);
  channel->script->idle_channels -= channel->call == NULL;
  uv_close((uv_handle_t *)&channel->poll, channel_on_closed);
  close(channel->fd);
}

void script_close_channels(struct script *script)
{
  while (!list_is_empty(&script->channels)) {
    struct channel *channel = CONTAINER_OF(script->channels.next, struct channel, node);
    CHECK(channel->call == NULL); // no call is under way by now
    channel_close(channel);
  }
}

/// The call is over, and its connection with it.
static void channel_fail(struct channel_call *call, char *failure)
{
  struct channel *channel = call->channel;
  call->failure = failure;
  call->channel = NULL;
  if (channel != NULL) {
    channel_close(channel);
  }
  script_call_done(&call->base);
}

static void channel_poll(struct channel *channel)
{
  // While idle as well: the other side may close it.
  int events = UV_READABLE;
  if (channel->call != NULL && channel->call->sent < channel->call->request_size) {
    events |= UV_WRITABLE;
  }
  if (events != channel->poll_events) {
    channel->poll_events = events;
    int err = uv_poll_start(&channel->poll, events, channel_on_poll);
    CHECK(err == 0);
  }
}

static int channel_open(struct script *script, struct channel **channel)
{
  int fd = -1;
  TRY(script->options.connect(script->options.arg, &fd));
  struct channel *made = mem_zalloc(sizeof *made);
  int err = uv_poll_init_socket(&script->loop.uv, &made->poll, fd);
  if (err != 0) {
    close(fd);
    mem_free(made);
    return error_set_errno(-err, "cannot poll a connection");
  }
  made->script = script;
  made->fd = fd;
  made->poll.data = made;
  list_append(&script->channels, &made->node);
  script->idle_channels++;
  *channel = made;
  return 0;
}

/// @return 0, ERR_AGAIN, another ERR_* when the connection is of no use any more
static int channel_send(struct channel_call *call)
{
  while (call->sent < call->request_size) {
    struct iovec part = {.iov_base = call->request + call->sent, .iov_len = call->request_size - call->sent};
    size_t sent = 0;
    TRY(socket_send(call->channel->fd, &part, 1, false, &sent));
    call->sent += sent;
  }
  return 0;
}

/// Reads a part of what is missing; the buffer grows with what really comes.
/// @return 0, ERR_AGAIN, ERR_LIMIT ...
static int channel_receive(struct channel_call *call)
{
  int fd = call->channel->fd;
  size_t got = 0;
  if (call->header_got < CHANNEL_HEADER_BYTES) {
    TRY(socket_receive(fd, call->header + call->header_got, CHANNEL_HEADER_BYTES - call->header_got, &got));
    call->header_got += got;
    if (call->header_got == CHANNEL_HEADER_BYTES) {
      const unsigned char *header = call->header;
      call->answer_size = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
      if (call->answer_size > call->base.script->options.memory_bytes / 2) {
        return ERR_LIMIT;
      }
    }
    return got > 0 ? 0 : ERR_CLOSED;
  }
  if (call->got == call->answer_room) {
    size_t room = call->answer_room == 0 ? CHANNEL_ROOM_MIN : call->answer_room * 2;
    call->answer_room = room < call->answer_size ? room : call->answer_size;
    call->answer = mem_realloc(call->answer, call->answer_room + 1);
  }
  TRY(socket_receive(fd, call->answer + call->got, call->answer_room - call->got, &got));
  call->got += got;
  return got > 0 ? 0 : ERR_CLOSED;
}

static bool channel_is_answered(const struct channel_call *call)
{
  return call->header_got == CHANNEL_HEADER_BYTES && call->got == call->answer_size;
}

/// The answer is whole: the connection is free for the next request.
static void channel_answered(struct channel *channel)
{
  struct script *script = channel->script;
  struct channel_call *call = channel->call;
  call->channel = NULL;
  channel->call = NULL;
  script->idle_channels++;
  if (script->idle_channels > CHANNEL_IDLE_MAX) {
    channel_close(channel);
  } else {
    channel_poll(channel);
  }
  script_call_done(&call->base);
}

/// Does what can be done now.
static void channel_go_on(struct channel *channel)
{
  struct channel_call *call = channel->call;
  int result = channel_send(call);
  while ((result == 0 || result == ERR_AGAIN) && !channel_is_answered(call)) {
    int received = channel_receive(call);
    if (received < 0) {
      result = received;
      break;
    }
  }
  if (channel_is_answered(call) && call->sent == call->request_size) {
    channel_answered(channel);
  } else if (result == ERR_AGAIN) {
    channel_poll(channel);
  } else if (result == ERR_LIMIT) {
    channel_fail(call, mem_printf("the broker's answer of %zu bytes is too large: ask for less", call->answer_size));
  } else {
    channel_fail(call, mem_strdup("the broker has closed the connection: it is stopping, or the request is malformed"));
  }
}

static void channel_on_poll(uv_poll_t *poll, int status, int events)
{
  struct channel *channel = poll->data;
  event_loop_awake(&channel->script->loop);
  (void)events;
  if (channel->call != NULL) {
    if (status < 0) {
      channel_fail(channel->call, mem_printf("the connection to the broker failed: %s", uv_strerror(status)));
    } else {
      channel_go_on(channel);
    }
    return;
  }
  channel_close(channel); // nothing is asked, so this is its end
}

// ---- for Lua ----

static int channel_call_push(struct script_call *base, struct lua_State *vm)
{
  const struct channel_call *call = CONTAINER_OF(base, struct channel_call, base);
  if (call->failure == NULL) {
    lua_pushlstring(vm, call->answer != NULL ? call->answer : "", call->answer_size);
    return 1;
  }
  lua_pushnil(vm);
  lua_pushstring(vm, call->failure);
  return 2;
}

static void channel_call_cancel(struct script_call *base)
{
  struct channel_call *call = CONTAINER_OF(base, struct channel_call, base);
  if (call->channel != NULL) {
    channel_fail(call, NULL);
  }
}

static void channel_call_free(struct script_call *base)
{
  struct channel_call *call = CONTAINER_OF(base, struct channel_call, base);
  mem_free(call->request);
  mem_free(call->answer);
  mem_free(call->failure);
  mem_free(call);
}

/// An idle connection, or a new one.
static int channel_find(struct script *script, struct channel **channel)
{
  LIST_EACH(&script->channels, node) {
    struct channel *each = CONTAINER_OF(node, struct channel, node);
    if (each->call == NULL) {
      *channel = each;
      return 0;
    }
  }
  return channel_open(script, channel);
}

int script_channel_call(struct lua_State *vm)
{
  struct script *script = script_check(vm);
  size_t size = 0;
  const char *request = luaL_checklstring(vm, 1, &size);
  luaL_argcheck(vm, size <= CHANNEL_REQUEST_MAX, 1, "the request is too long");
  struct channel_call *call = mem_zalloc(sizeof *call);
  call->base =
      (struct script_call){.push = channel_call_push, .cancel = channel_call_cancel, .free = channel_call_free};
  call->request_size = CHANNEL_HEADER_BYTES + size;
  call->request = mem_alloc(call->request_size);
  for (int i = 0; i < CHANNEL_HEADER_BYTES; i++) {
    call->request[i] = (char)(unsigned char)(size >> (24 - 8 * i));
  }
  memcpy(call->request + CHANNEL_HEADER_BYTES, request, size);
  int results = script_call_start(vm, script, &call->base);
  struct channel *channel = NULL;
  if (channel_find(script, &channel) < 0) {
    channel_fail(call, mem_printf("cannot connect to the broker: %s", error_last()->message));
    return results;
  }
  script->idle_channels--;
  channel->call = call;
  call->channel = channel;
  channel_go_on(channel);
  return results;
}
