// SPDX-License-Identifier: Apache-2.0
//
// Drives a shard of __consumer_offsets from Lua (spec/support/shard.lua): the topics of its cluster, requests with
// memory of their own, and writes that wait until the spec says what becomes of them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "coordinator/group_settings.h"
#include "coordinator/group_request.h"
#include "coordinator/shard.h"

enum { SHARD_DRIVER_TOPICS = 64, SHARD_DRIVER_NAME = 250 };

struct shard_driver_topic {
  char name[SHARD_DRIVER_NAME]; ///< topic name
  struct uuid id;               ///< its id
  int32_t partitions;           ///< 0: there is none
};

struct shard_driver {
  struct group_settings config;                          ///< the spec's to set
  struct shard_driver_topic topics[SHARD_DRIVER_TOPICS]; ///< what there is
  int64_t version;                                       ///< of the topics
  int64_t now_ms;                                        ///< the shard's time, as the spec has it
  int64_t wall_ahead_ms;                                 ///< by which the wall clock is ahead of that
  struct group_shard *shard;                             ///< owned
};

/// A request and what it points to.
struct shard_call {
  struct group_request request; ///< as the shard has it
  struct arena arena;           ///< of the request
  char *group;                  ///< owned
  char *client_id;              ///< owned
  char *client_host;            ///< owned
  void *response;               ///< owned
  bool is_done;                 ///< answered
};

/// Owned: shard_driver_delete().
struct shard_driver *shard_driver_new(uint64_t seed);
void shard_driver_delete(struct shard_driver *driver);

/// Sets a topic. @param partitions  0: it goes
void shard_driver_topic(struct shard_driver *driver, const char *name, int32_t partitions);

/// Gives a topic the id that it has in another driver.
void shard_driver_set_topic_id(struct shard_driver *driver, const char *name, const struct uuid *id);

/// The id of a topic; zero: there is none.
void shard_driver_topic_id(struct shard_driver *driver, const char *name, struct uuid *id);

/// Makes a request. `body` is borrowed until it is freed; `response` is `response_size` bytes of the caller's, copied.
struct shard_call *shard_call_new(int16_t key, int16_t version, const char *group, int32_t group_length,
                                  const void *body, const void *response, int32_t response_size, const char *client_id,
                                  const char *client_host);

/// Gives it to the shard.
void shard_call_handle(struct shard_driver *driver, struct shard_call *call, int64_t now_ms);

/// Runs a search over the topics that there are now. @param budget_ms  as of group_search_run()
void shard_driver_search(struct shard_driver *driver, struct group_search *search, int64_t budget_ms);

/// Marks the calls that were answered; returns how many.
int shard_driver_answers(struct shard_driver *driver);

void shard_call_free(struct shard_call *call);
