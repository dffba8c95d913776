// SPDX-License-Identifier: Apache-2.0
//
// Functions of the configuration on the script thread: hooks, timers, placement. What runs them is written in Lua
// (lua/luka/script/policies.lua); here is what it is told and what it asks for.
//
//   load(set) -> evaluated in a task -> done; commit: in force, or discard
//
// The set before the one in force stays as long as its functions may still be at work; with the next commit they end.
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "lua/config.h"
#include "lua/policy_vm_private.h"
#include "lua/script_private.h"
#include "lua/value.h"
#include "os/clock.h"
#include "policy/hooks.h"

enum { SCRIPT_TICK_MS = 50 };

/// A message about the sets from another thread.
struct script_order {
  struct mail mail;      ///< carries it
  struct script *script; ///< whose
};

static bool script_set_is_needed(const struct policy_set *set)
{
  for (int i = 0; set != NULL && i < set->policy_count; i++) {
    enum policy_kind kind = set->policies[i].kind;
    if (kind == POLICY_HOOK || kind == POLICY_TIMER || kind == POLICY_PLACEMENT || kind == POLICY_REQUEST) {
      return true;
    }
  }
  return false;
}

static void script_drop_set(struct script_set *held)
{
  if (held->set != NULL) {
    policy_set_unref(held->set);
  }
  *held = (struct script_set){0};
}

// ---- loading ----

static void script_deliver_load(struct mail *mail)
{
  struct script_load *load = CONTAINER_OF(mail, struct script_load, mail);
  load->done(load);
}

/// Ends the wait for an evaluation, if somebody waits.
static void script_loaded(struct script *script, const char *error)
{
  struct script_load *load = script->load;
  script->load = NULL;
  if (load == NULL) {
    return;
  }
  snprintf(load->error, sizeof load->error, "%s", error);
  load->mail.run = script_deliver_load;
  event_loop_post(load->reply != NULL ? load->reply : &script->loop, &load->mail);
}

static void push_field(lua_State *vm, const char *name, const char *text)
{
  lua_pushstring(vm, text);
  lua_setfield(vm, -2, name);
}

/// Pushes what luka.policy.load needs, and the generation.
static int script_push_load(struct lua_State *vm, void *arg)
{
  struct script *script = arg;
  const struct policy_set *set = script->wanted.set;
  lua_createtable(vm, 0, 5);
  lua_pushnumber(vm, (lua_Number)script->wanted.generation);
  lua_setfield(vm, -2, "generation");
  lua_pushboolean(vm, set->is_unsafe);
  lua_setfield(vm, -2, "is_unsafe");
  lua_pushinteger(vm, LUA_CONFIG_BUDGET_MS);
  lua_setfield(vm, -2, "load_ms");
  lua_pushinteger(vm, set->budget_ms);
  lua_setfield(vm, -2, "budget_ms");
  lua_createtable(vm, set->source_count, 0);
  for (int i = 0; i < set->source_count; i++) {
    lua_createtable(vm, 0, 2);
    push_field(vm, "path", set->sources[i].path);
    lua_pushlstring(vm, set->sources[i].text, set->sources[i].size);
    lua_setfield(vm, -2, "text");
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, "sources");
  lua_createtable(vm, set->policy_count, 0);
  for (int i = 0; i < set->policy_count; i++) {
    lua_createtable(vm, 0, 2);
    push_field(vm, "kind", policy_kind_name(set->policies[i].kind));
    push_field(vm, "name", set->policies[i].name);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, "expected");
  return 1;
}

static void script_begin_load(struct script *script)
{
  script->wanted.generation = ++script->generations;
  if (!script_set_is_needed(script->wanted.set)) {
    script_loaded(script, "");
  } else if (script->is_stopping) {
    script_loaded(script, "the broker is stopping");
  } else if (!script_enter(script, "load", script_push_load, script)) {
    script_loaded(script, "the script state is broken");
  }
}

static void script_on_load(struct mail *mail)
{
  struct script_load *load = CONTAINER_OF(mail, struct script_load, mail);
  struct script *script = load->script;
  if (script->load != NULL) { // the state broke in the middle of a reload
    struct script_load *other = script->load;
    script_drop_set(&(struct script_set){.set = load->set});
    script->load = load;
    script_loaded(script, "functions are being evaluated already: try again");
    script->load = other;
    return;
  }
  script_drop_set(&script->wanted);
  script->wanted.set = load->set;
  script->load = load;
  script_begin_load(script);
}

void script_load(struct script *script, const struct policy_set *set, struct script_load *load)
{
  load->script = script;
  load->set = set != NULL ? policy_set_ref(set) : NULL;
  load->error[0] = '\0';
  load->mail.run = script_on_load;
  event_loop_post(&script->loop, &load->mail);
}

// loaded(message or nil): the evaluation has ended
static int script_native_loaded(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  script_loaded(script, luaL_optstring(vm, 1, ""));
  return 0;
}

// ---- in force ----

