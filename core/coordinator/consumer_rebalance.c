// SPDX-License-Identifier: Apache-2.0
//
// From subscriptions to a target assignment. What the group is subscribed to is looked up in the cluster's topics; a
// hash of that, kept with the group's epoch, tells whether topics changed in a way that concerns it (KIP-1101).
#include <stdlib.h>
#include <string.h>

#include "coordinator/assignor.h"
#include "coordinator/consumer_hash.h"
#include "coordinator/consumer_private.h"

/// Topics that the group is subscribed to and that exist, sorted by name.
struct view {
  struct consumer_topic *topics; ///< see consumer_hash.h
  int32_t count;                 ///< how many
  int32_t *by_id;                ///< their indexes, sorted by topic id
  int32_t *first;                ///< numbers of their first partitions, for the assignor; one more
};

static int compare_topic_names(const void *a, const void *b)
{
  return consumer_text_compare(((const struct consumer_topic *)a)->name, ((const struct consumer_topic *)b)->name);
}

static bool same_names(const struct wire_consumer_group_member_metadata_value *a,
                       const struct wire_consumer_group_member_metadata_value *b)
{
  if (a->subscribed_topic_names_count != b->subscribed_topic_names_count) {
    return false;
  }
  for (int32_t i = 0; i < a->subscribed_topic_names_count; i++) {
    if (!wire_string_equal(a->subscribed_topic_names[i], b->subscribed_topic_names[i])) {
      return false;
    }
  }
  return true;
}

static bool same_subscription(const struct consumer_member *a, const struct consumer_member *b)
{
  return same_names(&a->metadata, &b->metadata) &&
         consumer_text_compare(a->metadata.subscribed_topic_regex, b->metadata.subscribed_topic_regex) == 0;
}

/// Topics that the member's expression matched.
static const struct wire_string *regex_topics(struct consumer_change *change, const struct consumer_member *member,
                                              int32_t *count)
{
  const struct consumer_regex *regex = consumer_text_is_set(member->metadata.subscribed_topic_regex)
                                           ? consumer_change_regex(change, member->metadata.subscribed_topic_regex)
                                           : NULL;
  *count = regex != NULL ? regex->value.topics_count : 0;
  return regex != NULL ? regex->value.topics : NULL;
}

static int64_t view_room(struct consumer_change *change, const struct consumer_member *const *members, int32_t count)
{
  int64_t room = 0;
  for (int32_t i = 0; i < count; i++) {
    if (i > 0 && same_subscription(members[i], members[i - 1])) {
      continue;
    }
    int32_t matched = 0;
    regex_topics(change, members[i], &matched);
    room += (int64_t)members[i]->metadata.subscribed_topic_names_count + matched;
  }
  return room;
}

static void view_add(struct view *view, const struct wire_string *names, int32_t count)
{
  for (int32_t i = 0; i < count; i++) {
    view->topics[view->count++] = (struct consumer_topic){.name = names[i]};
  }
}

/// Sorts, and leaves out what is there twice or does not exist.
static void view_settle(struct view *view, const struct group_shard_topics *topics)
{
  if (view->count > 1) {
    qsort(view->topics, (size_t)view->count, sizeof *view->topics, compare_topic_names);
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < view->count; i++) {
    struct consumer_topic topic = view->topics[i];
    if (kept > 0 && wire_string_equal(view->topics[kept - 1].name, topic.name)) {
      continue;
    }
    if (topics->find(topics->arg, topic.name.data, topic.name.length, &topic.id, &topic.partitions)) {
      view->topics[kept++] = topic;
    }
  }
  view->count = kept;
}

static void view_create(struct view *view, struct consumer_change *change, const struct consumer_member *const *members,
                        int32_t count)
{
  *view = (struct view){0};
  view->topics = arena_alloc(change->arena, ((size_t)view_room(change, members, count) + 1) * sizeof *view->topics);
  for (int32_t i = 0; i < count; i++) {
    if (i > 0 && same_subscription(members[i], members[i - 1])) {
      continue; // most groups: all say the same
    }
    int32_t matched = 0;
    const struct wire_string *names = regex_topics(change, members[i], &matched);
    view_add(view, members[i]->metadata.subscribed_topic_names, members[i]->metadata.subscribed_topic_names_count);
    view_add(view, names, matched);
  }
  view_settle(view, group_shard_topics(change->group->shard));
}

int64_t consumer_metadata_hash(struct consumer_change *change)
{
  int32_t count = 0;
  const struct consumer_member *const *members = consumer_change_members(change, &count);
  struct view view;
  view_create(&view, change, members, count);
  return consumer_hash_topics(view.topics, view.count, change->arena);
}

