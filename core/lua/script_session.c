// SPDX-License-Identifier: Apache-2.0
//
// The consoles' socket: accepts, cuts what clients send into frames for Lua, and sends what Lua gives it. A frame is a
// length of four bytes, big-endian, and that many bytes of JSON. What is queued for a client that does not read is
// bounded: tasks wait until it does (`drained`), and no more frames are taken from it while answers to earlier ones lie
// there.
#include <lauxlib.h>
#include <lua.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "lua/script_private.h"
#include "os/socket.h"
#include "os/unix_socket.h"

enum {
  SESSION_HEADER_BYTES = 4,
  SESSION_FRAME_MAX = 2 * 1024 * 1024, ///< largest frame of a client
  SESSION_MARKS_MAX = 64,              ///< most brackets, commas and colons in one
  SESSION_READ_BYTES = 64 * 1024,      ///< read at a time
  SESSION_READS = 8,                   ///< reads before others have their turn
  SESSION_DRAINED_BYTES = 64 * 1024,   ///< queued bytes at which tasks go on
  SESSION_REPLIES_MAX = 1024 * 1024,   ///< queued bytes of answers at which no more frames are taken
  SESSION_BACKLOG = 16,
  SESSION_ACCEPTS = 16,          ///< connections taken before others have their turn
  SESSION_LISTEN_PAUSE_MS = 1000 ///< rest when descriptors ran out
};

static const char session_refusal_full[] = "{\"op\":\"refused\",\"error\":\"64 consoles are open already\"}";
static const char session_refusal_large[] = "{\"op\":\"refused\",\"error\":\"a frame is at most 2 MiB long\"}";
static const char session_refusal_deep[] = "{\"op\":\"refused\",\"error\":\"a frame has few members and no lists\"}";

struct session {
  struct list node;      ///< in script->sessions
  struct script *script; ///< whose
  int64_t id;            ///< its number
  int fd;                ///< the socket
  uv_poll_t poll;        ///< watches it
  int poll_events;       ///< what for
  bool is_known;         ///< Lua has heard of it and not ended it
  bool is_ending;        ///< closed when all is sent; nothing is read
  bool is_open;          ///< until session_close()

  char *in;       ///< what has arrived and is in no frame yet, owned
  size_t in_size; ///< bytes of it
  size_t in_room; ///< allocated

  char *out;          ///< frames to send, owned
  size_t out_start;   ///< first byte not sent
  size_t out_end;     ///< end of what is queued
  size_t out_room;    ///< allocated
  size_t reply_bytes; ///< answers queued since `out` was last empty
  struct list drains; ///< calls that wait until little is queued
};

/// drained(session)
struct drain_call {
  struct script_call base; ///< what Lua waits for
  struct list node;        ///< in session->drains, or alone
};

static void session_on_listen(uv_poll_t *poll, int status, int events);
static void session_on_poll(uv_poll_t *poll, int status, int events);
static void session_close(struct session *session);
static void session_flush(struct session *session);

// ---- the socket ----

int script_listen(struct script *script)
{
  if (script->options.console == NULL) {
    return 0;
  }
  TRY(unix_socket_listen(script->options.console, SESSION_BACKLOG, &script->listen_fd, &script->listen_inode));
  int err = uv_poll_init_socket(&script->loop.uv, &script->listen_poll, script->listen_fd);
  if (err != 0) {
    unix_socket_remove(script->options.console, script->listen_inode);
    close(script->listen_fd);
    script->listen_fd = -1;
    return error_set_errno(-err, "cannot wait for consoles");
  }
  script->listen_poll.data = script;
  err = uv_poll_start(&script->listen_poll, UV_READABLE, session_on_listen);
  CHECK(err == 0);
  return 0;
}

void script_stop_listening(struct script *script)
{
  if (script->listen_fd >= 0) {
    timer_stop(&script->loop, &script->listen_timer);
    uv_close((uv_handle_t *)&script->listen_poll, NULL);
    unix_socket_remove(script->options.console, script->listen_inode);
    close(script->listen_fd);
    script->listen_fd = -1;
  }
}

/// Sends a frame to a client that was not let in; it fits any socket's buffer.
static void session_refuse(int fd, const char *text)
{
  size_t size = strlen(text);
  unsigned char header[SESSION_HEADER_BYTES] = {0, 0, (unsigned char)(size >> 8), (unsigned char)size};
  struct iovec parts[] = {{.iov_base = header, .iov_len = sizeof header},
                          {.iov_base = (char *)(uintptr_t)text, .iov_len = size}};
  size_t sent = 0;
  socket_send(fd, parts, 2, false, &sent);
  close(fd);
}

