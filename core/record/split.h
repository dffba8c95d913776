// SPDX-License-Identifier: Apache-2.0
//
// What policies make of a batch, written as batches again: records divided among partitions, or some of them dropped and
// others replaced. The records that stay are copied as they are, but for their deltas; nothing is looked at twice.
//
//   batch_records_open() -> an array of records -> a policy decides -> batch_split_*() or batch_rewrite()
//
// One thread at a time; memory is kept from batch to batch.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/batch.h"
#include "record/buffer.h"
#include "record/iterate.h"

/// All records of a batch at once. All zero before the first use.
struct batch_records {
  struct batch_iterator iterator; ///< holds what was unpacked
  struct record_view *records;    ///< owned, kept for the next batch
  int32_t count;                  ///< records
  int32_t room;                   ///< allocated
};

/// Reads all records; the same rules as for batch_iterator_open().
///
/// @return 0; those of batch_iterator_open() and batch_iterator_next(). Close it in any case
int batch_records_open(struct batch_records *records, const uint8_t *bytes, size_t size, size_t limit);
void batch_records_close(struct batch_records *records);

/// How new batches are packed.
struct batch_packing {
  int codec;          ///< enum codec
  int level;          ///< CODEC_LEVEL_DEFAULT or a level of the codec
  size_t limit_bytes; ///< largest size of a batch as it is stored; beyond: ERR_BATCH_TOO_LARGE
};

/// The producer id that a share of an idempotent producer's batch carries: 2^62 + id x 2^20 + addressed partition. It has
/// the epoch of the client, and the sequence of its first record in the client's batch. -1 stays -1, and ids from 2^42 on
/// have no such: ERR_INVALID.
int64_t batch_share_producer_id(int64_t producer_id, int32_t partition);

/// Whether a producer id is one of those: then sequences of a log need but grow (log/producer_state.h).
static inline bool batch_is_share_producer_id(int64_t producer_id)
{
  return producer_id >= INT64_C(1) << 62;
}

/// One partition's share of a batch.
struct batch_share {
  int32_t partition;         ///< chosen
  int32_t count;             ///< records
  struct record_buffer out;  ///< the batch, owned by the split; its base offset is 0
};

/// Embed it; all zero before the first use.
struct batch_split {
  struct batch_share *shares; ///< owned: those with records, by the partition of the batch's records as they come
  int32_t count;              ///< how many
  int32_t room;               ///< allocated
  int32_t *first;             ///< owned: by partition, the share's place plus one
  int32_t first_room;         ///< allocated
};

/// Divides a batch. Order within a share is that of the batch. The timestamps, keys, values, headers, attributes and the
/// LogAppendTime bit stay.
///
/// @param records    of the batch
/// @param chosen     for each record, 0 to partitions - 1
/// @param addressed  partition that the client addressed, for the shares' producer ids
/// @return 0, ERR_BATCH_TOO_LARGE, ERR_INVALID, ERR_NOMEM
int batch_split(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                int32_t partitions, int32_t addressed, const struct batch_packing *packing);
void batch_split_destroy(struct batch_split *split);

/// What stands in for a record, or comes in addition; borrowed.
struct record_edit {
  const uint8_t *key;     ///< NULL: null
  const uint8_t *value;   ///< NULL: null
  const uint8_t *headers; ///< as in a batch
  int64_t timestamp;      ///< ms
  int32_t key_size;       ///< bytes, -1: null
  int32_t value_size;     ///< bytes, -1: null
  int32_t header_count;   ///< headers
  int32_t headers_size;   ///< bytes at `headers`
};

/// Writes a batch anew in which some records are gone and others replaced. It keeps producer id, epoch, base sequence,
/// base offset and last offset delta, so it spans the same offsets; with no record left it is an empty batch.
///
/// @param is_gone   by index; NULL: none
/// @param edits     by index, NULL entries: the record stays as it is; NULL: none
/// @param[out] out  emptied, then the batch
/// @return 0, ERR_BATCH_TOO_LARGE, ERR_NOMEM, ERR_INVALID
int batch_rewrite(const struct batch_records *records, const bool *is_gone, const struct record_edit *const *edits,
                  const struct batch_packing *packing, struct record_buffer *out);

/// Makes a batch of the broker's own (no producer id) of records that policies made.
///
/// @param append_time_ms  -1: records keep their timestamps
int batch_of_edits(const struct record_edit *edits, int32_t count, int64_t append_time_ms,
                   const struct batch_packing *packing, struct record_buffer *out);
