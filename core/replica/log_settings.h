// SPDX-License-Identifier: Apache-2.0
//
// From a topic's configuration to what its logs need to know.
#pragma once

struct log_config;
struct topic_config;

/// Fills in a log's configuration. Any thread.
void log_settings_from_topic(const struct topic_config *topic, struct log_config *log);
