// SPDX-License-Identifier: Apache-2.0
//
// DescribeLogDirs, 0 to 5: the data directories, the partitions in them, and the copies of those that move between
// them. Disks are asked for their space, so this is done on the pool; the request waits.
//
//   version  rule
//   3        an error of the whole request
//   4        bytes of the volume, in all and free (KIP-827)
//   5        is_cordoned (KIP-1066): never
//
// A directory that has failed is KAFKA_STORAGE_ERROR, with no partitions and its space unknown. Partitions that are
// asked for and not there are left out.
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "wire/describe_log_dirs.h"
#include "wire/error_codes.h"

/// One log, or copy of one.
struct log_dirs_item {
  struct wire_string topic;                                                     ///< in the request's arena
  int32_t dir;                                                                  ///< number of its directory
  struct wire_describe_log_dirs_response_describe_log_dirs_partition partition; ///< as it is answered
};

/// A request under way.
struct log_dirs_work {
  struct pool_job job;                                                   ///< on the pool
  struct request *req;                                                   ///< the request
  struct key_set wanted;                                                 ///< partitions that are asked for
  bool is_all;                                                           ///< all are
  struct wire_describe_log_dirs_response_describe_log_dirs_result *dirs; ///< owned
  int32_t dir_count;                                                     ///< how many
  struct log_dirs_item *items;                                           ///< owned
  int32_t item_count;                                                    ///< how many
  int32_t item_room;                                                     ///< slots
  struct wire_describe_log_dirs_response resp;                           ///< the answer
};

static const struct uuid NO_ID;

static void log_dirs_each_dir(void *arg, const struct log_dir_usage *usage)
{
  struct log_dirs_work *work = arg;
  work->dirs = mem_realloc(work->dirs, (size_t)(work->dir_count + 1) * sizeof *work->dirs);
  struct wire_describe_log_dirs_response_describe_log_dirs_result *result = &work->dirs[work->dir_count++];
  wire_describe_log_dirs_response_describe_log_dirs_result_init(result);
  result->error_code = usage->is_offline ? WIRE_KAFKA_STORAGE_ERROR : WIRE_NONE;
  result->log_dir = wire_string_from(usage->path);
  result->total_bytes = usage->total_bytes;
  result->usable_bytes = usage->usable_bytes;
}

static void log_dirs_each_log(void *arg, const struct log_usage *usage)
{
  struct log_dirs_work *work = arg;
  struct wire_string topic = wire_string_from(usage->topic);
  if (!work->is_all && key_set_find(&work->wanted, topic, &NO_ID, usage->partition) < 0) {
    return;
  }
  if (work->item_count == work->item_room) {
    work->item_room = work->item_room * 2 + 64;
    work->items = mem_realloc(work->items, (size_t)work->item_room * sizeof *work->items);
  }
  struct log_dirs_item *item = &work->items[work->item_count++];
  item->topic = topic;
  item->topic.data = arena_strndup(&work->req->arena, topic.data, (size_t)topic.length);
  item->dir = work->dir_count - 1;
  wire_describe_log_dirs_response_describe_log_dirs_partition_init(&item->partition);
  item->partition.partition_index = usage->partition;
  item->partition.partition_size = usage->bytes;
  item->partition.offset_lag = usage->lag;
  item->partition.is_future_key = usage->is_future;
}

static int log_dirs_order(const void *left, const void *right)
{
  const struct log_dirs_item *a = left;
  const struct log_dirs_item *b = right;
  int order = (a->dir > b->dir) - (a->dir < b->dir);
  order = order != 0 ? order : strcmp(a->topic.data, b->topic.data);
  return order != 0 ? order
                    : (a->partition.partition_index > b->partition.partition_index) -
                          (a->partition.partition_index < b->partition.partition_index);
}

/// Puts the items, which are in order, under their topics and directories.
static void log_dirs_build(struct log_dirs_work *work)
{
  struct request *req = work->req;
  struct wire_describe_log_dirs_response_describe_log_dirs_topic *topics =
      request_array(req, work->item_count, sizeof *topics);
  struct wire_describe_log_dirs_response_describe_log_dirs_partition *parts =
      request_array(req, work->item_count, sizeof *parts);
  struct wire_describe_log_dirs_response_describe_log_dirs_topic *topic = NULL;
  for (int32_t i = 0; i < work->item_count; i++) {
    const struct log_dirs_item *item = &work->items[i];
    struct wire_describe_log_dirs_response_describe_log_dirs_result *dir = &work->dirs[item->dir];
    bool is_new_dir = i == 0 || item[-1].dir != item->dir;
    parts[i] = item->partition;
    if (is_new_dir || !wire_string_equal(topic->name, item->topic)) {
      topic = topic == NULL ? topics : topic + 1;
      wire_describe_log_dirs_response_describe_log_dirs_topic_init(topic);
      topic->name = item->topic;
      topic->partitions = &parts[i];
      topic->partitions_count = 0;
      dir->topics = is_new_dir ? topic : dir->topics;
      dir->topics_count = is_new_dir ? 1 : dir->topics_count + 1;
    }
    topic->partitions_count++;
  }
  work->resp.results = work->dirs;
  work->resp.results_count = work->dir_count;
}

static void log_dirs_run(struct pool_job *job)
{
  struct log_dirs_work *work = CONTAINER_OF(job, struct log_dirs_work, job);
  log_manager_usage(work->req->api->logs, log_dirs_each_dir, log_dirs_each_log, work);
  if (work->item_count > 0) {
    qsort(work->items, (size_t)work->item_count, sizeof *work->items, log_dirs_order);
  }
  log_dirs_build(work);
}

static void log_dirs_done(struct pool_job *job)
{
  struct log_dirs_work *work = CONTAINER_OF(job, struct log_dirs_work, job);
  struct wire_describe_log_dirs_response_describe_log_dirs_result *dirs = work->dirs;
  struct log_dirs_item *items = work->items;
  request_respond(work->req, &work->resp);
  mem_free(dirs);
  mem_free(items);
}

/// Notes which partitions are asked for. @return false when the request is refused, and gone
static bool log_dirs_want(struct log_dirs_work *work)
{
  struct request *req = work->req;
  const struct wire_describe_log_dirs_request *body = req->body;
  int64_t total = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    total += body->topics[i].partitions_count;
  }
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, total)) {
    return false;
  }
  work->is_all = body->topics_count < 0;
  key_set_create(&work->wanted, &req->arena, (int32_t)total);
  for (int32_t i = 0; i < body->topics_count; i++) {
    for (int32_t j = 0; j < body->topics[i].partitions_count; j++) {
      key_set_put(&work->wanted, body->topics[i].topic, &NO_ID, body->topics[i].partitions[j], 0);
    }
  }
  return true;
}

void describe_log_dirs_handle(struct request *req)
{
  struct log_dirs_work *work = request_array(req, 1, sizeof *work);
  work->req = req;
  if (!log_dirs_want(work)) {
    return;
  }
  wire_describe_log_dirs_response_init(&work->resp);
  if (!api_may_cluster(req, RIGHT_DESCRIBE)) {
    work->resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED; // before version 3 the list is just empty
    request_respond(req, &work->resp);
    return;
  }
  pool_submit_long(req->api->pool, &work->job, log_dirs_run, req->worker->loop, log_dirs_done);
}
