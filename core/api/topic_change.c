// SPDX-License-Identifier: Apache-2.0
#include "api/topic_change.h"

#include "api/api.h"
#include "base/list.h"
#include "base/mem.h"

enum { TOPIC_CHANGE_WAIT_MIN_MS = 1000 };

static void topic_change_expired(struct timer *timer)
{
  struct topic_change *change = CONTAINER_OF(timer, struct topic_change, timer);
  change->answer(change, true);
  change->req = NULL;
}

struct topic_change *topic_change_new(struct api_worker *worker, struct request *req, int32_t timeout_ms,
                                      topic_change_fn answer)
{
  struct topic_change *change = mem_zalloc(sizeof *change);
  change->worker = worker;
  change->req = req;
  change->answer = answer;
  if (req != NULL) {
    int64_t wait_ms = timeout_ms > TOPIC_CHANGE_WAIT_MIN_MS ? timeout_ms : TOPIC_CHANGE_WAIT_MIN_MS;
    timer_start(worker->loop, &change->timer, wait_ms, topic_change_expired);
  }
  return change;
}

void topic_change_done(struct topic_change *change)
{
  if (change->req != NULL) {
    timer_stop(change->worker->loop, &change->timer);
    change->answer(change, false);
  }
  arena_destroy(&change->arena);
  mem_free(change);
}

const char *topic_change_text(struct topic_change *change, struct wire_string text)
{
  if (text.length < 0) {
    return NULL;
  }
  char *copy = arena_strndup(&change->arena, text.data, (size_t)text.length);
  for (int32_t i = 0; i < text.length; i++) {
    if (copy[i] == '\0') {
      copy[i] = '?';
    }
  }
  return copy;
}
