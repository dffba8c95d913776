// SPDX-License-Identifier: Apache-2.0
//
// How long a rebalance takes: all members of a group join, one leaves, one comes back. What the coordinator answers for
// is the time from the last JoinGroup to the last assignment; before it lies the time in which members learn of the
// rebalance, which is their heartbeat interval.
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "groups_member.h"
#include "os/clock.h"

enum { TURN_NS = 1000000 };

/// The times of one rebalance, ms.
struct times {
  double joins_ms;     ///< from its cause to the last JoinGroup
  double rebalance_ms; ///< from there to the last assignment
};

/// Waits until all groups have settled, with members that ask at their interval.
static int settle(struct groups_run *run, struct group *groups, int64_t start_ns, struct times *times)
{
  const struct groups_options *options = run->options;
  int64_t deadline_ns = start_ns + (int64_t)options->session_timeout_ms * 1000000;
  for (int settled = 0; settled < options->groups;) {
    TRY(groups_loop_turn(&run->loop, run->loop.now_ns + TURN_NS));
    settled = 0;
    for (int g = 0; g < options->groups; g++) {
      settled += group_is_settled(&groups[g]);
      group_ask(&groups[g], options->interval_ms);
    }
    if (run->loop.now_ns > deadline_ns) {
      return error_set(ERR_TIMEOUT, "%d of %d groups have settled within a session timeout", settled, options->groups);
    }
  }
  *times = (struct times){0};
  for (int g = 0; g < options->groups; g++) {
    double joins_ms = (double)(groups[g].last_join_ns - start_ns) / 1e6;
    double rebalance_ms = (double)(groups[g].last_sync_ns - groups[g].last_join_ns) / 1e6;
    times->joins_ms = joins_ms > times->joins_ms ? joins_ms : times->joins_ms;
    times->rebalance_ms = rebalance_ms > times->rebalance_ms ? rebalance_ms : times->rebalance_ms;
  }
  return 0;
}

/// The last member of every group leaves, or comes back; settled when all members know of it.
static int rebalance(struct groups_run *run, struct group *groups, bool is_leave, struct times *times)
{
  int64_t start_ns = clock_mono_ns();
  run->loop.now_ns = start_ns;
  for (int g = 0; g < run->options->groups; g++) {
    int last = groups[g].member_count - 1;
    groups[g].generation++; // what is there now has not settled
    is_leave ? group_leave(&groups[g], last) : group_join(&groups[g], last, last + 1);
  }
  return settle(run, groups, start_ns, times);
}

static void print_times(const char *name, const struct times *times, int count)
{
  printf("\"%s\":[", name);
  for (int i = 0; i < count; i++) {
    printf("%s{\"joins_ms\":%.2f,\"rebalance_ms\":%.2f}", i == 0 ? "" : ",", times[i].joins_ms, times[i].rebalance_ms);
  }
  printf("],");
}

int groups_rebalance(struct groups_run *run)
{
  struct group *groups = groups_new(run);
  struct times first;
  struct times leave[GROUPS_ROUNDS_MAX];
  struct times join[GROUPS_ROUNDS_MAX];
  struct groups_usage before;
  int result = groups_find(run);
  groups_usage_read(run, &before);
  if (result == 0) {
    for (int g = 0; g < run->options->groups; g++) {
      group_join(&groups[g], 0, groups[g].member_count);
    }
    result = settle(run, groups, before.start_ns, &first);
  }
  for (int round = 0; result == 0 && round < run->options->rounds; round++) {
    result = rebalance(run, groups, true, &leave[round]);
    if (result == 0) {
      result = rebalance(run, groups, false, &join[round]);
    }
  }
  if (result == 0) {
    printf("{");
    print_times("first", &first, 1);
    print_times("leave", leave, run->options->rounds);
    print_times("join", join, run->options->rounds);
    groups_print_usage(run, &before, (int64_t)run->options->groups * (1 + 2 * run->options->rounds));
    result = groups_leave(run, groups);
  }
  groups_delete(groups, run->options->groups);
  return result;
}
