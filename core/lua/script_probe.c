// SPDX-License-Identifier: Apache-2.0
//
// Questions about requests, and notes for traces, on the script thread: each becomes an event of
// lua/luka/script/init.lua, which says by probe_answer() what is to become of the request. A question whose functions
// take too long is overdue, which is an event, too. When the state is replaced, or the broker stops, all questions are
// given back, and their requests go on.
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "base/mem.h"
#include "base/slog.h"
#include "lua/script_private.h"
#include "lua/value.h"
#include "os/clock.h"
#include "policy/probes.h"

enum { PROBE_LOG_INTERVAL_MS = 1000 };

static struct script *probe_script(struct lua_State *vm)
{
  return lua_touserdata(vm, lua_upvalueindex(1));
}

// ---- questions ----

static void probe_give_back(struct script *script, struct probe_ask *ask)
{
  timer_stop(&script->loop, &ask->task_timer);
  list_remove(&ask->node);
  probes_answer(ask);
}

void script_return_asks(struct script *script)
{
  LIST_EACH_SAFE(&script->probe_asks, node) {
    probe_give_back(script, CONTAINER_OF(node, struct probe_ask, node));
  }
}

static struct probe_ask *probe_find(struct script *script, int64_t number)
{
  LIST_EACH(&script->probe_asks, node) {
    struct probe_ask *ask = CONTAINER_OF(node, struct probe_ask, node);
    if (ask->number == number) {
      return ask;
    }
  }
  return NULL;
}

/// Pushes number, api, version, correlation id, client id, address, bytes.
static int probe_push_ask(struct lua_State *vm, void *arg)
{
  const struct probe_ask *ask = arg;
  lua_pushnumber(vm, (lua_Number)ask->number);
  lua_pushstring(vm, ask->api);
  lua_pushinteger(vm, ask->version);
  lua_pushinteger(vm, ask->correlation_id);
  lua_pushstring(vm, ask->client_id);
  lua_pushstring(vm, ask->address);
  lua_pushinteger(vm, ask->size);
  return 7;
}

static int probe_push_number(struct lua_State *vm, void *arg)
{
  const struct probe_ask *ask = arg;
  lua_pushnumber(vm, (lua_Number)ask->number);
  return 1;
}

static void probe_on_overdue(struct timer *timer)
{
  struct probe_ask *ask = CONTAINER_OF(timer, struct probe_ask, task_timer);
  struct probes *probes = ask->probes;
  script_enter(probes->arg, "overdue", probe_push_number, ask);
}

static void probe_on_ask(struct mail *mail)
{
  struct probe_ask *ask = CONTAINER_OF(mail, struct probe_ask, mail);
  struct script *script = ask->probes->arg;
  list_append(&script->probe_asks, &ask->node);
  if (script->is_stopping || script->state == NULL) {
    probe_give_back(script, ask);
    return;
  }
  ask->number = ++script->probe_numbers;
  timer_start(&script->loop, &ask->task_timer, PROBES_TASK_MS, probe_on_overdue);
  script_enter(script, "asked", probe_push_ask, ask);
}

int script_probe_body(struct lua_State *vm)
{
  const struct probe_ask *ask = probe_find(probe_script(vm), (int64_t)luaL_checknumber(vm, 1));
  if (ask == NULL || ask->body == NULL) {
    return 0;
  }
  lua_pushlstring(vm, (const char *)ask->body, ask->body_size);
  return 1;
}

int script_probe_answer(struct lua_State *vm)
{
  static const char *const outcomes[] = {"go_on", "answer", "close", "drop", NULL};
  struct script *script = probe_script(vm);
  int64_t number = (int64_t)luaL_checknumber(vm, 1);
  int outcome = luaL_checkoption(vm, 2, NULL, outcomes);
  int64_t delay_ms = (int64_t)luaL_checknumber(vm, 3);
  size_t size = 0;
  const char *bytes = luaL_optlstring(vm, 4, NULL, &size);
  lua_Integer code = luaL_optinteger(vm, 5, 0);
  luaL_argcheck(vm, outcome != PROBE_ANSWER || bytes != NULL, 4, "an answer expected");
  struct probe_ask *ask = probe_find(script, number);
  if (ask == NULL) {
    return 0;
  }
  ask->outcome = (enum probe_outcome)outcome;
  ask->delay_ms = delay_ms > PROBES_DELAY_MAX_MS ? PROBES_DELAY_MAX_MS : delay_ms;
  ask->error_code = (int16_t)code;
  if (bytes != NULL) {
    ask->answer = mem_alloc(size + 1);
    ask->answer_size = size;
    memcpy(ask->answer, bytes, size);
  }
  probe_give_back(script, ask);
  return 0;
}

