// SPDX-License-Identifier: Apache-2.0
#include "lua/policy_vm.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/crc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "lua/config.h"
#include "lua/modules.h"
#include "lua/native_library.h"
#include "lua/policy_vm_private.h"
#include "lua/policy_vm_segment.h"
#include "lua/value.h"

enum { VM_ARCHIVE_BUDGET_MS = 60000 }; ///< processor time of an archive, which may copy gigabytes; nobody waits for it

/// Registry key of the function that runs a policy: run(number, argument).
#define VM_RUN "luka.policy.run"

/// The one argument of functions that run in a state.
struct vm_job {
  struct lua_policy_vm *vm;           ///< whose
  bool is_compiled;                   ///< in the compiled state
  const struct policy_client *client; ///< of `transform_fetch`
  bool has_failed;                    ///< out: `text` is what was raised
  char text[LUA_STATE_TEXT_SIZE];     ///< out
};

static int vm_make_state(struct lua_policy_vm *vm, int which);
static int vm_load(lua_State *vm);
static int vm_partition(struct policy_vm *base, const struct policy *policy, const struct policy_batch *batch,
                        int32_t partitions, int32_t *chosen, struct policy_failure *failure);
static int vm_transform(struct policy_vm *base, const struct policy *policy, const struct policy_batch *batch,
                        const struct policy_client *client, struct policy_output *output,
                        struct policy_failure *failure);
static int vm_segment(struct policy_vm *base, const struct policy *policy, const struct policy_segment *segment,
                      bool *goes, struct policy_failure *failure);
static void vm_free(struct policy_vm *base);

static const struct policy_vm_class vm_class = {
    .partition = vm_partition, .transform = vm_transform, .segment = vm_segment, .free = vm_free};

int lua_policy_vm_new(const struct policy_set *set, struct policy_vm **vm)
{
  struct lua_policy_vm *made = mem_zalloc(sizeof *made);
  made->base.class = &vm_class;
  made->set = set;
  made->call.progress = &made->base.progress.record;
  made->call.stop = &made->base.progress.stop;
  made->call.find_header = policy_vm_find_header;
  made->call.hash = policy_vm_hash;
  made->call.crc32 = crc32_zlib;
  made->call.set_bytes = policy_vm_set_bytes;
  made->call.gather_keys = policy_vm_gather_keys;
  bool needs_compiled = false;
  for (int i = 0; i < set->policy_count; i++) {
    needs_compiled = needs_compiled || set->policies[i].is_compiled;
  }
  int result = vm_make_state(made, POLICY_VM_INTERPRETED);
  if (result == 0 && needs_compiled) {
    result = vm_make_state(made, POLICY_VM_COMPILED);
  }
  if (result < 0) {
    vm_free(&made->base);
    return result;
  }
  *vm = &made->base;
  return 0;
}

static void vm_free(struct policy_vm *base)
{
  struct lua_policy_vm *vm = CONTAINER_OF(base, struct lua_policy_vm, base);
  for (int i = 0; i < POLICY_VM_STATES; i++) {
    lua_state_delete(vm->states[i]);
  }
  mem_free(vm->call.scratch);
  policy_vm_free_keys(&vm->call);
  mem_free(vm);
}

// ---- making a state ----

static int vm_make_state(struct lua_policy_vm *vm, int which)
{
  struct lua_state_limits limits = {
      .memory_bytes = (size_t)vm->set->memory_bytes,
      .budget_ms = LUA_CONFIG_BUDGET_MS,
      .is_compiled = which == POLICY_VM_COMPILED,
      .has_own_heap = true,
      .step = &vm->base.progress.record,
      .call_ms = policy_call_budget_ms,
  };
  TRY(lua_state_new(&limits, &vm->states[which]));
  struct vm_job job = {.vm = vm, .is_compiled = which == POLICY_VM_COMPILED};
  struct lua_state_failure failure;
  atomic_store_explicit(&vm->base.progress.record, -1, memory_order_relaxed);
  TRY(lua_state_call(vm->states[which], vm_load, &job, &failure));
  if (job.has_failed) {
    return error_set(ERR_SCRIPT, "%s", job.text);
  }
  lua_state_set_limits(vm->states[which], limits.memory_bytes, 0, vm->set->budget_ms);
  return 0;
}

