// SPDX-License-Identifier: Apache-2.0
//
// Mailboxes: how threads speak to each other. A mail is embedded in what it is about; posting never blocks, allocates
// or fails, and wakes the receiver at most once a turn, however many mails arrive.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct mail;
typedef void (*mail_fn)(struct mail *mail);

/// Embed it; belongs to the receiver from mail_push() until `run` is called, then to `run`.
struct mail {
  struct mail *next; ///< the mail posted before this one
  mail_fn run;       ///< called once on the receiving thread
};

/// A lock-free stack of mails, turned round by the receiver, so mails run in the order in which they were posted.
struct mailbox {
  _Atomic(struct mail *) head; ///< newest mail
};

/// Adds a mail; returns true when the box was empty, that is when the receiver has to be woken. Any thread.
bool mailbox_push(struct mailbox *box, struct mail *mail);

/// Runs all that waits, oldest first; returns how many. Only the receiver.
int mailbox_run(struct mailbox *box);
