// SPDX-License-Identifier: Apache-2.0
#include "event/mail.h"

#include <stddef.h>

bool mailbox_push(struct mailbox *box, struct mail *mail)
{
  struct mail *head = atomic_load_explicit(&box->head, memory_order_relaxed);
  do {
    mail->next = head;
  } while (!atomic_compare_exchange_weak_explicit(&box->head, &head, mail, memory_order_release, memory_order_relaxed));
  return head == NULL;
}

int mailbox_run(struct mailbox *box)
{
  struct mail *newest = atomic_exchange_explicit(&box->head, NULL, memory_order_acquire);
  struct mail *oldest = NULL;
  while (newest != NULL) {
    struct mail *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  int count = 0;
  while (oldest != NULL) {
    struct mail *next = oldest->next; // `run` may free the mail, or post it again
    oldest->run(oldest);
    oldest = next;
    count++;
  }
  return count;
}
