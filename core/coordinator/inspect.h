// SPDX-License-Identifier: Apache-2.0
//
// What a group waits for, and how long its members have been silent, for administrators: no request of Kafka's tells
// that. The worker that has the group's shard
// is asked by a mail, and copies what is to be known, so that nothing is locked and no group pays for being looked at:
//
//   caller: coordinator_inspect_group -> the shard's worker -> caller's loop: done
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "coordinator/classic_inspect.h"
#include "coordinator/group_heard.h"
#include "event/mail.h"
#include "wire/types.h"

struct coordinator;
struct event_loop;
struct group_inspection;

typedef void (*group_inspection_fn)(struct group_inspection *inspection);

/// A question about one group. Embed it, zeroed; taken from coordinator_inspect_group() until `done` is called.
struct group_inspection {
  struct mail mail;                  ///< carries it
  struct coordinator *coordinator;   ///< borrowed
  struct event_loop *reply;          ///< loop that `done` runs on
  group_inspection_fn done;          ///< called once
  struct arena arena;                ///< the answer's memory
  struct wire_string group;          ///< the group's id; in the arena
  int32_t shard;                     ///< partition of __consumer_offsets that keeps it; -1: there is no such topic
  bool is_found;                     ///< out: there is such a group
  bool is_classic;                   ///< out: it is of the classic protocol or without members
  int64_t now_ms;                    ///< out: when it was looked at, in the time of the others
  struct group_heard_list heard;     ///< out, with is_found: its members; points into the arena
  struct classic_inspection classic; ///< out, with is_classic: what is known; points into the arena
};

/// Asks about a group. Any loop, while the workers run: `done` comes before they are stopped.
///
/// @param group  its id, which may have any bytes; copied
/// @param reply  loop that `done` runs on; then group_inspection_destroy()
void coordinator_inspect_group(struct group_inspection *inspection, struct coordinator *coordinator,
                               struct wire_string group, struct event_loop *reply, group_inspection_fn done);

/// Frees what was found.
void group_inspection_destroy(struct group_inspection *inspection);
