// SPDX-License-Identifier: Apache-2.0
//
// Batches for topics that choose the partition of each record themselves, by a built-in partitioner
// (policy/partitioners.h): they are divided here, and one part of a request becomes several appends. It is answered
// when all of them are as safe as acks asks.
//
//   uncompressed   worker: batch_validate() -> divide -> append_gather_add() for each share ... the last is done:
//   answer compressed     worker -> pool: unpack, validate, divide, pack -> worker: append_gather_add() for each share
//   ...
//
// The base offset that is answered is -1 unless all records stayed in the addressed partition. Whatever a share may be
// refused for is found before any is written, and then none is; and what an idempotent producer has sent behind a
// refused batch is refused as well (replica/gaps.h). The error of a share that could not be written is the part's: the
// client sends the whole batch again, and shares that were written are recognised (log/producer_state.h), as
// partitioners are pure.
//
// When all records go to one partition the batch is not copied, only its producer id changes: it always is a share's,
// so that sequences in a partition are all of one kind.
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/produce_private.h"
#include "api/request.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "metadata/image.h"
#include "metadata/topic_config.h"
#include "policy/partitioners.h"
#include "policy/policy.h"
#include "record/codec.h"
#include "record/iterate.h"
#include "record/split.h"
#include "os/clock.h"
#include "policy/produce.h"
#include "replica/append.h"
#include "replica/gaps.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

enum {
  DIVIDER_SPLITS_KEPT = 8,          // batches under way whose memory is used again
  DIVIDER_KEPT_BYTES = 256 * 1024,  // of which none is larger
  DIVIDER_KEPT_RECORDS = 16 * 1024, // likewise records of the scratch arrays
  DIVIDE_LOG_INTERVAL_MS = 1000,    // a missing partitioner is logged no more often
};

/// Memory for dividing one batch.
struct divide_scratch {
  struct batch_records records; ///< its records
  int32_t *chosen;              ///< owned: the partition of each
  int32_t chosen_room;          ///< allocated
};

/// A worker's part.
struct produce_divider {
  struct policy_turns turns;                    ///< whose turn it is
  struct divide_scratch scratch;                ///< for one batch after another
  struct batch_split kept[DIVIDER_SPLITS_KEPT]; ///< whose batches have been appended
  int kept_count;                               ///< how many
  int64_t logged_ms;                            ///< when a missing partitioner was last logged; 0: never
};

/// One append of a divided part.
struct produce_share {
  struct append_job job;     ///< the append
  struct produce_part *part; ///< whose it is
  struct partition *found;   ///< where it goes; borrowed for the turn
  int32_t partition;         ///< its number
};

/// A part that is divided; in the request's arena.
struct produce_division {
  struct policy_choice choice;  ///< who chooses; its argument is in the request's arena
  struct uuid topic_id;         ///< of the topic
  uint32_t turn;                ///< the batch's (policy/partitioners.h)
  int32_t partitions;           ///< of the topic
  size_t segment_bytes;         ///< largest batch that the topic's logs take
  int64_t producer_id;          ///< of the client's batch, -1: none
  int32_t sequence;             ///< of its first record
  int16_t producer_epoch;       ///< likewise
  struct batch_split split;     ///< owned: the shares, until all are appended
  uint8_t *whole;               ///< where the only share is the batch as it came; NULL: there are more, in `split`
  size_t whole_size;            ///< its bytes
  int32_t whole_partition;      ///< where it goes
  int64_t whole_timestamp;      ///< its largest
  struct produce_share *shares; ///< appends; in the request's arena
  int32_t share_count;          ///< how many
  int32_t pending;              ///< not done yet, plus one while they are being submitted
};

// ---- a worker's part ----

static void scratch_destroy(struct divide_scratch *scratch)
{
  batch_records_close(&scratch->records);
  mem_free(scratch->chosen);
  *scratch = (struct divide_scratch){0};
}

struct produce_divider *produce_divider_new(void)
{
  return mem_zalloc(sizeof(struct produce_divider));
}

void produce_divider_delete(struct produce_divider *divider)
{
  scratch_destroy(&divider->scratch);
  while (divider->kept_count > 0) {
    batch_split_destroy(&divider->kept[--divider->kept_count]);
  }
  mem_free(divider);
}

static void divider_keep(struct produce_divider *divider, struct batch_split *split)
{
  if (divider->kept_count == DIVIDER_SPLITS_KEPT || split->out.capacity > DIVIDER_KEPT_BYTES) {
    batch_split_destroy(split);
    return;
  }
  divider->kept[divider->kept_count++] = *split;
  *split = (struct batch_split){0};
}

// ---- who chooses ----

/// Refuses a part: never is it stored where the producer addressed it instead.
static bool refuse(struct produce_part *part, const char *topic, const char *name, const char *why)
{
  struct request *req = part->produce->req;
  struct produce_divider *divider = req->worker->divider;
  part->error = WIRE_POLICY_VIOLATION;
  part->verdict.message = arena_printf(&req->arena, "luka.partitioner=%s of topic %s: %s", name, topic, why);
  int64_t now_ms = event_loop_now_ms(req->worker->loop);
  if (divider->logged_ms == 0 || now_ms - divider->logged_ms >= DIVIDE_LOG_INTERVAL_MS) {
    divider->logged_ms = now_ms;
    slog_warn("%s: what is produced to it is refused", part->verdict.message);
  }
  return false;
}

