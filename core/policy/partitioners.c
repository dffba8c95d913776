// SPDX-License-Identifier: Apache-2.0
#include "policy/partitioners.h"

#include <stdio.h>
#include <string.h>

#include "base/crc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "policy/policy.h"
#include "record/batch.h"
#include "record/iterate.h"

enum { RANGE_BOUNDS_MAX = 64 }; // each record is compared with all of them

/// Names as luka.partitioner has them; those that end with a colon are told something.
static const struct {
  const char *name;         ///< what the text begins with
  enum policy_builtin kind; ///< which it is
} choices[] = {
    {"murmur2", POLICY_MURMUR2}, {"consistent", POLICY_CRC32}, {"round_robin", POLICY_ROUND_ROBIN},
    {"sticky", POLICY_STICKY},   {"header:", POLICY_HEADER},   {"range:", POLICY_RANGE},
};

const char *policy_choice_names(void)
{
  return "murmur2, consistent, round_robin, sticky, header:NAME, range:BOUND,...";
}

// ---- names ----

/// Orders as memcmp() does, the shorter one first where one begins with the other.
static int compare_bytes(const uint8_t *left, size_t left_size, const uint8_t *right, size_t right_size)
{
  size_t shorter = left_size < right_size ? left_size : right_size;
  int order = shorter > 0 ? memcmp(left, right, shorter) : 0;
  return order != 0 ? order : (left_size > right_size) - (left_size < right_size);
}

/// Takes the next of the bounds; `*left` becomes what follows it. @return false at the end
static bool next_bound(const char **at, size_t *left, const uint8_t **bound, size_t *size)
{
  if (*at == NULL) {
    return false;
  }
  const char *comma = memchr(*at, ',', *left);
  *bound = (const uint8_t *)*at;
  *size = comma != NULL ? (size_t)(comma - *at) : *left;
  *left -= *size + (comma != NULL ? 1 : 0);
  *at = comma != NULL ? comma + 1 : NULL;
  return true;
}

static int check_bounds(const struct policy_choice *choice, char *message, size_t message_size)
{
  const char *at = choice->argument;
  size_t left = choice->argument_size;
  const uint8_t *bound;
  const uint8_t *before = NULL;
  size_t size;
  size_t before_size = 0;
  for (int count = 1; next_bound(&at, &left, &bound, &size); count++) {
    if (count > RANGE_BOUNDS_MAX) {
      snprintf(message, message_size, "range: has more than %d bounds", RANGE_BOUNDS_MAX);
      return ERR_CONFIG;
    }
    if (size == 0 || (before != NULL && compare_bytes(before, before_size, bound, size) >= 0)) {
      snprintf(message, message_size, "the bounds of range: have to rise, and none may be empty: range:a,m,t");
      return ERR_CONFIG;
    }
    before = bound;
    before_size = size;
  }
  return 0;
}

int policy_choice_read(const char *text, size_t size, struct policy_choice *out, char *message, size_t message_size)
{
  for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
    size_t length = strlen(choices[i].name);
    bool has_argument = choices[i].name[length - 1] == ':';
    if ((has_argument ? size < length : size != length) || memcmp(text, choices[i].name, length) != 0) {
      continue;
    }
    struct policy_choice choice = {.kind = choices[i].kind, .argument = text + length, .argument_size = size - length};
    if (has_argument && choice.argument_size == 0) {
      snprintf(message, message_size, "%s needs an argument: %s", choices[i].name,
               choice.kind == POLICY_HEADER ? "header:NAME" : "range:a,m,t");
      return ERR_CONFIG;
    }
    if (choice.kind == POLICY_RANGE) {
      TRY(check_bounds(&choice, message, message_size));
    }
    *out = choice;
    return 0;
  }
  return ERR_NOT_FOUND;
}

int policy_check_partitioner(const struct policy_set *set, const char *name, char *message, size_t message_size)
{
  char fault[256];
  struct policy_choice choice;
  size_t length = strlen(name);
  int result = policy_choice_read(name, length, &choice, fault, sizeof fault);
  if (result == 0) {
    return 0;
  }
  if (result == ERR_CONFIG) {
    snprintf(message, message_size, "Invalid value %s for configuration luka.partitioner: %s", name, fault);
    return ERR_CONFIG;
  }
  if (policy_set_named(set, name, length) != NULL) {
    return 0;
  }
  size_t used = (size_t)snprintf(message, message_size,
                                 "Invalid value %s for configuration luka.partitioner: there is no partitioner of that "
                                 "name. There are: none, %s",
                                 name, policy_choice_names());
  for (int i = 0; set != NULL && i < set->named_count && used < message_size; i++) {
    used += (size_t)snprintf(message + used, message_size - used, ", %s", set->named[i].name);
  }
  return ERR_CONFIG;
}

// ---- turns ----