// ---- notes ----

/// Pushes a table of what a note says, and the request's body.
static int probe_push_note(struct lua_State *vm, void *arg)
{
  enum { NOTE_FIELDS = 13 };
  const struct probe_note *note = arg;
  lua_createtable(vm, 0, NOTE_FIELDS);
  lua_pushboolean(vm, note->is_answer);
  lua_setfield(vm, -2, "is_answer");
  lua_pushboolean(vm, note->is_closed);
  lua_setfield(vm, -2, "is_closed");
  lua_pushstring(vm, note->api);
  lua_setfield(vm, -2, "api");
  lua_pushstring(vm, note->client_id);
  lua_setfield(vm, -2, "client_id");
  lua_pushstring(vm, note->address);
  lua_setfield(vm, -2, "address");
  if (note->topics[0] != '\0') {
    lua_pushstring(vm, note->topics);
    lua_setfield(vm, -2, "topics");
  }
  lua_value_set_int64(vm, "version", note->version);
  lua_value_set_int64(vm, "error_code", note->error_code);
  lua_value_set_int64(vm, "correlation_id", note->correlation_id);
  lua_value_set_int64(vm, "size", note->size);
  lua_value_set_int64(vm, "latency_us", note->latency_us);
  lua_value_set_int64(vm, "time", note->wall_ms);
  if (note->body == NULL) {
    return 1;
  }
  lua_pushlstring(vm, (const char *)note->body, note->body_size);
  return 2;
}

static void probe_on_note(struct mail *mail)
{
  struct probe_note *note = CONTAINER_OF(mail, struct probe_note, mail);
  struct script *script = note->probes->arg;
  if (!script->is_stopping && script->state != NULL) {
    script_enter(script, "noted", probe_push_note, note);
  }
  probe_note_delete(note);
}

int script_probe_dropped(struct lua_State *vm)
{
  const struct probes *probes = probe_script(vm)->options.probes;
  lua_pushnumber(vm, (lua_Number)atomic_load_explicit(&probes->dropped, memory_order_relaxed));
  return 1;
}

int script_probe_log(struct lua_State *vm)
{
  struct script *script = probe_script(vm);
  int64_t now_ms = clock_mono_ms();
  if (script->probe_logged_ms == 0 || now_ms - script->probe_logged_ms >= PROBE_LOG_INTERVAL_MS) {
    script->probe_logged_ms = now_ms;
    slog_warn("%s", luaL_checkstring(vm, 1));
  }
  return 0;
}

// ---- what is watched ----

/// Reads the lists; may raise.
static void probe_read_watch(struct lua_State *vm, struct probe_watch *watch)
{
  for (size_t i = 1; i <= lua_objlen(vm, 1); i++) {
    lua_rawgeti(vm, 1, (int)i);
    lua_Integer key = luaL_checkinteger(vm, -1);
    luaL_argcheck(vm, key >= 0 && key < PROBES_KEYS_MAX, 1, "an api key expected");
    watch->asked[key / 64] |= UINT64_C(1) << (key % 64);
    lua_pop(vm, 1);
  }
  size_t traces = lua_objlen(vm, 2);
  luaL_argcheck(vm, traces <= PROBES_TRACES_MAX, 2, "too many traces");
  for (size_t i = 0; i < traces; i++) {
    lua_rawgeti(vm, 2, (int)i + 1);
    size_t size = 0;
    const char *part = luaL_checklstring(vm, -1, &size);
    luaL_argcheck(vm, size < PROBES_TEXT_SIZE, 2, "the part of a client id is too long");
    memcpy(watch->traces[i], part, size);
    watch->traces[i][size] = '\0';
    lua_pop(vm, 1);
  }
  watch->trace_count = (int)traces;
}

int script_probe_watch(struct lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  luaL_checktype(vm, 2, LUA_TTABLE);
  struct probe_watch watch = {.trace_count = 0};
  probe_read_watch(vm, &watch);
  bool is_needed = watch.trace_count > 0 || watch.asked[0] != 0 || watch.asked[1] != 0;
  struct probe_watch *copy = NULL;
  if (is_needed) {
    copy = mem_alloc(sizeof *copy);
    *copy = watch;
  }
  probes_set_watch(probe_script(vm)->options.probes, copy);
  return 0;
}

void script_open_probes(struct script *script)
{
  probes_open(script->options.probes, &script->loop, probe_on_ask, probe_on_note, script);
}
