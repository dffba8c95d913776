// SPDX-License-Identifier: Apache-2.0
#include "replica/high_watermark.h"

#include "log/log.h"
#include "log/log_transactions.h"
#include "replica/partition.h"
#include "replica/watch.h"

int64_t high_watermark_stable_offset(const struct partition *part, int64_t high_watermark)
{
  int64_t unstable_offset = log_first_unstable_offset(part->log);
  int64_t start_offset = log_start_offset(part->log);
  unstable_offset = unstable_offset > start_offset ? unstable_offset : start_offset;
  return unstable_offset < high_watermark ? unstable_offset : high_watermark;
}

static void high_watermark_publish(struct partition *part)
{
  struct partition_state state;
  partition_read_state(part, &state);
  state.log_start_offset = log_start_offset(part->log);
  state.high_watermark = log_end_offset(part->log);
  state.last_stable_offset = high_watermark_stable_offset(part, state.high_watermark);
  partition_write_state(part, &state);
}

void high_watermark_appended(struct partition *part, int64_t bytes)
{
  if (bytes == 0) {
    return;
  }
  high_watermark_publish(part);
  atomic_fetch_add(&part->visible_bytes, bytes);
  watch_notify(part);
}

void high_watermark_reset(struct partition *part)
{
  high_watermark_publish(part);
  watch_notify_all(part);
}
