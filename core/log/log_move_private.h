// SPDX-License-Identifier: Apache-2.0
//
// What log_move.c (the folder, the switch) and log_move_copy.c (bytes and segments) share.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/log_move.h"

struct segment;
struct segment_list;

enum {
  MOVE_FILES = 4,                ///< of a segment that only grow: .log, .index, .timeindex, .txnindex
  MOVE_TXN_INDEX = 3,            ///< of these, the one that is often missing
  MOVE_BUFFER_BYTES = 128 * 1024 ///< read and written at a time, where the kernel does not copy by itself
};

/// What the copy has of a segment.
struct move_segment {
  int64_t base_offset;        ///< which segment
  int64_t copied[MOVE_FILES]; ///< bytes of its files, in the order of segment_suffixes
  int64_t synced[MOVE_FILES]; ///< of these, bytes that are on disk; -1: the file was never synced
  int64_t batches_pos;        ///< end of the last whole batch in it
  int64_t end_offset;         ///< offset after that batch
  bool is_whole;              ///< it was closed when it was copied: nothing will follow
  bool is_listed;             ///< the log still has it; while the lists are compared
};

/// Used by one thread at a time, the steps of a move; the two last members are read by any.
struct log_move {
  struct log *log;             ///< borrowed
  char *dir;                   ///< the new folder, owned
  uint64_t cuts;               ///< truncations of the log that the copy knows of
  struct move_segment *segs;   ///< by base offset, owned
  int count;                   ///< segments
  int room;                    ///< slots allocated
  char *buffer;                ///< MOVE_BUFFER_BYTES, owned
  bool is_source_to_blame;     ///< see log_move_is_source_to_blame()
  _Atomic(int64_t) size_bytes; ///< of whole batches
  _Atomic(int64_t) end_offset; ///< after the last of them
};

/// Notes whose disk a failure comes from. @return `result`
int log_move_blame(struct log_move *move, bool is_source, int result);

/// Puts the folder before the message of a failure, as log_fail() does; of the copy or of the log, whoever is to blame.
int log_move_fail(struct log_move *move, int result);

/// Copies a small file of the folder that is replaced whole or never changes; a missing one is fine. Pool.
int log_move_copy_file(struct log_move *move, const char *name);

/// Takes out of the copy what the log does not have any more: all of it after a truncation.
///
/// @param cuts  truncations of the log, counted before the list was looked at
/// @param most  segments that may go now; ERR_AGAIN when there are more
int log_move_drop_gone(struct log_move *move, const struct segment_list *list, uint64_t cuts, int most);

/// What the copy has of a segment, nothing at first.
struct move_segment *log_move_segment(struct log_move *move, int64_t base_offset);

/// Brings what was copied of a segment to disk. Pool.
int log_move_sync(struct log_move *move, struct move_segment *part);

/// Copies more of a segment.
///
/// @param is_active  it may grow; otherwise it is brought to disk when it is complete
int log_move_copy_segment(struct log_move *move, struct segment *seg, struct move_segment *part, bool is_active,
                          int64_t *budget);
