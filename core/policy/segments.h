// SPDX-License-Identifier: Apache-2.0
//
// Retention and archive policies: what goes of a log is decided by functions of the user's, and what goes is shown to
// one of them first, which may copy it, or keep it.
//
//   pool: the log manager's retention pass -> segments_retention(): is there a policy for the topic? -> slow runner
//   slow runner: retention(segment), oldest first, to the first that stays; archive(segment) of each that goes
//   appender: log_delete_before()
//
// A topic with a `retention` goes by that alone: retention.ms and retention.bytes mean nothing for it. What lies below
// the log start offset (DeleteRecords) goes in any case. The active segment is never asked about; where retention.ms
// closes it, that is done, and the next pass goes on. A segment is kept when a policy fails. One is archived again when
// the broker ends between its archiving and its deletion.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log;
struct policy_cache;
struct policy_runners;
struct policy_segments;

/// @param cache    where policies are found
/// @param runners  who runs them
struct policy_segments *policy_segments_new(struct policy_cache *cache, struct policy_runners *runners);

/// After the runners have stopped. NULL is fine.
void policy_segments_delete(struct policy_segments *segments);

/// For the log manager (struct log_manager_hooks, `retention`). On the pool, inside the epoch.
///
/// @param arg    struct policy_segments
/// @param owner  struct partition
bool policy_segments_retention(void *arg, void *owner, struct log *log, int64_t high_watermark);
