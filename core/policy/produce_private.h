// SPDX-License-Identifier: Apache-2.0
//
// For the files of the produce path: produce.c has a batch at the home of its partition, and in the end;
// produce_divide.c makes parts of it, produce_part.c does what is done with each chosen partition,
// produce_extra.c writes what policies made in addition, produce_order.c decides whether and when all of it is written.
#pragma once

#include "policy/produce.h"

struct part_extra;
struct part_look;

/// What goes to one partition.
struct policy_part {
  struct policy_job job;              ///< its turn with the partition's home; unused where that is at it anyway
  struct append_job append;           ///< the batch
  struct policy_produce *op;          ///< whose part it is
  struct partition *part;             ///< referenced; NULL: not here
  int32_t partition;                  ///< its number
  int32_t count;                      ///< records, before a transform
  uint8_t *bytes;                     ///< the batch: in one of the buffers
  size_t size;                        ///< bytes of the batch
  struct record_buffer rewritten;     ///< the batch after a transform, or packed anew
  bool has_all;                       ///< no record was dropped
  bool is_away;                       ///< its home is another one than that of the addressed partition
  bool is_stored;                     ///< it was written before, and is not again
  bool is_transformed;                ///< by a function, so that it matters whether it was written before
  struct part_look *look;             ///< a second look at the log, owned; NULL: none
  struct part_extra *extras;          ///< further batches for the partition, in the order in which they go; owned
  int extra_count;                    ///< how many
  int emit_count;                     ///< how many of those:
  struct part_extra *emits;           ///< batches for other topics, owned
  const char *emitter;                ///< who emitted them, for texts, in `arena`
  size_t held_bytes;                  ///< of what was made, counted while it waits
  int result;                         ///< 0, or why it is not to be written
  int written;                        ///< 0, or what its appends say. The worker's
  char *message;                      ///< the same for people, owned; NULL: nothing to say
  struct batch_record_error *rejects; ///< refused records, by index in this part, in `arena`
  int32_t reject_count;               ///< how many
  int32_t reject_total;               ///< how many there were; then `message` goes on behind that number
  struct arena arena;                 ///< texts of those
};

/// A batch of the broker's own, beside a part.
struct part_extra {
  struct append_job append;  ///< its append
  struct policy_part *owner; ///< whose it is
  struct partition *part;    ///< emitted: where it goes; referenced
  struct record_buffer out;  ///< the batch
};

// ---- produce_divide.c ----

/// Finds who chooses partitions: what the topic's config says, or else the configuration.
///
/// @param[out] partitioner  NULL: the client does
/// @param[out] choice       for one of ours
/// @return 0, or what the batch is refused with
int policy_divide_find(struct policy_produce *op, const struct policy_set *set, const struct policy_topic *policies,
                       const struct policy **partitioner, struct policy_choice *choice);

/// Has the partition of each record chosen, and makes the parts.
///
/// @param vm  NULL: there is none
/// @return 0; ERR_CLOSED: abandoned; another: what the batch is refused with
int policy_divide(struct policy_produce *op, struct policy_vm *vm, const struct policy *partitioner,
                  const struct policy_choice *choice, struct batch_records *records, bool is_transformed);

/// Makes one part that is all of the batch.
void policy_divide_not(struct policy_produce *op, int32_t partition);

// ---- produce_part.c ----

/// Does with a part all that comes before it is written, on the runner that is its home: what can be wrong is found.
///
/// @param job      of which this is a part
/// @param records  of the part's batch, if they have been read; NULL
/// @return 0, also when the part has failed; ERR_CLOSED: the job was abandoned
int policy_part_prepare(struct policy_part *part, struct policy_job *job, const struct policy_set *set,
                        struct policy_vm *vm, const struct batch_records *records);

/// Looks again whether a part was written before, now that nothing is before its batch any more. Inside the epoch.
///
/// @return whether policy_order_came() will be called
bool policy_part_look_again(struct policy_part *part);

/// Takes over what that look has found.
void policy_part_take_look(struct policy_part *part);

/// Writes a part that is prepared, and what goes behind it. Inside the epoch.
void policy_part_submit(struct policy_part *part);

/// How a part is to be packed.
struct batch_packing policy_part_packing(const struct policy_part *part);

/// What keeps a record that a policy made out of a topic, by the rules that clients' records are validated by; NULL:
/// nothing.
const char *policy_record_fault(const struct policy_record *made, const struct topic_config *config, int64_t now_ms);

void policy_record_edit(const struct policy_record *made, struct record_edit *edit);

/// Notes why a part fails. @param text  copied; NULL: nothing to say
void policy_part_fail(struct policy_part *part, int result, const char *text);

// ---- produce.c ----

/// One of the things that `done` waits for is done. On the worker.
void policy_produce_release(struct policy_produce *op);

/// A job of an abandoned or finished one does not refer to it any more. Any thread.
void policy_produce_unref(struct policy_produce *op);

// ---- produce_order.c ----

/// A batch begins: it is the last of its partition's. On the runner that is the addressed partition's home.
void policy_order_enter(struct policy_produce *op);

/// Whether so much waits to be written that nothing more should be made.
bool policy_order_is_full(void);

/// One of the things that a batch waits for has come. When it was the last one, and none is before the batch, it is
/// written or refused, and those behind it likewise. Any thread that is a loop, a runner or inside the epoch.
///
/// @param is_own  the caller is its job, which is not done: `done` waits for that in any case
void policy_order_came(struct policy_produce *op, bool is_own);

/// A batch that has never begun is refused: `op->result`. On its worker.
void policy_order_refuse(struct policy_produce *op);

/// Counts what a batch itself keeps, which is the records of its shares as they were before a transform.
void policy_order_hold_batch(struct policy_produce *op);

/// Counts what a part keeps until it is written.
void policy_order_hold(struct policy_part *part);

// ---- produce_extra.c ----

/// Makes batches of the records that a transform made in addition for the part's own partition.
///
/// @return 0; otherwise the part has failed
int policy_extra_own(struct policy_part *part, const struct policy_output *output);

/// Makes batches of what was emitted for other topics.
///
/// @return 0; otherwise the part has failed
int policy_extra_emit(struct policy_part *part, const struct policy *policy, const struct policy_output *output);

/// Writes those. Each calls policy_order_came() when it is as safe as acks asks. Inside the epoch.
void policy_extra_write(struct policy_part *part);

/// Looks what came of it. @return 0; otherwise the part has failed
int policy_extra_check(struct policy_part *part);

void policy_extra_free(struct part_extra *extras, int count);
