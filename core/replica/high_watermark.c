// SPDX-License-Identifier: Apache-2.0
#include "replica/high_watermark.h"

#include "log/log.h"
#include "log/log_transactions.h"
#include "replica/flush.h"
#include "replica/partition.h"
#include "replica/watch.h"

int64_t high_watermark_stable_offset(const struct partition *part, int64_t high_watermark)
{
  int64_t unstable_offset = log_first_unstable_offset(part->log);
  int64_t start_offset = log_start_offset(part->log);
  unstable_offset = unstable_offset > start_offset ? unstable_offset : start_offset;
  return unstable_offset < high_watermark ? unstable_offset : high_watermark;
}

/// Publishes the offsets; returns whether the high watermark is at the log's end.
static bool high_watermark_publish(struct partition *part)
{
  struct partition_state state;
  partition_read_state(part, &state);
  int64_t end_offset = log_end_offset(part->log);
  int64_t offset = flush_safe_offset(part);
  // It does not move back when a topic begins to ask for flushes, only when the log has become shorter.
  offset = offset > state.high_watermark ? offset : state.high_watermark;
  state.log_start_offset = log_start_offset(part->log);
  state.high_watermark = offset < end_offset ? offset : end_offset;
  state.last_stable_offset = high_watermark_stable_offset(part, state.high_watermark);
  partition_write_state(part, &state);
  return state.high_watermark == end_offset;
}

int64_t high_watermark_appended(struct partition *part, int64_t bytes)
{
  // Before the high watermark, which goes by what a flush has brought to disk meanwhile.
  int64_t safe_offset = flush_safe_offset(part);
  if (bytes > 0) {
    part->held_bytes += bytes;
    high_watermark_raise(part, 0);
  }
  int64_t high_watermark = atomic_load_explicit(&part->high_watermark, memory_order_relaxed);
  return safe_offset < high_watermark ? safe_offset : high_watermark;
}

void high_watermark_raise(struct partition *part, int64_t bytes)
{
  bool is_at_end = high_watermark_publish(part);
  int64_t shown = is_at_end || bytes > part->held_bytes ? part->held_bytes : bytes;
  part->held_bytes -= shown;
  if (shown > 0) {
    atomic_fetch_add(&part->visible_bytes, shown);
    watch_notify(part);
  }
}

void high_watermark_reset(struct partition *part)
{
  high_watermark_raise(part, 0);
  watch_notify_all(part);
}
