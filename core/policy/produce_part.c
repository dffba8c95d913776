// SPDX-License-Identifier: Apache-2.0
//
// A part of a produced batch at the home of its partition: what is there already is found first, so that nothing which
// a transform does or emits is done twice; then the transform, and all that may keep the part from being written. The
// append comes when the whole batch may be (produce_order.c).
//
// What batches before it will write is not in the log yet while they wait for their other parts. A part that comes
// behind such looks again when they are done with.
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/log.h"
#include "metadata/image.h"
#include "policy/produce_private.h"
#include "record/recompress.h"
#include "replica/flush.h"

enum {
  PART_MADE_TIMES = 4,             // bytes that a transform may make of a batch, in max.message.bytes
  PART_MADE_MIN = 4 * 1024 * 1024, // but at least this
};

/// A look at what a log knows of a producer. Jobs of a partition's appender never wait for a disk.
struct part_look {
  struct append_job append; ///< the job
  struct policy_part *part; ///< whose
  struct log_batch batch;   ///< judged
  int result;               ///< of log_judge()
  sem_t done;               ///< posted, in the first look, which is waited for
};

void policy_part_fail(struct policy_part *part, int result, const char *text)
{
  part->result = result;
  mem_free(part->message);
  part->message = text != NULL ? mem_strdup(text) : NULL;
}

// ---- stored before? ----

static void part_appended(struct append_job *job);

/// A batch that was stored before is done when the stored one is as safe as acks asks, as in replica/append.c.
static void part_repeat(struct policy_part *part, const struct log_batch *batch)
{
  struct append_job *append = &part->append;
  append->batch = *batch;
  append->is_unacknowledged = part->op->is_unacknowledged;
  if (flush_is_due(append, flush_safe_offset(part->part))) {
    append->part = partition_ref(part->part); // given back when it is done
    append->reply = part->op->reply;
    append->done = part_appended;
    atomic_fetch_add_explicit(&part->op->pending, 1, memory_order_relaxed);
    flush_hold(part->part, append);
  }
}

static void part_look_change(struct append_job *job)
{
  struct part_look *look = CONTAINER_OF(job, struct part_look, append);
  struct partition_state state;
  partition_read_state(job->part, &state);
  look->result = partition_check_leader(&state);
  if (look->result == 0) {
    look->batch.divided_ms = atomic_load_explicit(&job->part->divided_ms, memory_order_relaxed);
    look->result = log_judge(job->part->log, &look->batch);
  }
  if (look->result == 0 && look->batch.is_duplicate) {
    part_repeat(look->part, &look->batch);
  }
}

static void part_look_done(struct append_job *job)
{
  sem_post(&CONTAINER_OF(job, struct part_look, append)->done);
}

static void part_looked_again(struct append_job *job)
{
  policy_order_came(CONTAINER_OF(job, struct part_look, append)->part->op, false);
}

/// Lays out a look. @return false: there is nothing to look for
static bool part_begin_look(struct policy_part *part, struct part_look *look, append_job_fn done)
{
  struct batch_header header;
  if (batch_header_read(part->bytes, part->size, &header) < 0 || header.producer_id < 0 || header.base_sequence < 0) {
    return false;
  }
  *look = (struct part_look){
      .append = {.change = part_look_change, .done = done},
      .part = part,
      .batch = {.bytes = part->bytes,
                .size = part->size,
                .last_offset_delta = header.last_offset_delta,
                .max_timestamp = header.max_timestamp},
  };
  return true;
}

/// Whether the part is to be written at all; where it is not, because it has been or may not be, that is its result.
static bool part_is_new(struct policy_part *part)
{
  struct part_look look;
  if (!part_begin_look(part, &look, part_look_done)) {
    return true;
  }
  sem_init(&look.done, 0, 0);
  epoch_enter();
  partition_submit(part->part, &look.append);
  epoch_leave();
  while (sem_wait(&look.done) != 0) {
  }
  sem_destroy(&look.done);
  part->is_stored = look.result == 0 && look.batch.is_duplicate;
  // What is refused now may not be once those before it are written.
  if (look.result < 0 && part->op->was_first) {
    policy_part_fail(part, look.result, NULL);
    return false;
  }
  return !part->is_stored;
}