bool produce_divide_begin(struct produce_part *part, const struct metadata_topic *topic)
{
  const char *name = topic_config_partitioner(&topic->config);
  struct request *req = part->produce->req;
  if (name == NULL) {
    return true;
  }
  struct batch_header header = {0};
  if (part->records.length < 0 || batch_header_peek(part->records.data, (size_t)part->records.length, &header) < 0) {
    header = (struct batch_header){
        .producer_id = BATCH_NO_PRODUCER_ID, .base_sequence = BATCH_NO_SEQUENCE, .record_count = 1}; // old, or bad
  }
  struct produce_division *division = arena_zalloc(&req->arena, sizeof *division);
  division->producer_id = header.base_sequence >= 0 ? header.producer_id : BATCH_NO_PRODUCER_ID;
  division->producer_epoch = header.producer_epoch;
  division->sequence = header.base_sequence;
  part->division = division;
  char message[256];
  const char *kept = arena_strndup(&req->arena, name, strlen(name)); // the image may be another one after the pool
  struct policy_choice choice;
  int result = policy_choice_read(kept, strlen(kept), &choice, message, sizeof message);
  if (result < 0) {
    return refuse(part, topic->name, name,
                  result == ERR_CONFIG ? message : "the configuration has no partitioner of that name any more");
  }
  division->segment_bytes = policy_segment_bytes(&topic->config);
  division->choice = choice;
  division->topic_id = topic->id;
  division->partitions = topic->partition_count;
  division->turn = policy_turn(&req->worker->divider->turns, &choice, &topic->id, part->index, &header);
  return true;
}

// ---- dividing ----

/// The partition that all records go to, -1: there are several; without records the addressed one.
static int32_t only_partition(const int32_t *chosen, int32_t count, int32_t addressed)
{
  for (int32_t i = 1; i < count; i++) {
    if (chosen[i] != chosen[0]) {
      return -1;
    }
  }
  return count > 0 ? chosen[0] : addressed;
}

/// Divides a validated batch into `division->split`, or finds that it stays whole.
static int divide(struct produce_part *part, struct divide_scratch *scratch, uint8_t *bytes, size_t size,
                  const struct batch_packing *packing, size_t unpacked_max)
{
  struct produce_division *division = part->division;
  struct batch_records *records = &scratch->records;
  TRY(batch_records_open(records, bytes, size, unpacked_max));
  if (records->count > scratch->chosen_room) {
    mem_free(scratch->chosen);
    scratch->chosen = mem_alloc((size_t)records->room * sizeof *scratch->chosen);
    scratch->chosen_room = records->room;
  }
  policy_choose(&division->choice, division->turn, records->records, records->count, division->partitions,
                scratch->chosen);
  int32_t only = only_partition(scratch->chosen, records->count, part->index);
  if (only >= 0 && packing->codec == (batch_attributes(bytes) & BATCH_CODEC_MASK)) {
    TRY(batch_share_whole(bytes, part->index));
    division->whole = bytes;
    division->whole_size = size;
    division->whole_partition = only;
    division->whole_timestamp = records->iterator.header.max_timestamp;
    return 0;
  }
  return batch_split(&division->split, records, scratch->chosen, division->partitions, part->index, packing);
}

static void note_failure(struct produce_part *part, int result)
{
  if (result == ERR_INVALID) { // partitions and codec are right
    part->error = WIRE_INVALID_RECORD;
    part->verdict.message =
        "the producer id is none that this broker gives: it is too large for a topic with a "
        "partitioner";
  } else if (result < 0) {
    part->error = result == ERR_LIMIT ? WIRE_MESSAGE_TOO_LARGE : api_wire_error(result);
  }
}

void produce_divide_packed(struct produce_part *part, uint8_t *bytes, size_t size, int codec, int level,
                           size_t limit_bytes)
{
  struct divide_scratch scratch = {0};
  struct batch_packing packing = {.codec = codec >= 0 ? codec : batch_attributes(bytes) & BATCH_CODEC_MASK,
                                  .level = codec >= 0 ? level : CODEC_LEVEL_DEFAULT,
                                  .limit_bytes = limit_bytes};
  note_failure(part, divide(part, &scratch, bytes, size, &packing, limit_bytes * BATCH_UNPACK_RATIO));
  scratch_destroy(&scratch);
  record_buffer_destroy(&part->division->split.plain);
  if (part->error != WIRE_NONE) {
    batch_split_destroy(&part->division->split);
  }
}

