// SPDX-License-Identifier: Apache-2.0
//
// A call goes out with everything it needs copied, and comes back with its answer in plain memory, which becomes Lua
// values on the script thread: what raises there (memory may run out) leaves the answer to be freed as always.
#include "lua/inspect.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "coordinator/inspect.h"
#include "event/loop.h"
#include "event/pool.h"
#include "lua/script.h"
#include "lua/state.h"
#include "lua/value.h"
#include "metadata/image.h"
#include "network/connection_list.h"
#include "policy/policy.h"
#include "replica/compaction.h"
#include "replica/inspect.h"

static void set_text(struct lua_State *vm, const char *name, const char *text)
{
  lua_pushstring(vm, text);
  lua_setfield(vm, -2, name);
}

/// The same, unless it is empty.
static void set_text_if(struct lua_State *vm, const char *name, const char *text)
{
  if (text[0] != '\0') {
    set_text(vm, name, text);
  }
}

static void set_bool(struct lua_State *vm, const char *name, bool value)
{
  lua_pushboolean(vm, value);
  lua_setfield(vm, -2, name);
}

/// An integer of which negative values say that there is none.
static void set_known(struct lua_State *vm, const char *name, int64_t value)
{
  if (value >= 0) {
    lua_value_set_int64(vm, name, value);
  }
}

// ---- segments ----

struct segments_call {
  struct script_call base;              ///< what Lua waits for
  bool has_policy;                      ///< a function decides on retention
  struct replica_inspection inspection; ///< question and answer
};

static const char *reason_name(int reason)
{
  static const char *const names[] = {
      [LOG_RETENTION_MS] = "retention_ms",
      [LOG_RETENTION_BYTES] = "retention_bytes",
      [LOG_RETENTION_START_OFFSET] = "log_start_offset",
      [LOG_KEEP_YOUNG] = "young",
      [LOG_KEEP_SMALL] = "small",
      [LOG_KEEP_ACTIVE] = "active",
      [LOG_KEEP_EMPTY] = "empty",
      [LOG_KEEP_HIGH_WATERMARK] = "high_watermark",
      [LOG_KEEP_UNLIMITED] = "unlimited",
      [LOG_KEEP_COMPACTED] = "compacted",
      [LOG_KEEP_BEHIND] = "behind",
  };
  return names[reason];
}

static const char *role_name(enum partition_role role)
{
  static const char *const names[] = {[PARTITION_OFFLINE] = "offline",
                                      [PARTITION_FOLLOWER] = "follower",
                                      [PARTITION_LEADER] = "leader",
                                      [PARTITION_DELETED] = "deleted"};
  return names[role];
}

static void push_segment(struct lua_State *vm, const char *dir, const struct replica_segment *seg)
{
  enum { SEGMENT_FIELDS = 15 };
  const struct log_segment_info *info = &seg->info;
  const struct log_retention_verdict *verdict = &seg->verdict;
  char name[32];
  snprintf(name, sizeof name, "%020" PRId64 ".log", info->base_offset);
  lua_createtable(vm, 0, SEGMENT_FIELDS);
  lua_value_set_int64(vm, "base_offset", info->base_offset);
  lua_value_set_int64(vm, "next_offset", info->next_offset);
  lua_value_set_int64(vm, "size_bytes", info->size_bytes);
  set_known(vm, "max_timestamp", info->max_timestamp);
  lua_value_set_int64(vm, "modified", info->modified_ms);
  lua_value_set_int64(vm, "offset_index_bytes", info->offset_index_bytes);
  lua_value_set_int64(vm, "time_index_bytes", info->time_index_bytes);
  set_bool(vm, "is_active", info->is_active);
  set_bool(vm, "is_open", info->is_file_open);
  set_bool(vm, "is_going", verdict->is_going);
  set_bool(vm, "is_future", verdict->is_future);
  set_text(vm, "reason", reason_name(verdict->reason));
  set_known(vm, "due", verdict->due_ms);
  lua_pushfstring(vm, "%s/%s", dir, name);
  lua_setfield(vm, -2, "path");
}

