// SPDX-License-Identifier: Apache-2.0
//
// Intrusive doubly linked list with a head node. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
  struct list *prev; ///< itself when alone
  struct list *next; ///< itself when alone
};

#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define LIST_EACH(head, node) for (struct list *node = (head)->next; node != (head); node = node->next)

/// The same, while `node` may be removed in the body.
#define LIST_EACH_SAFE(head, node)                                                  \
  for (struct list *node = (head)->next, *node##_next = node->next; node != (head); \
       node = node##_next, node##_next = node->next)

static inline void list_create(struct list *head)
{
  head->prev = head->next = head;
}

static inline bool list_is_empty(const struct list *head)
{
  return head->next == head;
}

static inline void list_append(struct list *head, struct list *node)
{
  node->prev = head->prev;
  node->next = head;
  head->prev->next = node;
  head->prev = node;
}

/// Unlinks; the node is alone afterwards, so removing it twice is harmless.
static inline void list_remove(struct list *node)
{
  node->prev->next = node->next;
  node->next->prev = node->prev;
  list_create(node);
}
