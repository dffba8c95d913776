// SPDX-License-Identifier: Apache-2.0
//
// The tree in LMDB (metastore_local_tree.c), under the store that queues requests for it (metastore_local.c); its
// records as bytes (metastore_local_record.c); the check of a file before LMDB maps it (metastore_local_check.c).
//
// The file has two tables and one record beside them:
//
//   nodes        parent path, NUL, name -> header and data
//   ephemerals   path of each ephemeral node -> checksum
//   seal         format of the file and number of the last change, put again by each
#pragma once

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "metadata/metastore.h"
#include "metadata/metastore_local.h"

enum {
  LOCAL_KEY_MAX = 511,       ///< bytes of a key, LMDB's own limit
  LOCAL_HEADER_BYTES = 40,   ///< before the data of a node
  LOCAL_EPHEMERAL_BYTES = 4, ///< value of an ephemeral's record
  LOCAL_SEAL_BYTES = 16,     ///< value of the seal
};

#define LOCAL_NODES "nodes"
#define LOCAL_EPHEMERALS "ephemerals"
#define LOCAL_SEAL "seal"
#define LOCAL_MAP_SIZE_LAST ((size_t)1 << 36) // a file is never larger

/// The file. Used by one thread at a time.
struct local_tree {
  MDB_env *env;       ///< the environment, with MDB_NOLOCK: whoever uses it sees to it that it is alone
  MDB_dbi main;       ///< holds the tables and the seal
  MDB_dbi nodes;      ///< table of nodes
  MDB_dbi ephemerals; ///< table of ephemeral nodes
  size_t map_size;    ///< bytes of address space, doubled when the file outgrows it
  const char *path;   ///< the file, for messages and for its free space
};

/// A node as it is in the file.
struct local_node {
  struct metastore_stat stat; ///< versions and owner
  uint32_t counter;           ///< next number of a sequential child
  bool has_data;              ///< no data differs from empty data
  const uint8_t *data;        ///< the data, borrowed from what was decoded
  size_t size;                ///< bytes of it
};

/// Records ERR_CORRUPT and what can be done: "metastore PATH is WHAT: restore it ...".
int local_damaged(const char *path, const char *what);

/// The key of a valid path, of up to LOCAL_KEY_MAX bytes; returns its size.
size_t local_key_of(char *key, const char *path);

/// The path that a key stands for, of up to LOCAL_KEY_MAX bytes and a NUL; false: it is no key of a node.
bool local_path_of(char *path, const void *key, size_t key_size);

/// The value of a node's record; owned: mem_free().
uint8_t *local_node_encode(const void *key, size_t key_size, const struct local_node *node, size_t *size);

/// Reads it again; false: damaged.
bool local_node_decode(const void *key, size_t key_size, const uint8_t *bytes, size_t size, struct local_node *node);

/// The value of an ephemeral's record, LOCAL_EPHEMERAL_BYTES, and whether one is right.
void local_ephemeral_encode(const void *key, size_t key_size, uint8_t *bytes);
bool local_ephemeral_check(const void *key, size_t key_size, const uint8_t *bytes, size_t size);

/// The value of the seal, LOCAL_SEAL_BYTES, for a change's number.
void local_seal_encode(uint64_t txn, uint8_t *bytes);

/// Reads it again; false: damaged.
bool local_seal_decode(const uint8_t *bytes, size_t size, uint32_t *format, uint64_t *txn);

/// Reads all that LMDB would follow in a file and compares it with the checksums, so that a damaged one cannot end the
/// process or lose a node in silence. Waits for the disk.
///
/// @param fd             the file, locked
/// @param path           its path, for messages
/// @param[out] is_empty  nothing was ever stored in it
/// @return 0; ERR_CORRUPT, ERR_UNSUPPORTED_VERSION (newer format), ERR_IO
int local_check_file(int fd, const char *path, bool *is_empty);

/// Opens the environment, and creates tables and root in an empty file. One that is not empty has been checked.
///
/// @param file  where the file is now
/// @param path  where it will be; borrowed
/// @return 0, ERR_CORRUPT, ERR_UNSUPPORTED_VERSION, ERR_IO ..., with error_set()
int local_tree_open(struct local_tree *tree, const char *file, const char *path);
void local_tree_close(struct local_tree *tree);

/// Runs all steps of a request and fills in its results. A write is on disk when this returns 0; one that only made
/// sure of what was there costs no write.
int local_tree_run(struct local_tree *tree, struct metastore_request *request, int64_t session);

/// Removes all ephemeral nodes.
int local_tree_purge(struct local_tree *tree);