bool policy_part_look_again(struct policy_part *part)
{
  struct part_look look;
  if (!part->is_transformed || part->is_stored || !part_begin_look(part, &look, part_looked_again)) {
    return false;
  }
  part->look = mem_alloc(sizeof look);
  *part->look = look;
  partition_submit(part->part, &part->look->append);
  return true;
}

void policy_part_take_look(struct policy_part *part)
{
  if (part->look != NULL && part->look->result < 0) {
    policy_part_fail(part, part->look->result, NULL);
  } else if (part->look != NULL) {
    part->is_stored = part->look->batch.is_duplicate;
  }
}

// ---- transform ----

const char *policy_record_fault(const struct policy_record *made, const struct topic_config *config, int64_t now_ms)
{
  if ((config->cleanup_policy & CLEANUP_COMPACT) != 0 && made->key_size < 0) {
    return "has no key, and the topic is compacted";
  }
  if (config->message_timestamp_type == TOPIC_TIMESTAMP_LOG_APPEND || made->timestamp == BATCH_NO_TIMESTAMP) {
    return NULL;
  }
  if (made->timestamp < 0 || now_ms - made->timestamp > config->message_timestamp_before_max_ms ||
      made->timestamp - now_ms > config->message_timestamp_after_max_ms) {
    return "has a timestamp that the topic does not allow";
  }
  return NULL;
}

static int part_check(struct policy_part *part, const struct policy *transform, const struct policy_record *made)
{
  const char *fault = policy_record_fault(made, &part->op->topic->config, part->op->rules.now_ms);
  if (fault == NULL) {
    return 0;
  }
  char text[POLICY_TEXT_SIZE];
  snprintf(text, sizeof text, "transform of topic %s: %s:%d: what it made of record %d %s", part->op->addressed->topic,
           transform->source != NULL ? transform->source : "built in", transform->line, made->from, fault);
  policy_part_fail(part, ERR_POLICY_VIOLATION, text);
  policy_count(transform, 0, 0, text);
  return ERR_POLICY_VIOLATION;
}

void policy_record_edit(const struct policy_record *made, struct record_edit *edit)
{
  *edit = (struct record_edit){
      .key = made->key,
      .value = made->value,
      .headers = made->headers,
      .timestamp = made->timestamp,
      .key_size = made->key_size,
      .value_size = made->value_size,
      .header_count = made->header_count,
      .headers_size = made->headers_size,
  };
}

/// How the part is to be packed.
struct batch_packing policy_part_packing(const struct policy_part *part)
{
  const struct policy_produce *op = part->op;
  int as_sent = op->verdict.header.attributes & BATCH_CODEC_MASK;
  return (struct batch_packing){
      .codec = op->codec >= 0 ? op->codec : as_sent,
      .level = op->level,
      .limit_bytes = (size_t)op->rules.max_message_bytes,
  };
}

/// Writes the batch anew as the output says.
static int part_rewrite(struct policy_part *part, const struct policy *transform, const struct batch_records *records,
                        const struct policy_output *output)
{
  bool *is_gone = arena_zalloc(output->arena, (size_t)records->count * sizeof *is_gone);
  const struct record_edit **edits = arena_zalloc(output->arena, (size_t)records->count * sizeof *edits);
  struct record_edit *made = arena_alloc(output->arena, (size_t)records->count * sizeof *made);
  for (int32_t i = 0; i < records->count; i++) {
    if (output->actions[i] == POLICY_DROP) {
      is_gone[i] = true;
      part->has_all = false;
    } else if (output->actions[i] == POLICY_REPLACE) {
      TRY(part_check(part, transform, &output->replaced[i]));
      policy_record_edit(&output->replaced[i], &made[i]);
      edits[i] = &made[i];
    }
  }
  struct batch_packing packing = policy_part_packing(part);
  policy_runners_take_buffer(part->op->runners, &part->rewritten);
  int result = batch_rewrite(records, is_gone, edits, &packing, &part->rewritten);
  if (result < 0) {
    policy_part_fail(part, result, result == ERR_BATCH_TOO_LARGE ? "what the transform made is too large" : NULL);
    return result;
  }
  part->bytes = part->rewritten.bytes;
  part->size = part->rewritten.size;
  return 0;
}

