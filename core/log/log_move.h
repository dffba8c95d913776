// SPDX-License-Identifier: Apache-2.0
//
// A copy of a log in another folder, made while the log is written and read, and the switch that makes the copy the
// log. Nothing of what readers know changes with it: the copy has the same segments with the same bytes at the same
// positions, so that only the files behind them are others. What the log keeps in memory (end, newest batches,
// producers, leader epochs) goes on as it is.
//
//   log_move_new      pool       the folder, empty
//   log_move_copy     pool       some bytes of it, again and again until there is nothing left
//   log_move_prepare  pool       what was appended since; all of it on disk; flushes of the log wait from here on
//   log_move_switch   appender   the last bytes; the folder gets its name; the log's files are those
//   log_move_settle   pool       what the switch did, on disk: from here on the old folder is not needed
//
// Why flushes wait: the old files may be on disk up to the recovery point, and after the switch the new ones have to
// be, at any moment. So the recovery point must not pass what was prepared.
//
// The folder gets a mark (log_move_mark) before its name: should a crash leave both folders under the partition's name,
// the one with the higher mark is the log, and has everything that the other one had on disk.
//
// A truncation makes the copy begin anew; segments that go are taken out of the copy. Whoever replaces the bytes of a
// segment has to count it in log->cuts, as truncation does.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log;
struct log_move;

/// Begins a copy: makes the folder with its partition.metadata.
///
/// @param log  borrowed by every function below that does not say otherwise
/// @param dir  the new folder, which must not exist; its parent does
/// @param[out] move  owned: log_move_delete()
/// @return 0, ERR_* of the new folder's disk
int log_move_new(struct log *log, const char *dir, struct log_move **move);

/// Copies up to about `budget_bytes`, and brings each closed segment to disk when it is complete.
///
/// @return 1 when there is more, 0 when the copy had all of the log a moment ago, ERR_*: log_move_is_source_to_blame()
int log_move_copy(struct log_move *move, int64_t budget_bytes);

/// Copies the rest, brings all of it to disk, and has flushes of the log wait (a second at most) for the switch.
///
/// @return as log_move_copy(), never 1; ERR_IO when an fsync of the log has failed: what it holds is not to be trusted
int log_move_prepare(struct log_move *move);

/// Copies what was appended since, and makes the copy the log. While holding the appender; waits for no sync.
///
/// @param new_dir  what the folder is called from now on, in the same directory
/// @return 0; ERR_AGAIN when too much was appended, or a flush or a truncation came in between: copy and prepare again;
///         ERR_*, nothing has changed then
int log_move_switch(struct log_move *move, const char *new_dir);

/// Gives up on a switch that was prepared: flushes go on. Any thread inside the epoch; does not wait.
void log_move_release(struct log_move *move);

/// Brings the log to disk as it is since the switch, its folder's name included. @return as log_flush()
int log_move_settle(struct log_move *move);

/// Frees it; leaves the folder alone, and does not look at the log.
void log_move_delete(struct log_move *move);

/// Bytes of whole batches in the copy, and the offset after the last one. Any thread.
int64_t log_move_size(const struct log_move *move);
int64_t log_move_end_offset(const struct log_move *move);

/// After a failure: the old folder's disk gave the error, not the new one's.
bool log_move_is_source_to_blame(const struct log_move *move);

/// The mark of a folder: one more than that of the folder it was copied from; 0: it has none.
int64_t log_move_mark(const char *dir);

/// Removes the mark; a missing one is fine. Waits for the disk.
int log_move_remove_mark(const char *dir);
