// SPDX-License-Identifier: Apache-2.0
//
// Records that a transform makes in addition: for its own partition they become batches of the broker's own, in one row
// with the client's batch; for other topics they are written before it, and waited for, once it is sure that the whole
// batch will be. None of them meets a policy again, so nothing can go round in circles.
//
// A client that is answered can rely on what was emitted: it is as safe as the client asked for before its own batch is
// written. A broker that dies in between has a retry emit once more, for what was emitted has no sequence.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "metadata/image.h"
#include "metadata/topic_config.h"
#include "policy/partitioners.h"
#include "policy/produce_private.h"
#include "replica/manager.h"

enum {
  EXTRA_TOPICS_MAX = 64,      // topics that one batch may emit to
  EXTRA_RECORD_OVERHEAD = 64, // bytes of a record beside key, value and headers, at most
  EXTRA_TEXT_SIZE = 128,      // of what is wrong with one record
};

/// A topic that something is emitted to.
struct emit_topic {
  const struct metadata_topic *topic; ///< borrowed: this thread is inside its epoch
  struct batch_packing packing;       ///< how its batches are packed
  int64_t append_time_ms;             ///< -1: records keep their timestamps
  int32_t keyless;                    ///< partition of records without a key
};

/// Where one record goes.
struct emit_place {
  int32_t topic;     ///< index of its topic
  int32_t partition; ///< there
  int32_t index;     ///< of the record
};

/// What is emitted by one part.
struct emit {
  struct policy_part *part;                   ///< whose
  const struct policy *policy;                ///< who
  const struct policy_output *output;         ///< what
  struct emit_topic topics[EXTRA_TOPICS_MAX]; ///< to where
  int topic_count;                            ///< how many
  struct emit_place *places;                  ///< of each record, in the output's arena
  int32_t count;                              ///< records
};

void policy_extra_free(struct part_extra *extras, int count)
{
  for (int i = 0; i < count; i++) {
    record_buffer_destroy(&extras[i].out);
    if (extras[i].part != NULL) {
      partition_unref(extras[i].part);
    }
  }
  mem_free(extras);
}

static size_t extra_size(const struct record_edit *edit)
{
  return (size_t)(edit->key_size > 0 ? edit->key_size : 0) + (size_t)(edit->value_size > 0 ? edit->value_size : 0) +
         (size_t)edit->headers_size + EXTRA_RECORD_OVERHEAD;
}

/// Makes as many batches of records as their sizes ask for, behind those that are there.
///
/// @param part  where they go, referenced for each batch; NULL: the owner's
static int extra_make(struct part_extra **extras, int *extra_count, struct partition *part,
                      const struct record_edit *edits, int32_t count, int64_t append_time_ms,
                      const struct batch_packing *packing)
{
  for (int32_t first = 0; first < count;) {
    size_t size = BATCH_HEADER_SIZE + extra_size(&edits[first]);
    int32_t end = first + 1;
    while (end < count && size + extra_size(&edits[end]) <= packing->limit_bytes) {
      size += extra_size(&edits[end++]);
    }
    *extras = mem_realloc(*extras, (size_t)(*extra_count + 1) * sizeof **extras);
    struct part_extra *extra = &(*extras)[(*extra_count)++];
    *extra = (struct part_extra){.part = part != NULL ? partition_ref(part) : NULL};
    TRY(batch_of_edits(&edits[first], end - first, append_time_ms, packing, &extra->out));
    first = end;
  }
  return 0;
}

/// How the broker's own batches for a topic are packed: they must fit into a segment, too.
static struct batch_packing extra_packing(const struct policy_part *part)
{
  struct batch_packing packing = policy_part_packing(part);
  size_t segment_bytes = policy_segment_bytes(&part->op->topic->config);
  packing.limit_bytes = packing.limit_bytes < segment_bytes ? packing.limit_bytes : segment_bytes;
  return packing;
}

