// SPDX-License-Identifier: Apache-2.0
//
// What a log knows of the idempotent producers that wrote to it (KIP-98): for each producer id its epoch and its last
// five batches. A batch that was stored before is recognised by its sequence numbers, a gap is refused.
//
//   batch                                        verdict
//   epoch and sequences of one of the last five  duplicate: nothing is written, the first offset is told again
//   older epoch                                  ERR_INVALID_PRODUCER_EPOCH
//   newer epoch                                  has to begin with sequence 0
//   same epoch                                   has to follow the last sequence; 0 follows INT32_MAX
//   producer id that is not known                any sequence: its state may have expired
//
// A partitioner of the broker's divides the batches of one producer among partitions; each gets shares, of ids from
// 2^62 on (record/split.h), and others get what comes between. For such ids:
//
//   newer epoch                                  any sequence
//   same epoch                                   has to be beyond the last sequence
//
// The same holds once for a producer's own id where batches that it addressed to the partition may have been divided
// since its last one there: when a topic has a partitioner no more, its sequences go on behind those.
//
// "Beyond" is modulo 2^31, and no more than SHARE_SEQUENCES_BACK before the last sequence is what lies behind it: so
// much is far more than a producer can have under way, and everything else is ahead.
//
// A producer is forgotten when it has not written for producer.id.expiration.ms of the broker's clock, counted from the
// start of the broker for what was written before; the times in records do not matter. At most PRODUCERS_MAX are
// remembered; for one more the one that was silent longest is forgotten. One whose transaction is open stays: the last
// stable offset depends on it.
//
// Owner: the appender of the partition, but for producers_oldest_ms(). In a snapshot file, as Kafka has it:
//
//   version 2 (1)  |  CRC-32C of what follows 4  |  count 4  |  for each producer: id 8, epoch 2, last sequence 4,
//   last offset 8, offset delta 4, timestamp 8, coordinator epoch 4 (-1), first offset of its transaction 8 (-1)
//
// Kafka keeps the last batch only. The earlier ones follow where Kafka does not look, if there are any: "LUKA" 4,
// count 4, and for each, oldest first: producer id 8, last sequence 4, last offset 8, offset delta 4, timestamp 8.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum {
  PRODUCER_BATCHES = 5,           ///< batches remembered of each producer; Kafka's number, clients rely on it
  PRODUCERS_MAX = 50000,          ///< producers remembered in one log
  PRODUCER_DUPLICATE = 1,         ///< verdict: the batch is stored already
  SHARE_SEQUENCES_BACK = 1 << 28, ///< sequences that count as older than the last, for ids of shares
};

/// A batch that was stored.
struct producer_batch {
  int32_t last_sequence; ///< of its last record
  int32_t offset_delta;  ///< last offset minus first; the same between sequences, modulo 2^31
  int64_t last_offset;   ///< of its last record
  int64_t timestamp;     ///< its largest timestamp
};

/// One producer.
struct producer {
  struct producer *next;                           ///< in its hash slot
  struct list node;                                ///< by age
  int64_t id;                                      ///< producer id, >= 0
  int64_t seen_ms;                                 ///< wall time of its last append, or of the load
  int64_t timestamp;                               ///< of its last batch or marker
  int64_t txn_first_offset;                        ///< where its open transaction begins, -1: none is open
  int16_t epoch;                                   ///< its latest epoch
  int16_t count;                                   ///< batches
  struct producer_batch batches[PRODUCER_BATCHES]; ///< oldest first
};

struct producer_undo;

/// All producers of a log. Embed it.
struct producers {
  struct producer **slots;    ///< hash table by id, owned; NULL while empty
  size_t slot_count;          ///< a power of two, or 0
  int32_t count;              ///< producers
  struct list by_age;         ///< silent longest first
  _Atomic(int64_t) oldest_ms; ///< `seen_ms` of the first, INT64_MAX: none
  struct producer_undo *undo; ///< what producers_add() changed since producers_begin(), owned
  int undo_count;             ///< entries
  int undo_room;              ///< slots allocated
};

/// A batch that a producer sent, or that lies in the log.
struct producer_append {
  int64_t producer_id;    ///< >= 0
  int64_t base_offset;    ///< first offset; out of producers_check() for a duplicate
  int64_t timestamp;      ///< largest timestamp; out of producers_check() for a duplicate
  int64_t divided_ms;     ///< wall time of the last batch addressed here that was divided; 0: none was
  int32_t first_sequence; ///< >= 0
  int32_t offset_delta;   ///< last offset minus first, >= 0
  int16_t epoch;          ///< producer epoch
  bool is_control;        ///< a marker: it has no sequence, and ends the transaction
  bool is_transactional;  ///< part of a transaction
};

void producers_create(struct producers *producers);
void producers_destroy(struct producers *producers);

/// Forgets everybody.
void producers_clear(struct producers *producers);

/// Judges a batch by the table above.
///
/// @return 0: append it; PRODUCER_DUPLICATE; ERR_OUT_OF_ORDER_SEQUENCE, ERR_INVALID_PRODUCER_EPOCH
int producers_check(const struct producers *producers, struct producer_append *batch);

/// Whether a sequence comes after another, where there may be others between them. Any thread.
bool producers_is_beyond(int32_t last_sequence, int32_t first_sequence);

/// Begins a row of additions that can be taken back.
void producers_begin(struct producers *producers);

/// Notes a batch without judging it.
///
/// @param now_ms  wall time
/// @param mark    number in a row of batches, rising, for producers_undo(); -1: for good
void producers_add(struct producers *producers, const struct producer_append *batch, int64_t now_ms, int mark);

/// Takes back the batches that were added with a mark of at least `mark` since producers_begin(): they are not in the
/// log.
void producers_undo(struct producers *producers, int mark);

/// Forgets who has been silent for `expiration_ms`. @return how many
int producers_expire(struct producers *producers, int64_t now_ms, int64_t expiration_ms);

/// When the one that is silent longest was seen, INT64_MAX: none. Any thread.
int64_t producers_oldest_ms(const struct producers *producers);

/// The producer with an id, borrowed until the next change; NULL: not known.
const struct producer *producers_find(const struct producers *producers, int64_t id);

/// The bytes of a snapshot. Owned: mem_free().
uint8_t *producers_pack(const struct producers *producers, size_t *size);

/// Takes over a snapshot in place of what was known.
///
/// @return 0, or with nobody known: ERR_CORRUPT, ERR_UNSUPPORTED_VERSION
int producers_unpack(struct producers *producers, const uint8_t *bytes, size_t size, int64_t now_ms);