static int vm_is_deep(lua_State *vm)
{
  lua_pushboolean(vm, lua_state_is_deep(lua_state_of(vm)));
  return 1;
}

/// Sets fields of the table on top.
static void vm_set_text(lua_State *vm, const char *name, const char *text, size_t size)
{
  lua_pushlstring(vm, text, size);
  lua_setfield(vm, -2, name);
}

/// Pushes the list of the set's files.
static void vm_push_sources(lua_State *vm, const struct policy_set *set)
{
  lua_createtable(vm, set->source_count, 0);
  for (int i = 0; i < set->source_count; i++) {
    const struct policy_source *source = &set->sources[i];
    lua_createtable(vm, 0, 2);
    vm_set_text(vm, "path", source->path, strlen(source->path));
    vm_set_text(vm, "text", source->text, source->size);
    lua_rawseti(vm, -2, i + 1);
  }
}

/// Pushes the list of what the set's policies are.
static void vm_push_expected(lua_State *vm, const struct policy_set *set)
{
  lua_createtable(vm, set->policy_count, 0);
  for (int i = 0; i < set->policy_count; i++) {
    const struct policy *policy = &set->policies[i];
    const char *kind = policy_kind_name(policy->kind);
    lua_createtable(vm, 0, 3);
    vm_set_text(vm, "kind", kind, strlen(kind));
    vm_set_text(vm, "name", policy->name, strlen(policy->name));
    lua_pushboolean(vm, policy->is_compiled);
    lua_setfield(vm, -2, "is_compiled");
    lua_rawseti(vm, -2, i + 1);
  }
}

/// Evaluates the configuration: luka.policy.run.start(options).
static int vm_load(lua_State *vm)
{
  struct vm_job *job = lua_touserdata(vm, 1);
  const struct policy_set *set = job->vm->set;
  if (job->is_compiled) {
    native_library_push_ffi(vm);
    lua_modules_add(vm, LUA_FFILIBNAME);
  }
  lua_getglobal(vm, "require");
  lua_pushliteral(vm, "luka.policy.run");
  lua_call(vm, 1, 1);
  lua_getfield(vm, -1, "start");
  lua_createtable(vm, 0, 10);
  vm_push_sources(vm, set);
  lua_setfield(vm, -2, "sources");
  vm_push_expected(vm, set);
  lua_setfield(vm, -2, "expected");
  policy_vm_push_natives(vm, &job->vm->call);
  lua_setfield(vm, -2, "natives");
  lua_pushcfunction(vm, vm_is_deep);
  lua_setfield(vm, -2, "is_deep");
  lua_pushcfunction(vm, lua_value_log);
  lua_setfield(vm, -2, "log");
  lua_pushboolean(vm, set->is_unsafe);
  lua_setfield(vm, -2, "is_unsafe");
  lua_pushboolean(vm, job->is_compiled);
  lua_setfield(vm, -2, "is_compiled");
  lua_pushlightuserdata(vm, &job->vm->call);
  lua_setfield(vm, -2, "call");
  lua_pushinteger(vm, POLICY_CALL_SHARED_BYTES);
  lua_setfield(vm, -2, "call_bytes");
  lua_pushinteger(vm, sizeof(struct record_view));
  lua_setfield(vm, -2, "view_bytes");
  lua_call(vm, 1, 3);
  if (lua_isnil(vm, -3)) {
    job->has_failed = true;
    snprintf(job->text, sizeof job->text, "%s", lua_tostring(vm, -2));
    return 0;
  }
  lua_pop(vm, 1);
  lua_setfield(vm, LUA_REGISTRYINDEX, POLICY_VM_SPREAD);
  lua_setfield(vm, LUA_REGISTRYINDEX, VM_RUN);
  return 0;
}

// ---- running ----

/// tostring() of what was raised, if that has its own.
static int vm_call_tostring(lua_State *vm)
{
  if (!luaL_callmeta(vm, 1, "__tostring")) {
    lua_pushnil(vm);
  }
  return 1;
}

