// SPDX-License-Identifier: Apache-2.0
//
// Keys of a batch, one behind the other, for the compiled state. A Lua string is looked for among all strings of its
// state before it is made, and with many different keys each look is a miss of the cache: that costs more than all else
// that a partitioner does with a key. LuaJIT has no need of the string when what is done with it only reads bytes of a
// larger one, so lua/luka/ffi/policy.lua has keys as parts of one string, which is made here for many records at once.
#include <string.h>

#include "base/mem.h"
#include "lua/policy_vm_private.h"

enum {
  KEYS_BYTES_MAX = 64 * 1024, ///< of one string: a small part of a state's memory. Those of large batches are many
  KEYS_MAX = 16 * 1024,       ///< keys of one string: a packed batch may hold millions of empty ones
  KEYS_ROOM_MIN = 1024,       ///< keys, and bytes of them, that memory is made for at first
};

/// How many records from the one at hand on have keys that fit, and the bytes of those.
static int32_t keys_count(const struct policy_call *call, int32_t *count)
{
  int32_t bytes = 0;
  int32_t end = call->index;
  for (; end < call->count && end - call->index < KEYS_MAX; end++) {
    int32_t size = call->records[end].key_size > 0 ? call->records[end].key_size : 0;
    if (size > KEYS_BYTES_MAX - bytes) {
      break;
    }
    bytes += size;
  }
  *count = end - call->index;
  return bytes;
}

static uint32_t keys_room(uint32_t room, int32_t needed)
{
  room = room < KEYS_ROOM_MIN ? KEYS_ROOM_MIN : room;
  while (room < (uint32_t)needed) {
    room *= 2;
  }
  return room;
}

int32_t policy_vm_gather_keys(struct policy_call *call)
{
  int32_t count = 0;
  int32_t bytes = keys_count(call, &count);
  if ((uint32_t)count > call->keys_room) {
    call->keys_room = keys_room(call->keys_room, count);
    mem_free(call->keys);
    call->keys = mem_alloc(call->keys_room * sizeof *call->keys);
  }
  if ((uint32_t)bytes > call->key_bytes_room || call->key_bytes == NULL) {
    call->key_bytes_room = keys_room(call->key_bytes_room, bytes);
    mem_free(call->key_bytes);
    call->key_bytes = mem_alloc(call->key_bytes_room);
  }
  int32_t pos = 0;
  for (int32_t i = 0; i < count; i++) {
    const struct record_view *record = &call->records[call->index + i];
    call->keys[i] = (struct policy_key){.pos = pos, .size = record->key_size};
    if (record->key_size > 0) {
      memcpy(call->key_bytes + pos, record->key, (size_t)record->key_size);
      pos += record->key_size;
    }
  }
  call->keys_first = call->index;
  call->keys_size = pos;
  return count;
}

void policy_vm_forget_keys(struct policy_call *call)
{
  call->keys_first = 0;
  call->keys_end = 0;
}

void policy_vm_free_keys(struct policy_call *call)
{
  mem_free(call->keys);
  mem_free(call->key_bytes);
}
