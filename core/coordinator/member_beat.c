// SPDX-License-Identifier: Apache-2.0
#include "coordinator/member_beat.h"

#include "base/mem.h"

enum { BEAT_ENDED = -1 };

struct member_beat *member_beat_new(int32_t generation, int64_t now_ms)
{
  struct member_beat *beat = mem_zalloc(sizeof *beat);
  atomic_init(&beat->refs, 1);
  atomic_init(&beat->generation, generation);
  atomic_init(&beat->heard_ms, now_ms);
  return beat;
}

struct member_beat *member_beat_ref(struct member_beat *beat)
{
  atomic_fetch_add_explicit(&beat->refs, 1, memory_order_relaxed);
  return beat;
}

void member_beat_unref(struct member_beat *beat)
{
  if (beat != NULL && atomic_fetch_sub_explicit(&beat->refs, 1, memory_order_acq_rel) == 1) {
    mem_free(beat);
  }
}

bool member_beat_hear(struct member_beat *beat, int32_t generation, int64_t now_ms)
{
  if (generation < 0 || atomic_load_explicit(&beat->generation, memory_order_acquire) != generation) {
    return false;
  }
  atomic_store_explicit(&beat->heard_ms, now_ms, memory_order_release);
  return true;
}

void member_beat_end(struct member_beat *beat)
{
  atomic_store_explicit(&beat->generation, BEAT_ENDED, memory_order_release);
}

bool member_beat_has_ended(const struct member_beat *beat)
{
  return atomic_load_explicit(&beat->generation, memory_order_acquire) == BEAT_ENDED;
}
