// SPDX-License-Identifier: Apache-2.0
//
// Sparse index from offsets to positions in a segment file. An entry is eight bytes, as Kafka has it: last offset of a
// batch relative to the segment's base, and the position of that batch.
//
// The appender adds entries; they are first kept in a small ring in memory and written to the file many at a time, so
// that most appends write nothing but the log. Readers, on any thread and without a lock, take an entry from the
// mapped file when it is written and from the ring when it is not:
//
//   number   0 ........... written ........ count
//   where    mapped file   ring [number % 128]
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  OFFSET_INDEX_ENTRY_SIZE = 8,
  OFFSET_INDEX_RING = 128,    ///< entries in memory; a power of two
  OFFSET_INDEX_WRITE_AT = 64, ///< waiting entries that are written together
};

/// Entries not yet written.
struct offset_index_ring {
  _Atomic(uint64_t) entries[OFFSET_INDEX_RING]; ///< relative offset in the upper half, position in the lower
};

/// Embed it; changed by the appender, read by any thread. All zero: empty, nothing may be added.
struct offset_index {
  _Atomic(uint32_t) count;                  ///< entries
  _Atomic(uint32_t) written;                ///< of these, the ones in the file
  _Atomic(struct offset_index_ring *) ring; ///< made with the first entry; owned
  uint32_t room;                            ///< entries that the size limit allows
};

/// Sets up an index that has `count` entries in its file. @param size_limit  segment.index.bytes
void offset_index_create(struct offset_index *index, uint32_t count, int32_t size_limit);

/// Frees the ring; waiting entries are lost.
void offset_index_destroy(struct offset_index *index);

/// True when many entries wait to be written. Appender.
bool offset_index_is_waiting(const struct offset_index *index);

/// Adds an entry above the last one. When writing failed for long and too many wait, or the index is full, it is left
/// out: lookups then only take longer. Appender.
void offset_index_add(struct offset_index *index, int64_t relative_offset, int64_t pos);

/// Writes what waits. Appender.
int offset_index_write(struct offset_index *index, const char *path);

/// Forgets all entries from number `count` on. Appender; readers may meet the old ones until they look again.
void offset_index_truncate(struct offset_index *index, uint32_t count);

/// Finds the last entry whose offset is at most `relative_offset`.
///
/// @param map       mapping of the file, or NULL; read between map_guard_begin() and map_guard_end()
/// @param[out] pos  its position, 0 when there is none
/// @return its number, or -1 when there is none
int64_t offset_index_floor(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t relative_offset,
                           int64_t *pos);

/// The same among the entries before number `below`, with the offset of the entry.
int64_t offset_index_floor_below(struct offset_index *index, const uint8_t *map, size_t map_size, uint32_t below,
                                 int64_t relative_offset, int64_t *entry_offset, int64_t *pos);

/// Position of entry `number`, or -1 when there is none.
int64_t offset_index_pos(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t number);

/// Finds the last entry whose position is at most `pos`, for ending a region between two batches. As
/// offset_index_floor() otherwise.
int64_t offset_index_floor_pos(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t pos,
                               int64_t *found_pos);

/// Number of entries at the start of a file's bytes that can be right: offsets and positions rise, within the segment.
uint32_t offset_index_valid(const uint8_t *bytes, uint32_t count, int64_t log_size);

/// One entry of a file's bytes.
void offset_index_decode(const uint8_t *entry, int64_t *relative_offset, int64_t *pos);
