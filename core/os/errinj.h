// SPDX-License-Identifier: Apache-2.0
//
// Error injection: one list of places where specs can make a system call fail. Off (one relaxed load) unless the
// environment variable LUKA_ERRINJ or errinj_set() arms it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum errinj_point {
  ERRINJ_FILE_OPEN,
  ERRINJ_FILE_WRITE,
  ERRINJ_FILE_READ,
  ERRINJ_FILE_SYNC,
  ERRINJ_FILE_TRUNCATE,
  ERRINJ_DIR_RENAME,
  ERRINJ_DIR_MAKE,
  ERRINJ_DIR_REMOVE_FILE,
  ERRINJ_FILE_COPY,  ///< the kernel's own copying: it is done by reading and writing then
  ERRINJ_LOG_FLUSH,  ///< fsync of a segment or a sync journal, after a write of records
  ERRINJ_API_ENCODE, ///< encoding an answer with records
  ERRINJ_COUNT,
};

/// Makes the `nth` pass from now (1: the next) and all later ones at a point fail with `err` (an errno); 0 disarms.
void errinj_set(enum errinj_point point, int64_t nth, int err);

/// Makes the `nth` pass from now fail with `err`, and no other.
void errinj_set_once(enum errinj_point point, int64_t nth, int err);

/// The errno to fail with, or 0. Called where the fault would be seen.
int errinj_check(enum errinj_point point);

/// Arms points from text like "file_write=3:28,file_sync=1:5"; ERR_MALFORMED for anything else.
int errinj_parse(const char *text);
