// SPDX-License-Identifier: Apache-2.0
//
// Looking for the topics of a group's regular expressions, off the worker: that takes a microsecond for each name and
// expression, and more for some, while all clients of the worker would wait.
//
//   consumer_regex.c: consumer_search_new() --> shard's list --group_shard_take_search()--> group_search_run() on the
//   pool
//        ^  applied, and another turn for what is left                                             |
//        +------------- consumer_searched() <-------------- group_shard_searched() ----------------+
//
// It has copies of the expressions, and what the group knows about them, counted. So it may outlive the group and the
// shard; nobody waits for it. A group has one at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "wire/types.h"

struct consumer_group;
struct group_search;

/// Memory of what is known of an expression. Shared: consumer_known_unref(), on the shard's thread.
struct consumer_known {
  struct arena arena; ///< memory
  int32_t refs;       ///< the group's, and that of a search
};

/// One expression of a search.
struct consumer_search_item {
  struct wire_string text;           ///< the expression
  struct consumer_known *known;      ///< memory of `topics`; one reference. NULL: it was not resolved
  const struct wire_string *topics;  ///< as the group knows them, sorted
  int32_t topic_count;               ///< how many
  const struct wire_string *matched; ///< those that were found, sorted, with `is_other`; until the next run
  int32_t matched_count;             ///< how many
  bool is_other;                     ///< what was found is not what is known
};

/// On the shard's thread, but while it is run.
struct group_search {
  struct list link;                   ///< in the shard's list, until it is taken
  struct consumer_group *consumer;    ///< whose it is; NULL: that has gone
  int64_t version;                    ///< of the cluster's topics, when it began
  struct arena arena;                 ///< memory of `items` and their texts
  struct arena found;                 ///< memory of what the last run found
  struct consumer_search_item *items; ///< expressions, sorted, each once
  int32_t count;                      ///< how many
  int32_t first;                      ///< of those that the last run looked at
  int32_t next;                       ///< where the next run goes on
  bool is_away;                       ///< taken, or what it found is being written: it is freed by who has it
};

/// Distinct expressions of a group's members, sorted; borrowed, in an array of the arena.
struct wire_string *consumer_regex_texts(const struct consumer_group *consumer, struct arena *arena, int32_t *count);

/// A search for all expressions of the group. Owned: by the shard's list and whoever takes it, consumer_search_drop().
struct group_search *consumer_search_new(struct consumer_group *consumer, int64_t version);

/// Puts it into the shard's list, to be taken.
void consumer_search_submit(struct group_search *search);

/// Frees one that nobody has any more.
void group_search_delete(struct group_search *search);

/// The group has no more use for it: frees it, now or when it comes back. NULL is fine.
void consumer_search_drop(struct group_search *search);

/// One comes back, its group still there. @param search  taken (consumer_regex.c)
void consumer_searched(struct group_search *search, int64_t now_ms);

void consumer_known_unref(struct consumer_known *known);
