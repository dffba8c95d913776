// SPDX-License-Identifier: Apache-2.0
//
// Features (KIP-584): what Kafka's brokers switch on for the whole cluster, and clients look for. Here a feature is on
// when the requests that it stands for are served, at the level that they have; nothing switches it.
#pragma once

#include <stdint.h>

#include "wire/types.h"

/// One feature.
struct feature {
  const char *name;    ///< Kafka's name
  int16_t level;       ///< level that is on, the only one there is
  int16_t request_key; ///< api key of a request that is served when it is on
};

enum { FEATURES_MAX = 8 };

/// The features that are on.
///
/// @param[out] features  FEATURES_MAX places
/// @return how many
int features_list(const struct feature **features);
