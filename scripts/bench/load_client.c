// SPDX-License-Identifier: Apache-2.0
#include "load_client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "load_options.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/create_topics.h"
#include "wire/error_codes.h"
#include "wire/list_offsets.h"
#include "wire/metadata.h"

enum { RETRY_NS = 50000000 };

static int create_topic(int fd, const struct load_options *options, struct arena *arena)
{
  struct wire_create_topics_request_creatable_topic topic;
  wire_create_topics_request_creatable_topic_init(&topic);
  topic.name = wire_string_from(options->topic);
  topic.num_partitions = options->partitions;
  topic.replication_factor = options->replication;
  struct wire_create_topics_request request;
  wire_create_topics_request_init(&request);
  request.topics = &topic;
  request.topics_count = 1;
  request.timeout_ms = 10000;
  struct wire_create_topics_response response;
  TRY(client_call(fd, WIRE_API_CREATE_TOPICS, LOAD_VERSION_CREATE_TOPICS, &request, &response, arena));
  int16_t code = response.topics_count == 1 ? response.topics[0].error_code : WIRE_UNKNOWN_SERVER_ERROR;
  if (code != WIRE_NONE && code != WIRE_TOPIC_ALREADY_EXISTS) {
    return error_set(ERR_INVALID, "cannot create topic %s: %s", options->topic, wire_error_name(code));
  }
  return 0;
}

static int take_brokers(const struct wire_metadata_response *response, bool allow_remote, struct load_cluster *cluster)
{
  mem_free(cluster->brokers);
  cluster->brokers = mem_array((size_t)response->brokers_count + 1, sizeof *cluster->brokers);
  cluster->broker_count = 0;
  for (int32_t i = 0; i < response->brokers_count; i++) {
    char host[256];
    char port[16];
    snprintf(host, sizeof host, "%.*s", response->brokers[i].host.length, response->brokers[i].host.data);
    snprintf(port, sizeof port, "%d", response->brokers[i].port);
    TRY(client_resolve(host, port, allow_remote, &cluster->brokers[i].address));
    cluster->brokers[i].id = response->brokers[i].node_id;
    cluster->broker_count++;
  }
  return 0;
}

/// Takes the leaders; ERR_AGAIN while one is missing, and while a topic that was just created is.
static int take_leaders(const struct wire_metadata_response *response, bool is_created, struct load_cluster *cluster)
{
  const struct wire_metadata_response_metadata_response_topic *topic = &response->topics[0];
  if (topic->error_code != WIRE_NONE) {
    bool may_come = is_created || topic->error_code != WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return error_set(may_come && wire_error_is_retriable(topic->error_code) ? ERR_AGAIN : ERR_INVALID, "topic: %s",
                     wire_error_name(topic->error_code));
  }
  for (int32_t p = 0; p < cluster->partition_count; p++) {
    cluster->partitions[p].broker = -1;
  }
  for (int32_t i = 0; i < topic->partitions_count; i++) {
    int32_t index = topic->partitions[i].partition_index;
    for (int b = 0; b < cluster->broker_count && index >= 0 && index < cluster->partition_count; b++) {
      if (cluster->brokers[b].id == topic->partitions[i].leader_id) {
        cluster->partitions[index].broker = b;
      }
    }
  }
  for (int32_t p = 0; p < cluster->partition_count; p++) {
    if (cluster->partitions[p].broker < 0) {
      return error_set(ERR_AGAIN, "partition %d does not exist or has no leader", p);
    }
  }
  return 0;
}

static int find_leaders(int fd, const struct load_options *options, struct load_cluster *cluster, struct arena *arena)
{
  struct wire_metadata_request_metadata_request_topic topic;
  wire_metadata_request_metadata_request_topic_init(&topic);
  topic.name = wire_string_from(options->topic);
  struct wire_metadata_request request;
  wire_metadata_request_init(&request);
  request.topics = &topic;
  request.topics_count = 1;
  request.allow_auto_topic_creation = false;
  int64_t deadline_ms = clock_mono_ms() + LOAD_CLIENT_TIMEOUT_MS;
  for (;;) {
    struct wire_metadata_response response;
    TRY(client_call(fd, WIRE_API_METADATA, LOAD_VERSION_METADATA, &request, &response, arena));
    TRY(take_brokers(&response, options->allow_remote, cluster));
    int result = response.topics_count == 1 ? take_leaders(&response, options->create, cluster)
                                            : error_set(ERR_MALFORMED, "the broker did not answer for the topic");
    if (result != ERR_AGAIN || clock_mono_ms() > deadline_ms) {
      return result;
    }
    nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
  }
}

