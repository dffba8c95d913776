// SPDX-License-Identifier: Apache-2.0
//
// From what luka.config.policies found in a configuration to a struct policy_set, which outlives the Lua state and the
// configuration: workers and runners read it for as long as it is in force.
#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "lua/config_private.h"
#include "lua/policy_vm.h"
#include "policy/policy.h"

struct config_policies {
  struct policy_set set;            ///< what others see
  struct policy *policies;          ///< set.policies
  struct policy_counters *counters; ///< one for each
  struct arena arena;               ///< holds all lists and texts
};

static const uint64_t POLICIES_SEED = UINT64_C(0x6c756b61706f6c79);

static void policies_free(struct policy_set *set)
{
  struct config_policies *made = CONTAINER_OF(set, struct config_policies, set);
  for (int i = 0; i < set->policy_count; i++) {
    policy_counters_destroy(&made->counters[i]);
  }
  arena_destroy(&made->arena);
  mem_free(made);
}

/// Zeroed room for a list of the table on top, in whose field it is; pushes the list.
static void *policies_list(lua_State *vm, struct config_policies *made, const char *field, size_t size, int *count)
{
  lua_getfield(vm, -1, field);
  *count = (int)lua_objlen(vm, -1);
  return arena_zalloc(&made->arena, (size_t)(*count + 1) * size);
}

/// A copy of a text in a field of the table on top; `size` may be NULL.
static const char *policies_text(lua_State *vm, struct config_policies *made, const char *field, size_t *size)
{
  lua_getfield(vm, -1, field);
  size_t length = 0;
  const char *text = luaL_checklstring(vm, -1, &length);
  const char *copy = arena_strndup(&made->arena, text, length);
  if (size != NULL) {
    *size = length;
  }
  lua_pop(vm, 1);
  return copy;
}

static uint64_t policies_hash(lua_State *vm, const char *field)
{
  lua_getfield(vm, -1, field);
  size_t size = 0;
  const char *text = luaL_checklstring(vm, -1, &size);
  uint64_t hash = hash_bytes(text, size, POLICIES_SEED);
  lua_pop(vm, 1);
  return hash;
}

/// The policy whose number, from 1, is in a field of the table on top; NULL for none.
static const struct policy *policies_numbered(lua_State *vm, const struct config_policies *made, const char *field)
{
  lua_getfield(vm, -1, field);
  int number = (int)lua_tointeger(vm, -1);
  lua_pop(vm, 1);
  return number > 0 && number <= made->set.policy_count ? &made->policies[number - 1] : NULL;
}

static void policies_take_list(lua_State *vm, struct config_policies *made)
{
  made->policies = policies_list(vm, made, "list", sizeof *made->policies, &made->set.policy_count);
  made->counters = arena_zalloc(&made->arena, (size_t)(made->set.policy_count + 1) * sizeof *made->counters);
  for (int i = 0; i < made->set.policy_count; i++) {
    struct policy *policy = &made->policies[i];
    lua_rawgeti(vm, -1, i + 1);
    const char *kind = policies_text(vm, made, "kind", NULL);
    for (int k = 0; k < POLICY_KINDS; k++) {
      if (strcmp(policy_kind_name((enum policy_kind)k), kind) == 0) {
        policy->kind = (enum policy_kind)k;
      }
    }
    policy->name = policies_text(vm, made, "name", NULL);
    policy->label = policies_text(vm, made, "label", NULL);
    policy->source = policies_text(vm, made, "source", NULL);
    lua_getfield(vm, -1, "line");
    policy->line = (int)lua_tointeger(vm, -1);
    lua_getfield(vm, -2, "is_compiled");
    policy->is_compiled = lua_toboolean(vm, -1);
    lua_pop(vm, 2);
    policy->text_hash = policies_hash(vm, "text");
    policy->index = i;
    policy->builtin = -1;
    policy->counters = &made->counters[i];
    lua_pop(vm, 1);
  }
  lua_pop(vm, 1);
  made->set.policies = made->policies;
}

static void policies_take_topics(lua_State *vm, struct config_policies *made)
{
  struct policy_topic *topics = policies_list(vm, made, "topics", sizeof *topics, &made->set.topic_count);
  for (int i = 0; i < made->set.topic_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    topics[i].name = policies_text(vm, made, "name", NULL);
    lua_getfield(vm, -1, "numbers");
    topics[i].partitioner = policies_numbered(vm, made, "partitioner");
    topics[i].transform = policies_numbered(vm, made, "transform");
    topics[i].transform_fetch = policies_numbered(vm, made, "transform_fetch");
    topics[i].retention = policies_numbered(vm, made, "retention");
    topics[i].archive = policies_numbered(vm, made, "archive");
    lua_pop(vm, 2);
  }
  lua_pop(vm, 1);
  made->set.topics = topics;
}

static void policies_take_named(lua_State *vm, struct config_policies *made)
{
  struct policy_named *named = policies_list(vm, made, "named", sizeof *named, &made->set.named_count);
  for (int i = 0; i < made->set.named_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    named[i].policy = policies_numbered(vm, made, "number");
    named[i].name = named[i].policy->name;
    lua_pop(vm, 1);
  }
  lua_pop(vm, 1);
  made->set.named = named;
}

static void policies_take_views(lua_State *vm, struct config_policies *made)
{
  struct policy_view *views = policies_list(vm, made, "views", sizeof *views, &made->set.view_count);
  for (int i = 0; i < made->set.view_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    views[i].name = policies_text(vm, made, "name", NULL);
    views[i].from = policies_text(vm, made, "from", NULL);
    views[i].source = policies_text(vm, made, "source", NULL);
    lua_getfield(vm, -1, "line");
    views[i].line = (int)lua_tointeger(vm, -1);
    lua_pop(vm, 1);
    views[i].where = policies_numbered(vm, made, "where");
    lua_pop(vm, 1);
  }
  lua_pop(vm, 1);
  made->set.views = views;
}

static void policies_take_sources(lua_State *vm, struct config_policies *made)
{
  struct policy_source *sources = policies_list(vm, made, "sources", sizeof *sources, &made->set.source_count);
  for (int i = 0; i < made->set.source_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    sources[i].path = policies_text(vm, made, "path", NULL);
    sources[i].text = policies_text(vm, made, "text", &sources[i].size);
    lua_pop(vm, 1);
  }
  lua_pop(vm, 1);
  made->set.sources = sources;
  made->set.hash = policies_hash(vm, "common");
}

void config_take_policies(struct lua_State *vm, struct lua_config *config)
{
  static _Atomic(int64_t) generations;
  struct config_policies *made = mem_zalloc(sizeof *made);
  made->set.refs = 1;
  made->set.free_fn = policies_free;
  made->set.new_vm = lua_policy_vm_new;
  // The configuration's from here on: errors of Lua jump over this function.
  config->policies = &made->set;
  policies_take_list(vm, made);
  policies_take_topics(vm, made);
  policies_take_named(vm, made);
  policies_take_views(vm, made);
  policies_take_sources(vm, made);
  made->set.placement = policies_numbered(vm, made, "placement");
  made->set.new_vm = lua_policy_vm_new;
  made->set.generation = atomic_fetch_add(&generations, 1) + 1;
  made->set.is_unsafe = config->is_unsafe;
  made->set.memory_bytes = config->lua_memory_bytes;
  made->set.budget_ms = config->lua_budget_ms;
}
