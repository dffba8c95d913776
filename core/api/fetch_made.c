// SPDX-License-Identifier: Apache-2.0
//
// What answers have in common that are made in memory and not sent from files, by runners (fetch_policy.c) or on the
// pool (fetch_convert.c): they take their memory first, wait in line for it, and may have to leave that line.
#include "api/api.h"
#include "api/fetch_private.h"
#include "api/request.h"
#include "base/error.h"
#include "record/batch.h"

int64_t fetch_batch_size(const uint8_t *bytes, size_t size)
{
  if (size < BATCH_PREFIX_SIZE) {
    return 0;
  }
  int64_t batch_bytes = batch_size(bytes);
  return batch_bytes < BATCH_OVERHEAD_SIZE + BATCH_LENGTH_MIN ? ERR_CORRUPT_BATCH : batch_bytes;
}

// ---- the worker's list, by which a drain finds what waits ----

void fetch_made_list(struct fetch_made *made)
{
  made->is_listed = true;
  list_append(&made->fetch->req->worker->waiting, &made->fetch->link);
}

void fetch_made_unlist(struct fetch_made *made)
{
  if (made->is_listed) {
    made->is_listed = false;
    list_remove(&made->fetch->link);
  }
}

// ---- memory ----

/// Answers without records.
static void made_give_up(struct fetch_made *made)
{
  struct fetch *fetch = made->fetch;
  made->drop(made);
  answer_claim_return(&made->claim);
  fetch->is_loading = false;
  fetch_send(fetch);
}

static void made_granted(struct answer_claim *claim)
{
  struct fetch_made *made = CONTAINER_OF(claim, struct fetch_made, claim);
  const struct request *req = made->fetch->req;
  fetch_made_unlist(made);
  if (req->client == NULL || req->worker->is_draining) {
    made_give_up(made);
  } else {
    made->begin(made);
  }
}

void fetch_made_start(struct fetch_made *made, int64_t bytes)
{
  made->fetch->is_loading = true;
  if (answer_claim_take(&made->claim, made->fetch->req->frame, bytes, made_granted)) {
    made->begin(made);
  } else {
    fetch_made_list(made);
  }
}

bool fetch_made_leave(struct fetch_made *made)
{
  fetch_made_unlist(made);
  bool has_left = answer_claim_leave(&made->claim);
  if (has_left) {
    made_give_up(made);
  }
  return has_left;
}

void fetch_made_send(struct fetch_made *made)
{
  struct fetch *fetch = made->fetch;
  struct answer_claim claim = made->claim;
  fetch->is_loading = false;
  fetch_send(fetch);
  answer_claim_return(&claim); // the answer is counted now, and `made` is gone
}
