// SPDX-License-Identifier: Apache-2.0
//
// A consumer group as its records tell it: members, expressions, and what others of the shard may ask about it.
#include "coordinator/consumer_group.h"

#include <string.h>

#include "base/mem.h"
#include "coordinator/assignor.h"
#include "coordinator/consumer_private.h"
#include "coordinator/consumer_search.h"

// ---- texts ----

int consumer_text_compare(struct wire_string a, struct wire_string b)
{
  int32_t a_length = a.length > 0 ? a.length : 0;
  int32_t b_length = b.length > 0 ? b.length : 0;
  int32_t common = a_length < b_length ? a_length : b_length;
  int order = common > 0 ? memcmp(a.data, b.data, (size_t)common) : 0;
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

int consumer_text_order(const void *a, const void *b)
{
  return consumer_text_compare(*(const struct wire_string *)a, *(const struct wire_string *)b);
}

bool consumer_text_is_set(struct wire_string text)
{
  return text.length > 0;
}

struct wire_string consumer_text_copy(struct arena *arena, struct wire_string text)
{
  if (text.length < 0) {
    return text;
  }
  return (struct wire_string){.data = arena_strndup(arena, text.data, (size_t)text.length), .length = text.length};
}

/// A copy of its own. Owned: mem_free() of its data.
static struct wire_string text_own(struct wire_string text)
{
  size_t size = text.length > 0 ? (size_t)text.length : 0;
  char *copy = mem_alloc(size + 1);
  memcpy(copy, size > 0 ? text.data : "", size);
  copy[size] = '\0';
  return (struct wire_string){.data = copy, .length = (int32_t)size};
}

// ---- the group ----

void consumer_group_init(struct consumer_group *consumer, struct group *group)
{
  *consumer = (struct consumer_group){
      .group = group,
      .epoch = CONSUMER_FIRST_EPOCH,
      .assignment_epoch = CONSUMER_FIRST_EPOCH,
      .topics_version = -1,
  };
}

static void member_delete(struct consumer_member *member)
{
  struct group_shard *shard = member->consumer->group->shard;
  group_timer_stop(shard, &member->session);
  group_timer_stop(shard, &member->rebalance);
  group_timer_stop(shard, &member->classic);
  arena_destroy(&member->arena);
  mem_free((char *)member->id.data);
  mem_free(member->assigned.items);
  mem_free(member->pending.items);
  mem_free(member->target.items);
  mem_free(member);
}

static void regex_delete(struct consumer_regex *regex)
{
  consumer_known_unref(regex->known);
  mem_free((char *)regex->text.data);
  mem_free(regex);
}

void consumer_group_clear(struct consumer_group *consumer)
{
  group_timer_stop(consumer->group->shard, &consumer->regex_timer);
  consumer_search_drop(consumer->search);
  for (int32_t i = 0; i < consumer->member_count; i++) {
    member_delete(consumer->members[i]);
  }
  for (int32_t i = 0; i < consumer->regex_count; i++) {
    regex_delete(consumer->regexes[i]);
  }
  mem_free(consumer->members);
  mem_free(consumer->regexes);
  consumer_group_init(consumer, consumer->group);
}

struct consumer_group *consumer_obtain(struct group *group)
{
  if (group->kind == GROUP_CLASSIC) {
    // Only a log that was cut short says so; its later records count.
    group_kind_of(group)->free(group);
  }
  if (group->kind == GROUP_EMPTY) {
    group->consumer = mem_alloc(sizeof *group->consumer);
    consumer_group_init(group->consumer, group);
    group->kind = GROUP_CONSUMER;
  }
  return group->consumer;
}

void consumer_free(struct group *group)
{
  consumer_group_clear(group->consumer);
  mem_free(group->consumer);
  group->consumer = NULL;
  group->kind = GROUP_EMPTY;
}

// ---- members ----

/// Where the member is, or has to come. @param[out] is_there  it is there
static int32_t member_place(const struct consumer_group *consumer, struct wire_string id, bool *is_there)
{
  int32_t low = 0;
  int32_t high = consumer->member_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    int order = consumer_text_compare(consumer->members[middle]->id, id);
    if (order == 0) {
      *is_there = true;
      return middle;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *is_there = false;
  return low;
}

struct consumer_member *consumer_member_find(const struct consumer_group *consumer, struct wire_string id)
{
  bool is_there = false;
  int32_t place = member_place(consumer, id, &is_there);
  return is_there ? consumer->members[place] : NULL;
}

void consumer_metadata_init(struct wire_consumer_group_member_metadata_value *metadata)
{
  wire_consumer_group_member_metadata_value_init(metadata);
  metadata->instance_id = wire_string_from(NULL);
  metadata->rack_id = wire_string_from(NULL);
  metadata->server_assignor = wire_string_from(NULL);
}

struct consumer_member *consumer_member_obtain(struct consumer_group *consumer, struct wire_string id)
{
  bool is_there = false;
  int32_t place = member_place(consumer, id, &is_there);
  if (is_there) {
    return consumer->members[place];
  }
  if (consumer->member_count == consumer->member_room) {
    consumer->member_room = consumer->member_room > 0 ? consumer->member_room * 2 : 4;
    consumer->members =
        mem_realloc(consumer->members, (size_t)consumer->member_room * sizeof(struct consumer_member *));
  }
  struct consumer_member *member = mem_zalloc(sizeof *member);
  member->consumer = consumer;
  member->id = text_own(id);
  consumer_metadata_init(&member->metadata);
  memmove(&consumer->members[place + 1], &consumer->members[place],
          (size_t)(consumer->member_count - place) * sizeof(struct consumer_member *));
  consumer->members[place] = member;
  consumer->member_count++;
  return member;
}

void consumer_member_remove(struct consumer_group *consumer, struct wire_string id)
{
  bool is_there = false;
  int32_t place = member_place(consumer, id, &is_there);
  if (!is_there) {
    return;
  }
  member_delete(consumer->members[place]);
  consumer->member_count--;
  memmove(&consumer->members[place], &consumer->members[place + 1],
          (size_t)(consumer->member_count - place) * sizeof(struct consumer_member *));
}

struct consumer_member *consumer_member_static(const struct consumer_group *consumer, struct wire_string instance,
                                               struct wire_string id)
{
  struct consumer_member *said = consumer_member_find(consumer, id);
  if (said != NULL && said->metadata.instance_id.length >= 0 &&
      wire_string_equal(said->metadata.instance_id, instance)) {
    return said;
  }
  for (int32_t i = 0; i < consumer->member_count; i++) {
    struct wire_string own = consumer->members[i]->metadata.instance_id;
    if (own.length >= 0 && wire_string_equal(own, instance)) {
      return consumer->members[i];
    }
  }
  return NULL;
}

bool consumer_member_is_settled(const struct consumer_group *consumer, const struct consumer_member *member)
{
  return member->state == CONSUMER_STABLE && member->epoch == consumer->assignment_epoch;
}

bool consumer_member_is_classic(const struct consumer_member *member)
{
  return member->metadata.classic_member_metadata != NULL;
}

const struct assignor *consumer_assignor(const struct group_shard *shard, int32_t i)
{
  const struct group_settings *settings = group_shard_config(shard);
  return i < settings->group_consumer_assignor_count ? assignor_at(settings->group_consumer_assignors[i]) : NULL;
}

const struct assignor *consumer_preferred_assignor(const struct group *group,
                                                   const struct consumer_member *const *members, int32_t count)
{
  const struct assignor *best = consumer_assignor(group->shard, 0);
  int32_t most = 0;
  const struct assignor *assignor;
  for (int32_t a = 0; (assignor = consumer_assignor(group->shard, a)) != NULL; a++) {
    int32_t votes = 0;
    for (int32_t i = 0; i < count; i++) {
      votes += wire_string_is(members[i]->metadata.server_assignor, assignor->name);
    }
    if (votes > most) {
      most = votes;
      best = assignor;
    }
  }
  return best;
}

// ---- expressions ----

static int32_t regex_place(const struct consumer_group *consumer, struct wire_string text, bool *is_there)
{
  int32_t low = 0;
  int32_t high = consumer->regex_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (consumer_text_compare(consumer->regexes[middle]->text, text) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *is_there = low < consumer->regex_count && consumer_text_compare(consumer->regexes[low]->text, text) == 0;
  return low;
}

struct consumer_regex *consumer_regex_find(const struct consumer_group *consumer, struct wire_string text)
{
  bool is_there = false;
  int32_t place = regex_place(consumer, text, &is_there);
  return is_there ? consumer->regexes[place] : NULL;
}

struct consumer_regex *consumer_regex_obtain(struct consumer_group *consumer, struct wire_string text)
{
  bool is_there = false;
  int32_t place = regex_place(consumer, text, &is_there);
  if (is_there) {
    return consumer->regexes[place];
  }
  if (consumer->regex_count == consumer->regex_room) {
    consumer->regex_room = consumer->regex_room > 0 ? consumer->regex_room * 2 : 4;
    consumer->regexes = mem_realloc(consumer->regexes, (size_t)consumer->regex_room * sizeof(struct consumer_regex *));
  }
  struct consumer_regex *regex = mem_zalloc(sizeof *regex);
  regex->text = text_own(text);
  memmove(&consumer->regexes[place + 1], &consumer->regexes[place],
          (size_t)(consumer->regex_count - place) * sizeof(struct consumer_regex *));
  consumer->regexes[place] = regex;
  consumer->regex_count++;
  return regex;
}

void consumer_regex_remove(struct consumer_group *consumer, struct wire_string text)
{
  bool is_there = false;
  int32_t place = regex_place(consumer, text, &is_there);
  if (!is_there) {
    return;
  }
  regex_delete(consumer->regexes[place]);
  consumer->regex_count--;
  memmove(&consumer->regexes[place], &consumer->regexes[place + 1],
          (size_t)(consumer->regex_count - place) * sizeof(struct consumer_regex *));
}

int32_t consumer_regex_members(const struct consumer_group *consumer, struct wire_string text,
                               const struct consumer_member *except)
{
  int32_t count = 0;
  for (int32_t i = 0; i < consumer->member_count; i++) {
    const struct consumer_member *member = consumer->members[i];
    count += member != except && consumer_text_is_set(member->metadata.subscribed_topic_regex) &&
             wire_string_equal(member->metadata.subscribed_topic_regex, text);
  }
  return count;
}

// ---- what others ask ----

const char *consumer_state_name(const struct group *group)
{
  const struct consumer_group *consumer = group->consumer;
  if (consumer->member_count == 0) {
    return "Empty";
  }
  if (consumer->epoch > consumer->assignment_epoch) {
    return "Assigning";
  }
  for (int32_t i = 0; i < consumer->member_count; i++) {
    if (!consumer_member_is_settled(consumer, consumer->members[i])) {
      return "Reconciling";
    }
  }
  return "Stable";
}

const char *consumer_protocol_type(const struct group *group)
{
  (void)group;
  return "consumer";
}

bool consumer_is_empty(const struct group *group)
{
  return group->consumer->member_count == 0;
}

enum group_expiry consumer_expiry(const struct group *group, int64_t *since_ms)
{
  *since_ms = -1;
  // Kafka counts from each commit, also while there are members, for topics that none of them is subscribed to.
  (void)group;
  return GROUP_EXPIRES_COMMIT;
}

static bool names_contain(const struct wire_string *names, int32_t count, struct wire_string name)
{
  for (int32_t i = 0; i < count; i++) {
    if (wire_string_equal(names[i], name)) {
      return true;
    }
  }
  return false;
}

bool consumer_is_subscribed(const struct group *group, const char *topic, int32_t length)
{
  const struct consumer_group *consumer = group->consumer;
  struct wire_string name = {.data = topic, .length = length};
  for (int32_t i = 0; i < consumer->member_count; i++) {
    const struct wire_consumer_group_member_metadata_value *metadata = &consumer->members[i]->metadata;
    if (names_contain(metadata->subscribed_topic_names, metadata->subscribed_topic_names_count, name)) {
      return true;
    }
  }
  for (int32_t i = 0; i < consumer->regex_count; i++) {
    if (names_contain(consumer->regexes[i]->value.topics, consumer->regexes[i]->value.topics_count, name)) {
      return true;
    }
  }
  return false;
}

void consumer_stop(struct group *group, int16_t error)
{
  // Nobody waits in it: heartbeats that wait for a write have had their answer from that.
  (void)error;
  group_timer_stop(group->shard, &group->consumer->regex_timer);
  for (int32_t i = 0; i < group->consumer->member_count; i++) {
    struct consumer_member *member = group->consumer->members[i];
    group_timer_stop(group->shard, &member->session);
    group_timer_stop(group->shard, &member->rebalance);
    group_timer_stop(group->shard, &member->classic);
  }
}
