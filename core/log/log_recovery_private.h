// SPDX-License-Identifier: Apache-2.0
//
// What the two halves of recovery share: log_recovery.c, which checks the batches of a segment, and
// log_recovery_index.c, which says how far its index files can be trusted. Start-up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/log_private.h"

/// Work on one segment.
struct segment_recovery {
  struct log_recovery *recovery; ///< of the whole log
  struct segment *seg;           ///< the segment
  const char *dir;               ///< its folder
  char *path;                    ///< of its .log file; owned
  int fd;                        ///< the same
  int64_t size;                  ///< bytes of the file
  int64_t next_base;             ///< base offset of the next segment
  int64_t pos;                   ///< all before is good
  int64_t next_offset;           ///< offset after the last good batch
  int64_t indexed_offset;        ///< offset of the last offset-index entry, -1: no entry
  bool is_exact;                 ///< a batch came before, so contiguous offsets can be asked for
  bool is_on_disk;               ///< all of it is below the recovery point, or the last shutdown was clean
  bool has_epochs;               ///< all its batches told their leader epoch to the log
  const char *fault;             ///< what is wrong at `pos`; NULL: nothing
  bool is_overlap;               ///< the fault is only that the next segment has these offsets too
  struct log_holes holes;        ///< offsets that are missing in it, all of them below the recovery point
  uint8_t *buffer;               ///< for checking; owned
};

/// Takes the indexes over if they are plausible, and sets the position of the last entry; otherwise leaves them empty,
/// in memory.
int recovery_load_indexes(struct segment_recovery *work, bool *is_good);

/// Compares the last entries of both indexes with the batches they name: retention goes by the time of the last one,
/// and whatever is appended next comes after them.
///
/// @param[in,out] is_good  set to false when one does not fit
int recovery_check_entries(struct segment_recovery *work, bool *is_good);

/// Looks at what follows the last index entry of a closed segment: where it ends, and whether the indexes lack entries
/// or have some for batches that are not there.
///
/// @param[in,out] is_good  set to false when the indexes do not fit, or the end is damaged
int recovery_check_end(struct segment_recovery *work, bool *is_good);

/// Empties the index files, before entries are added anew.
int recovery_clear_indexes(struct segment_recovery *work);

/// Finds the last index entry that is known to be on disk and points at a batch, so that the check can begin there.
///
/// @param[out] header  of that batch
/// @param[out] number  of the entry
/// @param[out] pos     of the batch
/// @return 1, 0 when there is none, ERR_*
int recovery_find_start(struct segment_recovery *work, struct batch_header *header, uint32_t *number, int64_t *pos);

/// Keeps the time-index entries up to an offset.
///
/// @param end_pos     where the batch that ends with the offset begins
/// @param[out] count  entries; UINT32_MAX: they make no sense, or some are missing
/// @param[out] last   the last of them
int recovery_load_time_prefix(struct segment_recovery *work, int64_t relative_offset, int64_t end_pos, uint32_t *count,
                              struct time_index_entry *last);
