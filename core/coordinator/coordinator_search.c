// SPDX-License-Identifier: Apache-2.0
//
// Searches for the topics of regular expressions: jobs of the pool, so that no client waits for them on the worker. A
// worker has one there at a time, of its shards in turn: topics that come or go have all groups search at once. A shard
// that ends does not wait for its search.
#include "coordinator/coordinator_private.h"
#include "event/loop.h"
#include "metadata/image.h"

enum { SEARCH_BUDGET_MS = 50 }; ///< of processor time, until others have their turn

/// The i-th topic of an image.
static bool search_at(void *arg, int32_t index, const char **name, int32_t *length)
{
  const struct metadata_image *image = *(const struct metadata_image **)arg;
  if (index < 0 || index >= image->topic_count) {
    return false;
  }
  *name = image->topics[index]->name;
  *length = image->topics[index]->name_length;
  return true;
}

static void search_work(struct pool_job *job)
{
  struct coordinator_search *work = CONTAINER_OF(job, struct coordinator_search, job);
  const struct coordinator_worker *worker = CONTAINER_OF(work, struct coordinator_worker, search);
  // One image for the whole job, which keeps it: a job is inside the epoch. It may be newer than what the search was
  // begun for; then there is another search.
  const struct metadata_image *image = metadata_cache_get(worker->coordinator->options.metadata);
  struct group_shard_topics names = {.arg = &image, .at = search_at};
  group_search_run(work->search, &names, SEARCH_BUDGET_MS);
}

static void search_done(struct pool_job *job)
{
  struct coordinator_search *work = CONTAINER_OF(job, struct coordinator_search, job);
  struct coordinator_worker *worker = CONTAINER_OF(work, struct coordinator_worker, search);
  struct group_search *search = work->search;
  struct coordinator_shard *entry = work->entry;
  work->search = NULL;
  work->entry = NULL;
  if (entry != NULL) {
    group_shard_searched(entry->shard, search, coordinator_now_ms(worker));
    coordinator_mark(entry);
  } else {
    group_search_end(search);
  }
  coordinator_search_next(worker);
}

void coordinator_search_next(struct coordinator_worker *worker)
{
  struct coordinator_search *work = &worker->search;
  while (work->search == NULL && !list_is_empty(&worker->searchers)) {
    struct coordinator_shard *entry = CONTAINER_OF(worker->searchers.next, struct coordinator_shard, searcher);
    list_remove(&entry->searcher);
    work->search = group_shard_take_search(entry->shard); // its group may have gone
    if (work->search != NULL) {
      work->entry = entry;
      coordinator_search_mark(entry);
      pool_submit_long(worker->coordinator->options.pool, &work->job, search_work, worker->loop, search_done);
    }
  }
}

void coordinator_search_mark(struct coordinator_shard *entry)
{
  if (list_is_empty(&entry->searcher) && group_shard_has_search(entry->shard)) {
    list_append(&entry->worker->searchers, &entry->searcher);
  }
}

void coordinator_search_forget(struct coordinator_shard *entry)
{
  list_remove(&entry->searcher);
  if (entry->worker->search.entry == entry) {
    entry->worker->search.entry = NULL;
  }
}
