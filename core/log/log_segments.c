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
      .offset_index_bytes =
          (int64_t)atomic_load_explicit(&seg->offset_index.count, memory_order_relaxed) * OFFSET_INDEX_ENTRY_SIZE,
      .time_index_bytes =
          (int64_t)atomic_load_explicit(&seg->time_index.count, memory_order_relaxed) * TIME_INDEX_ENTRY_SIZE,
      .is_file_open = atomic_load_explicit(&seg->file, memory_order_relaxed) != NULL,
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

/// a + b, or the largest number there is; neither is negative.
static int64_t sum_of(int64_t a, int64_t b)
{
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/// Wall time from which a segment counts as older than retention_ms.
static int64_t expires_ms(const struct log_segment_info *info, int64_t retention_ms, int64_t now_ms)
{
  int64_t by_base_ms = sum_of(sum_of(log_segment_age_base_ms(info, now_ms), retention_ms), 1);
  bool is_future = info->max_timestamp > sum_of(now_ms, SEGMENTS_CLOCK_SKEW_MS);
  // By then its newest record may be believed again.
  if (is_future && info->max_timestamp <= sum_of(by_base_ms, SEGMENTS_CLOCK_SKEW_MS)) {
    return sum_of(sum_of(info->max_timestamp, retention_ms), 1);
  }
  return by_base_ms;
}

void log_retention_begin(const struct log *log, int64_t now_ms, int64_t high_watermark, struct log_retention_pass *pass)
{
  const struct log_config *config = log_get_config(log);
  bool is_sized = config->is_deleting && config->retention_bytes >= 0;
  int64_t recovery_point = log_recovery_point(log);
  if (config->is_sync && high_watermark > recovery_point) {
    // What the sync journal has beyond it would have nothing to follow, should only the deletion outlive a crash.
    high_watermark = recovery_point;
  }
  *pass = (struct log_retention_pass){
      .config = config,
      .now_ms = now_ms,
      .high_watermark = high_watermark,
      .start_offset = log_start_offset(log),
      .excess_bytes = is_sized ? log_size_bytes(log) - config->retention_bytes : 0,
      .due_ms = now_ms,
  };
}

/// The same without regard to older segments.
///
/// @param[out] due_ms  as in the verdict
static int judge_alone(const struct log_retention_pass *pass, const struct log_segment_info *info, int64_t *due_ms)
{
  const struct log_config *config = pass->config;
  bool is_timed = config->is_deleting && config->retention_ms >= 0;
  bool is_sized = config->is_deleting && config->retention_bytes >= 0;
  *due_ms = -1;
  if (info->next_offset > pass->high_watermark) {
    return LOG_KEEP_HIGH_WATERMARK;
  }
  if (info->is_active && info->size_bytes == 0) {
    return LOG_KEEP_EMPTY;
  }
  int64_t end_ms = is_timed ? expires_ms(info, config->retention_ms, pass->now_ms) : INT64_MAX;
  *due_ms = pass->now_ms;
  if (is_timed && end_ms <= pass->now_ms) {
    return LOG_RETENTION_MS;
  }
  if (is_sized && !info->is_active && pass->excess_bytes >= info->size_bytes) {
    return LOG_RETENTION_BYTES;
  }
  if (!info->is_active && info->next_offset <= pass->start_offset) {
    return LOG_RETENTION_START_OFFSET;
  }
  *due_ms = is_timed ? end_ms : -1;
  if (is_timed) {
    return LOG_KEEP_YOUNG;
  }
  if (is_sized) {
    return info->is_active ? LOG_KEEP_ACTIVE : LOG_KEEP_SMALL;
  }
  return config->is_deleting ? LOG_KEEP_UNLIMITED : LOG_KEEP_COMPACTED;
}

void log_retention_judge(struct log_retention_pass *pass, const struct log_segment_info *info,
                         struct log_retention_verdict *verdict)
{
  int64_t due_ms = -1;
  int reason = judge_alone(pass, info, &due_ms);
  bool may_go = reason < LOG_KEEP_YOUNG;
  bool is_timed = pass->config->is_deleting && pass->config->retention_ms >= 0 && reason != LOG_KEEP_HIGH_WATERMARK &&
                  reason != LOG_KEEP_EMPTY;
  bool is_known = due_ms >= 0 && pass->due_ms >= 0;
  *verdict = (struct log_retention_verdict){
      .is_going = may_go && !pass->is_over,
      .is_future = is_timed && info->max_timestamp > sum_of(pass->now_ms, SEGMENTS_CLOCK_SKEW_MS),
      .reason = may_go && pass->is_over ? LOG_KEEP_BEHIND : reason,
      .due_ms = !is_known               ? -1
                : due_ms > pass->due_ms ? due_ms
                                        : pass->due_ms,
  };
  pass->is_over = !verdict->is_going;
  pass->due_ms = verdict->due_ms;
  pass->excess_bytes -= info->size_bytes;
}

int log_retention_plan(const struct log *log, int64_t now_ms, int64_t high_watermark, struct log_segment_info *infos,
                       struct log_retention_verdict *verdicts, int room)
{
  struct log_retention_pass pass;
  log_retention_begin(log, now_ms, high_watermark, &pass);
  int count = log_segments(log, infos, room);
  for (int i = 0; i < count; i++) {
    log_retention_judge(&pass, &infos[i], &verdicts[i]);
  }
  return count;
}

/// Tells, once, that a segment's records lie in the future.
static void report_future(const struct log *log, struct segment *seg, const struct log_segment_info *info,
                          int64_t now_ms)
{
  if (!atomic_exchange(&seg->is_reported, true)) {
    slog_warn("%s: the segment at offset %" PRId64 " has a record of %" PRId64
              " ms in the future; retention goes by the time of its file",
              log_dir(log), seg->base_offset, info->max_timestamp - now_ms);
  }
}

void log_retention_pick(struct log *log, int64_t now_ms, int64_t high_watermark, struct log_retention *pick)
{
  CHECK(epoch_is_inside());
  int64_t end_offset = log_end_offset(log);
  const struct segment_list *list = log_list(log);
  struct log_retention_pass pass;
  log_retention_begin(log, now_ms, high_watermark, &pass);
  *pick = (struct log_retention){.delete_before = list->segments[0]->base_offset, .reason = LOG_RETENTION_NONE};
  for (int i = 0; i < list->count; i++) {
    struct log_segment_info info;
    struct log_retention_verdict verdict;
    describe(list, i, end_offset, &info);
    log_retention_judge(&pass, &info, &verdict);
    if (verdict.is_future) {
      report_future(log, list->segments[i], &info, now_ms);
    }
    if (!verdict.is_going) {
      return;
    }
    pick->reason = verdict.reason;
    pick->segments++;
    pick->size_bytes += info.size_bytes;
    pick->delete_before = info.next_offset;
    pick->is_roll_needed = info.is_active;
  }
}
