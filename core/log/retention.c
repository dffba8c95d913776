// SPDX-License-Identifier: Apache-2.0
#include "log/retention.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/slog.h"
#include "log/log.h"

bool retention_is_due(struct log *log, int64_t now_ms, int64_t high_watermark)
{
  struct log_retention pick;
  log_retention_pick(log, now_ms, high_watermark, &pick);
  return pick.segments > 0;
}

int64_t retention_pass_at(int64_t due_ms, int64_t next_ms, int64_t interval_ms)
{
  if (due_ms < 0 || next_ms < 0 || due_ms <= next_ms) {
    return due_ms < 0 ? -1 : next_ms;
  }
  int64_t passes = (due_ms - next_ms) / interval_ms + ((due_ms - next_ms) % interval_ms != 0 ? 1 : 0);
  int64_t at_ms = 0;
  bool is_beyond =
      __builtin_mul_overflow(passes, interval_ms, &at_ms) || __builtin_add_overflow(at_ms, next_ms, &at_ms);
  return is_beyond ? -1 : at_ms;
}

static const char *reason_text(int reason)
{
  switch (reason) {
    case LOG_RETENTION_MS:
      return "older than retention.ms";
    case LOG_RETENTION_BYTES:
      return "the log was larger than retention.bytes";
    default:
      return "below the log start offset";
  }
}

int retention_run(struct log *log, const char *topic, int32_t partition, int64_t now_ms, int64_t high_watermark,
                  struct retention_result *result)
{
  struct log_retention pick;
  log_retention_pick(log, now_ms, high_watermark, &pick);
  *result = (struct retention_result){.start_offset = log_start_offset(log)};
  if (pick.segments == 0) {
    return 0;
  }
  int64_t delete_before = pick.delete_before;
  if (pick.is_roll_needed) {
    TRY(log_roll(log, now_ms));
    delete_before = log_end_offset(log);
  }
  int64_t before_bytes = log_size_bytes(log);
  int deleted = log_delete_before(log, delete_before, now_ms);
  if (deleted < 0) {
    return deleted;
  }
  result->segments = deleted;
  result->bytes = before_bytes - log_size_bytes(log);
  result->start_offset = log_start_offset(log);
  if (deleted > 0) {
    slog_info("retention of %s-%" PRId32 ": deleted %d segments of %" PRId64 " bytes, %s; the log starts at %" PRId64,
              topic, partition, deleted, result->bytes, reason_text(pick.reason), result->start_offset);
  }
  return 0;
}