/// Keeps who was rejected, and why.
static void part_reject(struct policy_part *part, const struct policy *transform, const struct policy_output *output)
{
  part->reject_total = output->reject_count;
  part->reject_count = output->reject_count < BATCH_RECORD_ERRORS_MAX ? output->reject_count : BATCH_RECORD_ERRORS_MAX;
  part->rejects = arena_zalloc(&part->arena, (size_t)part->reject_count * sizeof *part->rejects);
  for (int32_t i = 0; i < part->reject_count; i++) {
    const struct policy_reject *reject = &output->rejects[i];
    part->rejects[i].index = reject->index;
    part->rejects[i].message = arena_strndup(&part->arena, reject->text, strlen(reject->text));
  }
  char text[POLICY_TEXT_SIZE];
  snprintf(text, sizeof text, "rejected by the transform of topic %s (%s:%d): %.300s", part->op->addressed->topic,
           transform->source != NULL ? transform->source : "built in", transform->line, output->rejects[0].text);
  policy_part_fail(part, ERR_INVALID_RECORD, text);
  policy_count_rejects(transform, output->reject_count, text);
}

/// Asks the transform and does what it says, but for the append.
///
/// @return 0 go on; ERR_CLOSED: abandoned; another: the part has failed
static int part_transform(struct policy_part *part, struct policy_job *job, struct policy_vm *vm,
                          const struct policy *transform, const struct batch_records *records)
{
  if (vm == NULL) {
    policy_part_fail(part, ERR_SCRIPT, job->failure.text);
    return ERR_SCRIPT;
  }
  struct arena *arena = &job->scratch->arena;
  arena_reset(arena);
  struct policy_batch batch = {.topic = part->op->addressed->topic,
                               .partition = part->partition,
                               .count = records->count,
                               .records = records->records};
  int64_t limit_bytes = (int64_t)part->op->rules.max_message_bytes * PART_MADE_TIMES;
  struct policy_output output = {
      .arena = arena,
      .actions = arena_zalloc(arena, (size_t)records->count),
      .limit_bytes = limit_bytes > PART_MADE_MIN ? limit_bytes : PART_MADE_MIN,
  };
  struct policy_failure failure = {.index = -1};
  int result = policy_job_transform(job, vm, transform, &batch, NULL, &output, &failure);
  if (result < 0) {
    if (result != ERR_CLOSED) {
      policy_part_fail(part, ERR_POLICY_VIOLATION, failure.text);
    }
    return result;
  }
  if (output.reject_count > 0) {
    part_reject(part, transform, &output);
    return ERR_INVALID_RECORD;
  }
  for (int32_t i = 0; i < output.extra_count; i++) {
    if (output.extras[i].topic == NULL) {
      TRY(part_check(part, transform, &output.extras[i]));
    }
  }
  if (output.is_changed) {
    TRY(part_rewrite(part, transform, records, &output));
  }
  if (output.extra_count > 0) {
    TRY(policy_extra_own(part, &output));
    TRY(policy_extra_emit(part, transform, &output));
  }
  return 0;
}

// ---- append ----

static void part_appended(struct append_job *job)
{
  struct policy_part *part = CONTAINER_OF(job, struct policy_part, append);
  if (job->result < 0) {
    part->written = job->result;
  }
  policy_produce_release(part->op);
}

static void part_extra_appended(struct append_job *job)
{
  struct policy_part *part = CONTAINER_OF(job, struct part_extra, append)->owner;
  if (job->result < 0) {
    part->written = job->result;
  }
  policy_produce_release(part->op);
}

