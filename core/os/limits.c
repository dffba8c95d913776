// SPDX-License-Identifier: Apache-2.0
#include "os/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"

static uint64_t limits_value(rlim_t limit)
{
  return limit == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit;
}

int limits_raise_files(uint64_t *before, uint64_t *after)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return error_set_errno(errno, "cannot read the limit on open files");
  }
  uint64_t found = limits_value(limit.rlim_cur);
  struct rlimit wanted = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &wanted) == 0) {
    limit = wanted;
  }
  *before = found;
  *after = limits_value(limit.rlim_cur);
  return 0;
}

/// The number in a file of a control group; INT64_MAX when there is none, or "max".
static int64_t limits_read(const char *path)
{
  char text[32] = "";
  FILE *file = fopen(path, "re");
  if (file == NULL) {
    return INT64_MAX;
  }
  bool is_read = fgets(text, sizeof text, file) != NULL;
  fclose(file);
  char *end = text;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  return is_read && end != text && errno == 0 && value > 0 ? value : INT64_MAX;
}

/// The lowest limit of a control group and those above it.
///
/// @param group  its path below `root`, "/a/b"; cut short here
static int64_t limits_group(const char *root, char *group, const char *file)
{
  int64_t lowest = INT64_MAX;
  for (;;) {
    char path[4096 + 256];
    snprintf(path, sizeof path, "%s%s/%s", root, strcmp(group, "/") == 0 ? "" : group, file);
    int64_t limit = limits_read(path);
    lowest = limit < lowest ? limit : lowest;
    char *slash = strrchr(group, '/');
    if (slash == NULL) {
      return lowest;
    }
    *slash = '\0';
  }
}

int64_t limits_memory(void)
{
  int64_t pages = sysconf(_SC_PHYS_PAGES);
  int64_t page = sysconf(_SC_PAGESIZE);
  int64_t memory = pages > 0 && page > 0 ? pages * page : INT64_MAX;
  FILE *file = fopen("/proc/self/cgroup", "re");
  char line[4096];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    // "0::/path" of version 2, "5:memory:/path" of version 1.
    char *group = strstr(line, ":/");
    int64_t limit = INT64_MAX;
    if (group != NULL && strncmp(line, "0::", 3) == 0) {
      limit = limits_group("/sys/fs/cgroup", group + 1, "memory.max");
    } else if (group != NULL && strstr(line, "memory") != NULL) {
      limit = limits_group("/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes");
    }
    memory = limit < memory ? limit : memory;
  }
  if (file != NULL) {
    fclose(file);
  }
  return memory;
}
