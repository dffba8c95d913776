// SPDX-License-Identifier: Apache-2.0
#include "controller/reassignment.h"

#include <string.h>

#include "base/arena.h"
#include "controller/topic_plan_private.h"
#include "metadata/config.h"
#include "metadata/image.h"
#include "wire/error_codes.h"

enum { NAME_SHOWN_MAX = 256 };

static const char *shown_name(struct arena *arena, struct wire_string name)
{
  // No more than is shown: a request may name one topic very often.
  char *text = arena_strndup(arena, name.data, name.length > NAME_SHOWN_MAX ? NAME_SHOWN_MAX + 1 : (size_t)name.length);
  text[config_clip(text, NAME_SHOWN_MAX)] = '\0';
  return text;
}

int16_t reassignment_decide(const struct metadata_image *image, struct arena *arena, const struct reassignment *asked,
                            const char **message)
{
  const struct metadata_topic *topic = asked->topic;
  const struct metadata_partition *part = topic ? metadata_topic_partition(topic, asked->partition) : NULL;
  *message = NULL;
  if (!topic) {
    *message = arena_printf(arena, "Unable to find a topic named %s.", shown_name(arena, asked->name));
    return WIRE_UNKNOWN_TOPIC_OR_PARTITION;
  }
  if (!part) {
    *message = arena_printf(arena, "Unable to find partition %s:%d.", topic->name, asked->partition);
    return WIRE_UNKNOWN_TOPIC_OR_PARTITION;
  }
  if (asked->is_cancel) {
    return WIRE_NO_REASSIGNMENT_IN_PROGRESS;
  }
  struct controller_assignment wanted = {asked->partition, asked->replica_count, asked->replicas};
  *message = topic_plan_check_replicas(image, arena, &wanted, -1);
  if (*message) {
    return WIRE_INVALID_REPLICA_ASSIGNMENT;
  }
  if (asked->replica_count != part->replica_count ||
      memcmp(asked->replicas, part->replicas, (size_t)part->replica_count * sizeof *part->replicas) != 0) {
    // Only where another tool wrote an assignment to brokers that are not there.
    *message = "Replicas are not moved between brokers yet.";
    return WIRE_INVALID_REPLICA_ASSIGNMENT;
  }
  return WIRE_NONE;
}
