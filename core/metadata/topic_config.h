// SPDX-License-Identifier: Apache-2.0
//
// Topic configs: the list is in topic_config_list.h. A topic keeps the texts that were set on it (its overrides); what
// they and the broker's defaults add up to is a `struct topic_config` of plain values that every image of the topic
// carries.
#pragma once

#include "metadata/config.h"

enum cleanup_policy { CLEANUP_COMPACT = 1, CLEANUP_DELETE = 2 }; ///< bits of topic_config.cleanup_policy

enum topic_compression {
  TOPIC_COMPRESSION_UNCOMPRESSED,
  TOPIC_COMPRESSION_ZSTD,
  TOPIC_COMPRESSION_LZ4,
  TOPIC_COMPRESSION_SNAPPY,
  TOPIC_COMPRESSION_GZIP,
  TOPIC_COMPRESSION_PRODUCER, ///< as the producer sent it
};

enum topic_timestamp_type { TOPIC_TIMESTAMP_CREATE, TOPIC_TIMESTAMP_LOG_APPEND };
enum topic_producer_type { TOPIC_PRODUCER_ASYNC, TOPIC_PRODUCER_SYNC };
enum topic_validate { TOPIC_VALIDATE_HEADER, TOPIC_VALIDATE_FULL };

/// Resolved values of a topic, without pointers: copy it freely.
struct topic_config {
#define TOPIC_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) CONFIG_C_##type(field)
#include "metadata/topic_config_list.h"
#undef TOPIC_CONFIG_X
};

/// Place of each config in the list, which is sorted by name but for Luka's own at the end.
enum topic_config_index {
#define TOPIC_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) TOPIC_CONFIG_##field,
#include "metadata/topic_config_list.h"
#undef TOPIC_CONFIG_X
  TOPIC_CONFIG_COUNT,
  TOPIC_CONFIG_KAFKA_COUNT = TOPIC_CONFIG_luka_partitioner, ///< Kafka's own come first
};

/// What a topic without overrides has: the broker's configs of that meaning, or Kafka's defaults.
struct topic_config_defaults {
  struct topic_config values;           ///< resolved
  const char *text[TOPIC_CONFIG_COUNT]; ///< as answers show it; borrowed from the broker config
  uint8_t source[TOPIC_CONFIG_COUNT];   ///< enum config_source: static broker or default
  bool is_remote_storage_on;            ///< always false until tiered storage exists
};

/// What luka.partitioner says, or NULL: producers choose partitions. Borrowed from the config.
const char *topic_config_partitioner(const struct topic_config *config);

/// The definitions, TOPIC_CONFIG_COUNT of them.
const struct config_def *topic_config_defs(void);

/// Kafka's defaults, with no broker config set.
void topic_config_defaults_create(struct topic_config_defaults *defaults);

/// Place of a config by Kafka's name, or -1.
int topic_config_find(const char *name);

/// Resolves overrides against the defaults: parses each (a name given twice: the last counts), then checks what belongs
/// together.
///
/// @param overrides   `count` names and texts, borrowed
/// @param[out] values the resolved struct
/// @param message     Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0; ERR_CONFIG (unknown name, bad or missing value, conflict)
int topic_config_resolve(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                         struct topic_config *values, char *message);

/// Lays overrides that were checked over other defaults. What belongs together is not checked: the defaults are not the
/// topic's to refuse.
///
/// @param overrides   `count` names and texts that topic_config_resolve() took, borrowed
/// @param[out] values the resolved struct
void topic_config_lay(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                      struct topic_config *values);

/// Whether two topics behave the same.
bool topic_config_equal(const struct topic_config *left, const struct topic_config *right);

/// Checks what belongs together in resolved values; part of topic_config_resolve().
int topic_config_check(const struct topic_config *values, bool is_remote_storage_on, char *message);

/// Lists all configs of a topic as CreateTopics and DescribeConfigs answer them; Luka's own only where they are set, on
/// the topic or as a default.
///
/// @param shown  TOPIC_CONFIG_COUNT entries; texts borrowed from the overrides and the defaults
/// @return how many
int topic_config_list(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                      struct config_shown *shown);
