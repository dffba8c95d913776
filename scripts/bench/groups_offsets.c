// SPDX-License-Identifier: Apache-2.0
//
// Offsets of groups without members: as many commits as the broker takes, or one for every partition of every group;
// and how long after a start it takes until all of them can be asked for.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "groups_run.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/offset_commit.h"
#include "wire/offset_fetch.h"

enum {
  DRAIN_S = 30,       ///< how long answers may take
  RETRY_NS = 1000000, ///< between questions for a group that is being loaded
  LOAD_SECONDS = 300, ///< after which a group is not waited for any more
  FETCH_DEPTH = 64,   ///< questions under way on a connection
};

/// What --fill commits, and --verify expects.
static int64_t filled_offset(const struct groups_options *options, int group, int32_t partition)
{
  return (int64_t)group * options->partitions + partition + 1;
}

/// Commits under way.
struct committing {
  struct groups_run *run;    ///< the run
  struct histogram latency;  ///< ns
  int64_t next;              ///< number of the next commit
  int64_t limit;             ///< --fill: how many there are; otherwise INT64_MAX
  int64_t end_ns;            ///< nothing is sent after it
  int64_t offsets;           ///< acknowledged
  struct committer *senders; ///< one for each that may be under way; owned
};

/// What one commit under way belongs to.
struct committer {
  struct committing *all;   ///< the others
  struct groups_link *link; ///< its connection
};

static void send_commit(struct committer *committer);

static void committed(void *owner, const void *answer, int64_t planned_ns)
{
  struct committer *committer = owner;
  struct committing *all = committer->all;
  const struct wire_offset_commit_response *response = answer;
  histogram_add(&all->latency, all->run->loop.now_ns - planned_ns);
  int32_t count = response->topics_count == 1 ? response->topics[0].partitions_count : 0;
  for (int32_t i = 0; i < count; i++) {
    int16_t code = response->topics[0].partitions[i].error_code;
    if (code != WIRE_NONE) {
      groups_count_error(all->run, "OffsetCommit", code);
    }
    all->offsets += code == WIRE_NONE;
  }
  send_commit(committer);
}

/// Commit number n is of group n % groups, and of the batch of its partitions whose turn it is.
static void send_commit(struct committer *committer)
{
  struct committing *all = committer->all;
  const struct groups_options *options = all->run->options;
  if (all->next >= all->limit || all->run->loop.now_ns >= all->end_ns) {
    return;
  }
  int64_t number = all->next++;
  int group = (int)(number % options->groups);
  int64_t turn = number / options->groups;
  int32_t batches = (options->partitions + options->batch - 1) / options->batch;
  int32_t first = (int32_t)(turn % batches) * options->batch;
  int32_t count = options->partitions - first < options->batch ? options->partitions - first : options->batch;
  struct wire_offset_commit_request_offset_commit_request_partition *parts = mem_array((size_t)count, sizeof *parts);
  for (int32_t i = 0; i < count; i++) {
    wire_offset_commit_request_offset_commit_request_partition_init(&parts[i]);
    parts[i].partition_index = first + i;
    parts[i].committed_offset = options->fill ? filled_offset(options, group, first + i) : turn / batches;
  }
  struct wire_offset_commit_request_offset_commit_request_topic topic;
  wire_offset_commit_request_offset_commit_request_topic_init(&topic);
  topic.name = wire_string_from(options->topic);
  topic.partitions = parts;
  topic.partitions_count = count;
  char name[GROUPS_NAME_BYTES];
  groups_name(all->run, group, name);
  struct wire_offset_commit_request request;
  wire_offset_commit_request_init(&request);
  request.group_id = wire_string_from(name);
  request.generation_id_or_member_epoch = -1;
  request.topics = &topic;
  request.topics_count = 1;
  groups_link_send(committer->link, WIRE_API_OFFSET_COMMIT, GROUPS_VERSION_OFFSET_COMMIT, &request, committed,
                   committer, clock_mono_ns());
  mem_free(parts);
}

