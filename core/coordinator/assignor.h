// SPDX-License-Identifier: Apache-2.0
//
// Who of a group gets which partition (KIP-848: the coordinator decides). Pure functions of what is given, any thread.
// Partitions are numbered through all topics that the group is subscribed to, topic after topic: partition p of topic t
// is number first[t] + p. So "each partition has one owner" is an array, and cannot be broken.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ASSIGNOR_NOBODY = -1 }; ///< owner of a partition that no member is subscribed to

/// A member as an assignor sees it.
struct assignor_member {
  const int32_t *topics; ///< indexes of its topics, rising; borrowed
  int32_t topic_count;   ///< how many
};

/// What is to be assigned, and to whom. Everything is borrowed.
struct assignor_input {
  const int32_t *first;                  ///< number of each topic's first partition; one more: how many there are
  int32_t topic_count;                   ///< topics
  const struct assignor_member *members; ///< in the order in which the range assignor serves them
  int32_t member_count;                  ///< members
};

/// @param[in,out] owner  of each partition, an index of a member or ASSIGNOR_NOBODY: who had it, then who gets it
typedef void (*assignor_fn)(const struct assignor_input *input, int32_t *owner);

struct assignor {
  const char *name;   ///< as clients ask for it
  assignor_fn assign; ///< see above
};

/// The assignor of a name; NULL: there is none. The one at 0 is the default, behind the last comes NULL.
const struct assignor *assignor_find(const char *name, int32_t length);
const struct assignor *assignor_at(int32_t index);

/// All get as many partitions, give or take one, and keep what they had as far as that allows. Members with different
/// subscriptions: nobody has two more than another that could take one of them.
void assignor_uniform(const struct assignor_input *input, int32_t *owner);

/// Topic by topic: consecutive partitions for each subscriber, the same numbers of each topic when all are subscribed
/// to the same topics of the same size. What was before does not count.
void assignor_range(const struct assignor_input *input, int32_t *owner);