/// Takes the words of the error on top of the stack.
static void vm_take_error(lua_State *vm, int status, struct vm_job *job)
{
  if (status == LUA_ERRMEM) {
    size_t cap = 0;
    job->has_failed = true;
    lua_state_memory(lua_state_of(vm), &cap);
    snprintf(job->text, sizeof job->text, "not enough memory: a state may have %zu KiB", cap / 1024);
    return;
  }
  int type = lua_type(vm, -1);
  bool has_text = type == LUA_TSTRING || type == LUA_TNUMBER;
  if (type == LUA_TTABLE || type == LUA_TUSERDATA) {
    lua_pushcfunction(vm, vm_call_tostring);
    lua_pushvalue(vm, -2);
    has_text = lua_pcall(vm, 1, 1, 0) == 0 && lua_type(vm, -1) == LUA_TSTRING;
  }
  job->has_failed = true; // not before: the above may raise for want of memory, and then that is what has failed
  if (has_text) {
    snprintf(job->text, sizeof job->text, "%s", lua_tostring(vm, -1));
  } else if (type == LUA_TNIL) {
    snprintf(job->text, sizeof job->text, "the error raised is nil");
  } else {
    snprintf(job->text, sizeof job->text, "the error raised is a %s, not a text", lua_typename(vm, type));
  }
}

/// Pushes the second argument of the function: the number of partitions, the client, or nothing.
static void vm_push_argument(lua_State *vm, const struct vm_job *job)
{
  const struct policy_client *client = job->client;
  if (job->vm->call.policy->kind == POLICY_PARTITIONER) {
    lua_pushinteger(vm, job->vm->call.partitions);
  } else if (client != NULL) {
    lua_createtable(vm, 0, 3);
    vm_set_text(vm, "id", client->id, strlen(client->id));
    vm_set_text(vm, "principal", client->principal, strlen(client->principal));
    vm_set_text(vm, "address", client->address, strlen(client->address));
  } else {
    lua_pushnil(vm);
  }
}

/// Runs the function over all records. One that is rejected ends the loop over them, which goes on behind it.
static int vm_run(lua_State *vm)
{
  struct vm_job *job = lua_touserdata(vm, 1);
  struct policy_call *call = &job->vm->call;
  lua_settop(vm, 0);
  lua_getfield(vm, LUA_REGISTRYINDEX, VM_RUN);
  vm_push_argument(vm, job);
  atomic_store_explicit(call->progress, 0, memory_order_relaxed);
  for (;;) {
    lua_settop(vm, 2);
    lua_pushvalue(vm, 1);
    lua_pushinteger(vm, call->policy->index + 1);
    lua_pushvalue(vm, 2);
    int status = lua_pcall(vm, 2, 0, 0);
    if (status == 0) {
      return 0;
    }
    if (!call->is_rejected || status == LUA_ERRMEM || lua_state_is_expired(lua_state_of(vm))) {
      vm_take_error(vm, status, job);
      return 0;
    }
    int64_t next = atomic_load_explicit(call->progress, memory_order_relaxed) + 1;
    if (next >= call->count) {
      return 0;
    }
    atomic_store_explicit(call->progress, next, memory_order_relaxed);
  }
}

/// Words for a call that has failed.
static void vm_explain(const struct lua_policy_vm *vm, struct lua_state *state, const struct vm_job *job,
                       const struct lua_state_failure *limit, struct policy_failure *failure)
{
  const struct lua_state_position *position = lua_state_position(state);
  char text[2 * LUA_STATE_TEXT_SIZE + 16];
  if (job->has_failed && !lua_state_is_expired(state)) {
    snprintf(text, sizeof text, "%s", job->text);
  } else if (position->source[0] != '\0') {
    snprintf(text, sizeof text, "%s:%d: %s", position->source, position->line, limit->message);
  } else {
    snprintf(text, sizeof text, "%s", limit->message);
  }
  int64_t index = atomic_load_explicit(vm->call.progress, memory_order_relaxed);
  policy_vm_fail(&vm->call, vm->set, text, (int32_t)index, failure);
}

