// SPDX-License-Identifier: Apache-2.0
#include "os/limits.h"

#include <errno.h>
#include <sys/resource.h>

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