static uint32_t script_hooks_of(const struct policy_set *set)
{
  uint32_t mask = 0;
  for (int i = 0; set != NULL && i < set->policy_count; i++) {
    const struct policy *policy = &set->policies[i];
    enum hook hook = policy->kind == POLICY_HOOK        ? hook_find(policy->name)
                     : policy->kind == POLICY_PLACEMENT ? HOOK_PLACEMENT
                                                        : HOOKS;
    mask |= hook < HOOKS ? UINT32_C(1) << hook : 0;
  }
  return mask;
}

void script_commit_here(struct script *script)
{
  script_drop_set(&script->previous);
  script->previous = script->current;
  script->current = script->wanted;
  script->wanted = (struct script_set){0};
  if (script->state != NULL) {
    script_enter(script, "commit", NULL, NULL);
  }
  hooks_publish(script->options.hooks, script_hooks_of(script->current.set));
}

static void script_order_commit(struct mail *mail)
{
  struct script_order *order = CONTAINER_OF(mail, struct script_order, mail);
  script_commit_here(order->script);
  mem_free(order);
}

static void script_order_discard(struct mail *mail)
{
  struct script_order *order = CONTAINER_OF(mail, struct script_order, mail);
  script_drop_set(&order->script->wanted);
  if (order->script->state != NULL) {
    script_enter(order->script, "discard", NULL, NULL);
  }
  mem_free(order);
}

static void script_post_order(struct script *script, mail_fn run)
{
  struct script_order *order = mem_zalloc(sizeof *order);
  *order = (struct script_order){.mail.run = run, .script = script};
  event_loop_post(&script->loop, &order->mail);
}

void script_commit(struct script *script)
{
  script_post_order(script, script_order_commit);
}

void script_discard(struct script *script)
{
  script_post_order(script, script_order_discard);
}

static void script_on_serve(struct mail *mail)
{
  struct script *script = CONTAINER_OF(mail, struct script, start_mail);
  script->is_serving = true;
  if (script->state != NULL) {
    script_enter(script, "serve", NULL, NULL);
  }
}

void script_serve(struct script *script)
{
  script->start_mail.run = script_on_serve;
  event_loop_post(&script->loop, &script->start_mail);
}

// ---- the end ----

static void script_answer(struct hook_ask *ask, int result, const char *text)
{
  list_remove(&ask->node);
  hooks_answer(ask, result, text);
}

void script_end_policies(struct script *script)
{
  timer_stop(&script->loop, &script->tick_timer);
  LIST_EACH_SAFE(&script->asks, node) {
    script_answer(CONTAINER_OF(node, struct hook_ask, node), ERR_CLOSED,
                  script->is_stopping ? "the broker is stopping" : "all hooks begin anew after an internal error");
  }
  script_loaded(script, script->is_stopping ? "the broker is stopping" : "internal error");
}

/// What came of it: nothing but the log can be told.
static void script_restored(struct script_load *load)
{
  struct script *script = load->script;
  if (load->error[0] == '\0') {
    script_commit_here(script);
  } else {
    slog_error("hooks and timers do not run, and what is asked is refused: %s", load->error);
    script_drop_set(&script->wanted);
  }
  mem_free(load);
}

void script_restore_policies(struct script *script)
{
  if (script->is_stopping || !script_set_is_needed(script->current.set)) {
    return;
  }
  struct script_load *load = mem_zalloc(sizeof *load);
  load->done = script_restored;
  script_load(script, script->current.set, load);
}

void script_free_policies(struct script *script)
{
  script_drop_set(&script->wanted);
  script_drop_set(&script->current);
  script_drop_set(&script->previous);
}

// ---- asks and told events ----

/// Pushes number, hook and table.
static int script_push_ask(struct lua_State *vm, void *arg)
{
  const struct hook_ask *ask = arg;
  lua_pushnumber(vm, (lua_Number)ask->number);
  lua_pushstring(vm, hook_name(ask->event.hook));
  script_push_event(vm, &ask->event);
  return 3;
}

static void script_on_wake(struct mail *mail)
{
  struct script *script = CONTAINER_OF(mail, struct script, wake_mail);
  struct hooks *hooks = script->options.hooks;
  atomic_store(&script->is_woken, false);
  for (struct hook_ask *ask = hooks_next_ask(hooks); ask != NULL; ask = hooks_next_ask(hooks)) {
    list_append(&script->asks, &ask->node);
    if (script->is_stopping) {
      script_answer(ask, ERR_CLOSED, "the broker is stopping");
    } else {
      script_enter(script, "ask", script_push_ask, ask);
    }
  }
  if (!script_set_is_needed(script->current.set)) {
    for (struct hook_told *told = hooks_next_told(hooks); told != NULL; told = hooks_next_told(hooks)) {
      hook_told_delete(told);
    }
  } else if (script->state != NULL && !script->is_stopping) {
    script_enter(script, "told", NULL, NULL);
  }
}

