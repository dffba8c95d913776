// SPDX-License-Identifier: Apache-2.0
#include "lua/config_watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lua/config.h"

enum {
  WATCHDOG_STATUS = 2,        ///< exit status of a process whose configuration is wrong
  WATCHDOG_MARGIN_MS = 250,   ///< processor time after Lua's own limit
  WATCHDOG_READ_LIMIT_S = 5,  ///< for reading, which takes no processor time
  WATCHDOG_START_SIZE = 96,   ///< how a line of the log begins, bytes
  WATCHDOG_NUMBER_DIGITS = 12 ///< of a line number
};

/// How the line begins in JSON, made ahead, as a signal handler may not format a time; empty: a plain line.
static char watchdog_start[WATCHDOG_START_SIZE];

/// What the signals did before.
static struct sigaction watchdog_before_prof;
static struct sigaction watchdog_before_alarm;

/// A line that a signal handler puts together.
struct watchdog_line {
  char text[2 * LUA_STATE_TEXT_SIZE + 512]; ///< so far; room for each byte of a path escaped, and for the sentence
  size_t length;                            ///< bytes of it
};

static void watchdog_put(struct watchdog_line *line, const char *text, bool is_escaped)
{
  for (; *text != '\0' && line->length < sizeof line->text - 4; text++) {
    unsigned char byte = (unsigned char)*text;
    if (is_escaped && watchdog_start[0] != '\0' && (byte == '"' || byte == '\\')) {
      line->text[line->length++] = '\\';
    }
    line->text[line->length++] = is_escaped && (byte < 0x20 || byte == 0x7f) ? '?' : *text;
  }
}

static void watchdog_put_number(struct watchdog_line *line, int number)
{
  char digits[WATCHDOG_NUMBER_DIGITS] = "";
  size_t at = sizeof digits - 1;
  for (int rest = number; rest > 0 && at > 0; rest /= 10) {
    digits[--at] = (char)('0' + rest % 10);
  }
  watchdog_put(line, digits + at, false);
}

/// SIGPROF or SIGALRM while the configuration is evaluated.
static void watchdog_bite(int number)
{
  (void)number;
  const struct lua_state_position *position = lua_config_position();
  struct watchdog_line line = {.length = 0};
  watchdog_put(&line, watchdog_start, false);
  if (position != NULL && position->line > 0) {
    watchdog_put(&line, position->source, true);
    watchdog_put(&line, ":", false);
    watchdog_put_number(&line, position->line);
    watchdog_put(&line, ": evaluation took too long inside a library function (a pattern that never ends?)", false);
  } else {
    watchdog_put(&line, "the configuration took too long to read", false);
  }
  watchdog_put(&line, watchdog_start[0] != '\0' ? "\"}" : "", false);
  line.text[line.length++] = '\n';
  ssize_t ignored = write(STDERR_FILENO, line.text, line.length);
  (void)ignored;
  _exit(WATCHDOG_STATUS);
}

/// Makes the start of a line of the log as base/slog.h writes them, with the time of now.
static void watchdog_prepare(bool is_json)
{
  watchdog_start[0] = '\0';
  if (is_json) {
    struct timespec now;
    struct tm parts;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(watchdog_start, sizeof watchdog_start, "{\"time\":\"%s.%03ldZ\",\"level\":\"error\",\"text\":\"", stamp,
             now.tv_nsec / 1000000);
  }
}

void lua_config_watchdog_start(bool is_json)
{
  struct sigaction bite = {.sa_handler = watchdog_bite};
  int limit_ms = LUA_CONFIG_BUDGET_MS + WATCHDOG_MARGIN_MS;
  struct itimerval timer = {.it_value = {.tv_sec = limit_ms / 1000, .tv_usec = (limit_ms % 1000) * 1000L}};
  struct itimerval read_timer = {.it_value = {.tv_sec = WATCHDOG_READ_LIMIT_S}};
  watchdog_prepare(is_json);
  sigaction(SIGPROF, &bite, &watchdog_before_prof);
  sigaction(SIGALRM, &bite, &watchdog_before_alarm);
  setitimer(ITIMER_PROF, &timer, NULL);
  setitimer(ITIMER_REAL, &read_timer, NULL);
}

void lua_config_watchdog_stop(void)
{
  struct itimerval off = {.it_value = {0}};
  setitimer(ITIMER_PROF, &off, NULL);
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGPROF, &watchdog_before_prof, NULL);
  sigaction(SIGALRM, &watchdog_before_alarm, NULL);
}
