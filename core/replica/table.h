// SPDX-License-Identifier: Apache-2.0
//
// The partitions this broker has a replica of, by topic id and partition number: an immutable hash table behind an
// atomic pointer, replaced whole by the control thread and reclaimed by epoch, so that a request finds its partition
// without a lock.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/epoch.h"
#include "base/uuid.h"

struct partition;

/// One version of the table. The references to partitions are not the version's but the directory's, so that a change
/// copies pointers only; those to removed partitions pass to the last version they are in, which may still be read.
struct partition_table {
  struct epoch_retired retired; ///< for the reclaimer
  size_t count;                 ///< partitions
  size_t mask;                  ///< slots minus one, a power of two minus one
  struct partition **removed;   ///< owned, each referenced: what the next version lacks; NULL: nothing, or no next one
  size_t removed_count;         ///< how many
  struct partition *slots[];    ///< open addressing, NULL: empty
};

/// Where the current version is kept. Written by the control thread alone.
struct partition_directory {
  _Atomic(struct partition_table *) current; ///< its partitions are referenced
};

void partition_directory_create(struct partition_directory *directory);
void partition_directory_destroy(struct partition_directory *directory);

/// Finds a partition; NULL when this broker has none. Any thread inside the epoch; borrowed until the turn ends.
struct partition *partition_directory_find(const struct partition_directory *directory, const struct uuid *topic_id,
                                           int32_t index);

/// Publishes a version with `added` (references taken) and without `removed`, each of which is in the table. Costs as
/// much as the table is large, however many change. Control thread.
void partition_directory_change(struct partition_directory *directory, struct partition *const *added,
                                size_t added_count, struct partition *const *removed, size_t removed_count);

/// The current version, for walking over all partitions. Any thread inside the epoch; borrowed until the turn ends.
const struct partition_table *partition_directory_all(const struct partition_directory *directory);
