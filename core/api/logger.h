// SPDX-License-Identifier: Apache-2.0
//
// The broker's log as Kafka's requests see it: one logger, of the name that Kafka's loggers inherit from, with the
// levels that there are here (base/slog.h).
#pragma once

#include <stdbool.h>

#include "base/slog.h"

#define LOGGER_NAME "root"

/// Reads Kafka's name of a level, in capitals; false when there is none of that name here.
bool logger_level_read(const char *text, enum slog_level *level);

/// Kafka's name of a level.
const char *logger_level_name(enum slog_level level);
