// SPDX-License-Identifier: Apache-2.0
//
// What the log says of members that are thrown out. When the consumers of a large group die together, or a network
// does, each of them is found silent by a timer of its own; hundreds of lines would say one thing. So the first one is
// told of at once, and what comes within a second of a line is told in the next one.
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/shard_state.h"

enum { REMOVALS_QUIET_MS = 1000 }; // between two lines of a shard

static void tell(struct group_shard *shard)
{
  struct shard_removals *removals = &shard->removals;
  slog_info("group '%s'%s: %" PRId64 " more %s removed, the last of which %s", removals->group,
            removals->has_others ? " and others" : "", removals->count,
            removals->count == 1 ? "member was" : "members were", removals->why);
  mem_free(removals->group);
  mem_free(removals->why);
  removals->group = NULL;
  removals->why = NULL;
  removals->count = 0;
  removals->has_others = false;
}

static void quiet_is_over(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  if (shard->removals.count > 0) {
    tell(shard);
    group_timer_start(shard, timer, now_ms + REMOVALS_QUIET_MS, quiet_is_over);
  }
}

void group_log_removal(struct group *group, struct wire_string member, const char *why, int64_t now_ms)
{
  struct shard_removals *removals = &group->shard->removals;
  if (removals->timer.position == 0) {
    slog_info("group '%s': member %.*s is removed: it %s", group->id, member.length, member.data, why);
    group_timer_start(group->shard, &removals->timer, now_ms + REMOVALS_QUIET_MS, quiet_is_over);
    return;
  }
  removals->count++;
  if (removals->group == NULL) {
    removals->group = mem_strdup(group->id);
  } else if (strcmp(removals->group, group->id) != 0) {
    removals->has_others = true;
  }
  mem_free(removals->why);
  removals->why = mem_strdup(why);
}

void shard_removals_stop(struct group_shard *shard)
{
  group_timer_stop(shard, &shard->removals.timer);
  if (shard->removals.count > 0) {
    tell(shard);
  }
}
