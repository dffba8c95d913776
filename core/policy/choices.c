// SPDX-License-Identifier: Apache-2.0
#include "policy/choices.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"

enum {
  CHOICES_SLOTS = 4096, // of the hash table; some thousand producers fit into the memory
  CHOICES_BATCHES = 5,  // as many as a log knows of a producer, and a client has under way
};

/// One batch: its choices follow in as few bytes each as all of them need.
struct choices_batch {
  int32_t sequence; ///< of its first record
  int32_t count;    ///< records
  uint32_t crc;     ///< of its bytes
  int16_t epoch;    ///< of the producer
  int16_t width;    ///< bytes of each choice: 1, 2, 4; 0: nothing is here
  uint8_t *bytes;   ///< owned
};

/// One producer at one partition.
struct choices_entry {
  struct choices_entry *next; ///< in its slot
  struct list node;           ///< by age
  struct uuid topic_id;       ///< the key
  int64_t producer_id;        ///< likewise
  int32_t partition;          ///< likewise
  int newest;                 ///< index of the batch that was kept last
  struct choices_batch batches[CHOICES_BATCHES];
};

struct policy_choices {
  struct choices_entry *slots[CHOICES_SLOTS]; ///< by hash of the key
  struct list by_age;                         ///< used longest ago first
  int64_t bytes;                              ///< of all entries and their batches
};

struct policy_choices *policy_choices_new(void)
{
  struct policy_choices *choices = mem_zalloc(sizeof *choices);
  list_create(&choices->by_age);
  return choices;
}

static struct choices_entry **choices_slot(struct policy_choices *choices, const struct uuid *topic_id,
                                           int32_t partition, int64_t producer_id)
{
  uint64_t hash = hash_bytes(topic_id, sizeof *topic_id, (uint64_t)(uint32_t)partition);
  hash = hash_mix(hash ^ (uint64_t)producer_id, UINT64_C(0x9e3779b97f4a7c15));
  struct choices_entry **link = &choices->slots[hash % CHOICES_SLOTS];
  while (*link != NULL && ((*link)->producer_id != producer_id || (*link)->partition != partition ||
                           !uuid_equal(&(*link)->topic_id, topic_id))) {
    link = &(*link)->next;
  }
  return link;
}

static int64_t choices_batch_bytes(const struct choices_batch *batch)
{
  return (int64_t)batch->width * batch->count;
}

static void choices_forget(struct policy_choices *choices, struct choices_entry *entry)
{
  struct choices_entry **link = choices_slot(choices, &entry->topic_id, entry->partition, entry->producer_id);
  *link = entry->next;
  list_remove(&entry->node);
  choices->bytes -= (int64_t)sizeof *entry;
  for (int i = 0; i < CHOICES_BATCHES; i++) {
    choices->bytes -= choices_batch_bytes(&entry->batches[i]);
    mem_free(entry->batches[i].bytes);
  }
  mem_free(entry);
}

void policy_choices_delete(struct policy_choices *choices)
{
  while (!list_is_empty(&choices->by_age)) {
    choices_forget(choices, CONTAINER_OF(choices->by_age.next, struct choices_entry, node));
  }
  mem_free(choices);
}

bool policy_choices_find(struct policy_choices *choices, const struct policy_choices_key *key, int32_t *chosen,
                         int32_t count)
{
  const struct choices_entry *entry = *choices_slot(choices, &key->topic_id, key->partition, key->producer_id);
  for (int i = 0; entry != NULL && i < CHOICES_BATCHES; i++) {
    const struct choices_batch *batch = &entry->batches[i];
    if (batch->width == 0 || batch->sequence != key->sequence || batch->epoch != key->epoch || batch->crc != key->crc ||
        batch->count != count) {
      continue;
    }
    for (int32_t j = 0; j < count; j++) {
      uint32_t choice = 0;
      for (int k = 0; k < batch->width; k++) {
        choice |= (uint32_t)batch->bytes[(size_t)j * (size_t)batch->width + (size_t)k] << (8 * k);
      }
      chosen[j] = (int32_t)choice;
    }
    return true;
  }
  return false;
}

void policy_choices_keep(struct policy_choices *choices, const struct policy_choices_key *key, const int32_t *chosen,
                         int32_t count)
{
  struct choices_entry **link = choices_slot(choices, &key->topic_id, key->partition, key->producer_id);
  struct choices_entry *entry = *link;
  if (entry == NULL) {
    entry = mem_zalloc(sizeof *entry);
    entry->topic_id = key->topic_id;
    entry->partition = key->partition;
    entry->producer_id = key->producer_id;
    *link = entry;
    choices->bytes += (int64_t)sizeof *entry;
  } else {
    list_remove(&entry->node);
  }
  list_append(&choices->by_age, &entry->node);
  uint32_t all = 0;
  for (int32_t i = 0; i < count; i++) {
    all |= (uint32_t)chosen[i];
  }
  entry->newest = (entry->newest + 1) % CHOICES_BATCHES;
  struct choices_batch *batch = &entry->batches[entry->newest];
  choices->bytes -= choices_batch_bytes(batch);
  mem_free(batch->bytes);
  *batch = (struct choices_batch){.sequence = key->sequence,
                                  .count = count,
                                  .crc = key->crc,
                                  .epoch = key->epoch,
                                  .width = all < 256     ? 1
                                           : all < 65536 ? 2
                                                         : 4};
  choices->bytes += choices_batch_bytes(batch);
  batch->bytes = mem_alloc((size_t)choices_batch_bytes(batch));
  for (int32_t i = 0; i < count; i++) {
    for (int k = 0; k < batch->width; k++) {
      batch->bytes[(size_t)i * (size_t)batch->width + (size_t)k] = (uint8_t)((uint32_t)chosen[i] >> (8 * k));
    }
  }
  while (choices->bytes > POLICY_CHOICES_BYTES_MAX && choices->by_age.next != &entry->node) {
    choices_forget(choices, CONTAINER_OF(choices->by_age.next, struct choices_entry, node));
  }
}
