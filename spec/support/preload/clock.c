// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a broker by spec/support/clock.lua: its calendar is ahead by LUKA_CLOCK_AHEAD_MS, so that what takes
// days can be looked at after a restart. The clock that only counts up is left alone.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long ahead_ms;

__attribute__((constructor)) static void clock_read_environment(void)
{
  const char *text = getenv("LUKA_CLOCK_AHEAD_MS");
  ahead_ms = text == NULL ? 0 : strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
  int result = (int)syscall(SYS_clock_gettime, id, now);
  if (result == 0 && ahead_ms != 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += ahead_ms / 1000;
    now->tv_nsec += ahead_ms % 1000 * 1000000;
    if (now->tv_nsec >= 1000000000) {
      now->tv_nsec -= 1000000000;
      now->tv_sec++;
    }
  }
  return result;
}