static int session_push_id(struct lua_State *vm, void *arg)
{
  const struct session *session = arg;
  lua_pushnumber(vm, (lua_Number)session->id);
  return 1;
}

static void session_open(struct script *script, int fd)
{
  struct session *session = mem_zalloc(sizeof *session);
  session->script = script;
  session->fd = fd;
  int err = uv_poll_init_socket(&script->loop.uv, &session->poll, fd);
  if (err != 0) {
    slog_error("console: a connection cannot be polled: %s", uv_strerror(err));
    close(fd);
    mem_free(session);
    return;
  }
  session->poll.data = session;
  session->id = ++script->session_ids;
  session->is_open = true;
  list_create(&session->drains);
  list_append(&script->sessions, &session->node);
  script->session_count++;
  session->poll_events = UV_READABLE;
  err = uv_poll_start(&session->poll, UV_READABLE, session_on_poll);
  CHECK(err == 0);
  session->is_known = true;
  if (!script_enter(script, "opened", session_push_id, session)) {
    session_close(session);
  }
}

static void session_on_pause_over(struct timer *timer)
{
  struct script *script = CONTAINER_OF(timer, struct script, listen_timer);
  int err = uv_poll_start(&script->listen_poll, UV_READABLE, session_on_listen);
  CHECK(err == 0);
}

static void session_on_listen(uv_poll_t *poll, int status, int events)
{
  struct script *script = poll->data;
  event_loop_awake(&script->loop);
  (void)events;
  int result = status < 0 ? ERR_IO : 0;
  for (int i = 0; i < SESSION_ACCEPTS && result == 0; i++) {
    int fd = -1;
    result = unix_socket_accept(script->listen_fd, &fd);
    if (result == 0 && script->session_count >= SCRIPT_SESSIONS_MAX) {
      session_refuse(fd, session_refusal_full);
    } else if (result == 0) {
      session_open(script, fd);
    }
  }
  if (result < 0 && result != ERR_AGAIN) {
    slog_error("console: %s", status < 0 ? uv_strerror(status) : error_last()->message);
    uv_poll_stop(&script->listen_poll);
    timer_start(&script->loop, &script->listen_timer, SESSION_LISTEN_PAUSE_MS, session_on_pause_over);
  }
}

// ---- a session ----

static void session_on_closed(uv_handle_t *handle)
{
  mem_free(handle->data);
}

static void session_release_drains(struct session *session)
{
  LIST_EACH_SAFE(&session->drains, node) {
    struct drain_call *call = CONTAINER_OF(node, struct drain_call, node);
    list_remove(&call->node);
    script_call_done(&call->base);
  }
}

/// Frees what a session holds; its own memory goes with the handle, after this turn.
static void session_close(struct session *session)
{
  if (!session->is_open) {
    return;
  }
  struct script *script = session->script;
  session->is_open = false;
  list_remove(&session->node);
  script->session_count--;
  uv_close((uv_handle_t *)&session->poll, session_on_closed);
  close(session->fd);
  session_release_drains(session);
  mem_free(session->in);
  mem_free(session->out);
  session->in = session->out = NULL;
  if (session->is_known && script->state != NULL) {
    session->is_known = false;
    script_enter(script, "closed", session_push_id, session);
  }
}

void script_close_sessions(struct script *script)
{
  while (!list_is_empty(&script->sessions)) {
    struct session *session = CONTAINER_OF(script->sessions.next, struct session, node);
    session_flush(session); // as far as that goes without waiting: a client that called stop() is told that it is done
    session_close(session);
  }
}

static struct session *session_find(struct script *script, int64_t id)
{
  LIST_EACH(&script->sessions, node) {
    struct session *session = CONTAINER_OF(node, struct session, node);
    if (session->id == id) {
      return session;
    }
  }
  return NULL;
}

static size_t session_queued(const struct session *session)
{
  return session->out_end - session->out_start;
}

static bool session_may_take(const struct session *session)
{
  return session->is_open && !session->is_ending && session->reply_bytes < SESSION_REPLIES_MAX;
}

