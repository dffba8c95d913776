// SPDX-License-Identifier: Apache-2.0
//
// What members of a group can do: their protocols in the order in which they like them, how a group chooses one, and
// what topics "consumer" members subscribed to with it.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "coordinator/classic_private.h"
#include "wire/consumer_protocol.h"
#include "wire/join_group.h"
#include "wire/reader.h"

typedef struct wire_join_group_request_join_group_request_protocol join_protocol;

/// How many members of a group can do a protocol.
struct classic_votes {
  struct name_node node; ///< in the group's table; the name is `name`
  int32_t count;         ///< members that have it
  int32_t votes;         ///< those that want it, while one is chosen
  char name[];           ///< not NUL-terminated
};

// ---- a member's ----

/// Whether the name has come up before the i-th: clients repeat none, and what they repeat counts once.
static bool protocols_repeat(const join_protocol *items, int32_t i)
{
  for (int32_t j = 0; j < i; j++) {
    if (wire_string_equal(items[j].name, items[i].name)) {
      return true;
    }
  }
  return false;
}

struct classic_protocols *classic_protocols_new(const join_protocol *items, int32_t count)
{
  if (count > CLASSIC_PROTOCOLS_MAX) {
    return NULL;
  }
  size_t text = 0;
  for (int32_t i = 0; i < count; i++) {
    text += (size_t)items[i].name.length + (size_t)(items[i].metadata.length > 0 ? items[i].metadata.length : 0);
    if (text > CLASSIC_MEMBER_BYTES_MAX) {
      return NULL;
    }
  }
  size_t head = sizeof(struct classic_protocols) + (size_t)(count > 0 ? count : 0) * sizeof(struct classic_protocol);
  struct classic_protocols *protocols = mem_zalloc(head + text);
  protocols->size = head + text;
  char *at = (char *)protocols + head;
  for (int32_t i = 0; i < count; i++) {
    if (protocols_repeat(items, i)) {
      continue;
    }
    struct classic_protocol *protocol = &protocols->items[protocols->count++];
    protocol->name = (struct wire_string){.data = at, .length = items[i].name.length};
    if (items[i].name.length > 0) {
      memcpy(at, items[i].name.data, (size_t)items[i].name.length);
      at += items[i].name.length;
    }
    protocol->metadata = (struct wire_bytes){.data = (uint8_t *)at};
    if (items[i].metadata.length > 0) {
      memcpy(at, items[i].metadata.data, (size_t)items[i].metadata.length);
      protocol->metadata.length = items[i].metadata.length;
      at += items[i].metadata.length;
    }
  }
  return protocols;
}

struct classic_protocols *classic_protocols_of_one(struct wire_string name, struct wire_bytes metadata)
{
  size_t name_size = name.length > 0 ? (size_t)name.length : 0;
  size_t metadata_size = metadata.length > 0 ? (size_t)metadata.length : 0;
  size_t head = sizeof(struct classic_protocols) + sizeof(struct classic_protocol);
  struct classic_protocols *protocols = mem_zalloc(head + name_size + metadata_size);
  char *at = (char *)protocols + head;
  protocols->size = head + name_size + metadata_size;
  protocols->count = 1;
  protocols->items[0].name = (struct wire_string){.data = at, .length = (int32_t)name_size};
  protocols->items[0].metadata =
      (struct wire_bytes){.data = (uint8_t *)at + name_size, .length = (int32_t)metadata_size};
  if (name_size > 0) {
    memcpy(at, name.data, name_size);
  }
  if (metadata_size > 0) {
    memcpy(at + name_size, metadata.data, metadata_size);
  }
  return protocols;
}

struct wire_bytes classic_protocols_metadata(const struct classic_protocols *protocols, const char *protocol)
{
  for (int32_t i = 0; protocol != NULL && i < protocols->count; i++) {
    if (wire_string_is(protocols->items[i].name, protocol)) {
      return protocols->items[i].metadata;
    }
  }
  return (struct wire_bytes){0};
}