int policy_extra_own(struct policy_part *part, const struct policy_output *output)
{
  struct record_edit *edits = arena_alloc(output->arena, (size_t)output->extra_count * sizeof *edits);
  int32_t count = 0;
  for (int32_t i = 0; i < output->extra_count; i++) {
    if (output->extras[i].topic == NULL) {
      policy_record_edit(&output->extras[i], &edits[count++]);
    }
  }
  struct batch_packing packing = extra_packing(part);
  const struct batch_rules *rules = &part->op->rules;
  int result = extra_make(&part->extras, &part->extra_count, NULL, edits, count,
                          rules->is_append_time ? rules->now_ms : -1, &packing);
  for (int i = 0; i < part->extra_count; i++) {
    part->extras[i].owner = part;
  }
  if (result < 0) {
    policy_part_fail(part, result,
                     result == ERR_BATCH_TOO_LARGE ? "a record that the transform made is too large" : NULL);
  }
  return result;
}

// ---- other topics ----

static int emit_fail(struct emit *emit, int result, const char *topic, const char *why)
{
  char text[POLICY_TEXT_SIZE];
  snprintf(text, sizeof text, "%s: emit to %.128s: %.128s", emit->part->emitter, topic, why);
  policy_part_fail(emit->part, result, text);
  if (result == ERR_POLICY_VIOLATION) {
    policy_count(emit->policy, 0, 0, text);
  }
  return result;
}

/// Finds a topic, once.
static int emit_find_topic(struct emit *emit, const struct metadata_image *image, const char *name, int32_t *index)
{
  static _Atomic(uint32_t) turn; // records without a key go round by batch, over all who emit
  for (int i = 0; i < emit->topic_count; i++) {
    if (strcmp(emit->topics[i].topic->name, name) == 0) {
      *index = i;
      return 0;
    }
  }
  const struct metadata_topic *topic = metadata_image_topic(image, name, strlen(name));
  if (topic == NULL) {
    return emit_fail(emit, ERR_POLICY_VIOLATION, name, "there is no such topic");
  }
  if (topic->is_internal) {
    return emit_fail(emit, ERR_POLICY_VIOLATION, name, "the topic is the broker's own");
  }
  if (topic->source != NULL) {
    return emit_fail(emit, ERR_POLICY_VIOLATION, name, "it is a view, which is only read");
  }
  if (emit->topic_count == EXTRA_TOPICS_MAX) {
    return emit_fail(emit, ERR_POLICY_VIOLATION, name, "these are too many topics for one batch");
  }
  int level;
  int codec = policy_topic_codec(&topic->config, &level);
  const struct batch_packing as_sent = policy_part_packing(emit->part);
  size_t segment_bytes = policy_segment_bytes(&topic->config);
  size_t most_bytes = (size_t)topic->config.max_message_bytes;
  *index = emit->topic_count++;
  emit->topics[*index] = (struct emit_topic){
      .topic = topic,
      .packing = {.codec = codec >= 0 ? codec : as_sent.codec,
                  .level = level,
                  .limit_bytes = most_bytes < segment_bytes ? most_bytes : segment_bytes},
      .append_time_ms =
          topic->config.message_timestamp_type == TOPIC_TIMESTAMP_LOG_APPEND ? emit->part->op->rules.now_ms : -1,
      .keyless =
          (int32_t)(atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % (uint32_t)topic->partition_count),
  };
  return 0;
}

/// Decides where a record goes.
static int emit_place(struct emit *emit, const struct metadata_image *image, int32_t index)
{
  const struct policy_record *made = &emit->output->extras[index];
  struct emit_place *place = &emit->places[emit->count];
  TRY(emit_find_topic(emit, image, made->topic, &place->topic));
  const struct emit_topic *to = &emit->topics[place->topic];
  const char *fault = policy_record_fault(made, &to->topic->config, emit->part->op->rules.now_ms);
  if (fault != NULL) {
    char text[EXTRA_TEXT_SIZE];
    snprintf(text, sizeof text, "the record %s", fault);
    return emit_fail(emit, ERR_POLICY_VIOLATION, made->topic, text);
  }
  place->index = index;
  if (made->partition >= to->topic->partition_count) {
    return emit_fail(emit, ERR_POLICY_VIOLATION, made->topic, "there is no such partition");
  }
  if (made->partition >= 0) {
    place->partition = made->partition;
  } else if (made->key_size >= 0) {
    place->partition = policy_murmur2_partition(made->key, (size_t)made->key_size, to->topic->partition_count);
  } else {
    place->partition = to->keyless;
  }
  emit->count++;
  return 0;
}