/// Makes a state anew when functions hold so much of its memory that others have no room: what they hold is given up,
/// as after a reload. A state that cannot be made is tried again at the next call.
static void vm_renew(struct lua_policy_vm *vm, int which)
{
  lua_state_delete(vm->states[which]);
  vm->states[which] = NULL;
  if (vm_make_state(vm, which) < 0) {
    slog_error("functions of the configuration do not run: %s", error_last()->message);
    lua_state_delete(vm->states[which]);
    vm->states[which] = NULL;
  }
}

/// The state that a policy runs in, made anew if need be; NULL: it cannot be made.
static struct lua_state *vm_state_for(struct lua_policy_vm *vm, const struct policy *policy)
{
  int which = policy->is_compiled ? POLICY_VM_COMPILED : POLICY_VM_INTERPRETED;
  if (vm->states[which] == NULL) {
    vm_renew(vm, which);
  }
  return vm->states[which];
}

/// After a call that has failed.
static void vm_renew_if_full(struct lua_policy_vm *vm, int which)
{
  size_t cap = 0;
  lua_state_tidy(vm->states[which]);
  if (lua_state_memory(vm->states[which], &cap) / 3 > cap / 4) {
    slog_warn(
        "functions of the configuration hold more than 3/4 of a state's %zu KiB: they begin anew, without what "
        "their local variables held",
        cap / 1024);
    vm_renew(vm, which);
  }
}

/// Runs the call that has been set up, in the state that its policy is for.
static int vm_call(struct lua_policy_vm *vm, struct vm_job *job, int (*run)(lua_State *vm),
                   struct policy_failure *failure)
{
  struct policy_call *call = &vm->call;
  struct policy_progress *progress = &vm->base.progress;
  const struct policy *policy = call->policy;
  int which = policy->is_compiled ? POLICY_VM_COMPILED : POLICY_VM_INTERPRETED;
  struct lua_state_failure limit = {.is_limit = false};
  struct lua_state *state = vm_state_for(vm, policy);
  if (state == NULL) {
    policy_vm_fail(call, vm->set, "the configuration could not be evaluated anew", 0, failure);
    return error_set(ERR_SCRIPT, "%s", failure->text);
  }
  atomic_store_explicit(&progress->policy, policy, memory_order_relaxed);
  call->running = (int32_t)(atomic_fetch_add_explicit(&progress->calls, 1, memory_order_release) + 1);
  call->call_ms = (int32_t)policy_call_budget_ms(vm->set->budget_ms);
  lua_state_tidy(state);
  int result = lua_state_call(state, run, job, &limit);
  atomic_fetch_add_explicit(&progress->calls, 1, memory_order_release);
  // That of a call which ended meanwhile would come to mean another one, 2^32 calls later.
  atomic_store_explicit(&progress->stop, 0, memory_order_relaxed);
  if (result < 0 || job->has_failed) {
    vm_explain(vm, state, job, &limit, failure);
    vm_renew_if_full(vm, which);
    result = error_set(ERR_SCRIPT, "%s", failure->text);
  }
  call->serial += 1; // records that were kept are out of date from here on
  call->at = NULL;
  call->may_edit = false;
  call->may_emit = false;
  return result;
}

/// Sets up a call on the records of a batch.
static void vm_begin(struct lua_policy_vm *vm, const struct policy *policy, const struct policy_batch *batch)
{
  struct policy_call *call = &vm->call;
  call->policy = policy;
  call->topic = batch->topic;
  call->partition = batch->partition;
  call->records = batch->records;
  call->header = batch->header;
  call->count = batch->count;
  call->is_rejected = false;
  call->is_changed = false;
  call->output = NULL;
  call->made_bytes = 0;
  call->extra_room = 0;
  call->reject_room = 0;
  policy_vm_forget_keys(call);
}

