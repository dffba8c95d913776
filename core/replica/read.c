// SPDX-License-Identifier: Apache-2.0
#include "replica/read.h"

#include "base/error.h"
#include "replica/manager.h"

/// Compares the epoch of the client's last record with this log's history (KIP-320, KIP-595): a client that read
/// records which this log does not have is told where the two part.
static int read_check_history(struct partition *part, struct partition_read *read)
{
  if (read->last_fetched_epoch < 0) {
    return 0;
  }
  int32_t epoch = -1;
  int64_t end_offset = -1;
  log_epoch_end_offset(part->log, read->last_fetched_epoch, &epoch, &end_offset);
  if (epoch < 0) {
    return ERR_OFFSET_OUT_OF_RANGE;
  }
  if (epoch < read->last_fetched_epoch || end_offset < read->offset) {
    read->diverging_epoch = epoch;
    read->diverging_end_offset = end_offset;
  }
  return 0;
}

void partition_read_args(const struct partition_read *read, struct log_read_args *args)
{
  *args = (struct log_read_args){
      .offset = read->offset,
      .limit_offset = read->is_committed ? read->state.last_stable_offset : read->state.high_watermark,
      .max_bytes = read->max_bytes,
      .whole_first_batch = read->whole_first_batch,
  };
}

int partition_read(struct partition *part, struct partition_read *read)
{
  read->diverging_epoch = -1;
  read->diverging_end_offset = -1;
  partition_read_state(part, &read->state);
  TRY(partition_check_leader(&read->state));
  TRY(partition_check_epoch(&read->state, read->leader_epoch < 0 ? -1 : read->leader_epoch));
  TRY(read_check_history(part, read));
  if (read->diverging_epoch >= 0) {
    return 0;
  }
  struct log_read_args args;
  partition_read_args(read, &args);
  int result = log_read(part->log, &args, &read->slice);
  if (result == ERR_IO) {
    replica_manager_read_failed(part->manager, part, NULL, result);
  }
  return result;
}

void partition_load(struct partition *part, const struct log_read_args *args)
{
  struct partition_state state;
  partition_read_state(part, &state);
  if (state.role != PARTITION_LEADER && state.role != PARTITION_FOLLOWER) {
    return;
  }
  struct log_slice slice = {0};
  int result = log_read_cold(part->log, args, &slice);
  if (result == 0) {
    log_slice_release(&slice);
  } else {
    replica_manager_read_failed(part->manager, part, NULL, result);
  }
}
