// SPDX-License-Identifier: Apache-2.0
//
// What policies make of a batch, written as batches again: records divided among partitions, or some of them dropped
// and others replaced. The records that stay are copied as they are, but for their deltas; nothing is looked at twice.
//
//   batch_records_open() -> an array of records -> a policy decides -> batch_split() or batch_rewrite()
//
// All batches made here keep the base timestamp of the one they come from, so that no timestamp changes, whatever it
// is. One thread at a time; memory is kept from batch to batch.
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
/// @param bytes  borrowed until the records are closed or opened again
/// @param limit  bytes that unpacked records and the array of them may take together; an uncompressed batch always may
/// @return 0; those of batch_iterator_open() and batch_iterator_next(); ERR_LIMIT. Close it in any case
int batch_records_open(struct batch_records *records, const uint8_t *bytes, size_t size, size_t limit);

/// Frees everything; not needed between two batches.
void batch_records_close(struct batch_records *records);

/// How new batches are packed.
struct batch_packing {
  int codec;          ///< enum codec
  int level;          ///< CODEC_LEVEL_DEFAULT or a level of the codec
  size_t limit_bytes; ///< largest size of a batch as it is stored; beyond: ERR_BATCH_TOO_LARGE
};

enum {
  BATCH_SHARE_PARTITION_BITS = 20, ///< partitions that can be told apart in a share's producer id
  BATCH_SHARE_PRODUCER_BITS = 42,  ///< producer ids that have such
};

/// The producer id that a share of an idempotent producer's batch carries: 2^62 + id x 2^20 + addressed partition. It
/// has the epoch of the client, and the sequence of its first record in the client's batch.
///
/// @param[out] share_id  -1 stays -1
/// @return 0, ERR_INVALID (ids from 2^42 and partitions from 2^20 on have no such)
int batch_share_producer_id(int64_t producer_id, int32_t partition, int64_t *share_id);

/// Whether a producer id is one of those: then sequences of a log need but grow (log/producer_state.h).
static inline bool batch_is_share_producer_id(int64_t producer_id)
{
  return producer_id >= INT64_C(1) << (BATCH_SHARE_PARTITION_BITS + BATCH_SHARE_PRODUCER_BITS);
}

/// The producer id that a client has whose batch carries `id`: a share's, or its own.
static inline int64_t batch_client_producer_id(int64_t id)
{
  int64_t first = INT64_C(1) << (BATCH_SHARE_PARTITION_BITS + BATCH_SHARE_PRODUCER_BITS);
  return batch_is_share_producer_id(id) ? (id - first) >> BATCH_SHARE_PARTITION_BITS : id;
}

/// One partition's share of a batch.
struct batch_share {
  int32_t partition;     ///< chosen
  int32_t count;         ///< records
  uint8_t *bytes;        ///< the batch, in the split's buffer; its base offset is 0, its last offset delta count - 1
  size_t size;           ///< bytes of the batch
  int64_t max_timestamp; ///< largest timestamp of its records, ms; -1: they have none
  size_t start_pos;      ///< private: of the batch in the split's buffer, of the records in `plain`
  size_t plain_size;     ///< private: bytes of its records; while they are counted, at most
  int32_t first;         ///< index in the batch of its first record
};

/// Embed it; all zero before the first use.
struct batch_split {
  struct batch_share *shares; ///< owned: those with records, in the order of their first
  int32_t count;              ///< how many
  int32_t room;               ///< allocated
  int32_t *places;            ///< owned: by partition, the place of its share plus one; all 0 between two calls
  int32_t place_room;         ///< allocated
  struct record_buffer out;   ///< all batches; may be taken over, with the bytes of `shares`: set it to all zero
  struct record_buffer plain; ///< records before they are packed
};

/// Divides a batch. Order within a share is that of the batch. The timestamps, keys, values, headers, attributes and
/// the LogAppendTime bit stay. A batch without records has no shares.
///
/// @param chosen     for each record, 0 to `partitions` - 1
/// @param addressed  partition that the client addressed, for the shares' producer ids
/// @return 0, ERR_BATCH_TOO_LARGE, ERR_INVALID (a choice, a producer id, a codec or level), ERR_NOMEM
int batch_split(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                int32_t partitions, int32_t addressed, const struct batch_packing *packing);
void batch_split_destroy(struct batch_split *split);

/// Makes a share of a whole batch where it lies: only its producer id changes, and the CRC. For when all its records go
/// to one partition.
///
/// @param bytes  a batch that batch_validate() accepted; its base sequence stays
/// @return 0, ERR_INVALID (a producer id that has no such)
int batch_share_whole(uint8_t *bytes, int32_t addressed);

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
/// base offset and last offset delta, so it spans the same offsets; with no record left it is an empty batch, which
/// keeps its largest timestamp.
///
/// @param is_gone   by index; NULL: none
/// @param edits     by index, NULL entries: the record stays as it is; NULL: none
/// @param[out] out  emptied, then the batch
/// @return 0, ERR_BATCH_TOO_LARGE, ERR_NOMEM, ERR_INVALID (headers that are none, sizes below -1, a codec or level)
int batch_rewrite(const struct batch_records *records, const bool *is_gone, const struct record_edit *const *edits,
                  const struct batch_packing *packing, struct record_buffer *out);

/// Makes a batch of the broker's own (no producer id) of records that policies made, at offset 0.
///
/// @param count           1 or more
/// @param append_time_ms  -1: records keep their timestamps
/// @param[out] out        emptied, then the batch
/// @return as batch_rewrite()
int batch_of_edits(const struct record_edit *edits, int32_t count, int64_t append_time_ms,
                   const struct batch_packing *packing, struct record_buffer *out);
