// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint files of a data directory, in Kafka's form, and the marker of a clean shutdown:
//
//   0                      version
//   2                      number of lines that follow
//   <topic> <partition> <offset>
//   <topic> <partition> <offset>
//
// A checkpoint is replaced as a whole, so a reader finds the old one or the new one. Everything here waits for the
// disk: start-up or pool.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A line of a checkpoint.
struct checkpoint_entry {
  const char *topic; ///< borrowed from the checkpoint, or the caller's
  int32_t partition; ///< partition number
  int64_t offset;    ///< at least 0
};

/// A checkpoint that was read; zero-initialised is an empty one.
struct checkpoint {
  struct checkpoint_entry *entries; ///< by topic, then partition; each pair once
  size_t count;                     ///< entries
  char *text;                       ///< the file, which the topics point into
};

/// Reads a checkpoint; a missing or empty file is an empty checkpoint. Of a pair that stands twice the last line
/// counts.
///
/// @param[out] checkpoint  owned: checkpoint_destroy()
/// @return 0, ERR_MALFORMED (error_last() names file and line), ERR_UNSUPPORTED_VERSION, ERR_IO ...
int checkpoint_read(const char *path, struct checkpoint *checkpoint);

/// Frees what was read; the checkpoint is empty afterwards.
void checkpoint_destroy(struct checkpoint *checkpoint);

/// Looks a pair up; false when it is not there.
bool checkpoint_find(const struct checkpoint *checkpoint, const char *topic, int32_t partition, int64_t *offset);

/// Replaces the file, on disk when it returns.
int checkpoint_write(const char *path, const struct checkpoint_entry *entries, size_t count);

/// True when the directory was closed cleanly by the last process that used it.
bool clean_shutdown_exists(const char *dir);

/// Writes the marker, on disk when it returns.
int clean_shutdown_write(const char *dir);

/// Removes the marker, on disk when it returns, so that a crash from now on is seen as one. Missing is fine.
int clean_shutdown_remove(const char *dir);
