// SPDX-License-Identifier: Apache-2.0
#include "api/internal_topic.h"

#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "base/slog.h"
#include "controller/controller.h"
#include "coordinator/coordinator.h"
#include "os/clock.h"
#include "wire/error_codes.h"

enum { INTERNAL_TOPIC_LOG_INTERVAL_MS = 10000 };

static atomic_bool internal_topic_is_creating;
static _Atomic(int64_t) internal_topic_logged_ms = INT64_MIN / 2; // when a failure was last logged

/// On the control thread: nobody waits for it.
static void internal_topic_created(struct controller_create *create)
{
  const struct controller_new_topic *topic = &create->topics[0];
  int64_t now_ms = clock_mono_ms();
  if (topic->error_code != WIRE_NONE &&
      now_ms - atomic_load(&internal_topic_logged_ms) >= INTERNAL_TOPIC_LOG_INTERVAL_MS) {
    atomic_store(&internal_topic_logged_ms, now_ms);
    slog_error("topic %s cannot be created, groups have to wait: %s", topic->name,
               topic->error_message != NULL ? topic->error_message : wire_error_name(topic->error_code));
  }
  struct topic_change *change = create->arg;
  topic_change_done(change);
  atomic_store(&internal_topic_is_creating, false);
}

void internal_topic_create_offsets(struct request *req)
{
  if (atomic_exchange(&internal_topic_is_creating, true)) {
    return;
  }
  struct topic_change *change = topic_change_new(req->worker, NULL, 0, NULL);
  struct controller_create *create = &change->create;
  create->arena = &change->arena;
  create->topics = arena_zalloc(&change->arena, sizeof *create->topics);
  create->topic_count = 1;
  create->topics[0].name = COORDINATOR_TOPIC;
  create->topics[0].name_length = strlen(COORDINATOR_TOPIC);
  create->topics[0].partitions = -1;
  create->topics[0].replication_factor = -1;
  create->is_auto = true;
  create->reply = NULL;
  create->done = internal_topic_created;
  create->arg = change;
  controller_create_topics(req->api->controller, create);
}
