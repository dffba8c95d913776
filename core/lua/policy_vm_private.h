// SPDX-License-Identifier: Apache-2.0
//
// The inside of the Lua VM for policies on records.
//
//   policy_vm.c          makes states, runs a policy over a batch
//   policy_vm_native.c   what lua/luka/policy/run.lua asks for: next record, what was chosen, records that were made
//   policy_vm_record.c   record and headers as Lua objects, of the interpreted state
//   policy_vm_edit.c     what becomes of a record, no Lua in it: used by the above, and by the compiled state through
//                        FFI
//   policy_vm_keys.c     the keys of a batch as parts of one string, for the compiled state
//   policy_vm_failure.c  words for what went wrong
//
// A record object holds a serial number and nothing else. What it shows is the record at hand, as long as that has the
// same number: whoever keeps an object and uses it later is told so, and never reads memory that is gone.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lua/state.h"
#include "policy/vm.h"
#include "record/iterate.h"

struct lua_State;

enum policy_field { POLICY_FIELD_KEY, POLICY_FIELD_VALUE };

/// What of a record can be named by Lua; the order is that of policy_vm_fields.
enum policy_name {
  POLICY_NAME_KEY,
  POLICY_NAME_VALUE,
  POLICY_NAME_HEADERS,
  POLICY_NAME_TIMESTAMP,
  POLICY_NAME_TOPIC,
  POLICY_NAME_PARTITION,
  POLICY_NAME_OFFSET,
  POLICY_NAME_PRODUCER_ID,
  POLICY_NAME_PRODUCER_EPOCH,
  POLICY_NAME_SEQUENCE,
  POLICY_NAMES,
};

/// Where a key lies in the string of all keys, see policy_vm_keys.c.
struct policy_key {
  int32_t pos;  ///< of its first byte, from 0
  int32_t size; ///< bytes, -1: null
};

/// A batch on its way through a function. The first part is declared to LuaJIT by lua/luka/ffi/policy.lua, which is
/// told the size of it and refuses another.
struct policy_call {
  const struct record_view *at;      ///< record at hand: of the batch, or `edited`
  double serial;                     ///< its number, which rises with each record of the VM's life
  const struct record_view *records; ///< of the batch
  _Atomic(int64_t) *progress;        ///< index of the record at hand; others read it (struct policy_progress)
  _Atomic(int32_t) *stop;            ///< which call is to end; others write it (struct policy_progress)
  int32_t *chosen;                   ///< partitions, by index
  uint8_t *actions;                  ///< enum policy_action, by index
  const char *topic;                 ///< of the batch
  const uint8_t *found;              ///< value of the header that `find_header` found; NULL: null
  int32_t count;                     ///< records of the batch
  int32_t partitions;                ///< of the topic
  int32_t partition;                 ///< of the batch
  int32_t found_size;                ///< bytes, -1: null
  int32_t call_ms;                   ///< processor time for all records
  int32_t running;                   ///< low 32 bits of struct policy_progress.calls of this one
  int32_t index;                     ///< of the record at hand, in the compiled state
  int32_t keys_first;                ///< record that `keys` begin with
  int32_t keys_end;                  ///< one past the last that has a key there; not above `keys_first`: none has
  int32_t keys_size;                 ///< bytes of `key_bytes` that are keys
  struct policy_key *keys;           ///< of the records from `keys_first` on; owned
  uint8_t *key_bytes;                ///< the keys themselves; owned
  bool is_rejected;                  ///< reject() was called for the record at hand
  bool is_changed;                   ///< not all records are kept
  bool has_offset;                   ///< records know their offset
  bool may_edit;                     ///< the policy is one that may change records
  bool may_emit;                     ///< and write to other topics, and refuse
  struct record_view edited;         ///< the record at hand, once something has been assigned
  /// policy_vm_find_header(), policy_vm_hash(), crc32_zlib(), policy_vm_set_bytes() and policy_vm_gather_keys().
  int (*find_header)(struct policy_call *call, const char *name, size_t size);
  uint32_t (*hash)(const uint8_t *bytes, size_t size);
  uint32_t (*crc32)(const void *bytes, size_t size);
  int (*set_bytes)(struct policy_call *call, int field, const char *bytes, size_t size);
  int32_t (*gather_keys)(struct policy_call *call);

  // Not for Lua.
  const struct batch_header *header; ///< of the batch; NULL: its producer is not known

  const struct policy *policy;  ///< that runs
  struct policy_output *output; ///< likewise; NULL: of partitioners
  int64_t made_bytes;           ///< taken of output->limit_bytes
  int32_t extra_room;           ///< allocated of output->extras
  int32_t reject_room;          ///< allocated of output->rejects
  int32_t header_count;         ///< headers in `scratch`
  uint8_t *scratch;             ///< headers of a record that is being made, as they are in a batch; owned
  size_t scratch_size;          ///< bytes
  size_t scratch_room;          ///< allocated
  uint32_t keys_room;           ///< allocated of `keys`
  uint32_t key_bytes_room;      ///< likewise of `key_bytes`
};

/// Bytes of struct policy_call that LuaJIT is told of.
#define POLICY_CALL_SHARED_BYTES offsetof(struct policy_call, header)

