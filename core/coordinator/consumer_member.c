// SPDX-License-Identifier: Apache-2.0
//
// A member that says something else than before, whatever protocol it says it with.
#include <stdlib.h>
#include <string.h>

#include "coordinator/consumer_private.h"

int32_t consumer_sort_names(struct wire_string *names, int32_t count)
{
  if (count < 2) {
    return count;
  }
  qsort(names, (size_t)count, sizeof *names, consumer_text_order);
  int32_t kept = 1;
  for (int32_t i = 1; i < count; i++) {
    if (!wire_string_equal(names[i], names[kept - 1])) {
      names[kept++] = names[i];
    }
  }
  return kept;
}

void consumer_take_names(struct consumer_change *change, const struct wire_string *from, int32_t count)
{
  struct wire_string *names = arena_alloc(change->arena, ((size_t)count + 1) * sizeof *names);
  if (count > 0) {
    memcpy(names, from, (size_t)count * sizeof *names);
  }
  change->next.metadata.subscribed_topic_names = names;
  change->next.metadata.subscribed_topic_names_count = consumer_sort_names(names, count);
}

static bool same_classic(const struct wire_consumer_group_member_metadata_value_classic_member_metadata *a,
                         const struct wire_consumer_group_member_metadata_value_classic_member_metadata *b)
{
  if (a == NULL || b == NULL) {
    return a == b;
  }
  if (a->session_timeout_ms != b->session_timeout_ms || a->supported_protocols_count != b->supported_protocols_count) {
    return false;
  }
  for (int32_t i = 0; i < a->supported_protocols_count; i++) {
    const struct wire_consumer_group_member_metadata_value_classic_protocol *x = &a->supported_protocols[i];
    const struct wire_consumer_group_member_metadata_value_classic_protocol *y = &b->supported_protocols[i];
    if (!wire_string_equal(x->name, y->name) || x->metadata.length != y->metadata.length ||
        (x->metadata.length > 0 && memcmp(x->metadata.data, y->metadata.data, (size_t)x->metadata.length) != 0)) {
      return false;
    }
  }
  return true;
}

/// Two of the same member. @param[out] has_new_names  its topics differ
static bool same_metadata(const struct wire_consumer_group_member_metadata_value *a,
                          const struct wire_consumer_group_member_metadata_value *b, bool *has_new_names)
{
  *has_new_names = a->subscribed_topic_names_count != b->subscribed_topic_names_count;
  for (int32_t i = 0; i < a->subscribed_topic_names_count && !*has_new_names; i++) {
    *has_new_names = !wire_string_equal(a->subscribed_topic_names[i], b->subscribed_topic_names[i]);
  }
  return !*has_new_names && wire_string_equal(a->instance_id, b->instance_id) &&
         wire_string_equal(a->rack_id, b->rack_id) && wire_string_equal(a->client_id, b->client_id) &&
         wire_string_equal(a->client_host, b->client_host) &&
         wire_string_equal(a->subscribed_topic_regex, b->subscribed_topic_regex) &&
         a->rebalance_timeout_ms == b->rebalance_timeout_ms &&
         wire_string_equal(a->server_assignor, b->server_assignor) &&
         same_classic(a->classic_member_metadata, b->classic_member_metadata);
}

const struct consumer_member *consumer_change_before(const struct consumer_change *change)
{
  return change->old != NULL ? change->old : change->gone_count > 0 ? change->gone[0] : NULL;
}

void consumer_update_member(struct consumer_change *change, bool *bump)
{
  const struct consumer_member *before = consumer_change_before(change);
  const struct wire_consumer_group_member_metadata_value *metadata = &change->next.metadata;
  bool has_new_names = before == NULL && metadata->subscribed_topic_names_count > 0;
  bool is_same = before != NULL && same_metadata(&before->metadata, metadata, &has_new_names);
  if (!is_same || change->old == NULL) {
    consumer_write_member(change, &change->next);
  }
  change->has_new_subscription =
      before == NULL || has_new_names ||
      consumer_text_compare(before->metadata.subscribed_topic_regex, metadata->subscribed_topic_regex) != 0;
  *bump = has_new_names;
  if (before != NULL && !wire_string_equal(before->metadata.server_assignor, metadata->server_assignor)) {
    int32_t count = 0;
    const struct consumer_member *const *members = consumer_change_members(change, &count);
    const struct assignor *assignor = consumer_preferred_assignor(change->group, members, count);
    *bump |= assignor != consumer_preferred_assignor(change->group,
                                                     (const struct consumer_member *const *)change->base->members,
                                                     change->base->member_count);
  }
}

void consumer_place_static(struct consumer_change *change, const struct consumer_member *member, struct wire_string id)
{
  const struct consumer_member **gone = arena_alloc(change->arena, sizeof *gone);
  *gone = member;
  change->gone = gone;
  change->gone_count = 1;
  change->next = *member;
  change->next.id = id;
}