void script_wake(struct script *script)
{
  if (!atomic_exchange(&script->is_woken, true)) {
    script->wake_mail.run = script_on_wake;
    event_loop_post(&script->loop, &script->wake_mail);
  }
}

static struct hook_ask *script_find_ask(struct script *script, int64_t number)
{
  LIST_EACH(&script->asks, node) {
    struct hook_ask *ask = CONTAINER_OF(node, struct hook_ask, node);
    if (ask->number == number) {
      return ask;
    }
  }
  return NULL;
}

// read(number, event) -> nil, or what is wrong with it: what a function has changed
static int script_native_read(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  struct hook_ask *ask = script_find_ask(script, (int64_t)luaL_checknumber(vm, 1));
  char text[POLICY_TEXT_SIZE];
  if (ask == NULL || script_read_event(vm, 2, &ask->event, text)) {
    return 0;
  }
  lua_pushstring(vm, text);
  return 1;
}

// answer(number, "ok" or "rejected" or "failed" or "late", text)
static int script_native_answer(lua_State *vm)
{
  static const char *const names[] = {"ok", "rejected", "failed", "late", NULL};
  static const int results[] = {0, ERR_POLICY_VIOLATION, ERR_SCRIPT, ERR_TIMEOUT};
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  struct hook_ask *ask = script_find_ask(script, (int64_t)luaL_checknumber(vm, 1));
  int result = results[luaL_checkoption(vm, 2, NULL, names)];
  if (ask != NULL) {
    script_answer(ask, result, luaL_optstring(vm, 3, ""));
  }
  return 0;
}

// next_told() -> hook, event; nothing when there is none
static int script_native_next_told(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  luaL_checkstack(vm, HOOK_FIELDS_MAX, "too deep");
  struct hook_told *told = hooks_next_told(script->options.hooks);
  if (told == NULL) {
    return 0;
  }
  lua_pushstring(vm, hook_name(told->event.hook));
  script_push_event(vm, &told->event);
  hook_told_delete(told);
  return 2;
}

// counted(generation, number, ms, error or nil) -> the error in full, when there is one
static int script_native_counted(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  int64_t generation = (int64_t)luaL_checknumber(vm, 1);
  int index = luaL_checkint(vm, 2) - 1;
  int64_t ns = (int64_t)(luaL_checknumber(vm, 3) * 1e6);
  const char *error = luaL_optstring(vm, 4, NULL);
  const struct policy_set *set = script->current.generation == generation    ? script->current.set
                                 : script->previous.generation == generation ? script->previous.set
                                                                             : NULL;
  if (set == NULL || index < 0 || index >= set->policy_count) {
    return 0;
  }
  const struct policy *policy = &set->policies[index];
  if (error == NULL) {
    policy_count(policy, 1, ns, NULL);
    return 0;
  }
  struct policy_failure failure;
  policy_vm_describe(set, policy, NULL, error, &failure);
  policy_count(policy, 1, ns, failure.text);
  lua_pushstring(vm, failure.text);
  return 1;
}

// ---- time ----

static void script_on_tick(struct timer *timer)
{
  struct script *script = CONTAINER_OF(timer, struct script, tick_timer);
  if (script->state != NULL) {
    script_enter(script, "tick", NULL, NULL);
  }
}

// tick(): has the event come soon
static int script_native_tick(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  if (!timer_is_running(&script->tick_timer) && !script->is_stopping) {
    timer_start(&script->loop, &script->tick_timer, SCRIPT_TICK_MS, script_on_tick);
  }
  return 0;
}

// mono_ms() -> the monotonic clock
static int script_native_mono_ms(lua_State *vm)
{
  lua_pushnumber(vm, (lua_Number)clock_mono_ns() / 1e6);
  return 1;
}

// cpu_ms() -> processor time of this thread
static int script_native_cpu_ms(lua_State *vm)
{
  lua_pushnumber(vm, (lua_Number)clock_thread_ms());
  return 1;
}

// is_serving() -> whether timers may run
static int script_native_is_serving(lua_State *vm)
{
  const struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  lua_pushboolean(vm, script->is_serving);
  return 1;
}

void script_add_policy_natives(struct lua_State *vm, struct script *script)
{
  script_add_native(vm, script, "loaded", script_native_loaded, NULL);
  script_add_native(vm, script, "read", script_native_read, NULL);
  script_add_native(vm, script, "answer", script_native_answer, NULL);
  script_add_native(vm, script, "next_told", script_native_next_told, NULL);
  script_add_native(vm, script, "counted", script_native_counted, NULL);
  script_add_native(vm, script, "tick", script_native_tick, NULL);
  script_add_native(vm, script, "mono_ms", script_native_mono_ms, NULL);
  script_add_native(vm, script, "cpu_ms", script_native_cpu_ms, NULL);
  script_add_native(vm, script, "is_serving", script_native_is_serving, NULL);
  script_add_native(vm, script, "log", lua_value_log, NULL);
}
