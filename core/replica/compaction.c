// SPDX-License-Identifier: Apache-2.0
#include "replica/compaction.h"

#include "base/list.h"
#include "base/mem.h"
#include "log/log.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "replica/table.h"

/// Adds a log, if it is compacted or was.
static void compaction_add(struct compaction_list *list, struct partition *part)
{
  struct partition_state state;
  partition_read_state(part, &state);
  if (state.role != PARTITION_LEADER && state.role != PARTITION_FOLLOWER) {
    return;
  }
  if (!log_get_config(part->log)->is_compacting && log_clean_offset(part->log) < 0) {
    return;
  }
  if (list->count == list->room) {
    list->room = list->room * 2 + 64;
    list->infos = mem_realloc(list->infos, (size_t)list->room * sizeof *list->infos);
  }
  struct compaction_info *info = &list->infos[list->count];
  int64_t stable = state.last_stable_offset < state.high_watermark ? state.last_stable_offset : state.high_watermark;
  int result = log_manager_cleaning(replica_manager_logs(list->manager), part->log, stable, &info->cleaning);
  if (result == 0 && partition_try_ref(part)) {
    info->part = part;
    list->count++;
  }
}

static void compaction_run(struct pool_job *job)
{
  struct compaction_list *list = CONTAINER_OF(job, struct compaction_list, job);
  const struct partition_table *table = replica_manager_all(list->manager);
  for (size_t i = 0; i <= table->mask; i++) {
    if (table->slots[i] != NULL) {
      compaction_add(list, table->slots[i]);
    }
  }
}

static void compaction_done(struct pool_job *job)
{
  struct compaction_list *list = CONTAINER_OF(job, struct compaction_list, job);
  list->done(list);
}

void compaction_list_gather(struct compaction_list *list, struct replica_manager *manager, struct pool *pool,
                            struct event_loop *reply, compaction_list_fn done)
{
  *list = (struct compaction_list){.manager = manager, .done = done};
  pool_submit(pool, &list->job, compaction_run, reply, compaction_done);
}

void compaction_list_destroy(struct compaction_list *list)
{
  for (int i = 0; i < list->count; i++) {
    partition_unref(list->infos[i].part);
  }
  mem_free(list->infos);
  list->infos = NULL;
  list->count = 0;
}