/// Asks one broker for the first or last offsets of the partitions it leads.
static int list_offsets(const struct load_options *options, struct load_cluster *cluster, int broker, bool is_end,
                        struct arena *arena)
{
  struct wire_list_offsets_request_list_offsets_partition *parts =
      arena_zalloc(arena, sizeof *parts * (size_t)cluster->partition_count);
  struct wire_list_offsets_request_list_offsets_topic topic;
  wire_list_offsets_request_list_offsets_topic_init(&topic);
  topic.name = wire_string_from(options->topic);
  topic.partitions = parts;
  for (int32_t p = 0; p < cluster->partition_count; p++) {
    if (cluster->partitions[p].broker == broker) {
      wire_list_offsets_request_list_offsets_partition_init(&parts[topic.partitions_count]);
      parts[topic.partitions_count].partition_index = p;
      parts[topic.partitions_count++].timestamp = is_end ? -1 : -2;
    }
  }
  if (topic.partitions_count == 0) {
    return 0;
  }
  struct wire_list_offsets_request request;
  wire_list_offsets_request_init(&request);
  request.replica_id = -1;
  request.topics = &topic;
  request.topics_count = 1;
  int fd = -1;
  TRY(client_connect(&cluster->brokers[broker].address, &fd));
  struct wire_list_offsets_response response;
  int result = client_call(fd, WIRE_API_LIST_OFFSETS, LOAD_VERSION_LIST_OFFSETS, &request, &response, arena);
  close(fd);
  TRY(result);
  for (int32_t i = 0; response.topics_count == 1 && i < response.topics[0].partitions_count; i++) {
    int32_t index = response.topics[0].partitions[i].partition_index;
    int16_t code = response.topics[0].partitions[i].error_code;
    if (code != WIRE_NONE || index < 0 || index >= cluster->partition_count) {
      return error_set(wire_error_is_retriable(code) ? ERR_AGAIN : ERR_INVALID,
                       "cannot list offsets of partition %d: %s", index, wire_error_name(code));
    }
    *(is_end ? &cluster->partitions[index].end_offset : &cluster->partitions[index].start_offset) =
        response.topics[0].partitions[i].offset;
  }
  return 0;
}

/// Asks for the first and last offsets, again while a leader has just been made one.
static int find_offsets(const struct load_options *options, struct load_cluster *cluster, int broker,
                        struct arena *arena)
{
  int64_t deadline_ms = clock_mono_ms() + LOAD_CLIENT_TIMEOUT_MS;
  for (;;) {
    int result = list_offsets(options, cluster, broker, false, arena);
    if (result == 0) {
      result = list_offsets(options, cluster, broker, true, arena);
    }
    if (result != ERR_AGAIN || clock_mono_ms() > deadline_ms) {
      return result;
    }
    nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
  }
}

int load_cluster_open(const struct load_options *options, struct load_cluster *cluster)
{
  char host[256];
  const char *colon = strrchr(options->brokers, ':');
  if (colon == NULL || (size_t)(colon - options->brokers) >= sizeof host) {
    return error_set(ERR_INVALID, "--brokers is HOST:PORT, not '%s'", options->brokers);
  }
  snprintf(host, sizeof host, "%.*s", (int)(colon - options->brokers), options->brokers);
  struct load_broker first = {0};
  TRY(client_resolve(host, colon + 1, options->allow_remote, &first.address));
  cluster->partition_count = options->partitions;
  cluster->partitions = mem_array((size_t)options->partitions, sizeof *cluster->partitions);
  if (options->is_raw || options->mode == LOAD_API_VERSIONS) {
    cluster->brokers = mem_array(1, sizeof *cluster->brokers);
    cluster->brokers[0] = first;
    cluster->broker_count = 1;
    return 0; // the leader of all partitions is broker 0 already
  }
  struct arena arena = {0};
  int fd = -1;
  int result = client_connect(&first.address, &fd);
  if (result == 0 && options->create) {
    result = create_topic(fd, options, &arena);
  }
  if (result == 0) {
    result = find_leaders(fd, options, cluster, &arena);
  }
  for (int b = 0; result == 0 && b < cluster->broker_count; b++) {
    result = find_offsets(options, cluster, b, &arena);
  }
  if (fd >= 0) {
    close(fd);
  }
  arena_destroy(&arena);
  return result;
}

void load_cluster_destroy(struct load_cluster *cluster)
{
  mem_free(cluster->brokers);
  mem_free(cluster->partitions);
}
