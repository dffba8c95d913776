// SPDX-License-Identifier: Apache-2.0
//
// Broker configs under Kafka's names: the list of those that mean something here is in broker_config_list.h. Set by
// config.lua and --set at start-up, then resolved once and read by all threads; never changed while the broker runs.
#pragma once

#include "metadata/topic_config.h"

/// Place of each config in the list.
enum broker_config_index {
#define BROKER_CONFIG_X(type, field, name, def, min, max, valid, doc) BROKER_CONFIG_##field,
#include "metadata/broker_config_list.h"
#undef BROKER_CONFIG_X
  BROKER_CONFIG_COUNT,
};

/// Resolved values. Times in ms and sizes in bytes unless the name says otherwise. Points into itself: do not move it.
struct broker_config {
#define BROKER_CONFIG_X(type, field, name, def, min, max, valid, doc) CONFIG_C_##type(field)
#include "metadata/broker_config_list.h"
#undef BROKER_CONFIG_X
  struct topic_config_defaults topic; ///< what topics without overrides have; filled by broker_config_resolve()
  char *text[BROKER_CONFIG_COUNT];    ///< texts that were set, by place in the list, owned; NULL: not set
  char made_text[4][24];              ///< texts of topic defaults that were computed (hours to ms)
};

/// Fills in the defaults; broker_config_resolve() has been done. Free with broker_config_destroy().
void broker_config_create(struct broker_config *config);
void broker_config_destroy(struct broker_config *config);

/// The definitions, BROKER_CONFIG_COUNT of them.
const struct config_def *broker_config_defs(void);

/// Sets one config from a text, as a line of Kafka's server.properties would. Setting it again replaces the value.
///
/// @param name  Kafka's name, with dots
/// @return 0; ERR_CONFIG, with a sentence in error_last() that names key, value and range; for an unknown name it
///         suggests the nearest known one, for one of Kafka's that has no meaning here it says so
int broker_config_set(struct broker_config *config, const char *name, const char *text);

/// Derives what depends on several configs (retention and roll times: ms before minutes before hours; topic defaults)
/// and checks them together. Call after the last broker_config_set().
///
/// @return 0; ERR_CONFIG with a sentence in error_last()
int broker_config_resolve(struct broker_config *config);

/// False for a config that is defined but cannot be set yet, as nothing would heed it.
bool broker_config_is_supported(enum broker_config_index index);

bool broker_config_is_set(const struct broker_config *config, enum broker_config_index index);