static int compare_ids(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(struct uuid));
}

void consumer_subscribed_ids(struct consumer_change *change, const struct consumer_member *member, struct uuid **ids,
                             int32_t *count)
{
  struct view view;
  view_create(&view, change, &member, 1);
  *ids = arena_alloc(change->arena, ((size_t)view.count + 1) * sizeof **ids);
  *count = view.count;
  for (int32_t i = 0; i < view.count; i++) {
    (*ids)[i] = view.topics[i].id;
  }
  if (view.count > 1) {
    qsort(*ids, (size_t)view.count, sizeof **ids, compare_ids);
  }
}

void consumer_update_epoch(struct consumer_change *change, bool bump)
{
  const struct consumer_group *base = change->base;
  bool are_due = base->topics_version != change->topics_version;
  if (!bump && !are_due && !change->has_regex_refresh) {
    return;
  }
  int64_t hash = consumer_metadata_hash(change);
  change->are_topics_seen = base->regex_count == 0 || change->has_regex_refresh;
  if (bump || hash != base->metadata_hash) {
    change->epoch = base->epoch + 1;
    consumer_write_epoch(change, change->epoch, hash);
  }
}

// ---- the target ----

/// For sorting indexes by topic id.
struct id_index {
  struct uuid id; ///< topic id
  int32_t index;  ///< in the view
};

static void view_number(struct view *view, struct arena *arena)
{
  struct id_index *order = arena_alloc(arena, ((size_t)view->count + 1) * sizeof *order);
  view->by_id = arena_alloc(arena, ((size_t)view->count + 1) * sizeof *view->by_id);
  view->first = arena_alloc(arena, ((size_t)view->count + 1) * sizeof *view->first);
  view->first[0] = 0;
  for (int32_t i = 0; i < view->count; i++) {
    order[i] = (struct id_index){.id = view->topics[i].id, .index = i};
    view->first[i + 1] = view->first[i] + view->topics[i].partitions;
  }
  if (view->count > 1) {
    qsort(order, (size_t)view->count, sizeof *order, compare_ids); // the id is the first member
  }
  for (int32_t i = 0; i < view->count; i++) {
    view->by_id[i] = order[i].index;
  }
}