static int part_begin_append(const struct policy_part *part, struct append_job *append, uint8_t *bytes, size_t size)
{
  struct batch_header header;
  TRY(batch_header_read(bytes, size, &header));
  append->part = part->part;
  append->reply = part->op->reply;
  append->leader_epoch = -1;
  append->is_unacknowledged = part->op->is_unacknowledged;
  append->batch = (struct log_batch){
      .bytes = bytes,
      .size = size,
      .last_offset_delta = header.last_offset_delta,
      .max_timestamp = header.max_timestamp,
  };
  return 0;
}

/// Lays out the appends of the batch and of what goes behind it.
static int part_prepare_append(struct policy_part *part)
{
  TRY(part_begin_append(part, &part->append, part->bytes, part->size));
  part->append.done = part_appended;
  for (int i = 0; i < part->extra_count; i++) {
    struct part_extra *extra = &part->extras[i];
    TRY(part_begin_append(part, &extra->append, extra->out.bytes, extra->out.size));
    extra->append.done = part_extra_appended;
    extra->append.after = &part->append;
  }
  return 0;
}

void policy_part_submit(struct policy_part *part)
{
  struct append_job *newest = &part->append;
  part->append.next = NULL;
  for (int i = 0; i < part->extra_count; i++) {
    part->extras[i].append.next = newest;
    newest = &part->extras[i].append;
  }
  atomic_fetch_add_explicit(&part->op->pending, 1 + part->extra_count, memory_order_relaxed);
  partition_submit_row(part->part, newest, &part->append, 1 + part->extra_count);
}

/// Gives the batch the codec that the topic asks for, and looks whether its log will take it.
static int part_pack(struct policy_part *part)
{
  struct batch_packing packing = policy_part_packing(part);
  if (batch_needs_recompress(part->bytes, packing.codec)) {
    TRY(batch_repack(part->bytes, part->size, packing.codec, packing.level, packing.limit_bytes, &part->rewritten));
    part->bytes = part->rewritten.bytes;
    part->size = part->rewritten.size;
  } else if (part->size > packing.limit_bytes) {
    // A part was not packed for a transform that has changed nothing in it.
    return error_set(ERR_BATCH_TOO_LARGE, "a part of %zu bytes", part->size);
  }
  size_t segment_bytes = policy_segment_bytes(&part->op->topic->config);
  if (part->size > segment_bytes) {
    return error_set(ERR_LIMIT, "a part of %zu bytes is larger than a segment (%zu)", part->size, segment_bytes);
  }
  return 0;
}

/// Asks the transform, if there is one, unless the part was written before.
///
/// @return 0 go on; ERR_CLOSED: abandoned; another: the part is done with, or has failed
static int part_meet_transform(struct policy_part *part, struct policy_job *job, const struct policy_set *set,
                               struct policy_vm *vm, const struct batch_records *records)
{
  const struct policy_produce *op = part->op;
  const struct policy_topic *policies = policy_set_topic(set, op->addressed->topic, strlen(op->addressed->topic));
  const struct policy *transform = policies != NULL && part->count > 0 ? policies->transform : NULL;
  if (transform == NULL) {
    return 0;
  }
  part->is_transformed = true;
  if (!part_is_new(part)) {
    return ERR_EXISTS;
  }
  if (records == NULL) {
    struct batch_records *share = &job->scratch->share;
    int opened =
        batch_records_open(share, part->bytes, part->size, (size_t)op->rules.max_message_bytes * BATCH_UNPACK_RATIO);
    if (opened < 0) {
      policy_part_fail(part, opened, NULL);
      return opened;
    }
    records = share;
  }
  return part_transform(part, job, vm, transform, records);
}

int policy_part_prepare(struct policy_part *part, struct policy_job *job, const struct policy_set *set,
                        struct policy_vm *vm, const struct batch_records *records)
{
  int result = part_meet_transform(part, job, set, vm, records);
  if (result < 0) {
    return result == ERR_CLOSED ? ERR_CLOSED : 0;
  }
  result = part_pack(part);
  if (result == 0) {
    result = part_prepare_append(part);
  }
  if (result < 0) {
    policy_part_fail(part, result, NULL);
    return 0;
  }
  policy_order_hold(part);
  return 0;
}