static void push_view(struct lua_State *vm, const struct replica_view *view)
{
  enum { VIEW_FIELDS = 14 };
  lua_createtable(vm, view->segment_count, VIEW_FIELDS);
  lua_value_set_int64(vm, "partition", view->partition);
  set_bool(vm, "is_here", view->is_here);
  if (!view->is_here) {
    return;
  }
  set_text(vm, "role", role_name(view->state.role));
  lua_value_set_int64(vm, "leader_epoch", view->state.leader_epoch);
  if (view->dir == NULL) {
    return;
  }
  set_text(vm, "dir", view->dir);
  lua_value_set_int64(vm, "log_start_offset", view->state.log_start_offset);
  lua_value_set_int64(vm, "high_watermark", view->state.high_watermark);
  lua_value_set_int64(vm, "last_stable_offset", view->state.last_stable_offset);
  lua_value_set_int64(vm, "end_offset", view->end_offset);
  lua_value_set_int64(vm, "recovery_point", view->recovery_point);
  lua_value_set_int64(vm, "size_bytes", view->size_bytes);
  lua_value_set_int64(vm, "retention_ms", view->retention_ms);
  lua_value_set_int64(vm, "retention_bytes", view->retention_bytes);
  set_bool(vm, "is_cut", view->is_cut);
  for (int i = 0; i < view->segment_count; i++) {
    push_segment(vm, view->dir, &view->segments[i]);
    lua_rawseti(vm, -2, i + 1);
  }
}