static int run_commits(struct committing *all, int64_t start_ns)
{
  struct groups_run *run = all->run;
  const struct groups_options *options = run->options;
  int count = run->loop.count * options->depth;
  all->senders = mem_array((size_t)count, sizeof *all->senders);
  all->end_ns = options->fill ? INT64_MAX : start_ns + (int64_t)(options->seconds * 1e9);
  all->limit = INT64_MAX;
  if (options->fill) {
    all->limit = (int64_t)options->groups * ((options->partitions + options->batch - 1) / options->batch);
  }
  for (int i = 0; i < count; i++) {
    all->senders[i] = (struct committer){all, &run->loop.links[i % run->loop.count]};
    send_commit(&all->senders[i]);
  }
  int64_t answered_ns = run->loop.now_ns;
  uint64_t answers = 0;
  while (run->loop.calls > 0) {
    TRY(groups_loop_turn(&run->loop, run->loop.now_ns + INT64_C(1000000000)));
    answered_ns = all->latency.count > answers ? run->loop.now_ns : answered_ns;
    answers = all->latency.count;
    if (run->loop.now_ns - answered_ns > DRAIN_S * INT64_C(1000000000)) {
      return error_set(ERR_TIMEOUT, "%" PRId64 " commits have no answer after %d s", run->loop.calls, DRAIN_S);
    }
  }
  return 0;
}

int groups_commit(struct groups_run *run)
{
  struct committing *all = mem_zalloc(sizeof *all);
  all->run = run;
  struct groups_usage before;
  int result = groups_find(run);
  if (result == 0) {
    groups_usage_read(run, &before);
    result = run_commits(all, before.start_ns);
  }
  if (result == 0) {
    double seconds = (double)(clock_mono_ns() - before.start_ns) / 1e9;
    printf("{\"commits\":%" PRIu64 ",\"offsets\":%" PRId64 ",\"offsets_per_s\":%.0f,", all->latency.count, all->offsets,
           (double)all->offsets / seconds);
    groups_print_latency("latency_us", &all->latency);
    groups_print_usage(run, &before, (int64_t)all->latency.count);
  }
  mem_free(all->senders);
  mem_free(all);
  return result;
}

/// A group that is asked for.
struct asking {
  struct groups_run *run; ///< the run
  struct fetching *all;   ///< the others
  int number;             ///< of the group
  bool is_open;           ///< asked, and not answered
  bool is_loaded;         ///< got an answer that says what there is
};

/// Groups that are asked for.
struct fetching {
  struct groups_run *run; ///< the run
  struct asking *groups;  ///< owned
  bool is_whole;          ///< all offsets are asked for, and looked at
  int loaded;             ///< groups that have been answered
  int64_t retries;        ///< answers that said: not yet
  int64_t offsets;        ///< found in the answers
  int64_t wrong;          ///< found with another value
};

static void fetched(void *owner, const void *answer, int64_t planned_ns)
{
  (void)planned_ns;
  struct asking *asking = owner;
  struct fetching *all = asking->all;
  const struct groups_options *options = all->run->options;
  const struct wire_offset_fetch_response *response = answer;
  asking->is_open = false;
  int16_t code = response->groups_count == 1 ? response->groups[0].error_code : WIRE_UNKNOWN_SERVER_ERROR;
  if (code == WIRE_COORDINATOR_LOAD_IN_PROGRESS || code == WIRE_NOT_COORDINATOR ||
      code == WIRE_COORDINATOR_NOT_AVAILABLE) {
    all->retries++;
    return;
  }
  if (code != WIRE_NONE) {
    groups_count_error(all->run, "OffsetFetch", code);
  }
  asking->is_loaded = true;
  all->loaded++;
  for (int32_t t = 0; code == WIRE_NONE && t < response->groups[0].topics_count; t++) {
    for (int32_t p = 0; p < response->groups[0].topics[t].partitions_count; p++) {
      const struct wire_offset_fetch_response_offset_fetch_response_partitions *part =
          &response->groups[0].topics[t].partitions[p];
      all->offsets += part->committed_offset >= 0;
      all->wrong += part->committed_offset != filled_offset(options, asking->number, part->partition_index);
    }
  }
}

