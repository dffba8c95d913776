// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a record: assigned fields, headers, records made of it. Everything that is made counts against the
// output's limit, also what an assignment replaces later, so a loop of assignments ends.
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/varint.h"
#include "lua/policy_vm_private.h"
#include "policy/partitioners.h"

enum {
  EDIT_ROOM_MIN = 16,                      ///< records or rejects that memory is made for at first
  EDIT_SCRATCH_MIN = 1024,                 ///< bytes of headers, likewise
  EDIT_HEADER_EXTRA = 2 * VARINT_SIZE_MAX, ///< most bytes of a header beside name and value
};

static int64_t edit_index(const struct policy_call *call)
{
  return atomic_load_explicit(call->progress, memory_order_relaxed);
}

/// Memory of the output; NULL: that is beyond its limit.
static void *edit_alloc(struct policy_call *call, size_t size)
{
  int64_t left = call->output->limit_bytes - call->made_bytes;
  if (left < 0 || size > (uint64_t)left) {
    return NULL;
  }
  call->made_bytes += (int64_t)size;
  return arena_alloc(call->output->arena, size);
}

void policy_vm_edit(struct policy_call *call)
{
  if (call->at != &call->edited) {
    call->edited = *call->at;
    call->at = &call->edited;
  }
}

int policy_vm_keep_bytes(struct policy_call *call, const char *bytes, size_t size, const uint8_t **kept)
{
  *kept = NULL;
  if (bytes != NULL) {
    uint8_t *copy = size <= INT32_MAX ? edit_alloc(call, size) : NULL;
    if (copy == NULL) {
      return ERR_LIMIT;
    }
    memcpy(copy, bytes, size);
    *kept = copy;
  }
  return 0;
}

int policy_vm_set_bytes(struct policy_call *call, int field, const char *bytes, size_t size)
{
  const uint8_t *kept = NULL;
  TRY(policy_vm_keep_bytes(call, bytes, size, &kept));
  policy_vm_edit(call);
  int32_t kept_size = kept != NULL ? (int32_t)size : -1;
  if (field == POLICY_FIELD_KEY) {
    call->edited.key = kept;
    call->edited.key_size = kept_size;
  } else {
    call->edited.value = kept;
    call->edited.value_size = kept_size;
  }
  return 0;
}

int policy_vm_find_header(struct policy_call *call, const char *name, size_t size)
{
  struct record_header_iterator headers;
  struct record_header_view header;
  int is_found = 0;
  record_headers_open(call->at, &headers);
  while (record_headers_next(&headers, &header) > 0) {
    if ((size_t)header.key_size == size && memcmp(header.key, name, size) == 0) {
      call->found = header.value;
      call->found_size = header.value_size;
      is_found = 1;
    }
  }
  return is_found;
}

static uint8_t *edit_put(uint8_t *at, const void *bytes, size_t size)
{
  if (bytes == NULL) {
    return at + varint_put_i32(at, -1);
  }
  at += varint_put_i32(at, (int32_t)size);
  memcpy(at, bytes, size);
  return at + size;
}

int policy_vm_set_header(struct policy_call *call, const struct policy_header_change *change)
{
  size_t added = change->is_removal ? 0 : change->name_size + change->value_size + EDIT_HEADER_EXTRA;
  if (added > INT32_MAX / 2 || (size_t)call->at->headers_size + added > INT32_MAX / 2) {
    return ERR_LIMIT;
  }
  uint8_t *bytes = edit_alloc(call, (size_t)call->at->headers_size + added);
  if (bytes == NULL) {
    return ERR_LIMIT;
  }
  uint8_t *end = bytes;
  int32_t count = 0;
  bool is_put = change->is_removal;
  struct record_header_iterator headers;
  struct record_header_view header;
  record_headers_open(call->at, &headers);
  for (int32_t i = 0; record_headers_next(&headers, &header) > 0; i++) {
    bool is_meant = change->index >= 0 ? i == change->index
                                       : (size_t)header.key_size == change->name_size &&
                                             memcmp(header.key, change->name, change->name_size) == 0;
    if (!is_meant) {
      end = edit_put(end, header.key, (size_t)header.key_size);
      end = edit_put(end, header.value, (size_t)header.value_size);
      count++;
    } else if (!is_put) {
      end = edit_put(end, change->name, change->name_size);
      end = edit_put(end, change->value, change->value_size);
      is_put = true;
      count++;
    }
  }
  if (!is_put) {
    end = edit_put(end, change->name, change->name_size);
    end = edit_put(end, change->value, change->value_size);
    count++;
  }
  policy_vm_edit(call);
  call->edited.headers = bytes;
  call->edited.headers_size = (int32_t)(end - bytes);
  call->edited.header_count = count;
  return 0;
}

