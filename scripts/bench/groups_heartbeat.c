// SPDX-License-Identifier: Apache-2.0
//
// What groups cost that have nothing to do: each member sends a heartbeat at its interval, and the plan spreads those
// of all members evenly, neighbours in it being of different groups. Latency counts from the planned time.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "groups_member.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/heartbeat.h"
#include "wire/offset_commit.h"

enum { DRAIN_NS = 1000000000 };

/// The phase that is measured.
struct beating {
  struct histogram beats;   ///< latencies of heartbeats, ns
  struct histogram commits; ///< latencies of commits, ns
};

/// The answer functions get a member; this is where they count. One run a process.
static struct beating *beating;

static void beaten(void *owner, const void *answer, int64_t planned_ns)
{
  struct member *member = owner;
  const struct wire_heartbeat_response *response = answer;
  histogram_add(&beating->beats, member->group->run->loop.now_ns - planned_ns);
  if (response->error_code != WIRE_NONE) {
    groups_count_error(member->group->run, "Heartbeat", response->error_code);
  }
}

static void committed(void *owner, const void *answer, int64_t planned_ns)
{
  struct member *member = owner;
  const struct wire_offset_commit_response *response = answer;
  histogram_add(&beating->commits, member->group->run->loop.now_ns - planned_ns);
  if (response->topics_count != 1 || response->topics[0].partitions_count != 1 ||
      response->topics[0].partitions[0].error_code != WIRE_NONE) {
    groups_count_error(member->group->run, "OffsetCommit",
                       response->topics_count == 1 && response->topics[0].partitions_count == 1
                           ? response->topics[0].partitions[0].error_code
                           : WIRE_UNKNOWN_SERVER_ERROR);
  }
}

/// Commits a partition's offset, as the member of its generation.
static void commit(struct member *member, int64_t planned_ns)
{
  const struct groups_options *options = member->group->run->options;
  struct wire_offset_commit_request_offset_commit_request_partition part;
  wire_offset_commit_request_offset_commit_request_partition_init(&part);
  part.partition_index = (int32_t)((member - member->group->members) % options->partitions);
  part.committed_offset = member->beats;
  struct wire_offset_commit_request_offset_commit_request_topic topic;
  wire_offset_commit_request_offset_commit_request_topic_init(&topic);
  topic.name = wire_string_from(options->topic);
  topic.partitions = &part;
  topic.partitions_count = 1;
  struct wire_offset_commit_request request;
  wire_offset_commit_request_init(&request);
  request.group_id = wire_string_from(member->group->name);
  request.generation_id_or_member_epoch = member->generation;
  request.member_id = wire_string_from(member->id);
  request.topics = &topic;
  request.topics_count = 1;
  groups_link_send(member->link, WIRE_API_OFFSET_COMMIT, GROUPS_VERSION_OFFSET_COMMIT, &request, committed, member,
                   planned_ns);
}

/// Heartbeat number n of the plan is that of member n / groups of group n % groups.
static struct member *member_of(struct group *groups, const struct groups_options *options, int64_t number)
{
  return &groups[number % options->groups].members[number / options->groups % options->members];
}

/// Has heartbeats sent as planned, for some time.
static int run_plan(struct groups_run *run, struct group *groups, double seconds)
{
  int64_t start_ns = clock_mono_ns();
  const struct groups_options *options = run->options;
  double step_ns = (double)options->interval_ms * 1e6 / ((double)options->groups * options->members);
  int64_t end_ns = start_ns + (int64_t)(seconds * 1e9);
  int64_t number = 0;
  for (int64_t due_ns = start_ns; due_ns < end_ns; due_ns = start_ns + (int64_t)((double)number * step_ns)) {
    if (due_ns > run->loop.now_ns) {
      TRY(groups_loop_turn(&run->loop, due_ns));
      continue;
    }
    struct member *member = member_of(groups, options, number++);
    member_beat(member, beaten, due_ns);
    member->beats++;
    if (options->commit_every > 0 && member->beats % options->commit_every == 0) {
      commit(member, due_ns);
    }
  }
  while (run->loop.calls > 0) {
    TRY(groups_loop_turn(&run->loop, end_ns + DRAIN_NS));
    if (run->loop.now_ns >= end_ns + DRAIN_NS) {
      return error_set(ERR_TIMEOUT, "%" PRId64 " requests have no answer after a second", run->loop.calls);
    }
  }
  return 0;
}

int groups_heartbeat(struct groups_run *run)
{
  struct group *groups = groups_new(run);
  beating = mem_zalloc(sizeof *beating);
  struct groups_usage before;
  int64_t setup_ns = clock_mono_ns();
  int result = groups_find(run);
  if (result == 0) {
    result = groups_settle(run, groups);
  }
  setup_ns = clock_mono_ns() - setup_ns;
  if (result == 0) { // a first heartbeat of each member: groups live for days
    result = run_plan(run, groups, (double)run->options->interval_ms / 1e3);
  }
  if (result == 0) {
    *beating = (struct beating){0};
    groups_usage_read(run, &before);
    result = run_plan(run, groups, run->options->seconds);
  }
  if (result == 0) {
    int64_t requests = (int64_t)(beating->beats.count + beating->commits.count);
    printf("{\"setup_s\":%.3f,\"heartbeats\":%" PRIu64 ",\"commits\":%" PRIu64 ",", (double)setup_ns / 1e9,
           beating->beats.count, beating->commits.count);
    groups_print_latency("latency_us", &beating->beats);
    groups_print_latency("commit_latency_us", &beating->commits);
    groups_print_usage(run, &before, requests);
    result = groups_leave(run, groups);
  }
  mem_free(beating);
  groups_delete(groups, run->options->groups);
  return result;
}
