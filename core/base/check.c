// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *condition, const char *file, int line)
{
  fprintf(stderr, "luka: %s:%d: broken invariant: %s\n", file, line, condition);
  abort();
}
