// SPDX-License-Identifier: Apache-2.0
#include "replica/log_settings.h"

#include "log/log.h"
#include "metadata/topic_config.h"
#include "replica/append.h"
#include "replica/flush.h"
#include "replica/partition.h"

void log_settings_from_topic(const struct topic_config *topic, struct log_config *log)
{
  log_config_default(log);
  log->segment_bytes = topic->internal_segment_bytes > 0 ? topic->internal_segment_bytes : topic->segment_bytes;
  log->index_interval_bytes = topic->index_interval_bytes;
  log->segment_index_bytes = topic->segment_index_bytes;
  log->max_message_bytes = topic->max_message_bytes;
  log->segment_ms = topic->segment_ms;
  log->segment_jitter_ms = topic->segment_jitter_ms;
  log->retention_bytes = topic->retention_bytes;
  log->retention_ms = topic->retention_ms;
  log->file_delete_delay_ms = topic->file_delete_delay_ms;
  log->is_sync = topic->luka_producer_type == TOPIC_PRODUCER_SYNC;
  log->flush_messages = topic->flush_messages;
  log->flush_ms = topic->flush_ms;
  log->preallocate = topic->preallocate;
  log->is_deleting = (topic->cleanup_policy & CLEANUP_DELETE) != 0;
  log->delete_retention_ms = topic->delete_retention_ms;
  log->min_compaction_lag_ms = topic->min_compaction_lag_ms;
  log->max_compaction_lag_ms = topic->max_compaction_lag_ms;
  log->min_dirty_ratio = topic->min_cleanable_dirty_ratio;
  log->is_compacting = (topic->cleanup_policy & CLEANUP_COMPACT) != 0;
  log->is_compacted = log->is_compacting;
  if (log->is_compacting && log->segment_ms > log->max_compaction_lag_ms) {
    log->segment_ms = log->max_compaction_lag_ms; // what is in the active segment is not compacted (KIP-354)
  }
  log->is_log_append_time = topic->message_timestamp_type == TOPIC_TIMESTAMP_LOG_APPEND;
}

void log_settings_apply(struct append_job *job, const struct log_config *config)
{
  struct partition_state state;
  partition_read_state(job->part, &state);
  if (state.role == PARTITION_LEADER || state.role == PARTITION_FOLLOWER) {
    log_set_config(job->part->log, config);
    job->released = flush_settle(job->part);
  }
}
