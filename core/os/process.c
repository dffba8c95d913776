// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/metrics.h"
#include "os/clock.h"

static const struct metric PROCESS_START = {"process.start_time", NULL, METRIC_GAUGE, "when the broker was started"};
static const struct metric PROCESS_UPTIME = {"process.uptime_ms", NULL, METRIC_GAUGE, "how long it has been up"};
static const struct metric PROCESS_CPU = {"process.cpu_ms", NULL, METRIC_COUNTER,
                                          "processor time used by all its threads"};
static const struct metric PROCESS_RSS = {"process.memory_bytes", NULL, METRIC_GAUGE,
                                          "memory that it takes (resident)"};
static const struct metric PROCESS_FILES = {"process.open_files", NULL, METRIC_GAUGE, "file descriptors open"};
static const struct metric PROCESS_THREADS = {"process.threads", NULL, METRIC_GAUGE, "threads"};

/// Names in a folder of /proc; -1 when it cannot be read. One that is open for this is not counted.
static int64_t process_count_names(const char *path, int own)
{
  DIR *dir = opendir(path);
  if (dir == NULL) {
    return -1;
  }
  int64_t count = 0;
  for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    count += entry->d_name[0] != '.' ? 1 : 0;
  }
  closedir(dir);
  return count - own;
}

static int64_t process_rss_bytes(void)
{
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) {
    return -1;
  }
  char line[256]; // pages: all, resident, ...
  const char *resident = fgets(line, sizeof line, file) != NULL ? strchr(line, ' ') : NULL;
  fclose(file);
  return resident != NULL ? strtoll(resident, NULL, 10) * sysconf(_SC_PAGESIZE) : -1;
}

static int64_t process_ms(const struct timeval *time)
{
  return (int64_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

void process_usage(struct process_usage *usage)
{
  struct rusage used;
  memset(&used, 0, sizeof used);
  getrusage(RUSAGE_SELF, &used);
  *usage = (struct process_usage){
      .cpu_ms = process_ms(&used.ru_utime) + process_ms(&used.ru_stime),
      .rss_bytes = process_rss_bytes(),
      .open_files = process_count_names("/proc/self/fd", 1),
      .threads = process_count_names("/proc/self/task", 0),
  };
}

/// What is not known is left out.
static void process_put(struct metric_samples *out, const struct metric *metric, int64_t value)
{
  if (value >= 0) {
    metrics_put(out, metric, NULL, value);
  }
}

void process_collect(void *arg, struct metric_samples *out)
{
  const struct process_start *start = arg;
  struct process_usage usage;
  process_usage(&usage);
  process_put(out, &PROCESS_START, start->wall_ms);
  process_put(out, &PROCESS_UPTIME, clock_mono_ms() - start->mono_ms);
  process_put(out, &PROCESS_CPU, usage.cpu_ms);
  process_put(out, &PROCESS_RSS, usage.rss_bytes);
  process_put(out, &PROCESS_FILES, usage.open_files);
  process_put(out, &PROCESS_THREADS, usage.threads);
}
