// SPDX-License-Identifier: Apache-2.0
#include "shard_driver.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/check.h"
#include "base/mem.h"

static struct shard_driver_topic *driver_find(struct shard_driver *driver, const char *name, size_t length)
{
  for (int i = 0; i < SHARD_DRIVER_TOPICS; i++) {
    struct shard_driver_topic *topic = &driver->topics[i];
    if (topic->partitions > 0 && strlen(topic->name) == length && memcmp(topic->name, name, length) == 0) {
      return topic;
    }
  }
  return NULL;
}

static bool driver_topic_find(void *arg, const char *name, int32_t length, struct uuid *id, int32_t *partitions)
{
  const struct shard_driver_topic *topic = driver_find(arg, name, (size_t)length);
  if (topic == NULL) {
    return false;
  }
  *id = topic->id;
  *partitions = topic->partitions;
  return true;
}

static bool driver_topic_find_id(void *arg, const struct uuid *id, const char **name, int32_t *length,
                                 int32_t *partitions)
{
  struct shard_driver *driver = arg;
  for (int i = 0; i < SHARD_DRIVER_TOPICS; i++) {
    const struct shard_driver_topic *topic = &driver->topics[i];
    if (topic->partitions > 0 && uuid_equal(&topic->id, id)) {
      *name = topic->name;
      *length = (int32_t)strlen(topic->name);
      *partitions = topic->partitions;
      return true;
    }
  }
  return false;
}

static bool driver_topic_at(void *arg, int32_t index, const char **name, int32_t *length)
{
  struct shard_driver *driver = arg;
  for (int i = 0; i < SHARD_DRIVER_TOPICS; i++) {
    const struct shard_driver_topic *topic = &driver->topics[i];
    if (topic->partitions > 0 && index-- == 0) {
      *name = topic->name;
      *length = (int32_t)strlen(topic->name);
      return true;
    }
  }
  return false;
}

static int64_t driver_topic_version(void *arg)
{
  return ((struct shard_driver *)arg)->version;
}

static int64_t driver_wall_ms(void *arg)
{
  const struct shard_driver *driver = arg;
  return driver->now_ms + driver->wall_ahead_ms;
}

struct shard_driver *shard_driver_new(uint64_t seed)
{
  struct shard_driver *driver = mem_zalloc(sizeof *driver);
  driver->config = (struct group_settings){
      .group_min_session_timeout_ms = 6000,
      .group_max_session_timeout_ms = 1800000,
      .group_max_size = INT32_MAX,
      .offset_metadata_max_bytes = 4096,
      .offsets_retention_ms = INT64_C(604800000),
      .offsets_retention_check_interval_ms = 600000,
      .group_consumer_session_timeout_ms = 45000,
      .group_consumer_heartbeat_interval_ms = 5000,
      .group_consumer_max_size = INT32_MAX,
      .group_consumer_assignment_interval_ms = 1000,
      .group_consumer_assignors = {0, 1},
      .group_consumer_assignor_count = 2,
      .is_upgrade_allowed = true,
      .is_downgrade_allowed = true,
  };
  struct group_shard_topics topics = {
      .arg = driver,
      .find = driver_topic_find,
      .find_id = driver_topic_find_id,
      .at = driver_topic_at,
      .version = driver_topic_version,
      .wall_ms = driver_wall_ms,
  };
  driver->shard = group_shard_new(0, &driver->config, &topics, seed);
  return driver;
}

void shard_driver_delete(struct shard_driver *driver)
{
  group_shard_delete(driver->shard);
  mem_free(driver);
}

void shard_driver_topic(struct shard_driver *driver, const char *name, int32_t partitions)
{
  struct shard_driver_topic *topic = driver_find(driver, name, strlen(name));
  for (int i = 0; topic == NULL && i < SHARD_DRIVER_TOPICS; i++) {
    if (driver->topics[i].partitions == 0) {
      topic = &driver->topics[i];
      snprintf(topic->name, sizeof topic->name, "%s", name);
      // The same ids in each run, and another one for a topic that comes back.
      topic->id = (struct uuid){{(uint8_t)(i + 1), [1] = (uint8_t)driver->version, [15] = 1}};
    }
  }
  topic->partitions = partitions;
  driver->version++;
}

void shard_driver_set_topic_id(struct shard_driver *driver, const char *name, const struct uuid *id)
{
  struct shard_driver_topic *topic = driver_find(driver, name, strlen(name));
  CHECK(topic != NULL);
  topic->id = *id;
}

void shard_driver_topic_id(struct shard_driver *driver, const char *name, struct uuid *id)
{
  const struct shard_driver_topic *topic = driver_find(driver, name, strlen(name));
  *id = topic != NULL ? topic->id : (struct uuid){{0}};
}

struct shard_call *shard_call_new(int16_t key, int16_t version, const char *group, int32_t group_length,
                                  const void *body, const void *response, int32_t response_size, const char *client_id,
                                  const char *client_host)
{
  struct shard_call *call = mem_zalloc(sizeof *call);
  call->group = group != NULL ? mem_dup(group, (size_t)group_length + 1) : NULL;
  call->client_id = client_id != NULL ? mem_strdup(client_id) : NULL;
  call->client_host = mem_strdup(client_host);
  call->response = mem_dup(response, (size_t)response_size);
  call->request = (struct group_request){
      .key = key,
      .version = version,
      .group = {call->group, group != NULL ? group_length : -1},
      .body = body,
      .response = call->response,
      .arena = &call->arena,
      .client_id = wire_string_from(call->client_id),
      .client_host = call->client_host,
  };
  list_create(&call->request.link);
  return call;
}

void shard_call_handle(struct shard_driver *driver, struct shard_call *call, int64_t now_ms)
{
  group_shard_handle(driver->shard, &call->request, now_ms);
}

void shard_driver_search(struct shard_driver *driver, struct group_search *search, int64_t budget_ms)
{
  const struct group_shard_topics names = {.arg = driver, .at = driver_topic_at};
  group_search_run(search, &names, budget_ms);
}

int shard_driver_answers(struct shard_driver *driver)
{
  int count = 0;
  for (struct group_request *request; (request = group_shard_take_answer(driver->shard)) != NULL; count++) {
    CONTAINER_OF(request, struct shard_call, request)->is_done = true;
  }
  return count;
}

void shard_call_free(struct shard_call *call)
{
  arena_destroy(&call->arena);
  mem_free(call->group);
  mem_free(call->client_id);
  mem_free(call->client_host);
  mem_free(call->response);
  mem_free(call);
}
