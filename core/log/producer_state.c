// SPDX-License-Identifier: Apache-2.0
#include "log/producer_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "record/split.h"

enum {
  SNAPSHOT_VERSION = 1,
  SNAPSHOT_CRC_POS = 2,
  SNAPSHOT_COUNT_POS = 6, // what the CRC covers begins here
  SNAPSHOT_HEADER_SIZE = 10,
  SNAPSHOT_PRODUCER_SIZE = 46,
  SNAPSHOT_EARLIER_HEADER_SIZE = 8,
  SNAPSHOT_EARLIER_SIZE = 32,
  SNAPSHOT_EARLIER_MAGIC = 0x4c554b41, // "LUKA"
  SLOTS_MIN = 8,
};

/// What a producer was before a batch was added.
struct producer_undo {
  int mark;               ///< of the batch
  bool was_known;         ///< false: the batch made the producer known
  struct producer before; ///< its values; the links are not meant
};

void producers_create(struct producers *producers)
{
  *producers = (struct producers){0};
  list_create(&producers->by_age);
  atomic_init(&producers->oldest_ms, INT64_MAX);
}

void producers_destroy(struct producers *producers)
{
  producers_clear(producers);
  mem_free(producers->undo);
  producers->undo = NULL;
  producers->undo_room = 0;
}

// --- the table -------------------------------------------------------------------------------------------------------

