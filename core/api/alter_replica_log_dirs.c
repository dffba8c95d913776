// SPDX-License-Identifier: Apache-2.0
//
// AlterReplicaLogDirs, 0 to 2: moves partitions to other data directories (KIP-113). The answer says that a move was
// begun; DescribeLogDirs shows how far it is.
//
//   the names of topic, partition and a copy are too long for a folder   INVALID_TOPIC_EXCEPTION
//   no data directory is called so, as it is configured, absolute        LOG_DIR_NOT_FOUND
//   that directory, or the partition, is offline                         KAFKA_STORAGE_ERROR
//   no such partition here                                               UNKNOWN_TOPIC_OR_PARTITION; the directory is
//                                                                        remembered for when the partition is made
//   it lies there                                                        none; a move elsewhere is given up
//
// A partition that is named more than once goes where its last mention says, and has one entry in the answer. What the
// manager is asked takes its lock once a partition: on the pool, as there may be many.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/error.h"
#include "base/list.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "wire/alter_replica_log_dirs.h"
#include "wire/error_codes.h"

enum {
  MOVE_FOLDER_MAX = 255,  // longest name of a folder
  MOVE_SUFFIX_BYTES = 40, // "." 32 digits "-future"
};

/// One partition that is asked for.
struct move_item {
  int32_t topic;     ///< number of its topic in the answer
  int32_t partition; ///< partition number
  const char *path;  ///< where to, by its last mention; NULL: a name that no directory can have
};

/// A request under way.
struct move_work {
  struct pool_job job;                              ///< on the pool
  struct request *req;                              ///< the request
  struct move_item *items;                          ///< by first mention
  int32_t item_count;                               ///< how many
  const char **names;                               ///< topics, by number; NULL: a name that no topic can have
  struct wire_alter_replica_log_dirs_response resp; ///< the answer
};

/// A string as C has it; NULL when there is a NUL in it.
static const char *move_text(struct request *req, struct wire_string text)
{
  return memchr(text.data, '\0', (size_t)text.length) == NULL ? request_string(req, text) : NULL;
}

static int16_t move_one(struct log_manager *logs, const char *topic, size_t topic_length, const struct move_item *item)
{
  char number[16];
  size_t digits = (size_t)snprintf(number, sizeof number, "-%" PRId32, item->partition);
  if (topic_length + digits + MOVE_SUFFIX_BYTES > MOVE_FOLDER_MAX) {
    return WIRE_INVALID_TOPIC_EXCEPTION;
  }
  if (item->path == NULL) {
    return WIRE_LOG_DIR_NOT_FOUND;
  }
  if (topic == NULL) {
    return WIRE_UNKNOWN_TOPIC_OR_PARTITION;
  }
  return api_wire_error(log_manager_move_log(logs, topic, item->partition, item->path));
}

static void move_run(struct pool_job *job)
{
  struct move_work *work = CONTAINER_OF(job, struct move_work, job);
  for (int32_t i = 0; i < work->item_count; i++) {
    const struct move_item *item = &work->items[i];
    struct wire_alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *topic =
        &work->resp.results[item->topic];
    struct wire_alter_replica_log_dirs_response_alter_replica_log_dir_partition_result *result =
        &topic->partitions[topic->partitions_count++];
    wire_alter_replica_log_dirs_response_alter_replica_log_dir_partition_result_init(result);
    result->partition_index = item->partition;
    result->error_code =
        move_one(work->req->api->logs, work->names[item->topic], (size_t)topic->topic_name.length, item);
  }
}

/// Answers each partition that nothing is done to.
static void move_deny(struct move_work *work)
{
  for (int32_t i = 0; i < work->item_count; i++) {
    struct wire_alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *topic =
        &work->resp.results[work->items[i].topic];
    struct wire_alter_replica_log_dirs_response_alter_replica_log_dir_partition_result *result =
        &topic->partitions[topic->partitions_count++];
    wire_alter_replica_log_dirs_response_alter_replica_log_dir_partition_result_init(result);
    result->partition_index = work->items[i].partition;
    result->error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
  }
  request_respond(work->req, &work->resp);
}

