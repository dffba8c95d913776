// SPDX-License-Identifier: Apache-2.0
//
// Configs of groups (KIP-848, KIP-932, KIP-1071): the list is in group_config_list.h. A group keeps the texts that were
// set on it; what they and the broker's group.* configs add up to is a `struct group_config` of plain values. The
// metadata image has it: metadata_image_group_config().
//
// The broker bounds what a group may be given. A value that was set under wider bounds stays set and is shown; what
// holds is the nearest value within the bounds, as in Kafka.
#pragma once

#include "metadata/config.h"

struct broker_config;

/// Resolved values of a group, without pointers: copy it freely.
struct group_config {
#define GROUP_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) CONFIG_C_##type(field)
#include "metadata/group_config_list.h"
#undef GROUP_CONFIG_X
};

/// Place of each config in the list, which is sorted by name.
enum group_config_index {
#define GROUP_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) GROUP_CONFIG_##field,
#include "metadata/group_config_list.h"
#undef GROUP_CONFIG_X
  GROUP_CONFIG_COUNT,
};

/// What a group without configs of its own has: the broker's configs of that meaning, or Kafka's defaults.
struct group_config_defaults {
  struct group_config values;           ///< resolved
  const char *text[GROUP_CONFIG_COUNT]; ///< as answers show it; borrowed from the broker config
  uint8_t source[GROUP_CONFIG_COUNT];   ///< enum config_source
};

/// The definitions, GROUP_CONFIG_COUNT of them.
const struct config_def *group_config_defs(void);

/// Place of a config by Kafka's name, or -1.
int group_config_find(const char *name);

/// Whether answers show a config only where it is set on the group, as Kafka does with what it keeps to itself.
bool group_config_is_hidden(enum group_config_index index);

/// Fills in what groups without configs of their own have, from the broker's texts in effect, and checks that the
/// broker's bounds admit it. Part of broker_config_resolve().
///
/// @param message  Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0, ERR_CONFIG
int group_config_resolve_defaults(struct broker_config *config, char *message);

/// Checks all that a group is to have set: names, values, the broker's bounds, and what belongs together.
///
/// @param config   the broker's, resolved
/// @param entries  `count` names and texts, borrowed
/// @param message  Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0, ERR_CONFIG
int group_config_check(const struct broker_config *config, const struct config_entry *entries, int count,
                       char *message);

/// Lays what is set on a group over the broker's defaults, within the broker's bounds. Entries that do not fit any more
/// are passed over.
///
/// @param[out] values  the resolved struct
/// @return how many values the bounds have changed
int group_config_lay(const struct broker_config *config, const struct config_entry *entries, int count,
                     struct group_config *values);