static size_t slot_of(const struct producers *producers, int64_t id)
{
  return (size_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (producers->slot_count - 1);
}

static struct producer *find(const struct producers *producers, int64_t id)
{
  if (producers->slot_count == 0) {
    return NULL;
  }
  struct producer *producer = producers->slots[slot_of(producers, id)];
  while (producer != NULL && producer->id != id) {
    producer = producer->next;
  }
  return producer;
}

const struct producer *producers_find(const struct producers *producers, int64_t id)
{
  return find(producers, id);
}

int64_t producers_oldest_ms(const struct producers *producers)
{
  return atomic_load_explicit(&producers->oldest_ms, memory_order_relaxed);
}

static struct producer *oldest(const struct producers *producers)
{
  return CONTAINER_OF(producers->by_age.next, struct producer, node);
}

static void note_oldest(struct producers *producers)
{
  int64_t seen_ms = list_is_empty(&producers->by_age) ? INT64_MAX : oldest(producers)->seen_ms;
  atomic_store_explicit(&producers->oldest_ms, seen_ms, memory_order_relaxed);
}

static void forget(struct producers *producers, struct producer *producer)
{
  struct producer **link = &producers->slots[slot_of(producers, producer->id)];
  while (*link != producer) {
    link = &(*link)->next;
  }
  *link = producer->next;
  list_remove(&producer->node);
  producers->count--;
  mem_free(producer);
}

void producers_clear(struct producers *producers)
{
  while (!list_is_empty(&producers->by_age)) {
    forget(producers, oldest(producers));
  }
  mem_free(producers->slots);
  producers->slots = NULL;
  producers->slot_count = 0;
  producers->undo_count = 0;
  note_oldest(producers);
}

static void grow(struct producers *producers)
{
  size_t old_count = producers->slot_count;
  struct producer **old = producers->slots;
  producers->slot_count = old_count == 0 ? SLOTS_MIN : old_count * 2;
  producers->slots = mem_zalloc(producers->slot_count * sizeof(struct producer *));
  for (size_t i = 0; i < old_count; i++) {
    while (old[i] != NULL) {
      struct producer *producer = old[i];
      old[i] = producer->next;
      size_t slot = slot_of(producers, producer->id);
      producer->next = producers->slots[slot];
      producers->slots[slot] = producer;
    }
  }
  mem_free(old);
}

/// Makes room for one more: without the oldest that has no open transaction, if there is one.
static void evict(struct producers *producers)
{
  LIST_EACH(&producers->by_age, node) {
    struct producer *producer = CONTAINER_OF(node, struct producer, node);
    if (producer->txn_first_offset < 0) {
      forget(producers, producer);
      return;
    }
  }
  forget(producers, oldest(producers));
}

static struct producer *insert(struct producers *producers, int64_t id, int16_t epoch)
{
  if (producers->count >= PRODUCERS_MAX) {
    evict(producers);
  }
  if ((size_t)producers->count >= producers->slot_count) {
    grow(producers);
  }
  struct producer *producer = mem_zalloc(sizeof *producer);
  producer->id = id;
  producer->epoch = epoch;
  producer->txn_first_offset = -1;
  size_t slot = slot_of(producers, id);
  producer->next = producers->slots[slot];
  producers->slots[slot] = producer;
  list_append(&producers->by_age, &producer->node);
  producers->count++;
  return producer;
}

// --- judging ---------------------------------------------------------------------------------------------------------

/// A sequence and a distance: after INT32_MAX comes 0.
static int32_t sequence_add(int32_t sequence, int32_t distance)
{
  return (int32_t)(((uint32_t)sequence + (uint32_t)distance) & INT32_MAX);
}

bool producers_is_beyond(int32_t last_sequence, int32_t first_sequence)
{
  uint32_t distance = ((uint32_t)first_sequence - (uint32_t)last_sequence) & INT32_MAX;
  return distance > 0 && distance <= INT32_MAX - (uint32_t)SHARE_SEQUENCES_BACK;
}

int producers_check(const struct producers *producers, struct producer_append *batch)
{
  const struct producer *producer = find(producers, batch->producer_id);
  if (producer == NULL || batch->is_control) {
    return 0;
  }
  if (batch->epoch < producer->epoch) {
    return error_set(ERR_INVALID_PRODUCER_EPOCH, "producer %" PRId64 " has epoch %d, its batch %d", producer->id,
                     producer->epoch, batch->epoch);
  }
  int32_t last_sequence = sequence_add(batch->first_sequence, batch->offset_delta);
  int32_t expected = 0;
  bool has_gaps =
      batch_is_share_producer_id(producer->id) || (batch->divided_ms > 0 && producer->seen_ms <= batch->divided_ms);
  bool is_next = has_gaps || batch->first_sequence == expected;
  if (batch->epoch == producer->epoch && producer->count > 0) {
    for (int i = 0; i < producer->count; i++) {
      const struct producer_batch *stored = &producer->batches[i];
      if (stored->last_sequence == last_sequence && stored->offset_delta == batch->offset_delta) {
        batch->base_offset = stored->last_offset - stored->offset_delta;
        batch->timestamp = stored->timestamp;
        return PRODUCER_DUPLICATE;
      }
    }
    int32_t last = producer->batches[producer->count - 1].last_sequence;
    expected = sequence_add(last, 1);
    is_next = has_gaps ? producers_is_beyond(last, batch->first_sequence) : batch->first_sequence == expected;
  }
  if (!is_next) {
    return error_set(ERR_OUT_OF_ORDER_SEQUENCE,
                     "producer %" PRId64 ": sequence %" PRId32 " came where %" PRId32 " was due", producer->id,
                     batch->first_sequence, expected);
  }
  return 0;
}

// --- changes ---------------------------------------------------------------------------------------------------------

void producers_begin(struct producers *producers)
{
  producers->undo_count = 0;
}

static void remember(struct producers *producers, int64_t id, const struct producer *producer, int mark)
{
  if (producers->undo_count == producers->undo_room) {
    producers->undo_room = producers->undo_room * 2 + 4;
    producers->undo = mem_realloc(producers->undo, (size_t)producers->undo_room * sizeof *producers->undo);
  }
  struct producer_undo *undo = &producers->undo[producers->undo_count++];
  *undo = (struct producer_undo){.mark = mark, .was_known = producer != NULL};
  if (producer != NULL) {
    undo->before = *producer;
  }
  undo->before.id = id;
}

static void push_batch(struct producer *producer, const struct producer_batch *batch)
{
  if (producer->count == PRODUCER_BATCHES) {
    memmove(producer->batches, producer->batches + 1, sizeof producer->batches - sizeof producer->batches[0]);
    producer->count--;
  }
  producer->batches[producer->count++] = *batch;
}

/// Makes a producer the one that was seen last.
static void touch(struct producers *producers, struct producer *producer, int64_t now_ms)
{
  producer->seen_ms = now_ms;
  list_remove(&producer->node);
  list_append(&producers->by_age, &producer->node);
}

void producers_add(struct producers *producers, const struct producer_append *batch, int64_t now_ms, int mark)
{
  struct producer *producer = find(producers, batch->producer_id);
  if (mark >= 0) {
    remember(producers, batch->producer_id, producer, mark);
  }
  if (producer == NULL) {
    producer = insert(producers, batch->producer_id, batch->epoch);
  }
  if (producer->epoch != batch->epoch) {
    producer->epoch = batch->epoch;
    producer->count = 0;
  }
  if (!batch->is_control) {
    push_batch(producer,
               &(struct producer_batch){.last_sequence = sequence_add(batch->first_sequence, batch->offset_delta),
                                        .offset_delta = batch->offset_delta,
                                        .last_offset = batch->base_offset + batch->offset_delta,
                                        .timestamp = batch->timestamp});
  }
  if (batch->is_control) {
    producer->txn_first_offset = -1;
  } else if (batch->is_transactional && producer->txn_first_offset < 0) {
    producer->txn_first_offset = batch->base_offset;
  }
  producer->timestamp = batch->timestamp;
  touch(producers, producer, now_ms);
  note_oldest(producers);
}

void producers_undo(struct producers *producers, int mark)
{
  while (producers->undo_count > 0 && producers->undo[producers->undo_count - 1].mark >= mark) {
    const struct producer_undo *undo = &producers->undo[--producers->undo_count];
    struct producer *producer = find(producers, undo->before.id);
    if (producer == NULL) {
      continue; // Forgotten meanwhile for want of room.
    }
    if (!undo->was_known) {
      forget(producers, producer);
      continue;
    }
    // Its age stays: it did send something.
    producer->timestamp = undo->before.timestamp;
    producer->txn_first_offset = undo->before.txn_first_offset;
    producer->epoch = undo->before.epoch;
    producer->count = undo->before.count;
    memcpy(producer->batches, undo->before.batches, sizeof producer->batches);
  }
  note_oldest(producers);
}

int producers_expire(struct producers *producers, int64_t now_ms, int64_t expiration_ms)
{
  int gone = 0;
  for (int32_t left = producers->count; left > 0 && now_ms - oldest(producers)->seen_ms >= expiration_ms; left--) {
    if (oldest(producers)->txn_first_offset >= 0) {
      touch(producers, oldest(producers), now_ms);
      continue;
    }
    forget(producers, oldest(producers));
    gone++;
  }
  note_oldest(producers);
  return gone;
}

// --- snapshots -------------------------------------------------------------------------------------------------------

static void pack_producer(uint8_t *at, const struct producer *producer)
{
  const struct producer_batch none = {.last_sequence = -1, .last_offset = -1};
  const struct producer_batch *last = producer->count > 0 ? &producer->batches[producer->count - 1] : &none;
  bytes_put_u64(at, (uint64_t)producer->id);
  bytes_put_u16(at + 8, (uint16_t)producer->epoch);
  bytes_put_u32(at + 10, (uint32_t)last->last_sequence);
  bytes_put_u64(at + 14, (uint64_t)last->last_offset);
  bytes_put_u32(at + 22, (uint32_t)last->offset_delta);
  bytes_put_u64(at + 26, (uint64_t)producer->timestamp);
  bytes_put_u32(at + 34, UINT32_MAX); // coordinator epoch: none
  bytes_put_u64(at + 38, (uint64_t)producer->txn_first_offset);
}

static void pack_earlier(uint8_t *at, const struct producer *producer, const struct producer_batch *batch)
{
  bytes_put_u64(at, (uint64_t)producer->id);
  bytes_put_u32(at + 8, (uint32_t)batch->last_sequence);
  bytes_put_u64(at + 12, (uint64_t)batch->last_offset);
  bytes_put_u32(at + 20, (uint32_t)batch->offset_delta);
  bytes_put_u64(at + 24, (uint64_t)batch->timestamp);
}

uint8_t *producers_pack(const struct producers *producers, size_t *size)
{
  uint32_t earlier = 0;
  for (const struct list *node = producers->by_age.next; node != &producers->by_age; node = node->next) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    earlier += producer->count > 1 ? (uint32_t)producer->count - 1 : 0;
  }
  size_t earlier_size = earlier > 0 ? SNAPSHOT_EARLIER_HEADER_SIZE + (size_t)earlier * SNAPSHOT_EARLIER_SIZE : 0;
  *size = SNAPSHOT_HEADER_SIZE + (size_t)producers->count * SNAPSHOT_PRODUCER_SIZE + earlier_size;
  uint8_t *bytes = mem_alloc(*size);
  bytes_put_u16(bytes, SNAPSHOT_VERSION);
  bytes_put_u32(bytes + SNAPSHOT_COUNT_POS, (uint32_t)producers->count);
  uint8_t *at = bytes + SNAPSHOT_HEADER_SIZE;
  uint8_t *earlier_at = at + (size_t)producers->count * SNAPSHOT_PRODUCER_SIZE;
  if (earlier > 0) {
    bytes_put_u32(earlier_at, SNAPSHOT_EARLIER_MAGIC);
    bytes_put_u32(earlier_at + 4, earlier);
    earlier_at += SNAPSHOT_EARLIER_HEADER_SIZE;
  }
  for (const struct list *node = producers->by_age.next; node != &producers->by_age; node = node->next) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    pack_producer(at, producer);
    at += SNAPSHOT_PRODUCER_SIZE;
    for (int i = 0; i + 1 < producer->count; i++) {
      pack_earlier(earlier_at, producer, &producer->batches[i]);
      earlier_at += SNAPSHOT_EARLIER_SIZE;
    }
  }
  bytes_put_u32(bytes + SNAPSHOT_CRC_POS, crc32c(bytes + SNAPSHOT_COUNT_POS, *size - SNAPSHOT_COUNT_POS));
  return bytes;
}

