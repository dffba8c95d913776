// SPDX-License-Identifier: Apache-2.0
//
// Sparse index from times to offsets in a segment. An entry is twelve bytes, as Kafka has it: the largest timestamp of
// the segment up to there, and the last offset, relative to the segment's base, of the batch that has it. Timestamps
// and offsets rise from entry to entry.
//
// The appender adds entries and writes them together with those of the offset index; lookups run on the pool and read
// the file, or the ring in memory for what is not written yet.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TIME_INDEX_ENTRY_SIZE = 12,
  TIME_INDEX_RING = 128,    ///< entries in memory; a power of two
  TIME_INDEX_WRITE_AT = 64, ///< waiting entries that are written together
};

/// One entry.
struct time_index_entry {
  int64_t timestamp;       ///< milliseconds
  int64_t relative_offset; ///< to the segment's base
};

/// Entries not yet written.
struct time_index_ring {
  _Atomic(int64_t) timestamps[TIME_INDEX_RING]; ///< milliseconds
  _Atomic(int64_t) offsets[TIME_INDEX_RING];    ///< relative
};

/// Embed it; changed by the appender, read by any thread.
struct time_index {
  _Atomic(uint32_t) count;                ///< entries
  _Atomic(uint32_t) written;              ///< of these, the ones in the file
  _Atomic(struct time_index_ring *) ring; ///< made with the first entry; owned
  uint32_t room;                          ///< entries that the size limit allows
  struct time_index_entry last;           ///< the newest entry; timestamp -1: none. Appender
};

/// Sets up an index that has `count` entries in its file. @param last  the last of these, or timestamp -1
void time_index_create(struct time_index *index, uint32_t count, const struct time_index_entry *last,
                       int32_t size_limit);

/// Frees the ring; waiting entries are lost.
void time_index_destroy(struct time_index *index);

/// True when many entries wait to be written. Appender.
bool time_index_is_waiting(const struct time_index *index);

/// Adds an entry if its timestamp is above the last one's. The last free place is only used with `is_closing`. It is
/// left out when too many wait, as in offset_index_add(). Appender.
void time_index_add(struct time_index *index, int64_t timestamp, int64_t relative_offset, bool is_closing);

/// Writes what waits. Appender.
int time_index_write(struct time_index *index, const char *path);

/// Forgets all entries with an offset of at least `relative_offset`. Appender; waits for the disk.
int time_index_truncate(struct time_index *index, const char *path, int64_t relative_offset);

/// Finds the last entry whose timestamp is at most `timestamp`. Waits for the disk.
///
/// @param[out] entry  untouched when there is none
/// @return 1, 0 when there is none, ERR_IO ...
int time_index_floor(struct time_index *index, const char *path, int64_t timestamp, struct time_index_entry *entry);

/// Number of entries at the start of a file's bytes that can be right: timestamps and offsets rise.
uint32_t time_index_valid(const uint8_t *bytes, uint32_t count);

/// One entry of a file's bytes.
void time_index_decode(const uint8_t *bytes, struct time_index_entry *entry);