void produce_divide_plain(struct produce_part *part, uint8_t *bytes, size_t size, size_t limit_bytes)
{
  struct produce_divider *divider = part->produce->req->worker->divider;
  struct produce_division *division = part->division;
  struct batch_packing packing = {.codec = CODEC_NONE, .level = CODEC_LEVEL_DEFAULT, .limit_bytes = limit_bytes};
  if (divider->kept_count > 0) {
    division->split = divider->kept[--divider->kept_count];
  }
  note_failure(part, divide(part, &divider->scratch, bytes, size, &packing, limit_bytes * BATCH_UNPACK_RATIO));
  if (divider->scratch.records.room > DIVIDER_KEPT_RECORDS) {
    scratch_destroy(&divider->scratch);
  }
  if (part->error != WIRE_NONE || division->whole != NULL) {
    divider_keep(divider, &division->split);
  }
}

// ---- appending ----

/// All shares are done.
static void division_done(struct produce_part *part)
{
  struct produce_division *division = part->division;
  const struct produce_share *first = &division->shares[0];
  int64_t log_start_offset = part->job.log_start_offset;
  part->job.batch = first->job.batch;
  part->job.log_start_offset = log_start_offset; // the addressed partition's
  if (division->share_count > 1 || first->partition != part->index) {
    part->job.batch.base_offset = -1;
  }
  divider_keep(part->produce->req->worker->divider, &division->split);
  produce_part_done(part);
}

static void division_release(struct produce_part *part)
{
  if (--part->division->pending == 0) {
    division_done(part);
  }
}

/// The appender of one partition is done with a share; on the request's worker.
static void share_appended(struct append_job *job)
{
  struct produce_share *share = CONTAINER_OF(job, struct produce_share, job);
  struct produce_part *part = share->part;
  if (job->result < 0 && part->error == WIRE_NONE) {
    part->error = api_wire_error(job->result);
  }
  division_release(part);
}

void produce_divide_refused(struct produce_part *part, struct partition *found)
{
  const struct produce_division *division = part->division;
  if (division->producer_id >= 0) {
    gaps_note(&found->gaps, division->producer_id, division->producer_epoch, division->sequence, clock_mono_ms());
  }
}

/// Whether a batch of the producer that was before this one has been refused; if not so, none is missing any more.
static bool is_beyond_gap(struct produce_part *part, struct partition *found)
{
  const struct produce_division *division = part->division;
  struct gaps *gaps = atomic_load_explicit(&found->gaps, memory_order_acquire);
  if (gaps == NULL || division->producer_id < 0) {
    return false;
  }
  if (gaps_refuse(gaps, division->producer_id, division->producer_epoch, division->sequence, clock_mono_ms())) {
    part->error = WIRE_OUT_OF_ORDER_SEQUENCE_NUMBER;
    part->verdict.message = "A batch of the producer before this one was refused, and has to come first.";
    return true;
  }
  gaps_close(gaps, division->producer_id, division->producer_epoch, division->sequence);
  return false;
}

/// Lays out the appends of a part.
///
/// @return 0, or why nothing of it can be written
static int prepare_shares(struct produce_part *part)
{
  struct produce_division *division = part->division;
  struct request *req = part->produce->req;
  int32_t count = division->whole != NULL ? 1 : division->split.count;
  division->shares = arena_zalloc(&req->arena, (size_t)count * sizeof *division->shares);
  division->share_count = count;
  for (int32_t i = 0; i < count; i++) {
    struct produce_share *share = &division->shares[i];
    share->part = part;
    if (division->whole != NULL) {
      share->partition = division->whole_partition;
      produce_prepare_job(part, &share->job, division->whole, division->whole_size,
                          part->verdict.header.last_offset_delta, division->whole_timestamp);
    } else {
      const struct batch_share *made = &division->split.shares[i];
      share->partition = made->partition;
      produce_prepare_job(part, &share->job, made->bytes, made->size, made->count - 1, made->max_timestamp);
    }
    share->job.done = share_appended;
    share->found = replica_manager_find(req->api->replicas, &division->topic_id, share->partition);
    if (share->found == NULL) {
      return ERR_NOT_LEADER; // the client asks who leads, and comes again
    }
    if (share->job.batch.size > division->segment_bytes) {
      return ERR_LIMIT;
    }
    if (count > 1) {
      TRY(partition_check_append(share->found, share->job.batch.bytes));
    }
  }
  return 0;
}

void produce_divide_append(struct produce_part *part, struct partition *found)
{
  struct produce_division *division = part->division;
  struct api_worker *worker = part->produce->req->worker;
  part->job.log_start_offset = atomic_load(&found->log_start_offset);
  part->produce->pending++;
  int result = prepare_shares(part);
  if (result < 0) {
    part->error = api_wire_error(result);
    produce_divide_refused(part, found);
  }
  if (part->error != WIRE_NONE || is_beyond_gap(part, found)) {
    divider_keep(worker->divider, &division->split);
    produce_part_done(part);
    return;
  }
  division->pending = division->share_count + 1;
  for (int32_t i = 0; i < division->share_count; i++) {
    append_gather_add(&worker->appends, division->shares[i].found, &division->shares[i].job);
  }
  division_release(part);
}
