// SPDX-License-Identifier: Apache-2.0
//
// The sync journal of a data directory: one file, written over and over, into which batches of many partitions go with
// one write and one fdatasync(2). So one flush acknowledges what waits in all of them; a segment each would take one
// flush each, and each of those the file system's own journal as well, as an append makes a file longer.
//
//   | header | half 0: group, group, group ...        | half 1: group, group ...                |
//
// A group is what one flush brings to disk: entries, each with whole batches of one partition. It begins at a multiple
// of SYNC_JOURNAL_ALIGN and is written once, so that no write that is cut short by a power failure touches a block with
// anything that was acknowledged; its checksum covers all of it, so that it counts as a whole or not at all. The file
// is written full of zeros when it is made: a flush of it changes no metadata.
//
// When a half is full and all that it holds is on disk in segments, it may be written again. What is there from before
// has lower sequence numbers than what is written now, and a reader takes only rising ones; what is left of an earlier
// life of the file has another id.
//
// Who writes, reads and empties it is log_manager_sync.c; this file knows bytes only. Not thread-safe: one at a time.
// All of it waits for the disk: pool, or start-up.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"

enum {
  SYNC_JOURNAL_ALIGN = 4096,                  ///< of groups; no disk writes less than whole blocks of at most this
  SYNC_JOURNAL_HALF_BYTES = 32 * 1024 * 1024, ///< of a half
  SYNC_JOURNAL_HALF_MAX = 1024 * 1024 * 1024, ///< of a half that is read
  SYNC_JOURNAL_GROUP_MAX = 2 * 1024 * 1024,   ///< bytes of a group
  SYNC_JOURNAL_GROUP_HEADER = 40,             ///< bytes before the first entry
  SYNC_JOURNAL_ENTRY_HEADER = 52,             ///< bytes before an entry's batches
};

/// What an entry says.
enum sync_entry_kind {
  SYNC_ENTRY_RECORDS, ///< batches, to be appended where the log ends before them
  SYNC_ENTRY_FORGET,  ///< what was written of this partition so far does not count any more
};

/// One partition's part of a group.
struct sync_entry {
  struct uuid topic_id;     ///< of the topic; not zero
  int32_t partition;        ///< partition number, >= 0
  uint32_t kind;            ///< enum sync_entry_kind
  int64_t base_offset;      ///< of the first batch
  int64_t end_offset;       ///< after the last batch
  int64_t log_start_offset; ///< the log's when it was written: what lies below was deleted
  uint32_t length;          ///< bytes of the batches
  int64_t pos;              ///< of the batches: in the group while it is made, in the file when it is read
};

/// A group that is made in memory. Zero-initialised is an empty one; free with sync_group_destroy().
struct sync_group {
  uint8_t *bytes; ///< owned
  size_t size;    ///< bytes used, header included; 0: nothing yet
  size_t room;    ///< bytes there are
  uint32_t count; ///< entries
};

/// The file, open for writing. Embed it; sync_journal_close().
struct sync_journal {
  int fd;             ///< -1: closed
  int64_t half_bytes; ///< of a half; a multiple of SYNC_JOURNAL_ALIGN
  struct uuid id;     ///< of this life of the file
  uint64_t sequence;  ///< of the next group
  int half;           ///< that is written now: 0, 1
  int64_t pos;        ///< of the next group, in that half
};

/// What was found while reading.
struct sync_reading {
  uint64_t groups;  ///< that count
  uint64_t missing; ///< that were written before one that counts, and cannot be read
};

/// Makes the file, or replaces it. When this returns it is on disk and empty.
///
/// @param half_bytes  multiple of SYNC_JOURNAL_ALIGN
/// @param[out] journal  sync_journal_close()
/// @return 0, ERR_NO_SPACE, ERR_IO ...; nothing is there then but what was before
int sync_journal_create(const char *path, int64_t half_bytes, struct sync_journal *journal);

/// Opens the file that is there, for reading what it has, or for sync_journal_reset().
///
/// @return 0, ERR_NOT_FOUND, ERR_CORRUPT (it is none, or its header is damaged: sync_journal_read() finds what it can),
///         ERR_IO ...; with ERR_CORRUPT it is open
int sync_journal_open(const char *path, struct sync_journal *journal);

/// Empties it: nothing that was written before counts any more, on disk too. @return 0, ERR_IO ...
int sync_journal_reset(struct sync_journal *journal);

/// Gives the entries that count, in the order in which they were written.
///
/// @param entry  borrowed during the call; its batches are at `pos` of the file, and have been checked as bytes
/// @return 0, what `visit` returned that was not 0, ERR_IO
int sync_journal_read(const struct sync_journal *journal, int (*visit)(void *arg, const struct sync_entry *entry),
                      void *arg, struct sync_reading *reading);

/// Whether a group has room in the half that is written now.
bool sync_journal_fits(const struct sync_journal *journal, const struct sync_group *group);

/// Begins to write the other half, of which nothing is needed any more.
void sync_journal_turn(struct sync_journal *journal);

/// Writes a group, and returns when it is on disk.
///
/// @return 0; ERR_NO_SPACE (nothing counts, and it may go on), ERR_IO ... (the file is not to be used any more)
int sync_journal_write(struct sync_journal *journal, struct sync_group *group);

/// Closes it; harmless twice.
void sync_journal_close(struct sync_journal *journal);

/// Makes room for an entry of up to `length` bytes and gives the place of its batches, until the next call.
uint8_t *sync_group_reserve(struct sync_group *group, size_t length);

/// Adds the entry for whose batches room was made. @param entry  its `pos` is ignored
void sync_group_add(struct sync_group *group, const struct sync_entry *entry);

void sync_group_destroy(struct sync_group *group);