static void move_done(struct pool_job *job)
{
  struct move_work *work = CONTAINER_OF(job, struct move_work, job);
  request_respond(work->req, &work->resp);
}

/// Notes one partition of the question.
static void move_add(struct move_work *work, struct key_set *parts, int32_t topic, struct wire_string name,
                     int32_t partition, const char *path)
{
  static const struct uuid NO_ID;
  int32_t place = key_set_put(parts, name, &NO_ID, partition, work->item_count);
  if (place == work->item_count) {
    work->items[work->item_count++] = (struct move_item){.topic = topic, .partition = partition};
    work->resp.results[topic].partitions_count++;
  }
  work->items[place].path = path;
}

/// Notes all partitions of the question under their topics.
static void move_gather(struct move_work *work, int32_t topic_total, int32_t total)
{
  static const struct uuid NO_ID;
  struct request *req = work->req;
  const struct wire_alter_replica_log_dirs_request *body = req->body;
  struct key_set topics;
  struct key_set parts;
  key_set_create(&topics, &req->arena, topic_total);
  key_set_create(&parts, &req->arena, total);
  work->items = request_array(req, total, sizeof *work->items);
  work->names = request_array(req, topic_total, sizeof *work->names);
  work->resp.results = request_array(req, topic_total, sizeof *work->resp.results);
  work->resp.results_count = 0;
  for (int32_t d = 0; d < body->dirs_count; d++) {
    const char *path = move_text(req, body->dirs[d].path);
    for (int32_t t = 0; t < body->dirs[d].topics_count; t++) {
      const struct wire_alter_replica_log_dirs_request_alter_replica_log_dir_topic *asked = &body->dirs[d].topics[t];
      if (asked->partitions_count == 0) {
        continue;
      }
      int32_t topic = key_set_put(&topics, asked->name, &NO_ID, 0, work->resp.results_count);
      if (topic == work->resp.results_count) {
        wire_alter_replica_log_dirs_response_alter_replica_log_dir_topic_result_init(&work->resp.results[topic]);
        work->resp.results[topic].topic_name = asked->name;
        work->names[topic] = move_text(req, asked->name);
        work->resp.results_count++;
      }
      for (int32_t p = 0; p < asked->partitions_count; p++) {
        move_add(work, &parts, topic, asked->name, asked->partitions[p], path);
      }
    }
  }
  for (int32_t t = 0; t < work->resp.results_count; t++) {
    struct wire_alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *topic = &work->resp.results[t];
    topic->partitions = request_array(req, topic->partitions_count, sizeof *topic->partitions);
    topic->partitions_count = 0;
  }
}

void alter_replica_log_dirs_handle(struct request *req)
{
  const struct wire_alter_replica_log_dirs_request *body = req->body;
  int64_t topics = 0;
  int64_t partitions = 0;
  for (int32_t d = 0; d < body->dirs_count; d++) {
    topics += body->dirs[d].topics_count;
    for (int32_t t = 0; t < body->dirs[d].topics_count; t++) {
      partitions += body->dirs[d].topics[t].partitions_count;
    }
  }
  if (!request_check_count(req, body->dirs_count) || !request_check_count(req, topics) ||
      !request_check_count(req, partitions)) {
    return;
  }
  struct move_work *work = request_array(req, 1, sizeof *work);
  work->req = req;
  wire_alter_replica_log_dirs_response_init(&work->resp);
  move_gather(work, (int32_t)topics, (int32_t)partitions);
  if (!api_may_cluster(req, RIGHT_ALTER)) {
    move_deny(work);
    return;
  }
  pool_submit(req->api->pool, &work->job, move_run, req->worker->loop, move_done);
}
