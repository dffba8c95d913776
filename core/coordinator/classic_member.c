// SPDX-License-Identifier: Apache-2.0
//
// Members of a group, and ids that were given out for members to come. Only what they are: what happens to them is in
// classic_join.c and its siblings.
#include "base/mem.h"
#include "coordinator/classic_private.h"

#include <string.h>

#include "base/check.h"

static char *member_text(const char *data, int32_t length)
{
  char *text = mem_alloc((size_t)(length > 0 ? length : 0) + 1);
  if (length > 0) {
    memcpy(text, data, (size_t)length);
  }
  text[length > 0 ? length : 0] = '\0';
  return text;
}

static void member_count_bytes(struct classic_member *member)
{
  size_t bytes = sizeof *member + (size_t)member->id.size + (size_t)member->instance.size + strlen(member->client_id) +
                 strlen(member->client_host) + (size_t)member->assignment_size +
                 (member->protocols == NULL ? 0 : member->protocols->size);
  member->classic->bytes += bytes - member->bytes;
  member->classic->pending_bytes += member->is_pending ? bytes - member->bytes : 0;
  member->bytes = bytes;
}

struct classic_member *classic_member_new(struct classic_group *classic, struct wire_string id,
                                          struct wire_string instance, struct wire_string client_id,
                                          const char *client_host)
{
  struct classic_member *member = mem_zalloc(sizeof *member);
  member->classic = classic;
  member->is_pending = true;
  member->client_id = member_text(client_id.data, client_id.length);
  member->client_host = mem_strdup(client_host == NULL ? "" : client_host);
  name_table_add(&classic->ids, &member->id, member_text(id.data, id.length), id.length);
  if (instance.length >= 0) {
    name_table_add(&classic->instances, &member->instance, member_text(instance.data, instance.length),
                   instance.length);
  }
  list_append(&classic->pending, &member->link);
  classic->pending_count++;
  member_count_bytes(member);
  return member;
}

void classic_member_delete(struct classic_member *member)
{
  struct classic_group *classic = member->classic;
  CHECK(member->join == NULL && member->sync == NULL);
  classic_end_beat(member);
  group_timer_stop(classic->shard, &member->session);
  classic_member_synced(member);
  list_remove(&member->link);
  if (member->is_pending) {
    classic->pending_count--;
    classic->pending_bytes -= member->bytes;
  } else {
    classic->member_count--;
    classic_protocols_count(classic, member->protocols, -1);
    classic_forget_subscribed(classic);
  }
  if (classic->leader == member) {
    classic->leader =
        list_is_empty(&classic->members) ? NULL : CONTAINER_OF(classic->members.next, struct classic_member, link);
  }
  name_table_remove(&classic->ids, &member->id);
  if (member->instance.name != NULL) {
    name_table_remove(&classic->instances, &member->instance);
  }
  classic->bytes -= member->bytes;
  mem_free((char *)member->id.name);
  mem_free((char *)member->instance.name);
  mem_free(member->client_id);
  mem_free(member->client_host);
  mem_free(member->protocols);
  mem_free(member->assignment);
  mem_free(member);
}

void classic_member_admit(struct classic_member *member, struct classic_protocols *protocols)
{
  struct classic_group *classic = member->classic;
  list_remove(&member->link);
  list_append(&classic->members, &member->link);
  classic->pending_count--;
  classic->pending_bytes -= member->bytes;
  classic->member_count++;
  member->is_pending = false;
  member->protocols = protocols;
  classic_protocols_count(classic, protocols, 1);
  classic_forget_subscribed(classic);
  member_count_bytes(member);
  if (classic->leader == NULL) {
    classic->leader = member;
  }
}

char *classic_member_rename(struct classic_member *member, struct wire_string id)
{
  classic_end_beat(member); // whoever has the old id is fenced
  char *old = (char *)member->id.name;
  name_table_remove(&member->classic->ids, &member->id);
  name_table_add(&member->classic->ids, &member->id, member_text(id.data, id.length), id.length);
  member_count_bytes(member);
  return old;
}

struct classic_protocols *classic_member_set_protocols(struct classic_member *member,
                                                       struct classic_protocols *protocols)
{
  struct classic_protocols *old = member->protocols;
  classic_protocols_count(member->classic, old, -1);
  classic_protocols_count(member->classic, protocols, 1);
  member->protocols = protocols;
  classic_forget_subscribed(member->classic);
  member_count_bytes(member);
  return old;
}

void classic_member_assign(struct classic_member *member, struct wire_bytes assignment)
{
  mem_free(member->assignment);
  member->assignment = NULL;
  member->assignment_size = 0;
  if (assignment.length > 0) {
    member->assignment = mem_dup(assignment.data, (size_t)assignment.length);
    member->assignment_size = assignment.length;
  }
  member_count_bytes(member);
}

struct classic_member *classic_member_find(const struct classic_group *classic, struct wire_string id)
{
  struct name_node *node = id.length < 0 ? NULL : name_table_find(&classic->ids, id.data, id.length);
  return node == NULL ? NULL : CONTAINER_OF(node, struct classic_member, id);
}

struct classic_member *classic_member_static(const struct classic_group *classic, struct wire_string instance)
{
  struct name_node *node =
      instance.length < 0 ? NULL : name_table_find(&classic->instances, instance.data, instance.length);
  return node == NULL ? NULL : CONTAINER_OF(node, struct classic_member, instance);
}

struct wire_string classic_member_id(const struct classic_member *member)
{
  return (struct wire_string){.data = member->id.name, .length = member->id.size};
}

struct wire_string classic_member_instance(const struct classic_member *member)
{
  if (member->instance.name == NULL) {
    return (struct wire_string){.length = -1};
  }
  return (struct wire_string){.data = member->instance.name, .length = member->instance.size};
}

struct wire_bytes classic_member_metadata(const struct classic_member *member, const char *protocol)
{
  return classic_protocols_metadata(member->protocols, protocol);
}
