// SPDX-License-Identifier: Apache-2.0
//
// A member on its way to its target: first it gives up what it is not to have, then it gets what nobody else has.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coordinator/consumer_private.h"

static int compare_ids(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(struct uuid));
}

/// Partitions of `from` that are in `in` (NULL: all), and of topics that the member is subscribed to.
static void keep_wanted(struct consumer_change *change, const struct consumer_parts *from,
                        const struct consumer_parts *in, const struct uuid *ids, int32_t id_count,
                        struct consumer_parts *kept, struct consumer_parts *rest)
{
  consumer_parts_begin(kept, change->arena, from->count);
  consumer_parts_begin(rest, change->arena, from->count);
  for (int32_t i = 0; i < from->count; i++) {
    const struct consumer_part *part = &from->items[i];
    bool is_wanted = (in == NULL || consumer_parts_find(in, &part->topic, part->partition) != NULL) && id_count > 0 &&
                     bsearch(&part->topic, ids, (size_t)id_count, sizeof *ids, compare_ids) != NULL;
    consumer_parts_add(is_wanted ? kept : rest, &part->topic, part->partition, part->epoch);
  }
}

/// Takes out of `parts` what another member has, or has not given up yet. @return true: there was such
static bool drop_unreleased(struct consumer_change *change, struct consumer_parts *parts)
{
  int32_t count = 0;
  const struct consumer_member *const *members = consumer_change_members(change, &count);
  bool *is_taken = arena_zalloc(change->arena, (size_t)parts->count + 1);
  for (int32_t m = 0; m < count; m++) {
    const struct consumer_parts *sets[] = {&members[m]->assigned, &members[m]->pending};
    for (size_t s = 0; s < 2 && members[m] != &change->next; s++) {
      for (int32_t i = 0, j = 0; i < parts->count && j < sets[s]->count;) {
        int order = consumer_part_compare(&parts->items[i], &sets[s]->items[j]);
        is_taken[i] |= order == 0;
        i += order <= 0;
        j += order >= 0;
      }
    }
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < parts->count; i++) {
    if (!is_taken[i]) {
      parts->items[kept++] = parts->items[i];
    }
  }
  bool has_unreleased = kept < parts->count;
  parts->count = kept;
  return has_unreleased;
}

static void set_epoch(struct consumer_member *member, int32_t epoch)
{
  member->previous_epoch = member->epoch;
  member->epoch = epoch;
}

static bool owns(const struct consumer_parts *owned, const struct consumer_parts *parts)
{
  return owned == NULL || consumer_parts_overlap(owned, parts);
}

/// The next step, from what it has.
///
/// @param epoch  its epoch while it still has something to give up
static void step(struct consumer_change *change, const struct consumer_parts *owned, int32_t epoch)
{
  struct consumer_member *next = &change->next;
  struct uuid *ids = NULL;
  int32_t id_count = 0;
  consumer_subscribed_ids(change, next, &ids, &id_count);
  struct consumer_parts target;
  struct consumer_parts ignored;
  struct consumer_parts kept;
  struct consumer_parts to_revoke;
  keep_wanted(change, &next->target, NULL, ids, id_count, &target, &ignored);
  keep_wanted(change, &next->assigned, &target, ids, id_count, &kept, &to_revoke);
  if (to_revoke.count > 0 && owns(owned, &to_revoke)) {
    set_epoch(next, epoch);
    next->state = CONSUMER_UNREVOKED;
    next->assigned = kept;
    next->pending = to_revoke;
    return;
  }
  struct consumer_parts fresh;
  consumer_parts_begin(&fresh, change->arena, target.count);
  for (int32_t i = 0; i < target.count; i++) {
    if (consumer_parts_find(&kept, &target.items[i].topic, target.items[i].partition) == NULL) {
      consumer_parts_add(&fresh, &target.items[i].topic, target.items[i].partition, change->assignment_epoch);
    }
  }
  bool has_unreleased = drop_unreleased(change, &fresh);
  struct consumer_parts all;
  consumer_parts_begin(&all, change->arena, (int64_t)kept.count + fresh.count);
  consumer_parts_append(&all, &kept);
  consumer_parts_append(&all, &fresh);
  consumer_parts_sort(&all);
  set_epoch(next, change->assignment_epoch);
  next->state = has_unreleased ? CONSUMER_UNRELEASED : CONSUMER_STABLE;
  next->assigned = all;
  next->pending = (struct consumer_parts){0};
}

/// It is no longer subscribed to topics that it has partitions of: those go, whatever the target is.
static void drop_unsubscribed(struct consumer_change *change, const struct consumer_parts *owned)
{
  struct consumer_member *next = &change->next;
  struct uuid *ids = NULL;
  int32_t id_count = 0;
  consumer_subscribed_ids(change, next, &ids, &id_count);
  struct consumer_parts kept;
  struct consumer_parts to_revoke;
  keep_wanted(change, &next->assigned, NULL, ids, id_count, &kept, &to_revoke);
  if (to_revoke.count == 0) {
    return;
  }
  struct consumer_parts pending;
  consumer_parts_begin(&pending, change->arena, (int64_t)next->pending.count + to_revoke.count);
  consumer_parts_append(&pending, &next->pending);
  consumer_parts_append(&pending, &to_revoke);
  consumer_parts_sort(&pending);
  next->assigned = kept;
  bool is_pending = owns(owned, &pending);
  next->pending = is_pending ? pending : (struct consumer_parts){0};
  next->state = is_pending ? CONSUMER_UNREVOKED : next->state;
}

void consumer_reconcile(struct consumer_change *change, const struct consumer_parts *owned)
{
  struct consumer_member *next = &change->next;
  const struct consumer_member before = *next;
  switch (next->state) {
    case CONSUMER_STABLE:
      if (next->epoch != change->assignment_epoch) {
        step(change, owned, next->epoch);
      } else if (change->has_new_subscription) {
        drop_unsubscribed(change, owned);
      }
      break;
    case CONSUMER_UNREVOKED:
      if (!owns(owned, &next->pending)) {
        // It gave them up, and so has what its epoch asked for: the next one begins.
        step(change, owned, next->epoch < change->assignment_epoch ? next->epoch + 1 : next->epoch);
      } else if (change->has_new_subscription) {
        drop_unsubscribed(change, owned);
      }
      break;
    default:
      step(change, owned, next->epoch);
      break;
  }
  bool is_same = change->old != NULL && before.epoch == next->epoch && before.previous_epoch == next->previous_epoch &&
                 before.state == next->state && consumer_parts_identical(&before.assigned, &next->assigned) &&
                 consumer_parts_identical(&before.pending, &next->pending);
  if (!is_same) {
    consumer_write_current(change, next);
  }
}
