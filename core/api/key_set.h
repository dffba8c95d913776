// SPDX-License-Identifier: Apache-2.0
//
// Which topics or partitions a request has named already: a hash table in the request's arena, of topic (name and id)
// and partition, to the place of its first appearance. Seeded at random, so that a client cannot make it slow.
#pragma once

#include <stdint.h>

#include "base/uuid.h"
#include "wire/types.h"

struct arena;

/// One key.
struct key_set_slot {
  struct wire_string name; ///< borrowed
  struct uuid id;          ///< topic id
  int32_t index;           ///< partition
  int32_t place;           ///< given by the caller; -1: free
};

struct key_set {
  struct key_set_slot *slots; ///< in the arena
  uint32_t mask;              ///< slots minus one
};

/// Makes room for `count` keys; more must not be put.
void key_set_create(struct key_set *set, struct arena *arena, int32_t count);

/// Puts a key with its place, unless it is there.
///
/// @param name   borrowed as long as the set; null or empty is fine
/// @return the place that the key has now: `place`, or the one it was first put with
int32_t key_set_put(struct key_set *set, struct wire_string name, const struct uuid *id, int32_t index, int32_t place);

/// The place of a key, or -1. Any thread, as long as nobody puts.
int32_t key_set_find(const struct key_set *set, struct wire_string name, const struct uuid *id, int32_t index);

/// A seeded hash of a topic and a partition. Any thread.
uint32_t key_hash(struct wire_string name, const struct uuid *id, int32_t index);
