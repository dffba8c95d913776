// SPDX-License-Identifier: Apache-2.0
//
// The uniform assignor. When all members have the same topics, which is the rule, a quota decides: who has more than
// that gives up the rest, and who has less is filled up in turn. Otherwise what can stay stays, what is free goes to
// the subscriber with the fewest, and then partitions move one by one from a member that has at least two more.
#include "coordinator/assignor.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

const struct assignor *assignor_at(int32_t index)
{
  static const struct assignor ASSIGNORS[] = {
      {"uniform", assignor_uniform},
      {"range", assignor_range},
  };
  return index >= 0 && index < (int32_t)(sizeof ASSIGNORS / sizeof ASSIGNORS[0]) ? &ASSIGNORS[index] : NULL;
}

const struct assignor *assignor_find(const char *name, int32_t length)
{
  const struct assignor *assignor;
  for (int32_t i = 0; (assignor = assignor_at(i)) != NULL; i++) {
    if ((size_t)length == strlen(assignor->name) && memcmp(name, assignor->name, (size_t)length) == 0) {
      return assignor;
    }
  }
  return NULL;
}

static bool is_subscribed(const struct assignor_member *member, int32_t topic)
{
  int32_t low = 0;
  int32_t high = member->topic_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (member->topics[middle] < topic) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < member->topic_count && member->topics[low] == topic;
}

/// Everybody has all the topics.
static bool is_homogeneous(const struct assignor_input *input)
{
  for (int32_t m = 0; m < input->member_count; m++) {
    if (input->members[m].topic_count != input->topic_count) {
      return false;
    }
  }
  return true;
}

// ---- the same topics for all ----

/// Gives partitions that nobody has to members that have fewer than `quota`, one after another in turn.
///
/// @param most  how many members may be filled up to the quota
static void fill_up(int32_t *owner, int32_t partition_count, int32_t *counts, int32_t member_count, int32_t quota,
                    int32_t most)
{
  int32_t next = 0;
  for (int32_t i = 0; i < partition_count && most > 0; i++) {
    if (owner[i] != ASSIGNOR_NOBODY) {
      continue;
    }
    int32_t tried = 0;
    while (tried < member_count && counts[next] >= quota) {
      next = (next + 1) % member_count;
      tried++;
    }
    if (tried == member_count) {
      return;
    }
    owner[i] = next;
    counts[next]++;
    most -= counts[next] == quota;
    next = (next + 1) % member_count;
  }
}

static void assign_homogeneous(const struct assignor_input *input, int32_t *owner)
{
  int32_t partition_count = input->first[input->topic_count];
  int32_t *counts = mem_array((size_t)input->member_count, sizeof *counts);
  int32_t quota = partition_count / input->member_count;
  int32_t extra = partition_count % input->member_count;
  int32_t with_extra = 0;
  for (int32_t i = 0; i < partition_count; i++) {
    int32_t m = owner[i];
    if (m == ASSIGNOR_NOBODY) {
      continue;
    }
    if (counts[m] < quota) {
      counts[m]++;
    } else if (counts[m] == quota && with_extra < extra) {
      counts[m]++;
      with_extra++;
    } else {
      owner[i] = ASSIGNOR_NOBODY;
    }
  }
  fill_up(owner, partition_count, counts, input->member_count, quota, input->member_count);
  fill_up(owner, partition_count, counts, input->member_count, quota + 1, extra - with_extra);
  mem_free(counts);
}

// ---- different topics ----

/// The subscribers of each topic, as one array cut into pieces.
struct subscribers {
  int32_t *members; ///< members of topic 0, of topic 1, ...
  int32_t *first;   ///< where those of a topic begin; one more: the end
};

static void subscribers_create(struct subscribers *subs, const struct assignor_input *input)
{
  subs->first = mem_array((size_t)input->topic_count + 2, sizeof *subs->first);
  int32_t *first = subs->first + 1; // shifted by one while it is filled, so that it ends in place
  size_t total = 0;
  for (int32_t m = 0; m < input->member_count; m++) {
    total += (size_t)input->members[m].topic_count;
    for (int32_t t = 0; t < input->members[m].topic_count; t++) {
      first[input->members[m].topics[t] + 1]++;
    }
  }
  for (int32_t t = 0; t < input->topic_count; t++) {
    first[t + 1] += first[t];
  }
  subs->members = mem_array(total + 1, sizeof *subs->members);
  for (int32_t m = 0; m < input->member_count; m++) {
    for (int32_t t = 0; t < input->members[m].topic_count; t++) {
      subs->members[first[input->members[m].topics[t]]++] = m;
    }
  }
}

