// SPDX-License-Identifier: Apache-2.0
//
// Where groups, subscriptions to clients' metrics, and users have their configs in the metastore:
//
//   /config/groups/GROUP, /config/client-metrics/NAME, /config/users/USER      {"version":1,"config":{...}}
//
// Names are any bytes; in paths they are percent-encoded as Kafka does it, so that its tools find them. Pure.
#pragma once

#include <stddef.h>

#include "metadata/image.h"

struct arena;

/// The folder's name: "groups", "client-metrics" or "users".
const char *entity_nodes_folder(enum metadata_entity_kind kind);

/// An encoded name, in the arena.
const char *entity_nodes_encode(struct arena *arena, const char *name, size_t length);

/// Reads an encoded name.
///
/// @param[out] name    in the arena, with a NUL behind it
/// @return 0, ERR_CORRUPT (not encoded as this module does it, or the name of what stands for all)
int entity_nodes_decode(struct arena *arena, const char *text, const char **name, size_t *length);

/// The path of a node, in the arena; NULL when the name is too long for one.
const char *entity_nodes_path(struct arena *arena, enum metadata_entity_kind kind, const char *name, size_t length);
