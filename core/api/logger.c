// SPDX-License-Identifier: Apache-2.0
#include "api/logger.h"

#include <string.h>

static const char *const LOGGER_LEVELS[] = {
    [SLOG_ERROR] = "ERROR", [SLOG_WARN] = "WARN", [SLOG_INFO] = "INFO", [SLOG_DEBUG] = "DEBUG"};

bool logger_level_read(const char *text, enum slog_level *level)
{
  for (int i = SLOG_ERROR; i <= SLOG_DEBUG; i++) {
    if (strcmp(LOGGER_LEVELS[i], text) == 0) {
      *level = (enum slog_level)i;
      return true;
    }
  }
  return false;
}

const char *logger_level_name(enum slog_level level)
{
  return LOGGER_LEVELS[level];
}