static int segments_push(struct script_call *base, struct lua_State *vm)
{
  const struct segments_call *call = CONTAINER_OF(base, struct segments_call, base);
  const struct replica_inspection *seen = &call->inspection;
  if (seen->result < 0) {
    bool is_topic = seen->result == ERR_NOT_FOUND;
    lua_pushnil(vm);
    lua_pushstring(vm, is_topic ? "topic" : "partition");
    lua_pushinteger(vm, seen->partition_count);
    return 3;
  }
  lua_createtable(vm, seen->count, 4);
  set_bool(vm, "has_policy", call->has_policy);
  lua_value_set_int64(vm, "now", seen->now_ms);
  lua_value_set_int64(vm, "partition_count", seen->partition_count);
  set_known(vm, "next_pass", seen->next_pass_ms);
  for (int32_t i = 0; i < seen->count; i++) {
    push_view(vm, &seen->views[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  return 1;
}

static void segments_free(struct script_call *base)
{
  struct segments_call *call = CONTAINER_OF(base, struct segments_call, base);
  replica_inspection_destroy(&call->inspection);
  mem_free(call);
}

static void segments_done(struct replica_inspection *inspection)
{
  script_call_done(&CONTAINER_OF(inspection, struct segments_call, inspection)->base);
}

static int native_segments(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct inspect *inspect = script_arg(vm);
  const char *topic = luaL_checkstring(vm, 1);
  lua_Integer partition = luaL_checkinteger(vm, 2);
  luaL_argcheck(vm, partition >= -1 && partition <= INT32_MAX, 2, "a partition's number or -1 expected");
  struct segments_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = segments_push, .free = segments_free};
  const struct policy_topic *found = policy_set_topic(policy_cache_get(inspect->policies), topic, strlen(topic));
  call->has_policy = found != NULL && found->retention != NULL;
  int results = script_call_start(vm, script, &call->base);
  replica_inspect(&call->inspection, inspect->replicas, inspect->metadata, inspect->pool, topic, (int32_t)partition,
                  event_loop_current(), segments_done);
  return results;
}

// ---- groups ----

struct group_call {
  struct script_call base;            ///< what Lua waits for
  struct group_inspection inspection; ///< question and answer
};

/// A text that may not be there.
static void set_text_maybe(struct lua_State *vm, const char *name, const char *text)
{
  if (text != NULL) {
    set_text_if(vm, name, text);
  }
}

static void push_awaited(struct lua_State *vm, const struct classic_awaited *awaited, int64_t now_ms)
{
  static const char *const waits[] = {[CLASSIC_WAIT_NOTHING] = "nothing",
                                      [CLASSIC_WAIT_JOIN] = "join",
                                      [CLASSIC_WAIT_FIRST_JOIN] = "first_join",
                                      [CLASSIC_WAIT_ASSIGNMENT] = "assignment",
                                      [CLASSIC_WAIT_SYNC] = "sync"};
  lua_createtable(vm, 0, 8);
  set_text(vm, "wait", waits[awaited->wait]);
  set_text(vm, "member_id", awaited->member_id);
  set_text_maybe(vm, "instance_id", awaited->instance_id);
  set_text(vm, "client_id", awaited->client_id);
  set_text(vm, "host", awaited->client_host);
  lua_value_set_int64(vm, "silent_ms", now_ms > awaited->heard_ms ? now_ms - awaited->heard_ms : 0);
  set_known(vm, "until_time", awaited->until_ms);
}

/// Pushes how long each member has been silent, by member id, ms.
static void push_silent(struct lua_State *vm, const struct group_inspection *inspection)
{
  const struct group_heard_list *list = &inspection->heard;
  lua_createtable(vm, 0, list->count);
  for (int32_t i = 0; i < list->count; i++) {
    const struct group_heard *one = &list->items[i];
    int64_t silent_ms = inspection->now_ms > one->heard_ms ? inspection->now_ms - one->heard_ms : 0;
    lua_pushlstring(vm, one->member_id.data, (size_t)one->member_id.length);
    lua_pushnumber(vm, (lua_Number)silent_ms);
    lua_rawset(vm, -3);
  }
}

/// Sets what is known of a classic group.
static void set_classic(struct lua_State *vm, const struct group_inspection *inspection)
{
  const struct classic_inspection *classic = &inspection->classic;
  lua_value_set_int64(vm, "generation", classic->generation);
  lua_value_set_int64(vm, "members", classic->member_count);
  set_bool(vm, "is_initial_delay", classic->is_initial_delay);
  set_bool(vm, "is_storing", classic->is_storing);
  set_known(vm, "until_time", classic->until_ms);
  if (classic->rebalance_ms > 0) {
    lua_value_set_int64(vm, "rebalance_time", classic->rebalance_ms);
    set_text_maybe(vm, "rebalance_reason", classic->reason);
  }
  lua_value_set_int64(vm, "awaited_total", classic->awaited_total);
  lua_createtable(vm, classic->awaited_count, 0);
  for (int32_t i = 0; i < classic->awaited_count; i++) {
    push_awaited(vm, &classic->awaited[i], inspection->now_ms);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, "awaited");
}

static int group_push(struct script_call *base, struct lua_State *vm)
{
  enum { GROUP_FIELDS = 14 };
  const struct group_inspection *inspection = &CONTAINER_OF(base, struct group_call, base)->inspection;
  if (!inspection->is_found) {
    lua_pushnil(vm);
    return 1;
  }
  lua_createtable(vm, 0, GROUP_FIELDS);
  lua_value_set_int64(vm, "now", inspection->now_ms);
  set_bool(vm, "is_classic", inspection->is_classic);
  push_silent(vm, inspection);
  lua_setfield(vm, -2, "silent");
  if (inspection->is_classic) {
    set_classic(vm, inspection);
  }
  return 1;
}

static void group_free(struct script_call *base)
{
  struct group_call *call = CONTAINER_OF(base, struct group_call, base);
  group_inspection_destroy(&call->inspection);
  mem_free(call);
}

static void group_done(struct group_inspection *inspection)
{
  script_call_done(&CONTAINER_OF(inspection, struct group_call, inspection)->base);
}

static int native_group(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct inspect *inspect = script_arg(vm);
  size_t length = 0;
  const char *name = luaL_checklstring(vm, 1, &length);
  luaL_argcheck(vm, length <= INT16_MAX, 1, "the id of a group expected");
  struct group_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = group_push, .free = group_free};
  int results = script_call_start(vm, script, &call->base);
  coordinator_inspect_group(&call->inspection, inspect->coordinator, (struct wire_string){name, (int32_t)length},
                            event_loop_current(), group_done);
  return results;
}

// ---- compaction ----

struct compaction_call {
  struct script_call base;     ///< what Lua waits for
  struct compaction_list list; ///< question and answer
};

static void push_cleaning(struct lua_State *vm, const struct compaction_info *info)
{
  enum { CLEANING_FIELDS = 20 };
  const struct log_cleaning *cleaning = &info->cleaning;
  lua_createtable(vm, 0, CLEANING_FIELDS);
  set_text(vm, "topic", info->part->topic);
  lua_value_set_int64(vm, "partition", info->part->index);
  set_bool(vm, "is_compacting", cleaning->is_compacting);
  set_bool(vm, "is_running", cleaning->is_running);
  set_bool(vm, "is_uncleanable", cleaning->is_uncleanable);
  set_known(vm, "clean_offset", cleaning->clean_offset);
  set_known(vm, "end_offset", cleaning->end_offset);
  lua_value_set_int64(vm, "clean_bytes", cleaning->clean_bytes);
  lua_value_set_int64(vm, "dirty_bytes", cleaning->dirty_bytes);
  lua_value_set_int64(vm, "done_bytes", cleaning->done_bytes);
  lua_value_set_int64(vm, "total_bytes", cleaning->total_bytes);
  set_known(vm, "failed", cleaning->failed_ms);
  set_text_if(vm, "error", cleaning->error);
  if (cleaning->finished_ms >= 0) {
    lua_value_set_int64(vm, "finished", cleaning->finished_ms);
    lua_value_set_int64(vm, "took_ms", cleaning->took_ms);
    lua_value_set_int64(vm, "read_bytes", cleaning->read_bytes);
    lua_value_set_int64(vm, "written_bytes", cleaning->written_bytes);
    lua_value_set_int64(vm, "read_records", cleaning->read_records);
    lua_value_set_int64(vm, "kept_records", cleaning->kept_records);
  }
}

static int compaction_push(struct script_call *base, struct lua_State *vm)
{
  const struct compaction_list *list = &CONTAINER_OF(base, struct compaction_call, base)->list;
  lua_createtable(vm, list->count, 0);
  for (int i = 0; i < list->count; i++) {
    push_cleaning(vm, &list->infos[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  return 1;
}

static void compaction_free(struct script_call *base)
{
  struct compaction_call *call = CONTAINER_OF(base, struct compaction_call, base);
  compaction_list_destroy(&call->list);
  mem_free(call);
}

static void compaction_done(struct compaction_list *list)
{
  script_call_done(&CONTAINER_OF(list, struct compaction_call, list)->base);
}

static int native_compaction(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct inspect *inspect = script_arg(vm);
  struct compaction_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = compaction_push, .free = compaction_free};
  int results = script_call_start(vm, script, &call->base);
  compaction_list_gather(&call->list, inspect->replicas, inspect->pool, event_loop_current(), compaction_done);
  return results;
}

// ---- configs ----

/// At once: an image is read where it lies, until the end of the turn.
static int native_set_configs(lua_State *vm)
{
  const struct inspect *inspect = script_arg(vm);
  const struct metadata_image *image = metadata_cache_get(inspect->metadata);
  lua_newtable(vm);
  for (int32_t i = 0; i < image->topic_count; i++) {
    const struct metadata_topic *topic = image->topics[i];
    if (topic->override_count > 0) {
      lua_value_set_int64(vm, topic->name, topic->override_count);
    }
  }
  return 1;
}

// ---- connections ----

struct connections_call {
  struct script_call base;     ///< what Lua waits for
  struct connection_list list; ///< question and answer
};

static void push_connection(struct lua_State *vm, const struct connection_info *info)
{
  enum { CONNECTION_FIELDS = 16 };
  lua_createtable(vm, 0, CONNECTION_FIELDS);
  lua_value_set_int64(vm, "id", info->id);
  set_text(vm, "peer", info->peer);
  set_text_if(vm, "listener", info->listener);
  set_text_if(vm, "client_id", info->client_id);
  set_text_if(vm, "software", info->software);
  lua_value_set_int64(vm, "worker", info->worker);
  lua_value_set_int64(vm, "connected_ms", info->connected_ms);
  lua_value_set_int64(vm, "idle_ms", info->idle_ms);
  lua_value_set_int64(vm, "requests", info->requests);
  lua_value_set_int64(vm, "received_bytes", info->received_bytes);
  lua_value_set_int64(vm, "sent_bytes", info->sent_bytes);
  lua_value_set_int64(vm, "unsent_bytes", info->unsent_bytes);
  lua_value_set_int64(vm, "unanswered", info->unanswered);
  if (info->request[0] != '\0') {
    set_text(vm, "request", info->request);
    lua_value_set_int64(vm, "request_ms", info->request_ms);
  }
}

static int connections_push(struct script_call *base, struct lua_State *vm)
{
  const struct connection_list *list = &CONTAINER_OF(base, struct connections_call, base)->list;
  lua_createtable(vm, list->count, 1);
  lua_value_set_int64(vm, "total", list->total);
  for (int i = 0; i < list->count; i++) {
    push_connection(vm, &list->infos[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  return 1;
}

static void connections_free(struct script_call *base)
{
  struct connections_call *call = CONTAINER_OF(base, struct connections_call, base);
  connection_list_destroy(&call->list);
  mem_free(call);
}

static void connections_done(struct connection_list *list)
{
  script_call_done(&CONTAINER_OF(list, struct connections_call, list)->base);
}

static int native_connections(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct inspect *inspect = script_arg(vm);
  lua_Integer limit = luaL_checkinteger(vm, 1);
  luaL_argcheck(vm, limit >= 0 && limit <= INT32_MAX, 1, "how many to describe expected");
  struct connections_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = connections_push, .free = connections_free};
  int results = script_call_start(vm, script, &call->base);
  connection_list_gather(&call->list, inspect->server, (int)limit, event_loop_current(), connections_done);
  return results;
}

// ---- metrics ----

static const struct metric SCRIPT_MEMORY = {"script.memory_bytes", NULL, METRIC_GAUGE,
                                            "memory of the state in which the consoles' code runs"};
static const struct metric SCRIPT_LIMIT = {"script.memory_limit_bytes", NULL, METRIC_GAUGE,
                                           "what it may take: lua_memory"};

struct metrics_call {
  struct script_call base;       ///< what Lua waits for
  struct pool_job job;           ///< collects
  struct metrics *metrics;       ///< borrowed
  struct metric_samples samples; ///< the answer
  bool has_topics;               ///< those of single topics are wanted too
};

/// The buckets that are not empty: { [i] = { from =, upto =, count = } }.
static void push_latency(struct lua_State *vm, const struct latency_sum *latency)
{
  lua_value_set_int64(vm, "sum_us", latency->sum_us);
  lua_value_set_int64(vm, "max_us", latency->max_us);
  lua_newtable(vm);
  int filled = 0;
  for (int i = 0; i < LATENCY_BUCKETS; i++) {
    if (latency->buckets[i] > 0) {
      lua_createtable(vm, 0, 3);
      lua_value_set_int64(vm, "from", latency_bucket_start(i));
      lua_value_set_int64(vm, "upto", latency_bucket_start(i + 1));
      lua_value_set_int64(vm, "count", latency->buckets[i]);
      lua_rawseti(vm, -2, ++filled);
    }
  }
  lua_setfield(vm, -2, "buckets");
}

static void push_sample(struct lua_State *vm, const struct metric_sample *sample)
{
  const struct metric *metric = sample->metric;
  lua_createtable(vm, 0, 8);
  set_text(vm, "name", metric->name);
  set_text(vm, "text", metric->text);
  static const char *const kinds[] = {
      [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_LATENCY] = "latency"};
  set_text(vm, "kind", kinds[metric->kind]);
  if (sample->label != NULL) {
    set_text(vm, "label", sample->label);
  }
  lua_value_set_int64(vm, "value", sample->value);
  if (sample->latency != NULL) {
    push_latency(vm, sample->latency);
  }
}

/// The memory of this state is only known here.
static int metrics_push(struct script_call *base, struct lua_State *vm)
{
  struct metrics_call *call = CONTAINER_OF(base, struct metrics_call, base);
  size_t cap = 0;
  size_t used = lua_state_memory(lua_state_of(vm), &cap);
  metrics_put(&call->samples, &SCRIPT_MEMORY, NULL, (int64_t)used);
  metrics_put(&call->samples, &SCRIPT_LIMIT, NULL, (int64_t)cap);
  lua_newtable(vm);
  int count = 0;
  for (size_t i = 0; i < call->samples.count; i++) {
    const char *label = call->samples.items[i].metric->label;
    if (call->has_topics || label == NULL || strcmp(label, "topic") != 0) {
      push_sample(vm, &call->samples.items[i]);
      lua_rawseti(vm, -2, ++count);
    }
  }
  return 1;
}

static void metrics_free(struct script_call *base)
{
  struct metrics_call *call = CONTAINER_OF(base, struct metrics_call, base);
  metric_samples_destroy(&call->samples);
  mem_free(call);
}

static void metrics_run(struct pool_job *job)
{
  struct metrics_call *call = CONTAINER_OF(job, struct metrics_call, job);
  metrics_collect(call->metrics, &call->samples);
  script_call_done(&call->base);
}

static int native_metrics(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct inspect *inspect = script_arg(vm);
  bool has_topics = lua_toboolean(vm, 1);
  struct metrics_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = metrics_push, .free = metrics_free};
  call->metrics = inspect->metrics;
  call->has_topics = has_topics;
  int results = script_call_start(vm, script, &call->base);
  pool_submit(inspect->pool, &call->job, metrics_run, NULL, NULL);
  return results;
}

void inspect_natives(struct inspect *inspect, struct script_native natives[INSPECT_NATIVES])
{
  natives[0] = (struct script_native){.name = "segments", .fn = native_segments, .arg = inspect};
  natives[1] = (struct script_native){.name = "connections", .fn = native_connections, .arg = inspect};
  natives[2] = (struct script_native){.name = "metrics", .fn = native_metrics, .arg = inspect};
  natives[3] = (struct script_native){.name = "set_configs", .fn = native_set_configs, .arg = inspect};
  natives[4] = (struct script_native){.name = "compaction", .fn = native_compaction, .arg = inspect};
  natives[5] = (struct script_native){.name = "group", .fn = native_group, .arg = inspect};
  natives[6] = (struct script_native){.name = "policies", .fn = inspect_policies, .arg = inspect};
  natives[7] = (struct script_native){.name = "topic_name", .fn = inspect_topic_name, .arg = inspect};
}
