// SPDX-License-Identifier: Apache-2.0
//
// A batch at the home of the partition that its client addressed is divided among the partitions that a partitioner of
// the user's chooses, or one of ours where the batch comes this way for another reason.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "policy/choices.h"
#include "policy/partitioners.h"
#include "policy/produce_private.h"
#include "record/codec.h"
#include "record/split.h"

/// What fails is a policy's fault, but for the lack of a VM.
static int divide_fail(struct policy_produce *op, int result, const char *text)
{
  op->verdict.message = arena_strndup(&op->arena, text, strlen(text));
  return result;
}

int policy_divide_find(struct policy_produce *op, const struct policy_set *set, const struct policy_topic *policies,
                       const struct policy **partitioner, struct policy_choice *choice)
{
  const char *name = topic_config_partitioner(&op->topic->config);
  *partitioner = policies != NULL ? policies->partitioner : NULL;
  if (name != NULL) {
    *partitioner = policy_set_named(set, name, strlen(name));
  }
  char text[POLICY_TEXT_SIZE];
  if (name != NULL && *partitioner == NULL) {
    snprintf(text, sizeof text,
             "luka.partitioner=%.128s of topic %s: the configuration has no partitioner of that name", name,
             op->addressed->topic);
    return divide_fail(op, ERR_POLICY_VIOLATION, text);
  }
  if (*partitioner != NULL && (*partitioner)->builtin >= 0) {
    const char *ours = name != NULL ? name : (*partitioner)->name;
    char message[POLICY_TEXT_SIZE / 2];
    if (policy_choice_read(ours, strlen(ours), choice, message, sizeof message) < 0) {
      snprintf(text, sizeof text, "luka.partitioner of topic %s: %s", op->addressed->topic, message);
      return divide_fail(op, ERR_POLICY_VIOLATION, text);
    }
  }
  return 0;
}

/// Asks one of our partitioners.
static void divide_choose_ours(struct policy_produce *op, const struct policy_choice *choice,
                               const struct batch_records *records)
{
  uint32_t turn =
      policy_turn(&op->job.scratch->turns, choice, &op->addressed->topic_id, op->addressed->index, &op->verdict.header);
  op->chosen = mem_array((size_t)records->count, sizeof *op->chosen);
  policy_choose(choice, turn, records->records, records->count, op->topic->partition_count, op->chosen);
}

/// Asks the partitioner, unless it has been asked before.
///
/// @return 0; ERR_CLOSED: abandoned; another: the error
static int divide_choose(struct policy_produce *op, struct policy_vm *vm, const struct policy *partitioner,
                         const struct batch_records *records)
{
  const struct batch_header *header = &op->verdict.header;
  struct policy_choices_key key = {
      .topic_id = op->addressed->topic_id,
      .partition = op->addressed->index,
      .producer_id = header->producer_id,
      .sequence = header->base_sequence,
      .crc = op->crc,
      .epoch = header->producer_epoch,
  };
  op->chosen = mem_array((size_t)records->count, sizeof *op->chosen);
  if (header->producer_id >= 0 && policy_choices_find(op->job.choices, &key, op->chosen, records->count)) {
    return 0;
  }
  if (vm == NULL) {
    return divide_fail(op, ERR_SCRIPT, op->job.failure.text);
  }
  struct policy_batch batch = {.topic = op->addressed->topic,
                               .partition = op->addressed->index,
                               .count = records->count,
                               .records = records->records};
  struct policy_failure failure = {.index = -1};
  int32_t partitions = op->topic->partition_count;
  int result = policy_job_partition(&op->job, vm, partitioner, &batch, partitions, op->chosen, &failure);
  if (result < 0) {
    return result == ERR_CLOSED ? result : divide_fail(op, ERR_POLICY_VIOLATION, failure.text);
  }
  for (int32_t i = 0; i < records->count; i++) {
    if (op->chosen[i] < 0 || op->chosen[i] >= partitions) {
      char text[POLICY_TEXT_SIZE];
      snprintf(text, sizeof text, "partitioner of topic %s: %d is no partition", op->addressed->topic, op->chosen[i]);
      return divide_fail(op, ERR_POLICY_VIOLATION, text);
    }
  }
  if (header->producer_id >= 0) {
    policy_choices_keep(op->job.choices, &key, op->chosen, records->count);
  }
  return 0;
}

static bool divide_goes_to_one(const struct policy_produce *op, int32_t count)
{
  for (int32_t i = 1; i < count; i++) {
    if (op->chosen[i] != op->chosen[0]) {
      return false;
    }
  }
  return true;
}

static void divide_make_parts(struct policy_produce *op, int32_t count)
{
  op->parts = mem_array((size_t)count, sizeof *op->parts);
  op->part_count = count;
  for (int32_t i = 0; i < count; i++) {
    op->parts[i].op = op;
    op->parts[i].has_all = true;
  }
}

void policy_divide_not(struct policy_produce *op, int32_t partition)
{
  divide_make_parts(op, 1);
  op->parts[0].partition = partition;
  op->parts[0].count = op->verdict.header.record_count;
  op->parts[0].bytes = op->bytes;
  op->parts[0].size = op->size;
}

/// Makes parts by what was chosen.
static int divide_apply(struct policy_produce *op, struct batch_records *records, bool is_transformed)
{
  struct batch_split *split = &op->job.scratch->split;
  atomic_store_explicit(&op->addressed->divided_ms, clock_wall_ms(), memory_order_relaxed);
  int as_sent = op->verdict.header.attributes & BATCH_CODEC_MASK;
  int64_t share_id;
  if (batch_share_producer_id(op->verdict.header.producer_id, op->addressed->index, &share_id) < 0) {
    return divide_fail(op, ERR_INVALID_RECORD,
                       "the producer id is none that this broker gives: it is too large for a topic with a "
                       "partitioner");
  }
  if (divide_goes_to_one(op, records->count)) {
    TRY(batch_share_whole(op->bytes, op->addressed->index));
    records->iterator.header.producer_id = share_id; // a transform writes the batch anew by that header
    policy_divide_not(op, op->chosen[0]);
    return 0;
  }
  // What a transform will write anew is not packed before.
  struct batch_packing packing = {
      .codec = is_transformed   ? CODEC_NONE
               : op->codec >= 0 ? op->codec
                                : as_sent,
      .level = op->level,
      .limit_bytes = is_transformed ? (size_t)op->rules.max_message_bytes * BATCH_UNPACK_RATIO
                                    : (size_t)op->rules.max_message_bytes,
  };
  record_buffer_destroy(&split->out); // of a batch that could not be divided
  policy_runners_take_buffer(op->runners, &split->out);
  TRY(batch_split(split, records, op->chosen, op->topic->partition_count, op->addressed->index, &packing));
  op->split = split->out;
  split->out = (struct record_buffer){0};
  divide_make_parts(op, split->count);
  for (int32_t i = 0; i < split->count; i++) {
    struct policy_part *part = &op->parts[i];
    part->partition = split->shares[i].partition;
    part->count = split->shares[i].count;
    part->bytes = split->shares[i].bytes;
    part->size = split->shares[i].size;
  }
  return 0;
}

int policy_divide(struct policy_produce *op, struct policy_vm *vm, const struct policy *partitioner,
                  const struct policy_choice *choice, struct batch_records *records, bool is_transformed)
{
  if (partitioner->builtin >= 0) {
    divide_choose_ours(op, choice, records);
  } else {
    TRY(divide_choose(op, vm, partitioner, records));
  }
  return divide_apply(op, records, is_transformed);
}
