// SPDX-License-Identifier: Apache-2.0
//
// From a frame to its handler: reads the header, looks up who serves it, decodes the body. Runs on the worker of the
// connection. Requests of a connection are taken up one after another, each when the one before has been answered; only
// a Produce may follow unanswered Produces, since appends to a partition keep the order in which they were submitted.
//
// Kafka's rules for what it does not understand: ApiVersions of an unknown version is answered in version 0 with
// UNSUPPORTED_VERSION (KIP-511); every other unknown key or version, and a body that cannot be decoded, closes the
// connection. Bytes behind a decoded body are ignored.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/beat_cache.h"
#include "api/handlers.h"
#include "api/hooks.h"
#include "api/produce_private.h"
#include "api/inspect.h"
#include "api/probe.h"
#include "api/request.h"
#include "api/request_private.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "coordinator/coordinator.h"
#include "metadata/image.h"
#include "network/frame.h"
#include "network/server.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/header.h"
#include "wire/reader.h"

static const struct api_handler API_HANDLERS[] = {
    {WIRE_API_PRODUCE, 0, 13, produce_handle},
    {WIRE_API_FETCH, 0, 18, fetch_handle},
    {WIRE_API_LIST_OFFSETS, 0, 11, list_offsets_handle},
    {WIRE_API_METADATA, 0, 13, metadata_handle},
    {WIRE_API_OFFSET_COMMIT, 0, 10, offset_commit_handle},
    {WIRE_API_OFFSET_FETCH, 0, 10, offset_fetch_handle},
    {WIRE_API_FIND_COORDINATOR, 0, 6, find_coordinator_handle},
    {WIRE_API_JOIN_GROUP, 0, 9, join_group_handle},
    {WIRE_API_HEARTBEAT, 0, 4, heartbeat_handle},
    {WIRE_API_LEAVE_GROUP, 0, 5, leave_group_handle},
    {WIRE_API_SYNC_GROUP, 0, 5, sync_group_handle},
    {WIRE_API_DESCRIBE_GROUPS, 0, 6, describe_groups_handle},
    {WIRE_API_LIST_GROUPS, 0, 5, list_groups_handle},
    {WIRE_API_API_VERSIONS, 0, 5, api_versions_handle},
    {WIRE_API_CREATE_TOPICS, 0, 7, create_topics_handle},
    {WIRE_API_DELETE_TOPICS, 0, 6, delete_topics_handle},
    {WIRE_API_DELETE_RECORDS, 0, 2, delete_records_handle},
    {WIRE_API_INIT_PRODUCER_ID, 0, 6, init_producer_id_handle},
    {WIRE_API_OFFSET_FOR_LEADER_EPOCH, 0, 4, offset_for_leader_epoch_handle},
    {WIRE_API_DESCRIBE_CONFIGS, 0, 4, describe_configs_handle},
    {WIRE_API_ALTER_CONFIGS, 0, 2, alter_configs_handle},
    {WIRE_API_ALTER_REPLICA_LOG_DIRS, 0, 2, alter_replica_log_dirs_handle},
    {WIRE_API_DESCRIBE_LOG_DIRS, 0, 5, describe_log_dirs_handle},
    {WIRE_API_CREATE_PARTITIONS, 0, 3, create_partitions_handle},
    {WIRE_API_DELETE_GROUPS, 0, 3, delete_groups_handle},
    {WIRE_API_ELECT_LEADERS, 0, 2, elect_leaders_handle},
    {WIRE_API_INCREMENTAL_ALTER_CONFIGS, 0, 1, incremental_alter_configs_handle},
    {WIRE_API_ALTER_PARTITION_REASSIGNMENTS, 0, 1, alter_partition_reassignments_handle},
    {WIRE_API_LIST_PARTITION_REASSIGNMENTS, 0, 0, list_partition_reassignments_handle},
    {WIRE_API_OFFSET_DELETE, 0, 0, offset_delete_handle},
    {WIRE_API_DESCRIBE_CLIENT_QUOTAS, 0, 1, describe_client_quotas_handle},
    {WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, describe_user_scram_credentials_handle},
    {WIRE_API_ALTER_USER_SCRAM_CREDENTIALS, 0, 0, alter_user_scram_credentials_handle},
    {WIRE_API_DESCRIBE_QUORUM, 0, 2, describe_quorum_handle},
    {WIRE_API_UPDATE_FEATURES, 0, 2, update_features_handle},
    {WIRE_API_DESCRIBE_CLUSTER, 0, 2, describe_cluster_handle},
    {WIRE_API_DESCRIBE_PRODUCERS, 0, 0, describe_producers_handle},
    {WIRE_API_UNREGISTER_BROKER, 0, 0, unregister_broker_handle},
    {WIRE_API_CONSUMER_GROUP_HEARTBEAT, 0, 1, consumer_group_heartbeat_handle},
    {WIRE_API_CONSUMER_GROUP_DESCRIBE, 0, 1, consumer_group_describe_handle},
    {WIRE_API_LIST_CONFIG_RESOURCES, 0, 1, list_config_resources_handle},
    {WIRE_API_DESCRIBE_TOPIC_PARTITIONS, 0, 0, describe_topic_partitions_handle},
};