static void ask(struct asking *asking)
{
  const struct groups_options *options = asking->run->options;
  int32_t partition = asking->number % options->partitions;
  struct wire_offset_fetch_request_offset_fetch_request_topics topic = {
      .name = wire_string_from(options->topic), .partition_indexes = &partition, .partition_indexes_count = 1};
  char name[GROUPS_NAME_BYTES];
  groups_name(asking->run, asking->number, name);
  struct wire_offset_fetch_request_offset_fetch_request_group group;
  wire_offset_fetch_request_offset_fetch_request_group_init(&group);
  group.group_id = wire_string_from(name);
  group.topics = &topic;
  group.topics_count = asking->all->is_whole ? -1 : 1;
  struct wire_offset_fetch_request request;
  wire_offset_fetch_request_init(&request);
  request.groups = &group;
  request.groups_count = 1;
  asking->is_open = true;
  struct groups_loop *loop = &asking->run->loop;
  groups_link_send(&loop->links[asking->number % loop->count], WIRE_API_OFFSET_FETCH, GROUPS_VERSION_OFFSET_FETCH,
                   &request, fetched, asking, 0);
}

/// Asks for all groups, again for those that are not there yet.
static int fetch_all(struct fetching *all)
{
  struct groups_run *run = all->run;
  int64_t deadline_ns = run->loop.now_ns + LOAD_SECONDS * INT64_C(1000000000);
  all->loaded = 0;
  for (int g = 0; g < run->options->groups; g++) {
    all->groups[g] = (struct asking){.run = run, .all = all, .number = g};
  }
  while (all->loaded < run->options->groups) {
    for (int g = 0; g < run->options->groups; g++) {
      if (!all->groups[g].is_loaded && !all->groups[g].is_open &&
          run->loop.calls < (int64_t)run->loop.count * FETCH_DEPTH) {
        ask(&all->groups[g]);
      }
    }
    int64_t retries = all->retries;
    TRY(groups_loop_turn(&run->loop, run->loop.now_ns + RETRY_NS));
    if (all->retries > retries) {
      nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL); // a broker that loads has better things to do
    }
    if (run->loop.now_ns > deadline_ns) {
      return error_set(ERR_TIMEOUT, "%d of %d groups are loaded after %d s", all->loaded, run->options->groups,
                       LOAD_SECONDS);
    }
  }
  return 0;
}

int groups_fetch(struct groups_run *run)
{
  struct fetching all = {.run = run};
  all.groups = mem_array((size_t)run->options->groups, sizeof *all.groups);
  struct groups_usage before;
  groups_usage_read(run, &before);
  int result = fetch_all(&all);
  double loaded_ms = (double)(clock_mono_ns() - before.start_ns) / 1e6;
  if (result == 0 && run->options->verify) {
    all.is_whole = true;
    all.offsets = all.wrong = 0;
    result = fetch_all(&all);
    int64_t expected = (int64_t)run->options->groups * run->options->partitions;
    if (result == 0 && (all.offsets != expected || all.wrong > 0)) {
      snprintf(run->first_error, sizeof run->first_error,
               "%" PRId64 " offsets instead of %" PRId64 ", %" PRId64 " wrong", all.offsets, expected, all.wrong);
      run->errors++;
    }
  }
  if (result == 0) {
    printf("{\"loaded_ms\":%.2f,\"retries\":%" PRId64 ",\"offsets\":%" PRId64 ",\"wrong\":%" PRId64 ",", loaded_ms,
           all.retries, all.offsets, all.wrong);
    groups_print_usage(run, &before, run->options->groups);
  }
  mem_free(all.groups);
  return result;
}
