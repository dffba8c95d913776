// SPDX-License-Identifier: Apache-2.0
#include "cpu.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
  struct timespec now;
  return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : -1;
}

int64_t cpu_used_ns(const int *pids, int count)
{
  int64_t total_ns = 0;
  for (int i = 0; i < count; i++) {
    // The clock of a process is exact to the ns; /proc counts in hundredths of a second.
    clockid_t clock;
    int64_t used_ns = clock_getcpuclockid(pids[i], &clock) == 0 ? clock_ns(clock) : -1;
    if (used_ns < 0) {
      return -1;
    }
    total_ns += used_ns;
  }
  return total_ns;
}

int64_t cpu_own_ns(void)
{
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t cpu_resident_bytes(const int *pids, int count)
{
  int64_t total = 0;
  for (int i = 0; i < count; i++) {
    char path[64];
    long long pages = -1;
    snprintf(path, sizeof path, "/proc/%d/statm", pids[i]);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%*s %lld", &pages) != 1) {
      pages = -1;
    }
    if (file != NULL) {
      fclose(file);
    }
    if (pages < 0) {
      return -1;
    }
    total += pages * sysconf(_SC_PAGESIZE);
  }
  return total;
}
