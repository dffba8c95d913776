// SPDX-License-Identifier: Apache-2.0
#include "api/features.h"

#include <stddef.h>

#include "api/api.h"
#include "wire/apis.h"

static const struct feature FEATURES[] = {
    {"group.version", 1, WIRE_API_CONSUMER_GROUP_HEARTBEAT}, // KIP-848: the new protocol of consumer groups
};

int features_list(const struct feature **features)
{
  int count = 0;
  for (size_t i = 0; i < sizeof FEATURES / sizeof *FEATURES; i++) {
    if (api_handler_find(FEATURES[i].request_key) != NULL) {
      features[count++] = &FEATURES[i];
    }
  }
  return count;
}
