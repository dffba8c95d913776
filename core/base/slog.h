// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: one line an event on standard error, plain or JSON. Any thread; a line is written with one write(2), so
// lines of different threads do not mix.
#pragma once

#include <stdbool.h>

enum slog_level { SLOG_ERROR, SLOG_WARN, SLOG_INFO, SLOG_DEBUG };

/// Sets what is printed; call before threads start.
void slog_setup(enum slog_level level, bool json);

/// Changes the level, at any time. Any thread.
void slog_set_level(enum slog_level level);

/// The level that is in force. Any thread.
enum slog_level slog_get_level(void);

bool slog_is_on(enum slog_level level);

/// Prints one line; the text has no newline and needs no full stop. Bytes that are not printable are escaped.
void slog_write(enum slog_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define slog_error(...) slog_write(SLOG_ERROR, __VA_ARGS__)
#define slog_warn(...) slog_write(SLOG_WARN, __VA_ARGS__)
#define slog_info(...) slog_write(SLOG_INFO, __VA_ARGS__)
#define slog_debug(...)                    \
  do {                                     \
    if (slog_is_on(SLOG_DEBUG)) {          \
      slog_write(SLOG_DEBUG, __VA_ARGS__); \
    }                                      \
  } while (0)