/// Index of a topic by its id; -1: it is not in the view.
static int32_t view_find_id(const struct view *view, const struct uuid *id)
{
  int32_t low = 0;
  int32_t high = view->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    int order = memcmp(view->topics[view->by_id[middle]].id.bytes, id->bytes, sizeof id->bytes);
    if (order == 0) {
      return view->by_id[middle];
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

static int compare_numbers(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a;
  int32_t y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/// Adds the indexes of topics by name, of those that exist.
static int32_t view_indexes(const struct view *view, const struct wire_string *names, int32_t count, int32_t *out)
{
  int32_t found = 0;
  for (int32_t i = 0; i < count && view->count > 0; i++) {
    struct consumer_topic wanted = {.name = names[i]};
    const struct consumer_topic *topic =
        bsearch(&wanted, view->topics, (size_t)view->count, sizeof wanted, compare_topic_names);
    if (topic != NULL) {
      out[found++] = (int32_t)(topic - view->topics);
    }
  }
  return found;
}

static void member_topics(struct consumer_change *change, const struct view *view, const struct consumer_member *member,
                          struct assignor_member *out)
{
  int32_t matched = 0;
  const struct wire_string *names = regex_topics(change, member, &matched);
  int32_t named = member->metadata.subscribed_topic_names_count;
  int32_t *topics = arena_alloc(change->arena, ((size_t)named + (size_t)matched + 1) * sizeof *topics);
  int32_t count = view_indexes(view, member->metadata.subscribed_topic_names, named, topics);
  count += view_indexes(view, names, matched, topics + count);
  if (matched > 0 && named > 0 && count > 1) { // each list alone is in order
    qsort(topics, (size_t)count, sizeof *topics, compare_numbers);
    int32_t kept = 1;
    for (int32_t i = 1; i < count; i++) {
      if (topics[i] != topics[kept - 1]) {
        topics[kept++] = topics[i];
      }
    }
    count = kept;
  }
  *out = (struct assignor_member){.topics = topics, .topic_count = count};
}

/// Kafka's order for ranges: static members by their names, then the others by their ids.
static int compare_for_ranges(const void *a, const void *b)
{
  const struct consumer_member *x = *(const struct consumer_member *const *)a;
  const struct consumer_member *y = *(const struct consumer_member *const *)b;
  bool x_is_static = x->metadata.instance_id.length >= 0;
  bool y_is_static = y->metadata.instance_id.length >= 0;
  if (x_is_static != y_is_static) {
    return x_is_static ? -1 : 1;
  }
  int order = x_is_static ? consumer_text_compare(x->metadata.instance_id, y->metadata.instance_id) : 0;
  return order != 0 ? order : consumer_text_compare(x->id, y->id);
}

/// Who had each partition, by the target so far.
static void fill_owners(const struct view *view, const struct consumer_member *const *members, int32_t count,
                        int32_t *owner)
{
  for (int32_t i = 0; i < view->first[view->count]; i++) {
    owner[i] = ASSIGNOR_NOBODY;
  }
  for (int32_t m = 0; m < count; m++) {
    const struct consumer_parts *target = &members[m]->target;
    for (int32_t at = 0; at < target->count;) {
      const struct consumer_part *first = &target->items[at];
      int32_t parts = consumer_parts_topic(target, &at);
      int32_t topic = view_find_id(view, &first->topic);
      for (int32_t i = 0; topic >= 0 && i < parts; i++) {
        if (first[i].partition >= 0 && first[i].partition < view->topics[topic].partitions) {
          owner[view->first[topic] + first[i].partition] = m;
        }
      }
    }
  }
}

/// The targets of all members as sorted sets, of the owners of partitions.
static struct consumer_parts *collect_targets(const struct view *view, int32_t member_count, const int32_t *owner,
                                              struct arena *arena)
{
  struct consumer_parts *targets = arena_zalloc(arena, ((size_t)member_count + 1) * sizeof *targets);
  for (int32_t i = 0; i < view->first[view->count]; i++) {
    if (owner[i] != ASSIGNOR_NOBODY) {
      targets[owner[i]].count++;
    }
  }
  for (int32_t m = 0; m < member_count; m++) {
    consumer_parts_begin(&targets[m], arena, targets[m].count);
  }
  for (int32_t t = 0; t < view->count; t++) {
    const struct consumer_topic *topic = &view->topics[view->by_id[t]];
    for (int32_t p = 0; p < topic->partitions; p++) {
      int32_t m = owner[view->first[view->by_id[t]] + p];
      if (m != ASSIGNOR_NOBODY) {
        consumer_parts_add(&targets[m], &topic->id, p, 0);
      }
    }
  }
  return targets;
}

static bool interval_is_over(const struct consumer_change *change)
{
  int64_t since_ms = change->now_ms - change->base->assignment_ms;
  // A clock that was set back does not hold up a group.
  return since_ms < 0 || since_ms >= consumer_assignment_interval_ms(change->group);
}

void consumer_update_target(struct consumer_change *change)
{
  if (change->epoch <= change->assignment_epoch || !interval_is_over(change)) {
    return;
  }
  int32_t count = 0;
  const struct consumer_member *const *all = consumer_change_members(change, &count);
  const struct consumer_member **members =
      arena_dup(change->arena, all, (size_t)count * sizeof(const struct consumer_member *));
  if (count > 1) {
    qsort(members, (size_t)count, sizeof(const struct consumer_member *), compare_for_ranges);
  }
  struct view view;
  view_create(&view, change, members, count);
  view_number(&view, change->arena);
  struct assignor_member *subscriptions = arena_alloc(change->arena, ((size_t)count + 1) * sizeof *subscriptions);
  for (int32_t m = 0; m < count; m++) {
    if (m > 0 && same_subscription(members[m], members[m - 1])) {
      subscriptions[m] = subscriptions[m - 1];
    } else {
      member_topics(change, &view, members[m], &subscriptions[m]);
    }
  }
  int32_t *owner = arena_alloc(change->arena, ((size_t)view.first[view.count] + 1) * sizeof *owner);
  fill_owners(&view, members, count, owner);
  struct assignor_input input = {
      .first = view.first,
      .topic_count = view.count,
      .members = subscriptions,
      .member_count = count,
  };
  consumer_preferred_assignor(change->group, members, count)->assign(&input, owner);
  struct consumer_parts *targets = collect_targets(&view, count, owner, change->arena);
  for (int32_t m = 0; m < count; m++) {
    if (!consumer_parts_equal(&targets[m], &members[m]->target)) {
      // A large group's target takes more than a batch may have. With a part of it alone the group still has an epoch
      // that no target is for, so the next heartbeat makes the rest; what members have does not depend on it.
      consumer_change_divide(change);
      consumer_write_target(change, members[m]->id, &targets[m]);
    }
    if (members[m] == &change->next) {
      change->next.target = targets[m];
    }
  }
  change->assignment_epoch = change->epoch;
  consumer_write_assignment_epoch(change, change->epoch, change->now_ms);
}
