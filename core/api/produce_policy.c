// SPDX-License-Identifier: Apache-2.0
//
// Parts of a Produce whose topics have policies go round by the runners (policy/produce.h), which do with them all that
// is to be done. What comes back is made an answer here.
//
// The frame's memory is kept for the runners beyond the answer: a policy that never returns is answered for, and may be
// reading it for ever.
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/produce_private.h"
#include "api/request.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "metadata/topic_config.h"
#include "network/buffer.h"
#include "network/frame.h"
#include "policy/policy.h"
#include "policy/produce.h"
#include "policy/runner.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

/// A part with the runners.
struct produce_policed {
  struct policy_produce op;  ///< its way
  struct produce_part *part; ///< whose it is, until `done`
  struct buffer *buffer;     ///< what its bytes lie in, referenced
};

bool produce_meets_policies(const struct produce *produce, const struct partition *found,
                            const struct topic_config *config)
{
  if (policy_produce_is_ahead(found)) {
    return true;
  }
  if (!policy_runners_are_needed(produce->req->api->runners)) {
    return false;
  }
  const struct policy_set *set = policy_cache_get(produce->req->api->policies);
  const struct policy_topic *policies = policy_set_topic(set, found->topic, strlen(found->topic));
  if (policies != NULL && policies->transform != NULL) {
    return true;
  }
  const char *name = topic_config_partitioner(config);
  const struct policy *partitioner = policies != NULL ? policies->partitioner : NULL;
  if (name != NULL) {
    partitioner = policy_set_named(set, name, strlen(name));
  }
  return partitioner != NULL && partitioner->builtin < 0;
}

/// Takes over the result, with texts in the request's arena.
static void produce_take_result(struct produce_part *part, const struct policy_produce *op)
{
  part->verdict = op->verdict;
  part->job.log_start_offset = op->log_start_offset;
  part->job.batch.base_offset = op->base_offset;
  part->job.batch.is_duplicate = op->is_duplicate;
  part->job.batch.stored_timestamp = op->stored_timestamp;
  part->error = op->is_transactional       ? produce_check_transaction(part->produce, part)
                : op->result == ERR_SCRIPT ? WIRE_POLICY_VIOLATION // its functions cannot be run
                                           : api_wire_error(op->result);
  if (op->is_transactional) {
    part->verdict.message = "Transactional batches cannot be written to a topic with policies";
  }
  produce_keep_texts(part);
}

static void produce_policed_done(struct policy_produce *op)
{
  struct produce_policed *policed = CONTAINER_OF(op, struct produce_policed, op);
  struct produce_part *part = policed->part;
  policed->part = NULL;
  produce_take_result(part, op);
  produce_release(part->produce);
}

static void produce_policed_abandoned(struct policy_produce *op)
{
  buffer_detach(CONTAINER_OF(op, struct produce_policed, op)->buffer);
}

static void produce_policed_free(struct policy_produce *op)
{
  struct produce_policed *policed = CONTAINER_OF(op, struct produce_policed, op);
  buffer_unref(policed->buffer);
  mem_free(policed);
}

void produce_police(struct produce_part *part, struct partition *found, const struct batch_rules *rules, bool is_old)
{
  struct request *req = part->produce->req;
  struct produce_policed *policed = mem_zalloc(sizeof *policed);
  policed->part = part;
  policed->buffer = frame_keep_bytes(req->frame);
  policed->op = (struct policy_produce){
      .runners = req->api->runners,
      .replicas = req->api->replicas,
      .metadata = req->api->metadata,
      .reply = req->worker->loop,
      .give_up_ms = &req->worker->give_up_ms,
      .addressed = partition_ref(found),
      .rules = *rules,
      .bytes = (uint8_t *)(uintptr_t)part->records.data,
      .size = part->records.length > 0 ? (size_t)part->records.length : 0,
      .is_old = is_old,
      .is_unacknowledged = part->produce->acks == 0,
      .done = produce_policed_done,
      .free = produce_policed_free,
      .abandoned = produce_policed_abandoned,
  };
  part->produce->pending++;
  append_gather_submit_topic(&req->worker->appends, &found->topic_id);
  policy_produce_start(&policed->op);
}
