// SPDX-License-Identifier: Apache-2.0
#include "base/slog.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLOG_TEXT_SIZE = 2048, SLOG_LINE_SIZE = 3 * SLOG_TEXT_SIZE + 128 };

static _Atomic(enum slog_level) slog_limit = SLOG_INFO;
static bool slog_json;

void slog_setup(enum slog_level level, bool json)
{
  slog_set_level(level);
  slog_json = json;
}

void slog_set_level(enum slog_level level)
{
  atomic_store_explicit(&slog_limit, level, memory_order_relaxed);
}

enum slog_level slog_get_level(void)
{
  return atomic_load_explicit(&slog_limit, memory_order_relaxed);
}

bool slog_is_on(enum slog_level level)
{
  return level <= atomic_load_explicit(&slog_limit, memory_order_relaxed);
}

/// Copies text, escaping what would break a line or a JSON string, or what a terminal obeys; returns the end.
static char *slog_escape(char *out, char *end, const char *text)
{
  for (; *text != '\0' && end - out > 9; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte == 0xc2 && ((unsigned char)text[1] & 0xe0) == 0x80) { // U+0080 to U+009F in UTF-8
      text++;
      byte = (unsigned char)*text;
      out += snprintf(out, (size_t)(end - out), slog_json ? "\\u%04x" : "\\xc2\\x%02x", byte);
    } else if (byte < 0x20 || byte == 0x7f) {
      out += snprintf(out, (size_t)(end - out), slog_json ? "\\u%04x" : "\\x%02x", byte);
    } else {
      if (slog_json && (byte == '"' || byte == '\\')) {
        *out++ = '\\';
      }
      *out++ = (char)byte;
    }
  }
  return out;
}

void slog_write(enum slog_level level, const char *format, ...)
{
  static const char *const names[] = {"error", "warn", "info", "debug"};
  if (!slog_is_on(level)) {
    return;
  }
  char text[SLOG_TEXT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);

  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct tm parts;
  gmtime_r(&now.tv_sec, &parts);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);

  char line[SLOG_LINE_SIZE];
  char *end = line + sizeof line - 4;
  char *at = line;
  at += snprintf(at, (size_t)(end - at),
                 slog_json ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"text\":\"" : "%s.%03ldZ %-5s ", stamp,
                 now.tv_nsec / 1000000, names[level]);
  at = slog_escape(at, end, text);
  if (slog_json) {
    *at++ = '"';
    *at++ = '}';
  }
  *at++ = '\n';
  // Nothing can be done about a standard error that does not take the line.
  ssize_t ignored = write(STDERR_FILENO, line, (size_t)(at - line));
  (void)ignored;
}