enum { POLICY_VM_INTERPRETED, POLICY_VM_COMPILED, POLICY_VM_STATES };

struct lua_policy_vm {
  struct policy_vm base;                      ///< what others see
  const struct policy_set *set;               ///< borrowed
  struct lua_state *states[POLICY_VM_STATES]; ///< owned; NULL: not needed
  struct policy_call call;                    ///< the one under way
};

// ---- policy_vm_edit.c ----

/// Makes the record at hand one that may be changed.
void policy_vm_edit(struct policy_call *call);

/// Sets key or value of the record at hand; NULL: null. The bytes are copied.
///
/// @return 0, ERR_LIMIT
int policy_vm_set_bytes(struct policy_call *call, int field, const char *bytes, size_t size);

/// Looks for the last header of a name, which is the one that counts in Kafka; `found` and `found_size` are its value.
///
/// @return 1, 0: there is none
int policy_vm_find_header(struct policy_call *call, const char *name, size_t size);

/// Which header of the record at hand is to change.
struct policy_header_change {
  int32_t index;     ///< from 0; the number of headers: one more behind them; -1: by name
  const char *name;  ///< of the header, old and new
  size_t name_size;  ///< bytes
  const char *value; ///< NULL: null
  size_t value_size; ///< bytes
  bool is_removal;   ///< take it away instead
};

/// Changes a header. By name: the first of that name is replaced and others of it go, and where there is none, one is
/// added behind the others.
///
/// @return 0, ERR_LIMIT
int policy_vm_set_header(struct policy_call *call, const struct policy_header_change *change);

/// Adds a header to those of a record that is being made.
///
/// @return 0, ERR_LIMIT
int policy_vm_make_header(struct policy_call *call, const char *name, size_t name_size, const char *value,
                          size_t value_size);

/// Gives the headers that were made to the record at hand, or to `view`.
///
/// @return 0, ERR_LIMIT
int policy_vm_take_headers(struct policy_call *call, struct record_view *view);

/// Copies bytes for the output; NULL stays NULL.
///
/// @return 0, ERR_LIMIT
int policy_vm_keep_bytes(struct policy_call *call, const char *bytes, size_t size, const uint8_t **kept);

/// Lets `view` take the place of the record at hand, or adds it as one more.
///
/// @param topic  of one more: NULL: for the same partition; borrowed for the call
/// @return 0, ERR_LIMIT
int policy_vm_replace(struct policy_call *call, const struct record_view *view);
int policy_vm_add(struct policy_call *call, const struct record_view *view, const char *topic, int32_t partition);

/// Says why the record at hand is refused; the first reason counts.
///
/// @param text  `size` bytes with a NUL behind them
/// @return 0, ERR_LIMIT
int policy_vm_reject(struct policy_call *call, const char *text, size_t size);

uint32_t policy_vm_hash(const uint8_t *bytes, size_t size);

// ---- policy_vm_keys.c ----

/// Gathers the keys of the record at hand, `index`, and of those behind it, as many as may be in one string: `keys`,
/// `key_bytes` and `keys_size`. Whoever has made the string sets `keys_end`.
///
/// @return records whose keys there are; 0: that of the record at hand is too large
int32_t policy_vm_gather_keys(struct policy_call *call);

/// For another batch: nothing is gathered of it.
void policy_vm_forget_keys(struct policy_call *call);

void policy_vm_free_keys(struct policy_call *call);

// ---- policy_vm_record.c ----

/// Registry keys: functions of luka.policy.run and of policy_vm_native.c.
#define POLICY_VM_SPREAD "luka.policy.spread"
#define POLICY_VM_SET_HEADERS "luka.policy.set_headers"

/// Pushes the metatables of records and of headers.
void policy_vm_push_metas(struct lua_State *vm, const struct policy_call *call);

/// Pushes an object for the record at hand, or for its headers, by the metatable.
void policy_vm_push_ref(struct lua_State *vm, const struct policy_call *call, int metatable);

/// Whether a value is an object with that metatable; then, whether it is about the record at hand.
bool policy_vm_is_ref(struct lua_State *vm, int index, int metatable);
bool policy_vm_is_at_hand(struct lua_State *vm, int index, const struct policy_call *call);

/// Raises when a result is ERR_LIMIT; returns 0.
int policy_vm_check_limit(struct lua_State *vm, const struct policy_call *call, int result);

// ---- policy_vm_native.c ----

/// Pushes the table of functions for luka.policy.run. In protected mode.
void policy_vm_push_natives(struct lua_State *vm, struct policy_call *call);

// ---- policy_vm_failure.c ----

/// Writes a failure: policy, place, what. `text` may begin with a place; without one it is where the policy was
/// defined.
void policy_vm_fail(const struct policy_call *call, const struct policy_set *set, const char *text, int32_t index,
                    struct policy_failure *failure);

/// The same for any policy of a set, called for a topic (policy_title()); leaves `failure->index` alone.
void policy_vm_describe(const struct policy_set *set, const struct policy *policy, const char *topic, const char *text,
                        struct policy_failure *failure);