/// Puts an earlier batch before the last one, which has been read already.
static void unpack_earlier(struct producers *producers, const uint8_t *at)
{
  struct producer *producer = find(producers, (int64_t)bytes_get_u64(at));
  struct producer_batch batch = {.last_sequence = (int32_t)bytes_get_u32(at + 8),
                                 .last_offset = (int64_t)bytes_get_u64(at + 12),
                                 .offset_delta = (int32_t)bytes_get_u32(at + 20),
                                 .timestamp = (int64_t)bytes_get_u64(at + 24)};
  if (producer == NULL || producer->count == 0 || producer->count == PRODUCER_BATCHES || batch.last_sequence < 0 ||
      batch.offset_delta < 0 || batch.last_offset < batch.offset_delta) {
    return;
  }
  producer->batches[producer->count] = producer->batches[producer->count - 1];
  producer->batches[producer->count - 1] = batch;
  producer->count++;
}

static int unpack_producer(struct producers *producers, const uint8_t *at, int64_t now_ms)
{
  int64_t id = (int64_t)bytes_get_u64(at);
  struct producer_batch batch = {.last_sequence = (int32_t)bytes_get_u32(at + 10),
                                 .last_offset = (int64_t)bytes_get_u64(at + 14),
                                 .offset_delta = (int32_t)bytes_get_u32(at + 22),
                                 .timestamp = (int64_t)bytes_get_u64(at + 26)};
  if (id < 0 || find(producers, id) != NULL) {
    return error_set(ERR_CORRUPT, "producer id %" PRId64 " is not valid or stands there twice", id);
  }
  struct producer *producer = insert(producers, id, (int16_t)bytes_get_u16(at + 8));
  int64_t txn_first_offset = (int64_t)bytes_get_u64(at + 38);
  producer->txn_first_offset = txn_first_offset >= 0 ? txn_first_offset : -1;
  producer->timestamp = batch.timestamp;
  producer->seen_ms = now_ms;
  if (batch.last_sequence >= 0 && batch.offset_delta >= 0 && batch.last_offset >= batch.offset_delta) {
    push_batch(producer, &batch);
  }
  return 0;
}