uint32_t policy_turn(struct policy_turns *turns, const struct policy_choice *choice, const struct uuid *topic_id,
                     int32_t addressed, const struct batch_header *header)
{
  if (header->producer_id >= 0) {
    uint64_t who = hash_mix((uint64_t)header->producer_id ^ UINT64_C(0x9e3779b97f4a7c15),
                            (uint64_t)(uint32_t)addressed + UINT64_C(0xd6e8feb86659fd93));
    // Sequences count records. One record after another is what round robin wants; for whole batches, which are of any
    // size, the sequence is spread, as many batches of one size would else miss partitions.
    uint32_t sequence = (uint32_t)header->base_sequence;
    if (choice->kind == POLICY_ROUND_ROBIN) {
      return (uint32_t)(who >> 33) + sequence;
    }
    return (uint32_t)hash_mix(who ^ (sequence * UINT64_C(0x9e3779b97f4a7c15)), UINT64_C(0xff51afd7ed558ccd));
  }
  uint64_t place = hash_bytes(topic_id, sizeof *topic_id, (uint64_t)(uint32_t)addressed);
  uint32_t *next = &turns->next[place % POLICY_TURN_SLOTS];
  uint32_t turn = *next;
  *next += choice->kind == POLICY_ROUND_ROBIN && header->record_count > 0 ? (uint32_t)header->record_count : 1;
  return turn + (uint32_t)(place >> 40); // partitions that many clients address do not begin at the same one
}

// ---- choosing ----

uint32_t policy_murmur2(const uint8_t *bytes, size_t size)
{
  const uint32_t factor = 0x5bd1e995;
  uint32_t hash = UINT32_C(0x9747b28c) ^ (uint32_t)size;
  for (; size >= 4; bytes += 4, size -= 4) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word); // little-endian: base/bytes.h
    word *= factor;
    word ^= word >> 24;
    word *= factor;
    hash = (hash * factor) ^ word;
  }
  if (size > 0) {
    uint32_t rest = bytes[0] | (size > 1 ? (uint32_t)bytes[1] << 8 : 0) | (size > 2 ? (uint32_t)bytes[2] << 16 : 0);
    hash = (hash ^ rest) * factor;
  }
  hash ^= hash >> 13;
  hash *= factor;
  return hash ^ (hash >> 15);
}

int32_t policy_murmur2_partition(const uint8_t *key, size_t size, int32_t partitions)
{
  return (int32_t)((policy_murmur2(key, size) & INT32_MAX) % (uint32_t)partitions);
}

static int32_t choose_by_key(const struct record_view *record, uint32_t turn, int32_t partitions)
{
  return record->key_size < 0 ? (int32_t)(turn % (uint32_t)partitions)
                              : policy_murmur2_partition(record->key, (size_t)record->key_size, partitions);
}

static int32_t choose_by_header(const struct policy_choice *choice, const struct record_view *record, uint32_t turn,
                                int32_t partitions)
{
  struct record_header_iterator headers;
  struct record_header_view header;
  struct record_header_view found = {.value_size = -1};
  record_headers_open(record, &headers);
  while (record_headers_next(&headers, &header) > 0) {
    if ((size_t)header.key_size == choice->argument_size &&
        memcmp(header.key, choice->argument, choice->argument_size) == 0) {
      found = header;
    }
  }
  return found.value_size < 0 ? choose_by_key(record, turn, partitions)
                              : policy_murmur2_partition(found.value, (size_t)found.value_size, partitions);
}

static int32_t choose_by_range(const struct policy_choice *choice, const struct record_view *record, int32_t partitions)
{
  const char *at = choice->argument;
  size_t left = choice->argument_size;
  const uint8_t *bound;
  size_t size;
  int32_t partition = 0;
  while (record->key_size >= 0 && partition < partitions - 1 && next_bound(&at, &left, &bound, &size) &&
         compare_bytes(record->key, (size_t)record->key_size, bound, size) >= 0) {
    partition++;
  }
  return partition;
}

void policy_choose(const struct policy_choice *choice, uint32_t turn, const struct record_view *records, int32_t count,
                   int32_t partitions, int32_t *chosen)
{
  uint32_t divisor = (uint32_t)partitions;
  for (int32_t i = 0; i < count; i++) {
    const struct record_view *record = &records[i];
    switch (choice->kind) {
      case POLICY_CRC32:
        chosen[i] = (int32_t)(crc32_zlib(record->key, record->key_size > 0 ? (size_t)record->key_size : 0) % divisor);
        break;
      case POLICY_ROUND_ROBIN:
        chosen[i] = (int32_t)((turn + (uint32_t)i) % divisor);
        break;
      case POLICY_STICKY:
        chosen[i] = (int32_t)(turn % divisor);
        break;
      case POLICY_HEADER:
        chosen[i] = choose_by_header(choice, record, turn, partitions);
        break;
      case POLICY_RANGE:
        chosen[i] = choose_by_range(choice, record, partitions);
        break;
      default:
        chosen[i] = choose_by_key(record, turn, partitions);
    }
  }
}
