// SPDX-License-Identifier: Apache-2.0
//
// The rows are a table without probing: a partition whose place is taken by another one has that one's row submitted
// and takes its place. That costs a write in the rare case, and the search nothing in the usual one.
#include "replica/append_gather.h"

#include "base/check.h"
#include "replica/append.h"
#include "replica/partition.h"

/// The place of a partition's row. Partitions are heap blocks: the low bits of their addresses say little.
static int append_gather_place(const struct partition *part)
{
  uint64_t mixed = (uint64_t)(uintptr_t)part * UINT64_C(0x9e3779b97f4a7c15);
  return (int)(mixed >> 32) & (APPEND_GATHER_SLOTS - 1);
}

static void append_row_submit(struct append_gather *gather, struct append_row *row)
{
  struct append_row full = *row;
  *row = (struct append_row){.is_listed = full.is_listed};
  if (full.part != NULL) {
    gather->is_submitting = true;
    partition_submit_row(full.part, full.newest, full.oldest, full.count);
    gather->is_submitting = false;
  }
}

void append_gather_add(struct append_gather *gather, struct partition *part, struct append_job *job)
{
  CHECK(!gather->is_submitting);
  int place = append_gather_place(part);
  struct append_row *row = &gather->rows[place];
  if (row->part != part) {
    append_row_submit(gather, row);
    if (!row->is_listed) {
      row->is_listed = true;
      gather->used[gather->used_count++] = (uint8_t)place;
    }
    row->part = part;
    row->oldest = job;
  }
  job->part = part;
  job->next = row->newest;
  row->newest = job;
  row->bytes += job->batch.size;
  row->count++;
  if (row->bytes >= APPEND_GATHER_BYTES || row->count >= APPEND_GATHER_JOBS) {
    append_row_submit(gather, row);
  }
}

void append_gather_submit(struct append_gather *gather)
{
  for (int i = 0; i < gather->used_count; i++) {
    struct append_row *row = &gather->rows[gather->used[i]];
    append_row_submit(gather, row);
    row->is_listed = false;
  }
  gather->used_count = 0;
}

void append_gather_submit_topic(struct append_gather *gather, const struct uuid *topic_id)
{
  CHECK(!gather->is_submitting);
  for (int i = 0; i < gather->used_count; i++) {
    struct append_row *row = &gather->rows[gather->used[i]];
    if (row->part != NULL && uuid_equal(&row->part->topic_id, topic_id)) {
      append_row_submit(gather, row);
    }
  }
}
