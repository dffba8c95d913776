// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inspect.h"

#include "base/list.h"
#include "coordinator/coordinator_private.h"
#include "coordinator/shard_private.h"
#include "event/loop.h"
#include "metadata/image.h"

static void inspect_done(struct mail *mail)
{
  struct group_inspection *inspection = CONTAINER_OF(mail, struct group_inspection, mail);
  inspection->done(inspection);
}

static void inspect_send_back(struct group_inspection *inspection)
{
  inspection->mail.run = inspect_done;
  event_loop_post(inspection->reply, &inspection->mail);
}

/// On the shard's worker.
static void inspect_look(struct mail *mail)
{
  struct group_inspection *inspection = CONTAINER_OF(mail, struct group_inspection, mail);
  const struct coordinator *coordinator = inspection->coordinator;
  int32_t worker_count = coordinator->options.worker_count;
  struct coordinator_worker *worker = &inspection->coordinator->workers[inspection->shard % worker_count];
  int32_t place = inspection->shard / worker_count;
  const struct coordinator_shard *entry = place < worker->shard_count ? worker->shards[place] : NULL;
  inspection->now_ms = coordinator_now_ms(worker);
  if (entry != NULL && entry->state == COORDINATOR_READY) {
    const struct group *group = group_find(entry->shard, inspection->group);
    const struct group_kind_calls *calls = group == NULL ? NULL : group_kind_of(group);
    inspection->is_found = group != NULL;
    inspection->is_classic = group != NULL && group->kind != GROUP_CONSUMER;
    if (calls != NULL && calls->list_heard != NULL) {
      calls->list_heard(group, &inspection->arena, &inspection->heard);
    }
    if (inspection->is_classic) {
      classic_inspect(group, &inspection->arena, &inspection->classic);
    }
  }
  inspect_send_back(inspection);
}

void coordinator_inspect_group(struct group_inspection *inspection, struct coordinator *coordinator,
                               struct wire_string group, struct event_loop *reply, group_inspection_fn done)
{
  *inspection = (struct group_inspection){.coordinator = coordinator, .reply = reply, .done = done};
  inspection->group =
      (struct wire_string){arena_strndup(&inspection->arena, group.data, (size_t)group.length), group.length};
  inspection->shard = coordinator_shard_of(metadata_cache_get(coordinator->options.metadata), inspection->group);
  if (inspection->shard < 0) {
    inspect_send_back(inspection);
    return;
  }
  inspection->mail.run = inspect_look;
  event_loop_post(coordinator->workers[inspection->shard % coordinator->options.worker_count].loop, &inspection->mail);
}

void group_inspection_destroy(struct group_inspection *inspection)
{
  arena_destroy(&inspection->arena);
}
