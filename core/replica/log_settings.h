// SPDX-License-Identifier: Apache-2.0
//
// From a topic's configuration to what its logs need to know.
#pragma once

struct append_job;
struct log_config;
struct topic_config;

/// Fills in a log's configuration. Any thread.
void log_settings_from_topic(const struct topic_config *topic, struct log_config *log);

/// Has a partition's log follow a changed configuration, at once for what is appended from then on. Where it asks for
/// flushes, what is not on disk yet is flushed first; where it no longer does, who waits for one is acknowledged. While
/// holding the appender.
///
/// @param job  the job that holds it; gets `released`
void log_settings_apply(struct append_job *job, const struct log_config *config);
