// SPDX-License-Identifier: Apache-2.0
//
// Which leader epoch wrote which offsets: a short list of (epoch, start offset), both rising, kept in the file
// leader-epoch-checkpoint of the partition's folder, in Kafka's form:
//
//   0                       version
//   2                       number of lines that follow
//   <epoch> <start offset>
//
// The list is an immutable array behind an atomic pointer: the appender replaces it whole, readers take no lock. The
// file is written behind, on the pool (leader_epochs_write): after a crash the list is rebuilt from the batches that
// were not flushed, whose headers carry their epoch.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/epoch.h"

/// One leader epoch.
struct leader_epoch {
  int32_t epoch;        ///< at least 0
  int64_t start_offset; ///< first offset written under it
};

/// One version of the list.
struct leader_epoch_list {
  struct epoch_retired retired;  ///< for when it was replaced
  uint64_t version;              ///< counts changes
  int32_t count;                 ///< entries
  struct leader_epoch entries[]; ///< by epoch and start offset, both rising
};

/// Embed it; changed by the appender, read by any thread inside the epoch.
struct leader_epochs {
  _Atomic(struct leader_epoch_list *) list; ///< never NULL after leader_epochs_create()
  _Atomic(uint64_t) written;                ///< version that the file holds
  pthread_mutex_t write_lock;               ///< one writer of the file at a time; only pool threads, held over I/O
};

void leader_epochs_create(struct leader_epochs *epochs);
void leader_epochs_destroy(struct leader_epochs *epochs);

/// Reads the file. Start-up.
///
/// @param[out] is_found  false: it is missing, or makes no sense, which is warned of; the batches have to tell
int leader_epochs_load(struct leader_epochs *epochs, const char *dir, bool *is_found);

/// Writes the file if it is behind. Pool.
int leader_epochs_write(struct leader_epochs *epochs, const char *dir);

/// Writes the file into another folder, whatever the log's own one holds. Pool.
int leader_epochs_write_copy(struct leader_epochs *epochs, const char *dir);

/// Has the next leader_epochs_write() write: the folder is another one. Any thread.
void leader_epochs_set_unwritten(struct leader_epochs *epochs);

/// Notes that an epoch begins at an offset; drops what contradicts it. Nothing happens when it is the latest one
/// already, or negative. Appender.
void leader_epochs_assign(struct leader_epochs *epochs, int32_t epoch, int64_t start_offset);

/// Drops the epochs that begin at or after an offset. Appender.
void leader_epochs_truncate_end(struct leader_epochs *epochs, int64_t end_offset);

/// Drops what ended before an offset; the epoch that holds it begins there from now on. Appender.
void leader_epochs_truncate_start(struct leader_epochs *epochs, int64_t start_offset);

/// The latest epoch, -1: none. Any thread.
int32_t leader_epochs_latest(const struct leader_epochs *epochs);

/// See log_epoch_end_offset(). @param log_end  where the latest epoch ends so far
void leader_epochs_end_offset(const struct leader_epochs *epochs, int32_t epoch, int64_t log_end, int32_t *found,
                              int64_t *end_offset);

/// The epoch that an offset belongs to, -1: before all. Any thread.
int32_t leader_epochs_for_offset(const struct leader_epochs *epochs, int64_t offset);