bool classic_protocols_match(const struct classic_protocols *protocols, const join_protocol *items, int32_t count)
{
  if (protocols->count != count) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    const struct classic_protocol *mine = &protocols->items[i];
    int32_t size = items[i].metadata.length > 0 ? items[i].metadata.length : 0;
    if (!wire_string_equal(mine->name, items[i].name) || mine->metadata.length != size ||
        (size > 0 && memcmp(mine->metadata.data, items[i].metadata.data, (size_t)size) != 0)) {
      return false;
    }
  }
  return true;
}

// ---- the group's ----

static struct classic_votes *group_votes(const struct classic_group *classic, struct wire_string name)
{
  struct name_node *node = name_table_find(&classic->protocols, name.data, name.length);
  return node == NULL ? NULL : CONTAINER_OF(node, struct classic_votes, node);
}

void classic_protocols_count(struct classic_group *classic, const struct classic_protocols *protocols, int32_t step)
{
  for (int32_t i = 0; i < protocols->count; i++) {
    struct wire_string name = protocols->items[i].name;
    struct classic_votes *votes = group_votes(classic, name);
    if (votes == NULL) {
      votes = mem_zalloc(sizeof *votes + (size_t)name.length);
      if (name.length > 0) {
        memcpy(votes->name, name.data, (size_t)name.length);
      }
      name_table_add(&classic->protocols, &votes->node, votes->name, name.length);
    }
    votes->count += step;
    if (votes->count == 0) {
      name_table_remove(&classic->protocols, &votes->node);
      mem_free(votes);
    }
  }
}

/// Whether all members can do it.
static bool group_can(const struct classic_group *classic, struct wire_string name)
{
  const struct classic_votes *votes = group_votes(classic, name);
  return votes != NULL && votes->count == classic->member_count;
}

bool classic_supports(const struct classic_group *classic, struct wire_string protocol_type, const join_protocol *items,
                      int32_t count)
{
  if (classic->state == CLASSIC_EMPTY) {
    return protocol_type.length > 0 && count > 0;
  }
  if (classic->protocol_type == NULL || !wire_string_is(protocol_type, classic->protocol_type)) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    // All members may have left while they were to rejoin: whoever comes next begins anew.
    if (classic->member_count == 0 || group_can(classic, items[i].name)) {
      return true;
    }
  }
  return false;
}

const struct classic_protocol *classic_select_protocol(const struct classic_group *classic)
{
  const struct classic_protocol *best = NULL;
  int32_t best_votes = 0;
  // Twice the same walk: count, then take the first that has most, in the order in which members came.
  for (int pass = 0; pass < 2; pass++) {
    LIST_EACH(&classic->members, node) {
      const struct classic_protocols *protocols = CONTAINER_OF(node, struct classic_member, link)->protocols;
      for (int32_t i = 0; i < protocols->count; i++) {
        struct classic_votes *votes = group_votes(classic, protocols->items[i].name);
        if (votes->count < classic->member_count) {
          continue;
        }
        if (pass == 0) {
          votes->votes++;
        } else if (votes->votes > best_votes) {
          best_votes = votes->votes;
          best = &protocols->items[i];
        }
        break;
      }
    }
  }
  LIST_EACH(&classic->members, node) {
    const struct classic_protocols *protocols = CONTAINER_OF(node, struct classic_member, link)->protocols;
    for (int32_t i = 0; i < protocols->count; i++) {
      group_votes(classic, protocols->items[i].name)->votes = 0;
    }
  }
  return best;
}

// ---- topics ----

static int topic_compare(const void *a, const void *b)
{
  const struct wire_string *left = a;
  const struct wire_string *right = b;
  int32_t size = left->length < right->length ? left->length : right->length;
  int order = size > 0 ? memcmp(left->data, right->data, (size_t)size) : 0;
  return order != 0 ? order : (left->length > right->length) - (left->length < right->length);
}

void classic_forget_subscribed(struct classic_group *classic)
{
  mem_free(classic->subscribed);
  classic->subscribed = NULL;
  classic->subscribed_count = 0;
}