enum {
  API_HANDLER_COUNT = sizeof API_HANDLERS / sizeof API_HANDLERS[0],
  DISPATCH_HEADER_MIN = 8,  // key, version, correlation id
  DISPATCH_DRAIN_MS = 5000, // as long as a stop leaves connections open
};

_Static_assert((int)API_HANDLER_COUNT <= (int)API_HANDLERS_MAX, "a counter for each handler");

const struct api_handler *api_handlers(int *count)
{
  *count = API_HANDLER_COUNT;
  return API_HANDLERS;
}

int api_handler_place(const struct api_handler *handler)
{
  return (int)(handler - API_HANDLERS);
}

const struct api_handler *api_handler_find(int16_t key)
{
  for (int i = 0; i < API_HANDLER_COUNT; i++) {
    if (API_HANDLERS[i].key == key) {
      return &API_HANDLERS[i];
    }
  }
  return NULL;
}

const struct broker_config *api_config(const struct api *api)
{
  return metadata_cache_get(api->metadata)->config;
}

/// Reads the request's header and body; on failure error_last() says what was wrong.
///
/// @param[out] body  where the body begins in the frame
static int dispatch_decode(struct request *req, int32_t *body)
{
  struct frame *frame = req->frame;
  int16_t key = (int16_t)bytes_get_u16(frame->bytes);
  req->version = (int16_t)bytes_get_u16(frame->bytes + 2);
  req->correlation_id = (int32_t)bytes_get_u32(frame->bytes + 4);
  req->handler = api_handler_find(key);
  req->wire = wire_api_find(key);
  if (req->handler == NULL) {
    return error_set(ERR_UNSUPPORTED_VERSION, "request key %d is not served", key);
  }
  if (key == WIRE_API_PRODUCE) {
    req->client->produce_count++;
  }
  if (req->version < req->handler->min_version || req->version > req->handler->max_version) {
    return error_set(ERR_UNSUPPORTED_VERSION, "version is not served");
  }
  struct wire_reader r;
  wire_reader_init(&r, frame->bytes, (size_t)frame->size);
  struct wire_request_header header;
  wire_request_header_init(&header);
  TRY(wire_request_header_read(&header, &r, wire_request_header_version(key, req->version), &req->arena));
  *body = frame->size - (int32_t)wire_reader_left(&r);
  req->client_id = header.client_id;
  if (req->client->id[0] == '\0' && header.client_id.length > 0) {
    snprintf(req->client->id, sizeof req->client->id, "%.*s", header.client_id.length, header.client_id.data);
  }
  req->body = arena_alloc(&req->arena, req->wire->request->size);
  req->wire->request->init(req->body);
  return req->wire->request->read(req->body, &r, req->version, &req->arena);
}

static enum frame_verdict dispatch_frame(void *arg, struct connection *conn, struct frame *frame)
{
  (void)arg;
  struct api_worker *worker = connection_worker(conn)->user;
  struct api_client *client = connection_user(conn);
  if (client->connect_ask != NULL) {
    return FRAME_DEFER;
  }
  if (client->request_count > 0) {
    bool is_produce = frame->size >= 2 && bytes_get_u16(frame->bytes) == WIRE_API_PRODUCE;
    if (!is_produce || client->produce_count < client->request_count || client->hold_count > 0) {
      return FRAME_DEFER;
    }
  }
  struct request *req = request_new(worker, client, frame);
  if (frame->size < DISPATCH_HEADER_MIN) {
    request_refuse(req, "too short for a request header");
    return FRAME_TAKEN;
  }
  int32_t body = 0;
  int result = dispatch_decode(req, &body);
  if (result == 0) {
    const struct probe_watch *watch = probes_watch(&req->api->probes);
    if (watch == NULL || !probe_request(req, watch, body)) {
      api_handle(req);
    }
  } else if (result == ERR_UNSUPPORTED_VERSION && req->handler != NULL && req->wire->key == WIRE_API_API_VERSIONS) {
    api_versions_unsupported(req);
  } else {
    request_refuse(req, error_last()->message);
  }
  return FRAME_TAKEN;
}

