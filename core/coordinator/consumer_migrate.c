// SPDX-License-Identifier: Apache-2.0
#include "coordinator/consumer_migrate.h"

#include "coordinator/classic_group.h"

const char *consumer_migration_begin(struct consumer_migration *migration, struct group_shard *shard,
                                     struct group *group, struct group_request *request, bool is_join)
{
  struct wire_string id = request->group;
  bool is_unknown = group == NULL || group->kind == GROUP_EMPTY;
  if (is_unknown && !is_join) {
    return arena_printf(request->arena, "Consumer group %.*s not found.", id.length, id.data);
  }
  if (!is_unknown && group->kind == GROUP_CONSUMER) {
    migration->group = group;
    migration->base = group->consumer;
    return NULL;
  }
  if (!is_unknown && !(is_join && classic_is_empty(group))) {
    return arena_printf(request->arena, "Group %.*s is not a consumer group.", id.length, id.data);
  }
  migration->group = group != NULL ? group : group_obtain(shard, id);
  consumer_group_init(&migration->converted, migration->group);
  migration->base = &migration->converted;
  return NULL;
}

void consumer_migration_write(struct consumer_migration *migration, struct consumer_change *change)
{
  if (migration->group->kind == GROUP_CLASSIC) {
    classic_write_tombstones(migration->group, consumer_change_write(change));
  }
}

void consumer_migration_end(struct consumer_migration *migration)
{
  if (migration->base == &migration->converted) {
    consumer_group_clear(&migration->converted);
  }
}
