// SPDX-License-Identifier: Apache-2.0
//
// How the lines of topic_config_list.h and broker_config_list.h become definitions.
#pragma once

#include "metadata/config.h"

#define NO_MIN INT64_MIN
#define NO_MAX INT64_MAX
// clang-format off
#define VALID(...) {__VA_ARGS__, NULL}
#define VALID_ANY {NULL}
// clang-format on

// The place of a value in its struct; texts have none.
#define CONFIG_AT_BOOL(type, field) offsetof(struct type, field)
#define CONFIG_AT_INT(type, field) offsetof(struct type, field)
#define CONFIG_AT_LEVEL(type, field) offsetof(struct type, field)
#define CONFIG_AT_LONG(type, field) offsetof(struct type, field)
#define CONFIG_AT_DOUBLE(type, field) offsetof(struct type, field)
#define CONFIG_AT_ENUM(type, field) offsetof(struct type, field)
#define CONFIG_AT_FLAGS(type, field) offsetof(struct type, field)
#define CONFIG_AT_REPLICAS(type, field) 0
#define CONFIG_AT_LIST(type, field) 0
#define CONFIG_AT_TEXT(type, field) 0
#define CONFIG_AT_NAME(type, field) offsetof(struct type, field)
