// SPDX-License-Identifier: Apache-2.0
//
// The metastore of a single broker: one LMDB file. Requests run on the pool, one batch at a time and in order; a write
// is on the disk before its answer is sent. The file is locked against other processes, and read and checked as a whole
// before it is used; ephemeral nodes of an earlier run vanish when it is opened.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "metadata/metastore.h"

struct pool;

enum {
  METASTORE_LOCAL_FORMAT = 1, ///< version of what the file holds
};

/// Opens the file, or creates it, with the persistent nodes that Kafka's tools expect. A file that was made is whole,
/// or not there, whenever the process is killed. Waits for the disk: start-up only.
///
/// @param path        the file, e.g. "data/luka.mdb"; its folder must exist
/// @param may_create  whether it may be missing or empty: nothing is known to belong to it
/// @param loop        where answers come back; may not be running yet
/// @param pool        where requests run; NULL allows metastore_call() only
/// @param[out] store  owned: metastore_close()
/// @return 0; ERR_NOT_FOUND (missing or empty, or no folder), ERR_BUSY (another process has it),
/// ERR_UNSUPPORTED_VERSION
///         (newer format), ERR_CORRUPT, ERR_IO ...; the message of error_last() is one line for the user
int metastore_local_open(const char *path, bool may_create, struct event_loop *loop, struct pool *pool,
                         struct metastore **store);
