// SPDX-License-Identifier: Apache-2.0
//
// Producer ids: numbers that no producer of the cluster ever had before. A broker takes them in blocks, by moving the
// end of the last block in Kafka's node, and gives them out of memory:
//
//   /latest_producer_id_block   {"version":1,"broker":1,"block_start":"1000","block_end":"1999"}
//
// The node is on disk before the first id of a block is given, so that a crash loses the rest of the block and gives
// nothing twice. The write is a compare and set, and fenced by the controller's epoch. Control thread.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "wire/error_codes.h"

enum { PRODUCER_ID_BLOCK = 1000 }; // ids in a block, as many as Kafka takes

static const char node_path[] = "/latest_producer_id_block";

static struct controller_producer_id *current_request(struct controller *controller)
{
  return CONTAINER_OF(controller->current, struct controller_producer_id, base);
}

/// Gives the next id of the block.
static void give(struct controller *controller)
{
  current_request(controller)->id = controller->producer_id++;
  controller_finish(controller);
}

/// A number that Kafka writes as a text.
static bool read_number(const json_t *json, const char *name, int64_t *number)
{
  const char *text = json_string_value(json_object_get(json, name));
  if (text == NULL || *text < '0' || *text > '9') {
    return false;
  }
  char *end = NULL;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/// Reads where the last block ended; a node without data: nowhere, ids begin at 0.
static bool read_block(const struct metastore_op *op, int64_t *next)
{
  *next = 0;
  if (op->result == ERR_NOT_FOUND || op->size == 0) {
    return true;
  }
  json_t *json = json_loadb(op->data, op->size, 0, NULL);
  int64_t last = 0;
  bool is_good = read_number(json, "block_end", &last) && last < INT64_MAX - PRODUCER_ID_BLOCK;
  json_decref(json);
  *next = last + 1;
  return is_good;
}

static void block_taken(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller->producer_id_end = controller->producer_id;
    controller_fail_write(controller);
    return;
  }
  controller->producer_id_end = controller->producer_id + PRODUCER_ID_BLOCK;
  give(controller);
}

/// The text of the node when its block begins at `next`.
static const char *block_text(struct arena *arena, int32_t broker_id, int64_t next)
{
  return arena_printf(
      arena, "{\"version\":1,\"broker\":%" PRId32 ",\"block_start\":\"%" PRId64 "\",\"block_end\":\"%" PRId64 "\"}",
      broker_id, next, next + PRODUCER_ID_BLOCK - 1);
}

/// Adds the step that moves the node.
static void write_block(struct writes *writes, const struct metastore_op *get, const char *text)
{
  if (get->result == ERR_NOT_FOUND) {
    writes_create(writes, node_path, text);
  } else {
    writes_set(writes, node_path, text);
    writes->ops[writes->count - 1].version = get->stat.version;
  }
}

const char *producer_ids_path(void)
{
  return node_path;
}

int producer_ids_raise(const struct metastore_op *get, int32_t broker_id, int64_t highest, struct writes *writes)
{
  int64_t next = 0;
  if (!read_block(get, &next)) {
    return error_set(ERR_CORRUPT, "metastore node %s does not say where the last block ended", node_path);
  }
  if (highest >= next) {
    // The whole block in which it lies counts as given: brokers take them in blocks that begin at multiples.
    write_block(writes, get, block_text(writes->arena, broker_id, highest - highest % PRODUCER_ID_BLOCK));
  }
  return 0;
}

/// Moves the node to the next block.
static void block_read(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  const struct metastore_op *op = &request->ops[0];
  int64_t next = 0;
  if (request->result != 0 || !read_block(op, &next)) {
    slog_error("no producer ids: %s %s", node_path,
               request->message       ? request->message
               : request->result != 0 ? error_text(request->result)
                                      : "does not say where the last block ended");
    current_request(controller)->error_code = WIRE_UNKNOWN_SERVER_ERROR;
    controller_finish(controller);
    return;
  }
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  write_block(&writes, op, block_text(&controller->arena, controller->settings.broker_id, next));
  controller->producer_id = next;
  controller->producer_id_end = next; // Not ours before it is on disk.
  writes_submit(&writes, controller, block_taken);
}

void controller_give_producer_id(struct controller *controller)
{
  if (controller->producer_id < controller->producer_id_end) {
    give(controller);
    return;
  }
  struct writes writes = {.arena = &controller->arena};
  writes_read(&writes, METASTORE_GET, node_path);
  writes_submit(&writes, controller, block_read);
}
