// SPDX-License-Identifier: Apache-2.0
//
// How a segment keeps its open file: in a slot, an atomic pointer that holds one reference. Used by core/log alone.
//
//   log_file_get       reader, appender   slot -> reference, if it is open; no lock
//   log_file_open      pool, appender     opens and fills the slot
//   eviction           whoever opens      a clock hand over all open files: empties the slot of one that has no holder
//   log_file_detach    the segment's end  empties the slot
//
// A file is only taken out of its slot when its one reference is the slot's, so whoever looks at the slot sees all
// holders: truncation relies on that (log_truncate.c).
//
// Lock: one mutex guards the ring of open files and the filling and emptying of slots; never held over I/O.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/log_file.h"

typedef _Atomic(struct log_file *) log_file_slot;

/// The file in a slot with a reference taken, or NULL when it is not open. Any thread, inside the epoch; no lock.
struct log_file *log_file_get(log_file_slot *slot);

/// Opens a file for reading and, where that is allowed, writing, and puts it into its slot, closing other files if the
/// budget is used up. Waits for the disk. Any thread, inside the epoch.
///
/// @param index_path  offset index to map read-only; NULL: none. A missing one is no error
/// @param map_bytes   bytes to map, may go beyond what is written; 0: map nothing
/// @param[out] file   shared: log_file_unref()
/// @return 0, ERR_NOT_FOUND, ERR_NO_FILES, ERR_IO ...
int log_file_open(log_file_slot *slot, const char *path, const char *index_path, size_t map_bytes,
                  struct log_file **file);

/// Empties a slot that nobody can reach any more.
void log_file_detach(log_file_slot *slot);

/// True when somebody besides the slot holds the file. Sequentially consistent with log_file_get().
bool log_file_is_held(log_file_slot *slot);

/// The mapping of the offset index and its size; NULL when there is none. Only bytes that were written may be touched,
/// between map_guard_begin() and map_guard_end().
const uint8_t *log_file_index(const struct log_file *file, size_t *size);

/// Makes sure that a lookup in the first `size` bytes of the mapped index does not wait for the disk.
///
/// @param may_wait  true: bring them into memory; false: only look
/// @return 0, ERR_AGAIN, ERR_IO (the mapping could not be read, now or earlier)
int log_file_warm_index(struct log_file *file, size_t size, bool may_wait);

/// Notes that the mapping could not be read; zeros stand in it now. Returns ERR_IO, with its detail.
int log_file_fail_index(struct log_file *file);

/// True when all of a region was read or written within the last minute, as far as that is kept track of: per MiB.
bool log_file_is_warm(struct log_file *file, int64_t pos, int64_t size);

/// Notes that a region is in the page cache. Parts of a MiB count for all of it: pass whole ones (log_file_round).
void log_file_touch(struct log_file *file, int64_t pos, int64_t size);

/// The same for bytes just appended; a MiB whose first part was there when the file was opened does not become warm.
void log_file_touch_written(struct log_file *file, int64_t pos, int64_t size);

/// Widens a region to whole MiB.
void log_file_round(int64_t *pos, int64_t *size);
