// SPDX-License-Identifier: Apache-2.0
//
// A request to a group, on its way from the worker of its connection to the shard that has the group, and back. What is
// asked and what is answered are the structs of wire/; a request that names many groups becomes one of these for each.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "event/mail.h"
#include "wire/types.h"

struct arena;
struct coordinator;
struct event_loop;
struct group_request;
struct member_beat;
typedef void (*group_request_fn)(struct group_request *request);

/// Embed it in what waits for the answer. Taken from coordinator_submit() until `done`.
struct group_request {
  struct list link;             ///< the shard's: among those that are answered, or that wait
  struct mail mail;             ///< carries it to the shard's worker, and back
  struct coordinator *owner;    ///< the coordinator that has it; set by coordinator_submit()
  struct event_loop *reply;     ///< loop that `done` runs on
  group_request_fn done;        ///< called once, `response` is filled in
  int32_t shard;                ///< partition of __consumer_offsets
  int16_t key;                  ///< enum wire_api_key: what `body` and `response` are
  int16_t version;              ///< api version
  struct wire_string group;     ///< group id, borrowed until done; of ListGroups: null
  const void *body;             ///< see the table in shard.h; borrowed until done
  void *response;               ///< likewise, initialised by the caller; what it points to lies in `arena`
  struct arena *arena;          ///< of this request alone: the shard's thread allocates from it until done
  struct wire_string client_id; ///< of the request's header, borrowed until done; may be null
  const char *client_host;      ///< address of the client as Kafka shows it, "/127.0.0.1"; borrowed until done
  bool is_stable;           ///< of OffsetFetch: answer UNSTABLE_OFFSET_COMMIT where a transaction may change an offset
  bool wants_beat;          ///< of Heartbeat: the next ones may be noted without asking (member_beat.h)
  struct member_beat *beat; ///< of Heartbeat: with what, one reference, the asker's; NULL: the next is to be asked too
  void *state;              ///< what has the request while it waits (a member that joins), NULL: nothing
  _Atomic(int64_t) *room; ///< bytes that may be allocated for answers to all that came in one request, counted down by
                          ///< shards; NULL: as many as it takes. Borrowed until done
};
