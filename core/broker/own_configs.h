// SPDX-License-Identifier: Apache-2.0
//
// What the broker was started as, under the names that Kafka has for it, so that DescribeConfigs shows it and tools
// find it: addresses, id, data directories. Made at the start, and constant from then on.
#pragma once

#include <stdint.h>

#include "metadata/config.h"

struct server;

enum { OWN_CONFIGS_COUNT = 5 };

struct own_configs {
  struct config_entry entries[OWN_CONFIGS_COUNT]; ///< sorted by name; values owned
};

/// Makes them; the listeners are bound. Owned: own_configs_destroy().
void own_configs_create(struct own_configs *configs, const struct server *server, int listener_count, int32_t id,
                        const char *const *dirs, int dir_count);

/// Frees them; zeroed ones are fine.
void own_configs_destroy(struct own_configs *configs);