static int vm_partition(struct policy_vm *base, const struct policy *policy, const struct policy_batch *batch,
                        int32_t partitions, int32_t *chosen, struct policy_failure *failure)
{
  struct lua_policy_vm *vm = CONTAINER_OF(base, struct lua_policy_vm, base);
  struct vm_job job = {.vm = vm};
  vm_begin(vm, policy, batch);
  vm->call.partitions = partitions;
  vm->call.chosen = chosen;
  vm->call.has_offset = false;
  return vm_call(vm, &job, vm_run, failure);
}

static int vm_transform(struct policy_vm *base, const struct policy *policy, const struct policy_batch *batch,
                        const struct policy_client *client, struct policy_output *output,
                        struct policy_failure *failure)
{
  struct lua_policy_vm *vm = CONTAINER_OF(base, struct lua_policy_vm, base);
  struct vm_job job = {.vm = vm, .client = client};
  vm_begin(vm, policy, batch);
  vm->call.output = output;
  vm->call.actions = output->actions;
  vm->call.has_offset = policy->kind != POLICY_TRANSFORM;
  vm->call.may_edit = policy->kind != POLICY_WHERE;
  vm->call.may_emit = policy->kind == POLICY_TRANSFORM;
  int result = vm_call(vm, &job, vm_run, failure);
  output->is_changed = vm->call.is_changed;
  return result;
}

// ---- segments ----

/// The one argument of vm_run_segment().
struct vm_segment_job {
  struct vm_job job;                    ///< at the start
  const struct policy_segment *segment; ///< asked about
  bool goes;                            ///< out: what the function returned is true
};

/// What a function about segments has returned: true or false, or nothing. An archive's nothing lets the segment go, as
/// only false keeps it.
static void vm_take_verdict(lua_State *vm, struct vm_segment_job *job)
{
  int type = lua_type(vm, -1);
  if (type != LUA_TBOOLEAN && type != LUA_TNIL) {
    job->job.has_failed = true;
    snprintf(job->job.text, sizeof job->job.text, "has to return true or false, not a %s", lua_typename(vm, type));
    return;
  }
  job->goes = type == LUA_TNIL ? job->job.vm->call.policy->kind == POLICY_ARCHIVE : lua_toboolean(vm, -1);
}

static int vm_run_segment(lua_State *vm)
{
  struct vm_segment_job *job = lua_touserdata(vm, 1);
  lua_settop(vm, 0);
  lua_getfield(vm, LUA_REGISTRYINDEX, VM_RUN);
  lua_pushinteger(vm, job->job.vm->call.policy->index + 1);
  policy_vm_push_segment(vm, job->segment);
  int status = lua_pcall(vm, 2, 1, 0);
  if (status == 0) {
    vm_take_verdict(vm, job);
  } else {
    vm_take_error(vm, status, &job->job);
  }
  return 0;
}

static int vm_segment(struct policy_vm *base, const struct policy *policy, const struct policy_segment *segment,
                      bool *goes, struct policy_failure *failure)
{
  struct lua_policy_vm *vm = CONTAINER_OF(base, struct lua_policy_vm, base);
  struct policy_batch batch = {.topic = segment->topic, .partition = segment->partition};
  struct vm_segment_job job = {.job = {.vm = vm}, .segment = segment};
  vm_begin(vm, policy, &batch);
  atomic_fetch_add_explicit(&vm->base.progress.record, 1, memory_order_relaxed); // a budget of its own
  bool copies = policy->kind == POLICY_ARCHIVE && vm->set->budget_ms < VM_ARCHIVE_BUDGET_MS;
  struct lua_state *state = copies ? vm_state_for(vm, policy) : NULL;
  if (state != NULL) {
    lua_state_set_limits(state, (size_t)vm->set->memory_bytes, 0, VM_ARCHIVE_BUDGET_MS);
  }
  int result = vm_call(vm, &job.job, vm_run_segment, failure);
  // Another one by now, or none, when the call has filled it.
  state = vm->states[policy->is_compiled ? POLICY_VM_COMPILED : POLICY_VM_INTERPRETED];
  if (copies && state != NULL) {
    lua_state_set_limits(state, (size_t)vm->set->memory_bytes, 0, vm->set->budget_ms);
  }
  if (result == 0) {
    *goes = job.goes;
  }
  return result;
}
