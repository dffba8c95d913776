// SPDX-License-Identifier: Apache-2.0
//
// What clients may do, as functions of client.authorize have decided it: a hash table of operations on resources, in an
// arena. A request has one, with all that it needs (api/authorize.h), and a connection another one, which remembers
// decisions for requests to come. One thread, or several that only look.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "wire/types.h"

/// Kafka's AclOperation.
enum right_operation {
  RIGHT_READ = 3,
  RIGHT_WRITE = 4,
  RIGHT_CREATE = 5,
  RIGHT_DELETE = 6,
  RIGHT_ALTER = 7,
  RIGHT_DESCRIBE = 8,
  RIGHT_CLUSTER_ACTION = 9,
  RIGHT_DESCRIBE_CONFIGS = 10,
  RIGHT_ALTER_CONFIGS = 11,
  RIGHT_IDEMPOTENT_WRITE = 12,
  RIGHT_OPERATIONS = 13,
};

/// Kafka's ResourceType.
enum right_resource {
  RIGHT_TOPIC = 2,
  RIGHT_GROUP = 3,
  RIGHT_CLUSTER = 4,
  RIGHT_TRANSACTIONAL_ID = 5,
  RIGHT_RESOURCES = 6,
};

/// A resource, and what may be done with it. Sets of operations have the bit `1 << operation`.
struct right {
  struct right *next;          ///< the caller's, for a list
  struct wire_string name;     ///< of the resource, in the arena
  uint32_t hash;               ///< of its key
  int16_t api;                 ///< key of the requests that it is about
  uint8_t resource;            ///< enum right_resource
  uint32_t wanted_operations;  ///< the caller's: asked, and not decided
  uint32_t known_operations;   ///< decided
  uint32_t allowed_operations; ///< of these, those that are allowed
};

/// Zeroed: empty.
struct rights {
  struct arena *arena;  ///< where it lies; set before anything is put
  struct right **slots; ///< hash table in the arena; NULL: empty
  uint32_t mask;        ///< slots minus one
  int32_t count;        ///< entries
  int64_t bytes;        ///< of their names
};

/// The entry of a resource, or NULL.
struct right *rights_find(const struct rights *rights, int16_t api, enum right_resource resource,
                          struct wire_string name);

/// The entry of a resource, a new one if there is none; its name is copied.
struct right *rights_put(struct rights *rights, int16_t api, enum right_resource resource, struct wire_string name);

/// What it is called in Lua: "describe_configs", "transactional_id".
const char *right_operation_name(enum right_operation operation);
const char *right_resource_name(enum right_resource resource);

// ---- what a connection remembers ----

enum {
  RIGHTS_MEMORY_MAX = 4096,             ///< resources that a connection remembers; beyond, all are forgotten
  RIGHTS_MEMORY_BYTES_MAX = 256 * 1024, ///< and bytes of their names
  RIGHTS_ALL_BYTES_MAX = 64 << 20,      ///< memory of all that share it; beyond, one that needs more begins anew
};

/// Decisions that hold as long as the functions and who asks are the same.
struct rights_memory {
  struct arena arena;   ///< what follows, but for `client_id`
  struct rights rights; ///< by api key
  int64_t *all_bytes;   ///< memory of all that share a bound, borrowed
  int64_t bytes;        ///< what is counted there of this one
  uint64_t generation;  ///< of the functions that have decided
  char *client_id;      ///< of whom it is about, owned; NULL: nobody yet
  char *principal;      ///< likewise
  uint64_t epoch;       ///< another one when functions or client are others; no other memory has it; never 0
};

/// NULL is fine.
void rights_memory_delete(struct rights_memory *memory);

/// To be checked before anything else. @param all_bytes  outlives it, the same thread's. @return owned:
/// rights_memory_delete()
struct rights_memory *rights_memory_new(int64_t *all_bytes);

/// Forgets all unless functions and client are those of the last time.
void rights_memory_check(struct rights_memory *memory, uint64_t generation, const char *client_id,
                         const char *principal);

/// Remembers a decision; when there is no room, after all others were forgotten, and not where others take it all.
void rights_memory_add(struct rights_memory *memory, int16_t api, enum right_resource resource, struct wire_string name,
                       enum right_operation operation, bool is_allowed);