static void dispatch_open(void *arg, struct connection *conn)
{
  struct api_client *client = mem_zalloc(sizeof *client);
  list_create(&client->requests);
  connection_set_user(conn, client);
  api_ask_connect(arg, client, conn);
}

static void dispatch_close(void *arg, struct connection *conn)
{
  (void)arg;
  struct api_client *client = connection_user(conn);
  // What waits is answered by its `cancel`, and leaves the list; what other threads work on forgets the client.
  LIST_EACH_SAFE(&client->requests, node) {
    struct request *req = CONTAINER_OF(node, struct request, link);
    list_remove(node);
    req->client = NULL;
    if (req->cancel != NULL) {
      req->cancel(req);
    }
  }
  api_forget_connect(client);
  api_forget_rights(client);
  fetch_client_closed(connection_worker(conn)->user, client);
  connection_set_user(conn, NULL);
  mem_free(client);
}

static void dispatch_start(void *arg, struct worker *server_worker)
{
  struct api *api = arg;
  struct api_worker *worker = mem_zalloc(sizeof *worker);
  worker->api = api;
  worker->worker = server_worker;
  worker->loop = &server_worker->loop;
  worker->index = server_worker->index;
  atomic_init(&worker->give_up_ms, INT64_MAX);
  atomic_store_explicit(&api->counters[worker->index], &worker->counters, memory_order_release);
  list_create(&worker->waiting);
  list_create(&worker->probed);
  list_create(&worker->authorizing);
  server_worker->user = worker;
  worker->beats = beat_cache_new();
  worker->divider = produce_divider_new();
  fetch_start(worker);
}

static void dispatch_turn(void *arg, struct worker *server_worker)
{
  (void)arg;
  struct api_worker *worker = server_worker->user;
  append_gather_submit(&worker->appends);
  struct coordinator *coordinator = atomic_load_explicit(&worker->api->coordinator, memory_order_acquire);
  if (coordinator != NULL) {
    coordinator_turn(coordinator, worker->index);
  }
  request_count_latency(worker);
}

static void dispatch_drain(void *arg, struct worker *server_worker)
{
  (void)arg;
  struct api_worker *worker = server_worker->user;
  atomic_store_explicit(&worker->give_up_ms, clock_mono_ms() + DISPATCH_DRAIN_MS, memory_order_relaxed);
  fetch_drain(worker);
  probe_drain(worker);
  struct coordinator *coordinator = atomic_load_explicit(&worker->api->coordinator, memory_order_acquire);
  if (coordinator != NULL) {
    coordinator_drain(coordinator, worker->index);
  }
}

static void dispatch_stop(void *arg, struct worker *server_worker)
{
  struct api *api = arg;
  struct api_worker *worker = server_worker->user;
  CHECK(worker->appends.used_count == 0); // each append that was gathered has a frame, and all frames are given back
  atomic_store_explicit(&api->counters[worker->index], NULL, memory_order_release);
  fetch_stop(worker);
  beat_cache_delete(worker->beats);
  produce_divider_delete(worker->divider);
  while (worker->free_requests != NULL) {
    struct request *req = worker->free_requests;
    worker->free_requests = req->state;
    arena_destroy(&req->arena);
    mem_free(req);
  }
  mem_free(worker);
}

void api_callbacks(struct api *api, struct connection_callbacks *callbacks)
{
  *callbacks = (struct connection_callbacks){
      .on_open = dispatch_open,
      .on_frame = dispatch_frame,
      .on_close = dispatch_close,
      .on_start = dispatch_start,
      .on_turn = dispatch_turn,
      .on_drain = dispatch_drain,
      .on_stop = dispatch_stop,
      .on_describe = api_describe_connection,
      .arg = api,
  };
}
