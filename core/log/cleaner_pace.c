// SPDX-License-Identifier: Apache-2.0
#include "log/cleaner_pace.h"

void cleaner_pace_set(struct cleaner_pace *pace, double bytes_per_second)
{
  if (pace->bytes_per_second != bytes_per_second) {
    *pace = (struct cleaner_pace){.bytes_per_second = bytes_per_second, .changes = pace->changes + 1};
  }
}

struct cleaner_turn cleaner_pace_take(struct cleaner_pace *pace, int64_t now_ns, int64_t bytes)
{
  const double ns_per_s = 1e9;
  const double most_ns = 3600 * ns_per_s;
  struct cleaner_turn turn = {.from_ns = now_ns, .changes = pace->changes};
  if (pace->bytes_per_second > 0) {
    double cost_ns = (double)bytes / pace->bytes_per_second * ns_per_s;
    turn.from_ns = pace->free_ns > now_ns ? pace->free_ns : now_ns;
    pace->free_ns = turn.from_ns + (int64_t)(cost_ns < most_ns ? cost_ns : most_ns);
  }
  return turn;
}

bool cleaner_pace_is_due(const struct cleaner_pace *pace, const struct cleaner_turn *turn, int64_t now_ns)
{
  return now_ns >= turn->from_ns || turn->changes != pace->changes;
}
