// SPDX-License-Identifier: Apache-2.0
//
// How far the log cleaner is with the logs of this broker, for administrators. Looked at on the pool, as headers may
// have to be read:
//
//   any loop: compaction_list_gather -> pool: each log that is compacted -> the same loop: done
#pragma once

#include <stdint.h>

#include "event/pool.h"
#include "log/log_manager.h"

struct compaction_list;
struct event_loop;
struct partition;
struct replica_manager;

/// A log that is compacted, or was.
struct compaction_info {
  struct partition *part;       ///< one reference
  struct log_cleaning cleaning; ///< what the cleaner says of it
};

typedef void (*compaction_list_fn)(struct compaction_list *list);

/// A question. Embed it, zeroed; taken from compaction_list_gather() until `done` is called.
struct compaction_list {
  struct pool_job job;             ///< on the pool
  struct replica_manager *manager; ///< borrowed
  compaction_list_fn done;         ///< called once
  struct compaction_info *infos;   ///< out: in no order; owned, compaction_list_destroy()
  int count;                       ///< out: how many
  int room;                        ///< slots
};

/// Looks at all logs. Any loop, while the pool runs.
///
/// @param reply  loop that `done` runs on; then compaction_list_destroy()
void compaction_list_gather(struct compaction_list *list, struct replica_manager *manager, struct pool *pool,
                            struct event_loop *reply, compaction_list_fn done);

/// Frees what was found.
void compaction_list_destroy(struct compaction_list *list);
