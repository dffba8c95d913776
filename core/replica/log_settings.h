// SPDX-License-Identifier: Apache-2.0
//
// From a topic's configuration to what its logs need to know.
#pragma once

struct log_config;
struct partition;
struct topic_config;

/// Fills in a log's configuration. Any thread.
void log_settings_from_topic(const struct topic_config *topic, struct log_config *log);

/// Has a partition's log follow a changed configuration of its topic, through the partition's appender: at once for
/// what is appended from then on. Where it asks for flushes, what is not on disk yet is flushed first; where it no
/// longer does, who waits for one is acknowledged. Any thread inside the epoch.
///
/// @param topic  borrowed during the call
void log_settings_change(struct partition *part, const struct topic_config *topic);
