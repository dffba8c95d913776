// SPDX-License-Identifier: Apache-2.0
//
// The tree in LMDB (metastore_local_tree.c), under the store that queues requests for it (metastore_local.c).
#pragma once

#include <lmdb.h>

#include "metadata/metastore.h"

/// The file. Used by one thread at a time.
struct local_tree {
  MDB_env *env;       ///< the environment, with MDB_NOLOCK: whoever uses it sees to it that it is alone
  MDB_dbi nodes;      ///< parent path, NUL, name -> header and data
  MDB_dbi ephemerals; ///< path of each ephemeral node, no data
  size_t map_size;    ///< bytes of address space, doubled when the file outgrows it
  const char *path;   ///< the file, for messages
};

/// Opens the environment and creates the root. @return 0, ERR_CORRUPT, ERR_UNSUPPORTED_VERSION, ERR_IO ..., with
/// error_set()
int local_tree_open(struct local_tree *tree, const char *path);
void local_tree_close(struct local_tree *tree);

/// Runs all steps of a request and fills in its results. A write is on disk when this returns 0; one that only made
/// sure of what was there costs no write.
int local_tree_run(struct local_tree *tree, struct metastore_request *request, int64_t session);

/// Removes all ephemeral nodes.
int local_tree_purge(struct local_tree *tree);
