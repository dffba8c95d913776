// SPDX-License-Identifier: Apache-2.0
#include "replica/log_start.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"
#include "log/log.h"
#include "replica/high_watermark.h"
#include "replica/manager.h"
#include "replica/partition.h"

/// The offset to raise to, in Kafka's order of checks.
static int log_start_target(const struct partition *part, int64_t asked, int64_t *target)
{
  struct partition_state state;
  partition_read_state(part, &state);
  TRY(partition_check_leader(&state));
  const struct log_config *config = log_get_config(part->log);
  if (config->is_compacted && !config->is_deleting) {
    return error_set(ERR_POLICY_VIOLATION, "the records of %s-%" PRId32 " are compacted, not deleted", part->topic,
                     part->index);
  }
  int64_t offset = asked == -1 ? state.high_watermark : asked;
  if (offset < 0 || offset > state.high_watermark) {
    return error_set(ERR_OFFSET_OUT_OF_RANGE, "offset %" PRId64 " is not in %s-%" PRId32, offset, part->topic,
                     part->index);
  }
  *target = offset;
  return 0;
}

/// While holding the appender.
static void log_start_raise(struct append_job *job)
{
  struct log_start_job *start = CONTAINER_OF(job, struct log_start_job, job);
  struct partition *part = job->part;
  int64_t target = 0;
  job->result = log_start_target(part, start->offset, &target);
  if (job->result < 0) {
    return;
  }
  start->is_raised = target > log_start_offset(part->log);
  job->result = log_set_start_offset(part->log, target);
  if (start->is_raised) {
    high_watermark_reset(part);
  }
  start->low_watermark = log_start_offset(part->log);
}

void log_start_submit(struct partition *part, struct log_start_job *start, struct event_loop *reply, append_job_fn done)
{
  start->low_watermark = -1;
  start->is_raised = false;
  start->job.reply = reply;
  start->job.change = log_start_raise;
  start->job.done = done;
  partition_submit(part, &start->job);
}

int log_start_check(struct replica_manager *manager, const struct partition *part)
{
  struct partition_state state;
  partition_read_state(part, &state);
  TRY(partition_check_leader(&state));
  return replica_manager_is_offline(manager, part) ? ERR_STORAGE_OFFLINE : 0;
}
