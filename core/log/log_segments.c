// SPDX-License-Identifier: Apache-2.0
//
// The segments as retention, policies and the console see them, and Kafka's rules for what may be deleted. Only looks;
// deleting is log_delete_before(), while the appender is held. Any thread, inside the epoch.
#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/slog.h"
#include "log/log_private.h"

enum {
  SEGMENTS_CLOCK_SKEW_MS =
      3600 * 1000, ///< records this far ahead are taken for those of a client whose clock is off a little
};

/// Describes one segment of a list.
static void describe(const struct segment_list *list, int index, int64_t end_offset, struct log_segment_info *info)
{
  const struct segment *seg = list->segments[index];
  bool is_active = index == list->count - 1;
  *info = (struct log_segment_info){
      .base_offset = seg->base_offset,
      .next_offset = is_active ? end_offset : list->segments[index + 1]->base_offset,
      .size_bytes = atomic_load_explicit(&seg->size, memory_order_acquire),
      .max_timestamp = atomic_load_explicit(&seg->max_timestamp, memory_order_acquire),
      .modified_ms = atomic_load_explicit(&seg->modified_ms, memory_order_relaxed),
      .is_active = is_active,
  };
}

int log_segments(const struct log *log, struct log_segment_info *infos, int room)
{
  CHECK(epoch_is_inside());
  int64_t end_offset = log_end_offset(log);
  const struct segment_list *list = log_list(log);
  int count = list->count < room ? list->count : room;
  for (int i = 0; i < count; i++) {
    describe(list, i, end_offset, &infos[i]);
  }
  return count;
}

int64_t log_segment_age_base_ms(const struct log_segment_info *info, int64_t now_ms)
{
  return info->max_timestamp >= 0 && info->max_timestamp <= now_ms + SEGMENTS_CLOCK_SKEW_MS ? info->max_timestamp
                                                                                            : info->modified_ms;
}

/// True when a segment's records are older than retention_ms. Tells once when they lie in the future.
static bool is_expired(const struct log *log, struct segment *seg, const struct log_segment_info *info,
                       int64_t retention_ms, int64_t now_ms)
{
  if (info->max_timestamp > now_ms + SEGMENTS_CLOCK_SKEW_MS && !atomic_exchange(&seg->is_reported, true)) {
    slog_warn("%s: the segment at offset %" PRId64 " has a record of %" PRId64
              " ms in the future; retention goes by the time of its file",
              log_dir(log), seg->base_offset, info->max_timestamp - now_ms);
  }
  return now_ms - log_segment_age_base_ms(info, now_ms) > retention_ms;
}

void log_retention_pick(struct log *log, int64_t now_ms, int64_t high_watermark, struct log_retention *pick)
{
  CHECK(epoch_is_inside());
  const struct log_config *config = log_get_config(log);
  int64_t start_offset = log_start_offset(log);
  int64_t end_offset = log_end_offset(log);
  const struct segment_list *list = log_list(log);
  bool is_timed = config->is_deleting && config->retention_ms >= 0;
  bool is_sized = config->is_deleting && config->retention_bytes >= 0;
  int64_t excess = is_sized ? log_size_bytes(log) - config->retention_bytes : 0;
  *pick = (struct log_retention){.delete_before = list->segments[0]->base_offset, .reason = LOG_RETENTION_NONE};
  for (int i = 0; i < list->count; i++) {
    struct log_segment_info info;
    describe(list, i, end_offset, &info);
    if (info.next_offset > high_watermark || (info.is_active && info.size_bytes == 0)) {
      return;
    }
    if (is_timed && is_expired(log, list->segments[i], &info, config->retention_ms, now_ms)) {
      pick->reason = LOG_RETENTION_MS;
    } else if (is_sized && !info.is_active && excess >= info.size_bytes) {
      pick->reason = LOG_RETENTION_BYTES;
    } else if (!info.is_active && info.next_offset <= start_offset) {
      pick->reason = LOG_RETENTION_START_OFFSET;
    } else {
      return;
    }
    excess -= info.size_bytes;
    pick->segments++;
    pick->size_bytes += info.size_bytes;
    pick->delete_before = info.next_offset;
    pick->is_roll_needed = info.is_active;
  }
}
