// SPDX-License-Identifier: Apache-2.0
//
// Compaction of one log: of all records with the same key the newest stays. What a pass does, in this order:
//
//   look    any thread    which records are new since the last pass, and how much that is
//   map     the cleaner   the newest offset of each key among these (cleaner_offset_map.h), as far as the map takes it
//   write   the cleaner   groups of closed segments anew, without what the map says is old: <base>.log.cleaned ...
//   swap    the appender  *.cleaned become *.swap; then, once that is on disk, they take the place of the old segments
//
// Readers are not disturbed: the old files stay with who has them open, the new segments come with a new list. A crash
// leaves the old segments or the new one: what is called *.cleaned is removed at the next start, what is called *.swap
// is put in place (log_folder.c). The names are Kafka's.
//
// What is kept although the map knows a newer record, or whose key is null (KIP-534, and Kafka's LogCleaner):
//
//   a batch of which nothing is left goes, but for the last one of a producer, and the last one of what is cleaned:
//     these stay as empty batches, for the producer's sequence numbers and the offset
//   tombstones and markers of transactions without records get a time after which they go ("delete horizon"): now plus
//     delete.retention.ms, noted in their batch when a pass first comes upon them
//   markers of a transaction stay as long as something of it does; what was aborted goes
//
// Nothing is cleaned from the high watermark, the first open transaction or the active segment on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log;

/// What there is to clean in a log.
struct log_clean_look {
  int64_t first_dirty_offset; ///< what lies below was cleaned before
  int64_t end_offset;         ///< what lies from here on may not be cleaned yet: where a segment begins
  int64_t clean_bytes;        ///< of the segments below the first dirty offset
  int64_t dirty_bytes;        ///< of those from there on, up to `end_offset`
  int64_t overdue_ms;         ///< how much longer than max.compaction.lag.ms the oldest of these has waited; 0: not
  double dirty_ratio;         ///< share of the dirty bytes in both, 0 to 1
  bool is_due;                ///< a pass is worth its while, by min.cleanable.dirty.ratio or max.compaction.lag.ms
};

/// Looks at a log; reads a few headers where max.compaction.lag.ms is set. On a thread that may wait, inside the epoch.
///
/// @param stable_offset  the high watermark, and at most where the oldest open transaction begins
/// @return 0, ERR_IO, ERR_NO_FILES ...
int log_clean_look(struct log *log, int64_t stable_offset, int64_t now_ms, struct log_clean_look *look);

/// Notes that a log is about to be cleaned for the first time, from an offset on: its offsets may have holes from now
/// on, which the checkpoint of clean offsets has to say before. Does nothing when that was noted. Any thread.
void log_note_cleaning(struct log *log, int64_t first_offset);

/// What a pass did.
struct log_clean_counts {
  int64_t read_bytes;      ///< of the segments that were written anew
  int64_t written_bytes;   ///< of those that took their place
  int64_t mapped_bytes;    ///< of the segments whose keys were noted
  int64_t read_records;    ///< in the segments that were written anew
  int64_t kept_records;    ///< of these
  int64_t keyless_records; ///< that went because they have no key
  int64_t keys;            ///< in the map
  int64_t first_offset;    ///< first dirty offset before
  int64_t end_offset;      ///< first dirty offset afterwards
  int segments_before;     ///< that were replaced
  int segments_after;      ///< by which
  bool is_full;            ///< the map was full before all was noted: another pass has to go on
};

/// How a pass works.
struct log_clean_settings {
  size_t map_bytes; ///< memory for the map
  double map_load;  ///< share of it that may be used
  size_t io_bytes;  ///< read, and written, at a time
  /// Called before so many bytes are read or written, to wait as long as that is too much; leaves the epoch for it.
  /// Anything but 0 ends the pass with that result. NULL: no limit.
  int (*pace)(void *arg, int64_t bytes);
  /// Whether there is room on the disk for a segment of so many bytes. NULL: nobody asks. @return 0, ERR_NO_SPACE
  int (*check_space)(void *arg, int64_t bytes);
  /// Calls `change` while holding the log's appender, and returns afterwards; ERR_AGAIN when the log is gone. NULL: the
  /// caller holds it all the time.
  int (*with_appender)(void *arg, void (*change)(void *change_arg), void *change_arg);
  void *arg; ///< for these
};

/// Makes a pass over a log. On a thread that may wait, inside the epoch, which `pace` and `with_appender` may leave in
/// between; one at a time for a log.
///
/// @param look         by log_clean_look(), just now
/// @param now_ms       wall time
/// @param[out] counts  set on failure, too
/// @return 0; ERR_AGAIN when something else changed the log meanwhile; ERR_CORRUPT_BATCH, ERR_INVALID_RECORD,
///         ERR_DECOMPRESS, ERR_LIMIT, ERR_TRUNCATED ... when it holds what cannot be read: it is as it was, and trying
///         again will not help; ERR_NO_SPACE, ERR_NO_FILES; ERR_IO (the directory goes offline)
int log_clean(struct log *log, const struct log_clean_look *look, int64_t now_ms,
              const struct log_clean_settings *settings, struct log_clean_counts *counts);

/// True for results of log_clean() that say that the log cannot be cleaned as it is.
bool log_clean_is_damage(int result);