static void subscribers_destroy(struct subscribers *subs)
{
  mem_free(subs->members);
  mem_free(subs->first);
}

/// The subscriber of a topic that has the fewest partitions, the first of those; ASSIGNOR_NOBODY: it has none.
static int32_t least_loaded(const struct subscribers *subs, int32_t topic, const int32_t *counts)
{
  int32_t least = ASSIGNOR_NOBODY;
  for (int32_t i = subs->first[topic]; i < subs->first[topic + 1]; i++) {
    int32_t m = subs->members[i];
    if (least == ASSIGNOR_NOBODY || counts[m] < counts[least]) {
      least = m;
    }
  }
  return least;
}

/// Topics with few subscribers first: they have the least choice. A counting sort, stable.
static int32_t *topics_by_choice(const struct assignor_input *input, const struct subscribers *subs)
{
  int32_t *order = mem_array((size_t)input->topic_count + 1, sizeof *order);
  int32_t *place = mem_array((size_t)input->member_count + 2, sizeof *place);
  for (int32_t t = 0; t < input->topic_count; t++) {
    place[subs->first[t + 1] - subs->first[t] + 1]++;
  }
  for (int32_t n = 0; n <= input->member_count; n++) {
    place[n + 1] += place[n];
  }
  for (int32_t t = 0; t < input->topic_count; t++) {
    order[place[subs->first[t + 1] - subs->first[t]]++] = t;
  }
  mem_free(place);
  return order;
}

/// Moves partitions of a topic to subscribers that have at least two fewer. @return true: some were moved
static bool level(const struct assignor_input *input, const struct subscribers *subs, int32_t topic, int32_t *counts,
                  int32_t *owner)
{
  bool has_moved = false;
  int32_t to = least_loaded(subs, topic, counts);
  for (int32_t i = input->first[topic]; i < input->first[topic + 1]; i++) {
    int32_t from = owner[i];
    if (from == ASSIGNOR_NOBODY || counts[from] - counts[to] < 2) {
      continue;
    }
    owner[i] = to;
    counts[from]--;
    counts[to]++;
    has_moved = true;
    to = least_loaded(subs, topic, counts);
  }
  return has_moved;
}

static void assign_heterogeneous(const struct assignor_input *input, int32_t *owner)
{
  struct subscribers subs;
  subscribers_create(&subs, input);
  int32_t *order = topics_by_choice(input, &subs);
  int32_t *counts = mem_array((size_t)input->member_count, sizeof *counts);
  for (int32_t t = 0; t < input->topic_count; t++) {
    for (int32_t i = input->first[t]; i < input->first[t + 1]; i++) {
      if (owner[i] != ASSIGNOR_NOBODY) {
        counts[owner[i]]++;
      }
    }
  }
  for (int32_t t = 0; t < input->topic_count; t++) {
    int32_t topic = order[t];
    for (int32_t i = input->first[topic]; i < input->first[topic + 1]; i++) {
      int32_t to = owner[i] == ASSIGNOR_NOBODY ? least_loaded(&subs, topic, counts) : ASSIGNOR_NOBODY;
      if (to != ASSIGNOR_NOBODY) {
        owner[i] = to;
        counts[to]++;
      }
    }
  }
  // Each move brings the two counts closer together, so the sum of their squares falls: this ends.
  bool has_moved = true;
  while (has_moved) {
    has_moved = false;
    for (int32_t t = 0; t < input->topic_count; t++) {
      has_moved |= level(input, &subs, order[t], counts, owner);
    }
  }
  mem_free(counts);
  mem_free(order);
  subscribers_destroy(&subs);
}

void assignor_uniform(const struct assignor_input *input, int32_t *owner)
{
  if (input->member_count == 0) {
    memset(owner, 0xff, (size_t)input->first[input->topic_count] * sizeof *owner);
    return;
  }
  for (int32_t t = 0; t < input->topic_count; t++) {
    for (int32_t i = input->first[t]; i < input->first[t + 1]; i++) {
      if (owner[i] != ASSIGNOR_NOBODY && !is_subscribed(&input->members[owner[i]], t)) {
        owner[i] = ASSIGNOR_NOBODY;
      }
    }
  }
  if (is_homogeneous(input)) {
    assign_homogeneous(input, owner);
  } else {
    assign_heterogeneous(input, owner);
  }
}