/// The topics of a subscription; their text lies in it. @return false: it is not what consumers send
static bool topics_of(struct wire_bytes metadata, struct arena *arena, struct wire_consumer_protocol_subscription *out)
{
  struct wire_reader r;
  wire_reader_init(&r, metadata.data, (size_t)metadata.length);
  // Later versions begin like version 0, whose fields are all that is wanted.
  int16_t version = wire_reader_i16(&r, "ConsumerProtocolSubscription.Version");
  return version >= 0 && wire_consumer_protocol_subscription_read(out, &r, 0, arena) == 0;
}

static bool member_topics(const struct classic_member *member, const char *protocol, struct arena *arena,
                          struct wire_consumer_protocol_subscription *out)
{
  return topics_of(classic_protocols_metadata(member->protocols, protocol), arena, out);
}

static struct wire_string *topics_sorted(struct arena *arena, const struct wire_consumer_protocol_subscription *from)
{
  size_t count = from->topics_count > 0 ? (size_t)from->topics_count : 0;
  struct wire_string *topics = arena_alloc(arena, count * sizeof *topics);
  for (size_t i = 0; i < count; i++) {
    topics[i] = from->topics[i];
  }
  if (count > 0) {
    qsort(topics, count, sizeof *topics, topic_compare);
  }
  return topics;
}

bool classic_same_topics(const struct classic_group *classic, const struct classic_member *member,
                         const struct classic_protocols *before)
{
  if (classic->protocol_type == NULL || strcmp(classic->protocol_type, "consumer") != 0) {
    return true;
  }
  struct arena arena = {0};
  struct wire_consumer_protocol_subscription now;
  struct wire_consumer_protocol_subscription then;
  bool is_same = true;
  struct wire_bytes old = classic_protocols_metadata(before, classic->protocol);
  if (topics_of(old, &arena, &then) && member_topics(member, classic->protocol, &arena, &now)) {
    struct wire_string *a = topics_sorted(&arena, &then);
    struct wire_string *b = topics_sorted(&arena, &now);
    is_same = then.topics_count == now.topics_count;
    for (int32_t i = 0; is_same && i < now.topics_count; i++) {
      is_same = wire_string_equal(a[i], b[i]);
    }
  }
  arena_destroy(&arena);
  return is_same;
}

static void group_subscribe(struct classic_group *classic)
{
  struct arena arena = {0};
  int32_t capacity = 16;
  int32_t count = 0;
  struct wire_string *topics = mem_array((size_t)capacity, sizeof *topics);
  LIST_EACH(&classic->members, node) {
    struct wire_consumer_protocol_subscription subscription;
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (!member_topics(member, classic->protocol, &arena, &subscription)) {
      count = -1;
      break;
    }
    for (int32_t i = 0; i < subscription.topics_count; i++) {
      if (count == capacity) {
        capacity *= 2;
        topics = mem_realloc(topics, (size_t)capacity * sizeof *topics);
      }
      topics[count++] = subscription.topics[i];
    }
    arena_reset(&arena);
  }
  arena_destroy(&arena);
  if (count > 0) {
    qsort(topics, (size_t)count, sizeof *topics, topic_compare);
  }
  classic->subscribed = topics;
  classic->subscribed_count = count;
}

bool classic_is_subscribed(const struct group *group, const char *topic, int32_t length)
{
  struct classic_group *classic = group->classic;
  if (classic->protocol_type == NULL || strcmp(classic->protocol_type, "consumer") != 0) {
    return false;
  }
  if (classic->member_count == 0) {
    return false;
  }
  if (classic->protocol == NULL) {
    return true;
  }
  if (classic->subscribed == NULL) {
    group_subscribe(classic);
  }
  if (classic->subscribed_count < 0) {
    return true;
  }
  struct wire_string key = {.data = topic, .length = length};
  return bsearch(&key, classic->subscribed, (size_t)classic->subscribed_count, sizeof key, topic_compare) != NULL;
}
