// SPDX-License-Identifier: Apache-2.0
#include "replica/append.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/metrics.h"
#include "event/loop.h"
#include "os/clock.h"
#include "record/batch.h"
#include "record/split.h"
#include "replica/flush.h"
#include "replica/gaps.h"
#include "replica/high_watermark.h"
#include "replica/manager.h"
#include "replica/partition.h"

enum {
  APPEND_GATHER = 64, // batches in one log_append()
  APPEND_ROUNDS = 8,  // rounds before the appender is passed on
};

/// Puts what was pushed, oldest first, behind what is ready.
static void append_collect(struct partition *part)
{
  struct append_job *newest = atomic_exchange(&part->jobs, NULL);
  struct append_job *oldest = NULL;
  while (newest != NULL) {
    struct append_job *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  struct append_job **end = &part->ready;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = oldest;
}

static void append_done(struct append_job *job)
{
  if (job->done != NULL) {
    job->done(job);
  }
}

static void append_done_mail(struct mail *mail)
{
  struct append_job *job = CONTAINER_OF(mail, struct append_job, mail);
  struct partition *part = job->part;
  append_done(job);
  partition_unref(part);
}

/// Sends a finished job home, or keeps it for the end of the turn when this is its home.
static void append_finish(struct append_job *job, struct append_job ***local_end)
{
  if (job->reply == NULL || job->reply == event_loop_current()) {
    job->next = NULL;
    **local_end = job;
    *local_end = &job->next;
  } else {
    job->mail.run = append_done_mail;
    event_loop_post(job->reply, &job->mail);
  }
}

/// The same for a list of jobs.
static void append_finish_all(struct append_job *jobs, struct append_job ***local_end)
{
  while (jobs != NULL) {
    struct append_job *job = jobs;
    jobs = job->next;
    append_finish(job, local_end);
  }
}

static bool append_is_share(const uint8_t *bytes)
{
  return batch_is_share_producer_id(batch_producer_id(bytes)) && batch_base_sequence(bytes) >= 0;
}

/// Whether a share lies behind one that was not written.
static int append_check_gap(struct partition *part, const uint8_t *bytes)
{
  struct gaps *gaps = atomic_load_explicit(&part->gaps, memory_order_acquire);
  if (gaps == NULL || !append_is_share(bytes)) {
    return 0;
  }
  if (gaps_refuse(gaps, batch_producer_id(bytes), batch_producer_epoch(bytes), batch_base_sequence(bytes),
                  clock_mono_ms())) {
    return error_set(ERR_OUT_OF_ORDER_SEQUENCE,
                     "sequence %" PRId32 " of producer %" PRId64 ": one before it is missing",
                     batch_base_sequence(bytes), batch_producer_id(bytes));
  }
  return 0;
}

int partition_check_append(struct partition *part, const uint8_t *bytes)
{
  struct partition_state state;
  partition_read_state(part, &state);
  TRY(partition_check_leader(&state));
  return append_check_gap(part, bytes);
}

/// Why a batch may not be appended now; 0 when it may.
static int append_refusal(struct partition *part, const struct partition_state *state, const struct append_job *job)
{
  TRY(partition_check_leader(state));
  TRY(partition_check_epoch(state, job->leader_epoch));
  if (job->after != NULL && job->after->result < 0) {
    return job->after->result;
  }
  TRY(append_check_gap(part, job->batch.bytes));
  struct gaps *gaps = atomic_load_explicit(&part->gaps, memory_order_acquire);
  const uint8_t *bytes = job->batch.bytes;
  if (gaps != NULL && append_is_share(bytes)) {
    gaps_close(gaps, batch_producer_id(bytes), batch_producer_epoch(bytes), batch_base_sequence(bytes), -1);
  } else if (gaps != NULL && batch_producer_id(bytes) >= 0 && batch_base_sequence(bytes) >= 0) {
    gaps_pass(gaps, batch_producer_id(bytes), batch_producer_epoch(bytes), batch_base_sequence(bytes));
  }
  return 0;
}

/// A share that was not written is missing from now on. What is refused for its sequence or epoch is not: there is
/// nothing that it could be missing in.
static void append_note_gap(struct partition *part, const struct append_job *job)
{
  const uint8_t *bytes = job->batch.bytes;
  if (job->result < 0 && job->result != ERR_OUT_OF_ORDER_SEQUENCE && job->result != ERR_INVALID_PRODUCER_EPOCH &&
      append_is_share(bytes)) {
    gaps_note(&part->gaps, batch_producer_id(bytes), batch_producer_epoch(bytes), batch_base_sequence(bytes),
              clock_mono_ms());
  }
}

/// Appends batches, unless the file system is nearly full: its last bytes are kept for recovery and deletion.
static int append_write(struct partition *part, struct log_batch *batches, int count, int32_t leader_epoch,
                        int64_t now_ms)
{
  if (replica_manager_has_space(part->manager, part)) {
    return log_append(part->log, batches, count, leader_epoch, now_ms);
  }
  for (int i = 0; i < count; i++) {
    batches[i].result = ERR_NO_SPACE;
  }
  return error_set(ERR_NO_SPACE, "%s: no space but what is kept free", log_dir(part->log));
}

/// Appends the run of appends at the head of the ready list with one write.
static void append_run_batches(struct partition *part, struct append_job ***local_end)
{
  struct append_job *jobs[APPEND_GATHER];
  struct log_batch batches[APPEND_GATHER];
  int count = 0;
  struct event_loop *loop = event_loop_current();
  int64_t now_ms = loop != NULL ? event_loop_wall_ms(loop) : clock_wall_ms();
  struct partition_state state;
  partition_read_state(part, &state);
  int64_t divided_ms = atomic_load_explicit(&part->divided_ms, memory_order_relaxed);
  while (part->ready != NULL && part->ready->change == NULL && count < APPEND_GATHER) {
    struct append_job *job = part->ready;
    part->ready = job->next;
    job->append_time_ms = now_ms;
    job->log_start_offset = state.log_start_offset;
    job->result = append_refusal(part, &state, job);
    if (job->result < 0) {
      append_note_gap(part, job);
      append_finish(job, local_end);
      continue;
    }
    batches[count] = job->batch;
    batches[count].divided_ms = divided_ms;
    jobs[count++] = job;
  }
  if (count == 0) {
    return;
  }
  int result = append_write(part, batches, count, state.leader_epoch, now_ms);
  if (result < 0) {
    replica_manager_append_failed(part->manager, part, result);
  }
  int64_t bytes = 0;
  int64_t records = 0;
  int64_t written = 0;
  for (int i = 0; i < count; i++) {
    jobs[i]->batch = batches[i];
    jobs[i]->result = batches[i].result;
    append_note_gap(part, jobs[i]);
    if (batches[i].result == 0 && !batches[i].is_duplicate) {
      bytes += (int64_t)batches[i].size;
      records += batch_record_count(batches[i].bytes);
      written++;
    }
  }
  metric_count(&part->counters.records, records);
  metric_count(&part->counters.batches, written);
  metric_count(&part->counters.bytes, bytes);
  int64_t safe_offset = high_watermark_appended(part, bytes);
  for (int i = 0; i < count; i++) {
    if (flush_is_due(jobs[i], safe_offset)) {
      flush_hold(part, jobs[i]);
    } else {
      append_finish(jobs[i], local_end);
    }
  }
  if (safe_offset < log_end_offset(part->log)) {
    append_finish_all(flush_begin(part), local_end);
  }
}

/// One round: all that is ready. The appender is held.
static void append_run(struct partition *part, struct append_job ***local_end)
{
  append_collect(part);
  while (part->ready != NULL) {
    struct append_job *job = part->ready;
    if (job->change == NULL) {
      append_run_batches(part, local_end);
    } else {
      part->ready = job->next;
      job->released = NULL;
      job->change(job);
      append_finish_all(job->released, local_end);
      append_finish(job, local_end);
    }
  }
}

static void append_hold(struct partition *part);

static void append_take_over(struct mail *mail)
{
  struct partition *part = CONTAINER_OF(mail, struct partition, handover);
  int passed = APPENDER_PASSED;
  // In this order: who passes it on from now on sends the mail again.
  atomic_store(&part->is_handing_over, false);
  if (atomic_compare_exchange_strong(&part->appender, &passed, APPENDER_HELD)) {
    append_hold(part);
  }
  partition_unref(part);
}

/// Passes the appender, which is held, to a loop, or to whoever comes before that.
static void append_pass(struct partition *part, struct event_loop *loop)
{
  partition_ref(part);
  atomic_store(&part->appender, APPENDER_PASSED);
  if (!atomic_exchange(&part->is_handing_over, true)) {
    part->handover.run = append_take_over;
    event_loop_post(loop, &part->handover);
  } else {
    partition_unref(part);
  }
}

/// Runs jobs until none waits or the appender has been passed on. The appender is held.
static void append_hold(struct partition *part)
{
  struct append_job *local = NULL;
  struct append_job **local_end = &local;
  int32_t refs = 1; // this one, and those of the jobs that are done here
  partition_ref(part);
  for (int round = 0;; round++) {
    append_run(part, &local_end);
    struct append_job *newest = atomic_load(&part->jobs);
    if (newest != NULL && round >= APPEND_ROUNDS && newest->reply != NULL && newest->reply != event_loop_current()) {
      append_pass(part, newest->reply);
      break;
    }
    atomic_store(&part->appender, APPENDER_FREE);
    // A job pushed before that store may have found the appender busy: look again.
    if (atomic_load(&part->jobs) == NULL || atomic_exchange(&part->appender, APPENDER_HELD) == APPENDER_HELD) {
      break;
    }
  }
  while (local != NULL) {
    struct append_job *job = local;
    local = job->next;
    refs++;
    append_done(job);
  }
  partition_unref_by(part, refs);
}

void partition_submit_row(struct partition *part, struct append_job *newest, struct append_job *oldest, int32_t count)
{
  CHECK(epoch_is_inside() && count > 0);
  partition_ref_by(part, count);
  // Once they are there others may be done with them.
  struct event_loop *reply = event_loop_current() == NULL && newest->change == NULL ? newest->reply : NULL;
  struct append_job *before = atomic_load_explicit(&part->jobs, memory_order_relaxed);
  do {
    oldest->next = before;
  } while (!atomic_compare_exchange_weak(&part->jobs, &before, newest));
  if (reply != NULL) {
    int idle = APPENDER_FREE;
    if (atomic_compare_exchange_strong(&part->appender, &idle, APPENDER_HELD)) {
      append_pass(part, reply);
    }
  } else if (atomic_exchange(&part->appender, APPENDER_HELD) != APPENDER_HELD) {
    append_hold(part);
  }
}

void partition_submit(struct partition *part, struct append_job *job)
{
  job->part = part;
  partition_submit_row(part, job, job, 1);
}
