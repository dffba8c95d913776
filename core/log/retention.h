// SPDX-License-Identifier: Apache-2.0
//
// One retention pass over one log: by time, by size, and what lies below the log start offset. What goes is decided by
// log_retention_pick(); here it goes, and is counted and reported.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log;

/// What a pass deleted.
struct retention_result {
  int segments;         ///< segments deleted
  int64_t bytes;        ///< bytes of their .log files
  int64_t start_offset; ///< log start offset afterwards
};

/// True when a pass would delete something. Any thread inside the epoch; deletes nothing.
bool retention_is_due(struct log *log, int64_t now_ms, int64_t high_watermark);

/// When a pass is made at or after a wall time: the first of those at `next_ms`, `next_ms` + `interval_ms` ...
///
/// @param due_ms    -1: never
/// @param next_ms   -1: no passes are made
/// @return wall time, or -1
int64_t retention_pass_at(int64_t due_ms, int64_t next_ms, int64_t interval_ms);

/// Deletes what may go, and writes one line if something did. While holding the appender; renames files.
///
/// @param topic           for the line
/// @param high_watermark  nothing from it on is deleted
/// @param[out] result     set on failure too
/// @return 0, ERR_IO, ERR_NO_SPACE ...
int retention_run(struct log *log, const char *topic, int32_t partition, int64_t now_ms, int64_t high_watermark,
                  struct retention_result *result);
