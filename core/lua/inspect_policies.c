// SPDX-License-Identifier: Apache-2.0
//
// What consoles show of the configuration's functions: read from the set in force and its counters, on the script
// thread, inside its epoch.
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/metrics.h"
#include "lua/inspect.h"
#include "lua/script.h"
#include "lua/value.h"
#include "metadata/image.h"
#include "policy/policy.h"

static void set_text(lua_State *vm, const char *name, const char *text)
{
  lua_pushstring(vm, text);
  lua_setfield(vm, -2, name);
}

static void push_policy(lua_State *vm, const struct policy *policy)
{
  enum { POLICY_FIELDS = 14 };
  const struct policy_counters *counters = policy->counters;
  lua_createtable(vm, 0, POLICY_FIELDS);
  set_text(vm, "kind", policy_kind_name(policy->kind));
  set_text(vm, "name", policy->name);
  set_text(vm, "label", policy->label);
  set_text(vm, "source", policy->source);
  lua_value_set_int64(vm, "line", policy->line);
  lua_pushboolean(vm, policy->is_compiled);
  lua_setfield(vm, -2, "is_compiled");
  lua_pushboolean(vm, atomic_load_explicit(&counters->is_off, memory_order_relaxed));
  lua_setfield(vm, -2, "is_off");
  lua_value_set_int64(vm, "calls", metric_read(&counters->calls));
  lua_value_set_int64(vm, "errors", metric_read(&counters->errors));
  lua_value_set_int64(vm, "ns", metric_read(&counters->ns));
  const char *error = atomic_load_explicit(&counters->last_error, memory_order_acquire);
  if (error != NULL) {
    set_text(vm, "last_error", error);
    lua_value_set_int64(vm, "last_error_time", metric_read(&counters->error_ms));
  }
}

/// Names the topic at each function that a topic has.
static void push_topic(lua_State *vm, const struct policy_topic *topic)
{
  const struct policy *policies[] = {topic->partitioner, topic->transform, topic->transform_fetch, topic->retention,
                                     topic->archive};
  for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
    if (policies[i] != NULL && policies[i]->index >= 0) {
      lua_rawgeti(vm, -1, policies[i]->index + 1);
      set_text(vm, "topic", topic->name);
      lua_pop(vm, 1);
    }
  }
}

int inspect_policies(struct lua_State *vm)
{
  const struct inspect *inspect = script_arg(vm);
  const struct policy_set *set = policy_cache_get(inspect->policies);
  if (set == NULL) {
    return 0;
  }
  char hash[32];
  snprintf(hash, sizeof hash, "%016" PRIx64, set->hash);
  lua_createtable(vm, set->policy_count, 1);
  set_text(vm, "hash", hash);
  for (int i = 0; i < set->policy_count; i++) {
    push_policy(vm, &set->policies[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  for (int i = 0; i < set->topic_count; i++) {
    push_topic(vm, &set->topics[i]);
  }
  return 1;
}

int inspect_topic_name(struct lua_State *vm)
{
  const struct inspect *inspect = script_arg(vm);
  size_t size = 0;
  const char *bytes = luaL_checklstring(vm, 1, &size);
  struct uuid id;
  luaL_argcheck(vm, size == sizeof id.bytes, 1, "16 bytes expected");
  memcpy(id.bytes, bytes, sizeof id.bytes);
  const struct metadata_topic *topic = metadata_image_topic_by_id(metadata_cache_get(inspect->metadata), &id);
  if (topic == NULL) {
    return 0;
  }
  lua_pushlstring(vm, topic->name, (size_t)topic->name_length);
  return 1;
}
