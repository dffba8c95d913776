// SPDX-License-Identifier: Apache-2.0
//
// meta.properties, the file that says whose a data directory is. Both of Kafka's forms are read (version 0 with
// broker.id, version 1 with node.id and directory.id); version 1 is written, with three lines of our own: what
// metastore knows the partitions, which directories belong together, and where each of them was last. Lines of others
// are kept. Waits for the disk: start-up.
#pragma once

#include <stdint.h>

#include "base/uuid.h"

/// What the file says. Start with meta_properties_create().
struct meta_properties {
  int32_t node_id;          ///< node.id or broker.id; -1: not said
  char *cluster_id;         ///< cluster.id, owned; NULL: not said
  struct uuid directory_id; ///< directory.id; zero: not said
  char *metadata;           ///< luka.metadata, see log_manager_metadata.c, owned; NULL: not said
  char *directories;        ///< luka.directories, the ids of all directories, commas between, owned; NULL: not said
  char *paths;              ///< luka.paths, their paths for messages, in that order, line feeds between; owned, or NULL
  char *others;             ///< lines with other keys, as they are to be written, owned; NULL: none
};

void meta_properties_create(struct meta_properties *props);
void meta_properties_destroy(struct meta_properties *props);

/// Reads a file.
///
/// @param[out] props  created or not, what it held is not freed; owned: meta_properties_destroy()
/// @return 0, ERR_NOT_FOUND, ERR_MALFORMED (error_last() names file, line and key), ERR_UNSUPPORTED_VERSION, ERR_IO ...
int meta_properties_read(const char *path, struct meta_properties *props);

/// Replaces the file, on disk when it returns.
int meta_properties_write(const char *path, const struct meta_properties *props);

/// Compares what the file says with what this broker is; what either side does not say is not compared.
///
/// @param path        for the message
/// @param node_id     -1: not said
/// @param cluster_id  NULL: not said
/// @param metadata    NULL: not said
/// @return 0, or ERR_CONFIG: error_last() names both values and the file
int meta_properties_check(const struct meta_properties *props, const char *path, int32_t node_id,
                          const char *cluster_id, const char *metadata);
