// SPDX-License-Identifier: Apache-2.0
//
// Reading from a partition: the leader checks, the offsets that may be seen, and the region of the log that answers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"
#include "replica/partition.h"

struct partition_read {
  int64_t offset;               ///< in: first offset wanted
  int32_t leader_epoch;         ///< in: epoch the client believes in, negative: any
  int32_t last_fetched_epoch;   ///< in: epoch of the record before `offset` as the client has it, negative: not told
  int32_t max_bytes;            ///< in: at least 0
  bool whole_first_batch;       ///< in: the first batch comes whole even beyond max_bytes
  bool is_committed;            ///< in: only up to the last stable offset (read_committed)
  struct partition_state state; ///< out: the partition as it was read; also on failure
  struct log_slice slice;       ///< out: the region; length 0: nothing there now. Owned: log_slice_release()
  int32_t diverging_epoch;      ///< out: -1, or the largest epoch of this log not above the client's last one (KIP-595)
  int64_t diverging_end_offset; ///< out: where that epoch ends here; the client truncates to it
};

/// Reads. Any thread inside the epoch, no lock; does not wait for a disk.
///
/// @return 0; ERR_AGAIN: what it needs is not in memory, partition_load() on the pool and try again;
///         ERR_NOT_LEADER, ERR_STORAGE_OFFLINE, ERR_NOT_FOUND, ERR_FENCED_LEADER_EPOCH, ERR_UNKNOWN_LEADER_EPOCH,
///         ERR_OFFSET_OUT_OF_RANGE, ERR_IO ...
int partition_read(struct partition *part, struct partition_read *read);

/// What partition_load() has to be given for a read that was not answered from memory.
void partition_read_args(const struct partition_read *read, struct log_read_args *args);

/// Brings what a read needs into the page cache; what cannot be read shows at the next try. On the pool.
void partition_load(struct partition *part, const struct log_read_args *args);