static int emit_compare(const void *a, const void *b)
{
  const struct emit_place *left = a;
  const struct emit_place *right = b;
  if (left->topic != right->topic) {
    return left->topic < right->topic ? -1 : 1;
  }
  if (left->partition != right->partition) {
    return left->partition < right->partition ? -1 : 1;
  }
  return left->index < right->index ? -1 : left->index > right->index;
}

/// Makes the batches of records that go to one partition.
static int emit_make(struct emit *emit, int32_t first, int32_t count)
{
  const struct emit_topic *to = &emit->topics[emit->places[first].topic];
  struct partition *found =
      replica_manager_find(emit->part->op->replicas, &to->topic->id, emit->places[first].partition);
  if (found == NULL) {
    return emit_fail(emit, ERR_NOT_LEADER, to->topic->name, "the partition is not here");
  }
  struct record_edit *edits = arena_alloc(emit->output->arena, (size_t)count * sizeof *edits);
  for (int32_t i = 0; i < count; i++) {
    policy_record_edit(&emit->output->extras[emit->places[first + i].index], &edits[i]);
  }
  struct policy_part *part = emit->part;
  int result = extra_make(&part->emits, &part->emit_count, found, edits, count, to->append_time_ms, &to->packing);
  if (result < 0) {
    return emit_fail(emit, result, to->topic->name,
                     result == ERR_BATCH_TOO_LARGE ? "a record is too large" : error_last()->message);
  }
  return 0;
}

static int emit_make_all(struct emit *emit)
{
  epoch_enter();
  const struct metadata_image *image = metadata_cache_get(emit->part->op->metadata);
  int result = 0;
  for (int32_t i = 0; i < emit->output->extra_count && result == 0; i++) {
    if (emit->output->extras[i].topic != NULL) {
      result = emit_place(emit, image, i);
    }
  }
  if (result == 0) {
    qsort(emit->places, (size_t)emit->count, sizeof *emit->places, emit_compare);
  }
  for (int32_t first = 0; first < emit->count && result == 0;) {
    int32_t end = first + 1;
    while (end < emit->count && emit->places[end].topic == emit->places[first].topic &&
           emit->places[end].partition == emit->places[first].partition) {
      end++;
    }
    result = emit_make(emit, first, end - first);
    first = end;
  }
  epoch_leave();
  return result;
}

static void emit_written(struct append_job *job)
{
  policy_order_came(CONTAINER_OF(job, struct part_extra, append)->owner->op, false);
}

/// Lays out the appends.
static int emit_prepare(struct emit *emit)
{
  for (int i = 0; i < emit->part->emit_count; i++) {
    struct part_extra *extra = &emit->part->emits[i];
    struct batch_header header;
    TRY(batch_header_read(extra->out.bytes, extra->out.size, &header));
    extra->owner = emit->part;
    extra->append = (struct append_job){
        .done = emit_written,
        .leader_epoch = -1,
        .is_unacknowledged = emit->part->op->is_unacknowledged,
        .batch = {.bytes = extra->out.bytes,
                  .size = extra->out.size,
                  .last_offset_delta = header.last_offset_delta,
                  .max_timestamp = header.max_timestamp},
    };
  }
  return 0;
}

int policy_extra_emit(struct policy_part *part, const struct policy *policy, const struct policy_output *output)
{
  struct emit *emit = arena_zalloc(output->arena, sizeof *emit);
  part->emitter = arena_printf(&part->arena, "transform of topic %s: %s:%d", part->op->addressed->topic,
                               policy->source != NULL ? policy->source : "built in", policy->line);
  emit->part = part;
  emit->policy = policy;
  emit->output = output;
  emit->places = arena_alloc(output->arena, (size_t)output->extra_count * sizeof *emit->places);
  TRY(emit_make_all(emit));
  return emit_prepare(emit);
}

// ---- when the batch is written ----

void policy_extra_write(struct policy_part *part)
{
  for (int i = 0; i < part->emit_count; i++) {
    partition_submit(part->emits[i].part, &part->emits[i].append);
  }
}

int policy_extra_check(struct policy_part *part)
{
  for (int i = 0; i < part->emit_count; i++) {
    int result = part->emits[i].append.result;
    if (result < 0) {
      char text[POLICY_TEXT_SIZE];
      snprintf(text, sizeof text, "%s: emit to %.128s: %.128s", part->emitter, part->emits[i].part->topic,
               error_text(result));
      policy_part_fail(part, result, text);
      return result;
    }
  }
  return 0;
}
