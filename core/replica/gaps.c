// SPDX-License-Identifier: Apache-2.0
#include "replica/gaps.h"

#include <pthread.h>

#include "base/mem.h"
#include "log/producer_state.h"
#include "record/split.h"

/// One gap.
struct gap {
  int64_t producer_id; ///< whose
  int64_t noted_ms;    ///< when it was noted last
  int32_t sequence;    ///< what has to come next
  int16_t epoch;       ///< of the producer
};

struct gaps {
  _Atomic(int32_t) count; ///< gaps; read without the lock to find that there are none
  pthread_mutex_t lock;   ///< guards all else. A leaf
  struct gap list[GAPS_MAX];
};

static struct gaps *gaps_new(void)
{
  struct gaps *gaps = mem_zalloc(sizeof *gaps);
  pthread_mutex_init(&gaps->lock, NULL);
  return gaps;
}

void gaps_delete(struct gaps *gaps)
{
  if (gaps != NULL) {
    pthread_mutex_destroy(&gaps->lock);
    mem_free(gaps);
  }
}

static struct gaps *gaps_make(_Atomic(struct gaps *) *place)
{
  struct gaps *gaps = atomic_load_explicit(place, memory_order_acquire);
  if (gaps != NULL) {
    return gaps;
  }
  struct gaps *made = gaps_new();
  if (atomic_compare_exchange_strong(place, &gaps, made)) {
    return made;
  }
  gaps_delete(made);
  return gaps;
}

static bool gaps_are_none(struct gaps *gaps)
{
  return gaps == NULL || atomic_load_explicit(&gaps->count, memory_order_relaxed) == 0;
}

/// Holding the lock, as the following.
static struct gap *gaps_find(struct gaps *gaps, int64_t producer_id)
{
  for (int32_t i = 0; i < gaps->count; i++) {
    if (gaps->list[i].producer_id == producer_id) {
      return &gaps->list[i];
    }
  }
  return NULL;
}

static void gaps_remove(struct gaps *gaps, struct gap *gap)
{
  *gap = gaps->list[gaps->count - 1];
  gaps->count--;
}

/// A place for one more, which is the oldest one's when there is no room.
static struct gap *gaps_add(struct gaps *gaps)
{
  if (gaps->count < GAPS_MAX) {
    return &gaps->list[gaps->count++];
  }
  struct gap *oldest = &gaps->list[0];
  for (int32_t i = 1; i < GAPS_MAX; i++) {
    oldest = gaps->list[i].noted_ms < oldest->noted_ms ? &gaps->list[i] : oldest;
  }
  return oldest;
}

/// What has to come first of a newer epoch of a producer, none of which has come yet.
static int32_t gaps_begin(int64_t producer_id, int32_t sequence)
{
  return batch_is_share_producer_id(producer_id) ? sequence : 0;
}

void gaps_note(_Atomic(struct gaps *) *place, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms)
{
  struct gaps *gaps = gaps_make(place);
  pthread_mutex_lock(&gaps->lock);
  struct gap *gap = gaps_find(gaps, producer_id);
  if (gap == NULL) {
    gap = gaps_add(gaps);
    *gap = (struct gap){.producer_id = producer_id, .sequence = sequence, .epoch = epoch};
  } else if (gap->epoch < epoch) {
    gap->sequence = gaps_begin(producer_id, sequence);
    gap->epoch = epoch;
  } else if (gap->epoch == epoch && !producers_is_beyond(gap->sequence, sequence)) {
    gap->sequence = sequence;
  }
  gap->noted_ms = now_ms;
  pthread_mutex_unlock(&gaps->lock);
}

bool gaps_refuse(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms)
{
  if (gaps_are_none(gaps)) {
    return false;
  }
  pthread_mutex_lock(&gaps->lock);
  struct gap *gap = gaps_find(gaps, producer_id);
  if (gap != NULL && now_ms - gap->noted_ms >= GAPS_KEPT_MS) {
    gaps_remove(gaps, gap);
    gap = NULL;
  }
  if (gap != NULL && gap->epoch < epoch && gaps_begin(producer_id, sequence) != sequence) {
    *gap = (struct gap){.producer_id = producer_id, .epoch = epoch, .noted_ms = now_ms};
  }
  bool is_refused = gap != NULL && gap->epoch == epoch && producers_is_beyond(gap->sequence, sequence);
  pthread_mutex_unlock(&gaps->lock);
  return is_refused;
}

void gaps_close(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int32_t next)
{
  if (gaps_are_none(gaps)) {
    return;
  }
  pthread_mutex_lock(&gaps->lock);
  struct gap *gap = gaps_find(gaps, producer_id);
  bool is_same = gap != NULL && epoch == gap->epoch;
  if (gap != NULL && next >= 0 && ((is_same && sequence == gap->sequence) || epoch > gap->epoch)) {
    gap->sequence = next;
    gap->epoch = epoch;
  } else if (next < 0 &&
             ((is_same && !producers_is_beyond(gap->sequence, sequence)) || (gap != NULL && epoch > gap->epoch))) {
    gaps_remove(gaps, gap);
  }
  pthread_mutex_unlock(&gaps->lock);
}

void gaps_pass(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence)
{
  if (gaps_are_none(gaps)) {
    return;
  }
  pthread_mutex_lock(&gaps->lock);
  struct gap *gap = gaps_find(gaps, producer_id);
  if (gap != NULL && (epoch > gap->epoch || (epoch == gap->epoch && (sequence == gap->sequence ||
                                                                     producers_is_beyond(gap->sequence, sequence))))) {
    gaps_remove(gaps, gap);
  }
  pthread_mutex_unlock(&gaps->lock);
}