/// Says what to poll for. A session that is not read still hears of its client's end.
static void session_poll(struct session *session)
{
  if (!session->is_open) {
    return;
  }
  int events = session_may_take(session) ? UV_READABLE : UV_DISCONNECT;
  if (session_queued(session) > 0) {
    events |= UV_WRITABLE;
  }
  if (events != session->poll_events) {
    session->poll_events = events;
    int err = uv_poll_start(&session->poll, events, session_on_poll);
    CHECK(err == 0);
  }
}

// ---- out ----

/// Queues a frame.
static void session_queue(struct session *session, const char *text, size_t size)
{
  size_t need = session->out_end + SESSION_HEADER_BYTES + size;
  if (session->out != NULL && session->out_start > 0 && need > session->out_room) {
    memmove(session->out, session->out + session->out_start, session_queued(session));
    session->out_end -= session->out_start;
    session->out_start = 0;
    need = session->out_end + SESSION_HEADER_BYTES + size;
  }
  if (session->out == NULL || need > session->out_room) {
    session->out_room = need < SESSION_READ_BYTES ? SESSION_READ_BYTES : need + need / 4;
    session->out = mem_realloc(session->out, session->out_room);
  }
  unsigned char *at = (unsigned char *)session->out + session->out_end;
  at[0] = (unsigned char)(size >> 24);
  at[1] = (unsigned char)(size >> 16);
  at[2] = (unsigned char)(size >> 8);
  at[3] = (unsigned char)size;
  memcpy(at + SESSION_HEADER_BYTES, text, size);
  session->out_end += SESSION_HEADER_BYTES + size;
}

/// Sends what the socket takes. May close.
static void session_flush(struct session *session)
{
  while (session->is_open && session_queued(session) > 0) {
    struct iovec part = {.iov_base = session->out + session->out_start, .iov_len = session_queued(session)};
    size_t sent = 0;
    int result = socket_send(session->fd, &part, 1, false, &sent);
    if (result == ERR_AGAIN) {
      break;
    }
    if (result < 0) {
      session_close(session);
      return;
    }
    session->out_start += sent;
  }
  if (!session->is_open) {
    return;
  }
  if (session_queued(session) <= SESSION_DRAINED_BYTES) {
    session_release_drains(session);
  }
  if (session_queued(session) == 0) {
    mem_free(session->out);
    session->out = NULL;
    session->out_start = session->out_end = session->out_room = session->reply_bytes = 0;
    if (session->is_ending) {
      session_close(session);
    }
  }
}

// ---- in ----

/// A frame that goes to Lua.
struct session_frame {
  const struct session *session; ///< from
  const char *text;              ///< its JSON
  size_t size;                   ///< bytes
};

static int session_push_frame(struct lua_State *vm, void *arg)
{
  const struct session_frame *frame = arg;
  lua_pushnumber(vm, (lua_Number)frame->session->id);
  lua_pushlstring(vm, frame->text, frame->size);
  return 2;
}

