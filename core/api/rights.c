// SPDX-License-Identifier: Apache-2.0
#include "api/rights.h"

#include <stdatomic.h>
#include <string.h>

#include "api/key_set.h"
#include "base/mem.h"

enum { RIGHTS_SLOTS_MIN = 8 };

static const struct uuid NO_ID;

/// The latest epoch of any memory.
static _Atomic(uint64_t) rights_epochs;

static uint32_t rights_hash(int16_t api, enum right_resource resource, struct wire_string name)
{
  return key_hash(name, &NO_ID, (int32_t)api * RIGHT_RESOURCES + (int32_t)resource);
}

/// The slot of a key: its own, or the free one where it would go.
static struct right **rights_slot(const struct rights *rights, uint32_t hash, int16_t api, uint8_t resource,
                                  struct wire_string name)
{
  for (uint32_t at = hash & rights->mask;; at = (at + 1) & rights->mask) {
    const struct right *right = rights->slots[at];
    if (right == NULL || (right->hash == hash && right->api == api && right->resource == resource &&
                          wire_string_equal(right->name, name))) {
      return &rights->slots[at];
    }
  }
}

struct right *rights_find(const struct rights *rights, int16_t api, enum right_resource resource,
                          struct wire_string name)
{
  if (rights->slots == NULL) {
    return NULL;
  }
  return *rights_slot(rights, rights_hash(api, resource, name), api, (uint8_t)resource, name);
}

/// Makes room for one more: at most half of the slots are taken.
static void rights_grow(struct rights *rights)
{
  uint32_t count = rights->slots != NULL ? rights->mask + 1 : 0;
  if (((uint32_t)rights->count + 1) * 2 <= count) {
    return;
  }
  struct right **old = rights->slots;
  uint32_t wanted = count > 0 ? count * 2 : RIGHTS_SLOTS_MIN;
  rights->slots = arena_zalloc(rights->arena, wanted * sizeof *rights->slots);
  rights->mask = wanted - 1;
  for (uint32_t i = 0; i < count; i++) {
    if (old[i] != NULL) {
      *rights_slot(rights, old[i]->hash, old[i]->api, old[i]->resource, old[i]->name) = old[i];
    }
  }
}

struct right *rights_put(struct rights *rights, int16_t api, enum right_resource resource, struct wire_string name)
{
  rights_grow(rights);
  uint32_t hash = rights_hash(api, resource, name);
  struct right **slot = rights_slot(rights, hash, api, (uint8_t)resource, name);
  if (*slot == NULL) {
    struct right *right = arena_zalloc(rights->arena, sizeof *right);
    int32_t length = name.length > 0 ? name.length : 0;
    right->name =
        (struct wire_string){arena_strndup(rights->arena, length > 0 ? name.data : "", (size_t)length), name.length};
    right->hash = hash;
    right->api = api;
    right->resource = (uint8_t)resource;
    rights->count++;
    rights->bytes += length;
    *slot = right;
  }
  return *slot;
}

const char *right_operation_name(enum right_operation operation)
{
  static const char *const names[RIGHT_OPERATIONS] = {
      [RIGHT_READ] = "read",
      [RIGHT_WRITE] = "write",
      [RIGHT_CREATE] = "create",
      [RIGHT_DELETE] = "delete",
      [RIGHT_ALTER] = "alter",
      [RIGHT_DESCRIBE] = "describe",
      [RIGHT_CLUSTER_ACTION] = "cluster_action",
      [RIGHT_DESCRIBE_CONFIGS] = "describe_configs",
      [RIGHT_ALTER_CONFIGS] = "alter_configs",
      [RIGHT_IDEMPOTENT_WRITE] = "idempotent_write",
  };
  return names[operation];
}

const char *right_resource_name(enum right_resource resource)
{
  static const char *const names[RIGHT_RESOURCES] = {
      [RIGHT_TOPIC] = "topic",
      [RIGHT_GROUP] = "group",
      [RIGHT_CLUSTER] = "cluster",
      [RIGHT_TRANSACTIONAL_ID] = "transactional_id",
  };
  return names[resource];
}

// ---- what a connection remembers ----

struct rights_memory *rights_memory_new(int64_t *all_bytes)
{
  struct rights_memory *memory = mem_zalloc(sizeof *memory);
  memory->all_bytes = all_bytes;
  return memory;
}

static void rights_memory_account(struct rights_memory *memory, int64_t bytes)
{
  *memory->all_bytes += bytes - memory->bytes;
  memory->bytes = bytes;
}

void rights_memory_delete(struct rights_memory *memory)
{
  if (memory != NULL) {
    rights_memory_account(memory, 0);
    arena_destroy(&memory->arena);
    mem_free(memory->client_id);
    mem_free(memory->principal);
    mem_free(memory);
  }
}

static void rights_memory_forget(struct rights_memory *memory)
{
  arena_reset(&memory->arena);
  rights_memory_account(memory, 0);
  memory->rights = (struct rights){.arena = &memory->arena};
}

void rights_memory_check(struct rights_memory *memory, uint64_t generation, const char *client_id,
                         const char *principal)
{
  if (memory->client_id != NULL && memory->generation == generation && strcmp(memory->client_id, client_id) == 0 &&
      strcmp(memory->principal, principal) == 0) {
    return;
  }
  rights_memory_forget(memory);
  memory->epoch = 1 + atomic_fetch_add_explicit(&rights_epochs, 1, memory_order_relaxed);
  mem_free(memory->client_id);
  mem_free(memory->principal);
  memory->generation = generation;
  memory->client_id = mem_dup(client_id, strlen(client_id) + 1);
  memory->principal = mem_dup(principal, strlen(principal) + 1);
}

void rights_memory_add(struct rights_memory *memory, int16_t api, enum right_resource resource, struct wire_string name,
                       enum right_operation operation, bool is_allowed)
{
  int64_t bytes = name.length > 0 ? name.length : 0;
  if (rights_find(&memory->rights, api, resource, name) == NULL &&
      (memory->rights.count >= RIGHTS_MEMORY_MAX || memory->rights.bytes + bytes > RIGHTS_MEMORY_BYTES_MAX ||
       *memory->all_bytes >= RIGHTS_ALL_BYTES_MAX)) {
    rights_memory_forget(memory);
    if (*memory->all_bytes >= RIGHTS_ALL_BYTES_MAX) {
      return;
    }
  }
  struct right *right = rights_put(&memory->rights, api, resource, name);
  uint32_t bit = UINT32_C(1) << operation;
  right->known_operations |= bit;
  right->allowed_operations = is_allowed ? right->allowed_operations | bit : right->allowed_operations & ~bit;
  rights_memory_account(memory, (int64_t)memory->arena.total);
}