static int unpack(struct producers *producers, const uint8_t *bytes, size_t size, int64_t now_ms)
{
  if (size < SNAPSHOT_HEADER_SIZE) {
    return error_set(ERR_CORRUPT, "%zu bytes are no snapshot", size);
  }
  if (bytes_get_u16(bytes) != SNAPSHOT_VERSION) {
    return error_set(ERR_UNSUPPORTED_VERSION, "snapshot version %d", bytes_get_u16(bytes));
  }
  if (bytes_get_u32(bytes + SNAPSHOT_CRC_POS) != crc32c(bytes + SNAPSHOT_COUNT_POS, size - SNAPSHOT_COUNT_POS)) {
    return error_set(ERR_CORRUPT, "the checksum of the snapshot is wrong");
  }
  uint32_t count = bytes_get_u32(bytes + SNAPSHOT_COUNT_POS);
  size_t left = size - SNAPSHOT_HEADER_SIZE;
  if (count > left / SNAPSHOT_PRODUCER_SIZE) {
    return error_set(ERR_CORRUPT, "the snapshot ends before its %" PRIu32 " producers do", count);
  }
  const uint8_t *at = bytes + SNAPSHOT_HEADER_SIZE;
  for (uint32_t i = 0; i < count; i++, at += SNAPSHOT_PRODUCER_SIZE) {
    TRY(unpack_producer(producers, at, now_ms));
  }
  left -= (size_t)count * SNAPSHOT_PRODUCER_SIZE;
  if (left < SNAPSHOT_EARLIER_HEADER_SIZE || bytes_get_u32(at) != SNAPSHOT_EARLIER_MAGIC) {
    return 0; // Kafka's own.
  }
  uint32_t earlier = bytes_get_u32(at + 4);
  at += SNAPSHOT_EARLIER_HEADER_SIZE;
  if (earlier > (left - SNAPSHOT_EARLIER_HEADER_SIZE) / SNAPSHOT_EARLIER_SIZE) {
    return error_set(ERR_CORRUPT, "the snapshot ends before its %" PRIu32 " earlier batches do", earlier);
  }
  for (uint32_t i = 0; i < earlier; i++, at += SNAPSHOT_EARLIER_SIZE) {
    unpack_earlier(producers, at);
  }
  return 0;
}

int producers_unpack(struct producers *producers, const uint8_t *bytes, size_t size, int64_t now_ms)
{
  producers_clear(producers);
  int result = unpack(producers, bytes, size, now_ms);
  if (result < 0) {
    producers_clear(producers);
  }
  note_oldest(producers);
  return result;
}