int policy_vm_make_header(struct policy_call *call, const char *name, size_t name_size, const char *value,
                          size_t value_size)
{
  uint64_t size = (uint64_t)call->scratch_size + name_size + value_size + EDIT_HEADER_EXTRA;
  if (name_size > INT32_MAX / 2 || value_size > INT32_MAX / 2 || size > INT32_MAX / 2 ||
      size > (uint64_t)(call->output->limit_bytes - call->made_bytes) + EDIT_HEADER_EXTRA) {
    return ERR_LIMIT;
  }
  if (size > call->scratch_room) {
    size_t room = call->scratch_room < EDIT_SCRATCH_MIN ? EDIT_SCRATCH_MIN : call->scratch_room;
    while (room < size) {
      room *= 2;
    }
    call->scratch = mem_realloc(call->scratch, room);
    call->scratch_room = room;
  }
  uint8_t *at = edit_put(call->scratch + call->scratch_size, name, name_size);
  at = edit_put(at, value, value_size);
  call->scratch_size = (size_t)(at - call->scratch);
  call->header_count++;
  return 0;
}

int policy_vm_take_headers(struct policy_call *call, struct record_view *view)
{
  const uint8_t *kept = NULL;
  TRY(policy_vm_keep_bytes(call, call->header_count > 0 ? (const char *)call->scratch : NULL, call->scratch_size,
                           &kept));
  view->headers = kept;
  view->headers_size = (int32_t)call->scratch_size;
  view->header_count = call->header_count;
  return 0;
}

static struct policy_record edit_record(const struct policy_call *call, const struct record_view *view)
{
  return (struct policy_record){
      .timestamp = view->timestamp,
      .key = view->key,
      .value = view->value,
      .headers = view->headers,
      .key_size = view->key_size,
      .value_size = view->value_size,
      .header_count = view->header_count,
      .headers_size = view->headers_size,
      .partition = -1,
      .from = (int32_t)edit_index(call),
  };
}

int policy_vm_replace(struct policy_call *call, const struct record_view *view)
{
  struct policy_output *output = call->output;
  if (output->replaced == NULL) {
    // One for each record that came in; no more than came in, so it is not held against the policy.
    output->replaced = arena_zalloc(output->arena, (size_t)call->count * sizeof *output->replaced);
  }
  int64_t index = edit_index(call);
  output->replaced[index] = edit_record(call, view);
  output->actions[index] = POLICY_REPLACE;
  call->is_changed = true;
  return 0;
}

/// Memory for one more of `count` things, twice as much as before when there is none; NULL: beyond the limit.
static void *edit_grow(struct policy_call *call, void *things, int32_t count, int32_t *room, size_t each)
{
  if (count < *room) {
    return things;
  }
  int32_t grown = *room < EDIT_ROOM_MIN ? EDIT_ROOM_MIN : *room * 2;
  void *more = count < INT32_MAX / 4 ? edit_alloc(call, (size_t)grown * each) : NULL;
  if (more != NULL) {
    if (count > 0) {
      memcpy(more, things, (size_t)count * each);
    }
    *room = grown;
  }
  return more;
}

int policy_vm_add(struct policy_call *call, const struct record_view *view, const char *topic, int32_t partition)
{
  struct policy_output *output = call->output;
  struct policy_record record = edit_record(call, view);
  record.partition = partition;
  if (topic != NULL) {
    const uint8_t *kept = NULL;
    TRY(policy_vm_keep_bytes(call, topic, strlen(topic) + 1, &kept));
    record.topic = (const char *)kept;
  }
  struct policy_record *extras =
      edit_grow(call, output->extras, output->extra_count, &call->extra_room, sizeof *output->extras);
  if (extras == NULL) {
    return ERR_LIMIT;
  }
  output->extras = extras;
  output->extras[output->extra_count] = record;
  output->extra_count++;
  call->is_changed = true;
  return 0;
}

int policy_vm_reject(struct policy_call *call, const char *text, size_t size)
{
  struct policy_output *output = call->output;
  if (call->is_rejected) {
    return 0;
  }
  struct policy_reject *rejects =
      edit_grow(call, output->rejects, output->reject_count, &call->reject_room, sizeof *output->rejects);
  const uint8_t *kept = NULL;
  if (rejects == NULL) {
    return ERR_LIMIT;
  }
  output->rejects = rejects;
  TRY(policy_vm_keep_bytes(call, text, size + 1, &kept));
  rejects[output->reject_count] =
      (struct policy_reject){.index = (int32_t)edit_index(call), .text = (const char *)kept};
  output->reject_count++;
  output->actions[edit_index(call)] = POLICY_REJECT;
  call->is_changed = true;
  call->is_rejected = true;
  return 0;
}

/// Never negative, as the Java client makes it, so that `hash(key) % n` is a partition.
uint32_t policy_vm_hash(const uint8_t *bytes, size_t size)
{
  return policy_murmur2(bytes, size) & INT32_MAX;
}
