// SPDX-License-Identifier: Apache-2.0
//
// A hash table by names that clients chose: intrusive, growing, with a seed of the process's own, so that nobody can
// choose names that share a slot. One thread at a time.
#pragma once

#include <stdint.h>

/// Embed it in what has a name. The name belongs to that, and does not change while the node is in a table.
struct name_node {
  struct name_node *next; ///< in its slot
  const char *name;       ///< borrowed
  int32_t size;           ///< bytes of the name
  uint32_t hash;          ///< of the name
};

/// Embed it; zero-initialised is a valid empty table.
struct name_table {
  struct name_node **slots; ///< owned; NULL while empty
  uint32_t slot_count;      ///< a power of two, or 0
  uint32_t count;           ///< nodes in it
};

/// The node of that name, or NULL.
struct name_node *name_table_find(const struct name_table *table, const char *name, int32_t size);

/// Adds a node under a name that is not in the table yet.
void name_table_add(struct name_table *table, struct name_node *node, const char *name, int32_t size);

/// Removes a node that is in the table.
void name_table_remove(struct name_table *table, struct name_node *node);

/// Frees the slots; nodes are their owners'.
void name_table_destroy(struct name_table *table);