/// Bytes of the frame at `at`, without its header.
static size_t session_frame_size(const char *at)
{
  const unsigned char *bytes = (const unsigned char *)at;
  return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/// Whether a frame may be decoded. All ops have a few members that are no lists; lists upon lists would take a hundred
/// times their size in memory.
static bool session_frame_is_flat(const char *text, size_t size)
{
  int marks = 0;
  bool is_string = false;
  for (size_t i = 0; i < size; i++) {
    if (is_string && text[i] == '\\') {
      i++;
    } else if (text[i] == '"') {
      is_string = !is_string;
    } else if (!is_string) {
      marks += text[i] == '{' || text[i] == '[' || text[i] == ',' || text[i] == ':';
    }
  }
  return marks <= SESSION_MARKS_MAX;
}

/// Ends a session whose client does not keep to the protocol, once it has been told.
static void session_give_up(struct session *session, const char *text)
{
  session_queue(session, text, strlen(text));
  session->is_ending = true;
  session->is_known = false;
  script_enter(session->script, "closed", session_push_id, session);
}

/// Hands the frames that are complete to Lua. May close.
static void session_take(struct session *session)
{
  size_t start = 0;
  while (session->in != NULL && session_may_take(session) && session->in_size - start >= SESSION_HEADER_BYTES) {
    size_t size = session_frame_size(session->in + start);
    if (size > SESSION_FRAME_MAX) {
      session_give_up(session, session_refusal_large);
      break;
    }
    if (session->in_size - start - SESSION_HEADER_BYTES < size) {
      break;
    }
    if (!session_frame_is_flat(session->in + start + SESSION_HEADER_BYTES, size)) {
      session_give_up(session, session_refusal_deep);
      break;
    }
    struct session_frame frame = {.session = session, .text = session->in + start + SESSION_HEADER_BYTES, .size = size};
    start += SESSION_HEADER_BYTES + size;
    script_enter(session->script, "frame", session_push_frame, &frame);
  }
  if (!session->is_open || session->in == NULL) {
    return;
  }
  memmove(session->in, session->in + start, session->in_size - start);
  session->in_size -= start;
  if (session->in_size == 0) {
    mem_free(session->in);
    session->in = NULL;
    session->in_room = 0;
  }
}

/// Reads what has arrived. The buffer grows with what a client really sends. May close.
static void session_read(struct session *session)
{
  for (int i = 0; i < SESSION_READS && session_may_take(session); i++) {
    if (session->in_room - session->in_size < SESSION_READ_BYTES) {
      session->in_room = session->in_size + session->in_size / 2 + SESSION_READ_BYTES;
      session->in = mem_realloc(session->in, session->in_room);
    }
    size_t got = 0;
    int result = socket_receive(session->fd, session->in + session->in_size, session->in_room - session->in_size, &got);
    if (result == ERR_AGAIN) {
      return;
    }
    if (result < 0 || got == 0) {
      session_close(session);
      return;
    }
    session->in_size += got;
    session_take(session);
  }
}

static void session_on_poll(uv_poll_t *poll, int status, int events)
{
  struct session *session = poll->data;
  event_loop_awake(&session->script->loop);
  if (status < 0 || events & UV_DISCONNECT) {
    session_close(session);
    return;
  }
  if (events & UV_WRITABLE) {
    session_flush(session);
    if (session_may_take(session) && session->in_size > 0) {
      session_take(session);
    }
  }
  if (session->is_open && events & UV_READABLE) {
    session_read(session);
  }
  if (session->is_open) {
    session_flush(session);
  }
  session_poll(session);
}

// ---- for Lua ----

static struct session *session_check(struct lua_State *vm)
{
  return session_find(lua_touserdata(vm, lua_upvalueindex(1)), (int64_t)luaL_checknumber(vm, 1));
}

int script_session_send(struct lua_State *vm)
{
  struct session *session = session_check(vm);
  size_t size = 0;
  const char *text = luaL_checklstring(vm, 2, &size);
  bool is_reply = lua_toboolean(vm, 3);
  luaL_argcheck(vm, size <= UINT32_MAX / 4, 2, "too long");
  if (session == NULL || session->is_ending) {
    return 0;
  }
  session_queue(session, text, size);
  session->reply_bytes += is_reply ? size + SESSION_HEADER_BYTES : 0;
  lua_pushnumber(vm, (lua_Number)session_queued(session));
  // Sent when the loop finds the socket writable: closing it here would call Lua back.
  session_poll(session);
  return 1;
}

int script_session_close(struct lua_State *vm)
{
  struct session *session = session_check(vm);
  if (session != NULL) {
    session->is_known = false;
    session->is_ending = true;
    session_poll(session);
  }
  return 0;
}

int script_session_queued(struct lua_State *vm)
{
  const struct session *session = session_check(vm);
  lua_pushnumber(vm, session != NULL ? (lua_Number)session_queued(session) : 0);
  return 1;
}

static int drain_push(struct script_call *base, struct lua_State *vm)
{
  (void)base;
  (void)vm;
  return 0;
}

static void drain_cancel(struct script_call *base)
{
  struct drain_call *call = CONTAINER_OF(base, struct drain_call, base);
  if (!list_is_empty(&call->node)) {
    list_remove(&call->node);
    script_call_done(base);
  }
}

static void drain_free(struct script_call *base)
{
  mem_free(CONTAINER_OF(base, struct drain_call, base));
}

int script_session_drained(struct lua_State *vm)
{
  struct script *script = script_check(vm);
  struct session *session = session_check(vm);
  struct drain_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = drain_push, .cancel = drain_cancel, .free = drain_free};
  list_create(&call->node);
  int results = script_call_start(vm, script, &call->base);
  if (session == NULL || session_queued(session) <= SESSION_DRAINED_BYTES) {
    script_call_done(&call->base);
  } else {
    list_append(&session->drains, &call->node);
  }
  return results;
}
