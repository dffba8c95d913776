// SPDX-License-Identifier: Apache-2.0
//
// One data directory: its lock, its meta.properties, its checkpoints and the folders in it, whose names say what they
// are:
//
//   <topic>-<partition>                  a partition
//   <topic>-<partition>.<id>-delete      deleted, to be removed
//   <topic>-<partition>.<id>-stray       belongs to no partition of this broker; kept for a human to look at
//   <topic>-<partition>.<id>-future      a copy that a move between directories left unfinished
//
// Used by the log manager alone; start-up thread unless said otherwise.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/checkpoint.h"
#include "log/meta_properties.h"

enum {
  LOG_DIR_TOPIC_MAX = 249, ///< longest topic name in bytes
  LOG_DIR_NAME_MAX = 255,  ///< longest name of a folder in bytes
};

enum log_folder_kind {
  LOG_FOLDER_OTHER, ///< not ours to touch
  LOG_FOLDER_PARTITION,
  LOG_FOLDER_DELETED,
  LOG_FOLDER_STRAY,
  LOG_FOLDER_FUTURE,
};

/// Which checkpoint of a directory.
enum log_dir_checkpoint {
  LOG_DIR_RECOVERY_POINTS,
  LOG_DIR_START_OFFSETS,
  LOG_DIR_HIGH_WATERMARKS,
  LOG_DIR_CLEAN_OFFSETS, ///< how far the log cleaner has come; what has a line may have holes in its offsets
  LOG_DIR_CHECKPOINT_COUNT,
};

/// A folder of a partition that was found.
struct log_dir_folder {
  char *topic;          ///< owned
  int32_t partition;    ///< partition number
  struct uuid topic_id; ///< from partition.metadata; zero: none
};

/// The folder of a copy that was found, of a move that was not finished.
struct log_dir_future {
  char *path;           ///< owned; NULL: taken over
  char *topic;          ///< owned
  int32_t partition;    ///< partition number
  struct uuid topic_id; ///< from partition.metadata; zero: none
};

struct log_dir {
  char *path;                                              ///< absolute, owned
  char *meta_path;                                         ///< its meta.properties, owned
  int lock_fd;                                             ///< holds the lock; -1: none
  uint64_t device;                                         ///< with `inode`: which folder it is, whatever its name
  uint64_t inode;                                          ///< see `device`
  _Atomic(bool) is_offline;                                ///< failed; never becomes false again. Any thread
  bool has_meta;                                           ///< meta.properties was there
  bool has_id;                                             ///< it has directory.id; known when it is claimed
  bool was_clean;                                          ///< the last process closed it cleanly
  bool is_started;                                         ///< its logs were opened: a stop may write its checkpoints
  struct meta_properties meta;                             ///< what it says; the metastore by its absolute path
  char *metadata_text;                                     ///< the metastore as it is written there, owned; NULL: not
  struct checkpoint checkpoints[LOG_DIR_CHECKPOINT_COUNT]; ///< as found at start
  struct log_dir_folder *folders;                          ///< partitions found at start, owned
  size_t folder_count;                                     ///< how many
  char **leftovers;                                        ///< paths of -delete folders found at start, owned
  size_t leftover_count;                                   ///< how many
  size_t stray_count;                                      ///< -stray folders found at start
  struct log_dir_future *futures;                          ///< -future folders found at start, owned
  size_t future_count;                                     ///< how many
  size_t log_count;                                        ///< open logs; guarded by the manager's lock
  _Atomic(int64_t) space_asked_ms;                         ///< monotonic time of the last look at the free space
  _Atomic(bool) is_short;                                  ///< it has less than the reserve free, which was logged
  _Atomic(int64_t) space_free_bytes;                       ///< what it saw; -1: not asked yet, or the disk does not say
};

/// Makes the folder if it is missing and locks it; reads nothing yet.
///
/// @param[out] dir  in caller's memory; log_dir_destroy(), after a failure too
/// @return 0, ERR_BUSY (in use by another broker), ERR_IO ...
int log_dir_open(struct log_dir *dir, const char *path);

/// Reads meta.properties, the checkpoints and the folders. A checkpoint that cannot be read is reported and counts as
/// empty: recovery then looks at more than it must, and no record is lost.
int log_dir_scan(struct log_dir *dir);

/// Releases the lock and frees; changes nothing on disk.
void log_dir_destroy(struct log_dir *dir);

/// Path of a checkpoint. Owned: mem_free(). Any thread.
char *log_dir_checkpoint_path(const struct log_dir *dir, enum log_dir_checkpoint which);

/// Path of a partition's folder. Owned: mem_free(). Any thread.
char *log_dir_partition_path(const struct log_dir *dir, const char *topic, int32_t partition);

/// Path of a partition's folder under a new name that ends with `suffix` ("delete", "stray"); the topic's end is cut
/// where the name would be too long. Owned: mem_free(). Any thread.
char *log_dir_suffix_path(const struct log_dir *dir, const char *topic, int32_t partition, const char *suffix);

/// Says what a folder is by its name.
///
/// @param[out] topic      filled in for LOG_FOLDER_PARTITION
/// @param[out] partition  the same
enum log_folder_kind log_dir_parse_folder(const char *name, char topic[LOG_DIR_TOPIC_MAX + 1], int32_t *partition);
