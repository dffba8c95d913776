// SPDX-License-Identifier: Apache-2.0
//
// For the files of the produce path: produce.c divides, produce_part.c does what is done with each chosen partition,
// produce_extra.c writes what policies made in addition.
#pragma once

#include <semaphore.h>

#include "policy/produce.h"

struct part_extra;

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
  struct part_extra *extras;          ///< further batches for the partition, in the order in which they go; owned
  int extra_count;                    ///< how many
  int result;                         ///< 0, or why it was not submitted
  char *message;                      ///< the same for people, owned; NULL: nothing to say
  struct batch_record_error *rejects; ///< refused records, by index in this part, in `arena`
  int32_t reject_count;               ///< how many
  struct arena arena;                 ///< texts of those
};

/// A batch of the broker's own, beside a part.
struct part_extra {
  struct append_job append;  ///< its append
  struct policy_part *owner; ///< whose it is; NULL: emitted
  sem_t *written;            ///< emitted: posted when it is
  struct partition *part;    ///< emitted: where it goes; referenced
  struct record_buffer out;  ///< the batch
};

/// Does what is to be done with a part, on the runner that is its home: transform, write.
///
/// @param job      of which this is a part
/// @param records  of the part's batch, if they have been read; NULL
/// @return 0, also when the part has failed; ERR_CLOSED: the job was abandoned
int policy_part_run(struct policy_part *part, struct policy_job *job, const struct policy_set *set,
                    struct policy_vm *vm, const struct batch_records *records);

/// How a part is to be packed.
struct batch_packing policy_part_packing(const struct policy_part *part);

/// What keeps a record that a policy made out of a topic, by the rules that clients' records are validated by; NULL:
/// nothing.
const char *policy_record_fault(const struct policy_record *made, const struct topic_config *config, int64_t now_ms);

void policy_record_edit(const struct policy_record *made, struct record_edit *edit);

/// Notes why a part fails. @param text  copied; NULL: nothing to say
void policy_part_fail(struct policy_part *part, int result, const char *text);

/// One of the things that `done` waits for is done. On the worker.
void policy_produce_release(struct policy_produce *op);

/// A job of an abandoned or finished one does not refer to it any more. Any thread.
void policy_produce_unref(struct policy_produce *op);

/// Makes batches of the records that a transform made in addition for the part's own partition.
///
/// @return 0; otherwise the part has failed
int policy_extra_own(struct policy_part *part, const struct policy_output *output);

/// Writes what was emitted for other topics, and waits until it is as safe as acks asks.
///
/// @return 0; otherwise the part has failed
int policy_extra_emit(struct policy_part *part, const struct policy *policy, const struct policy_output *output);

void policy_extra_free(struct part_extra *extras, int count);
