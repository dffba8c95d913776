// SPDX-License-Identifier: Apache-2.0
//
// What is to become of a topic block of the configuration at start. The text that was last applied is kept in the
// metastore; a block of the same text changes nothing, so what was changed at run time stays. Pure decisions over the
// image, like topic_plan.h: load_static.c reads what is needed and writes what is decided.
//
//   block's text    topic      what happens
//   as applied      any        nothing
//   other           missing    created
//   other           there      configs of the block set, the others left; partitions added; nothing shrunk or moved
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/topic_plan.h"

struct arena;
struct writes;

/// What the metastore has of a block's topic; everything is borrowed.
struct static_topic_found {
  const char *applied;                ///< text last applied; NULL: none
  int32_t applied_version;            ///< of its node
  bool has_configs;                   ///< /config/topics has the topic
  const struct config_entry *configs; ///< what is set there, also what does not fit any more
  int32_t config_count;               ///< how many
  int32_t config_version;             ///< of that node
};

/// A config that a topic which is there gets another value of.
struct static_topic_change {
  const char *name;   ///< Kafka's name
  const char *before; ///< what was set on the topic; NULL: nothing
  const char *after;  ///< what the block says
};

/// What a block comes to. All zero: it was applied already, and its topic is there.
struct static_topic_plan {
  bool is_applied;               ///< the block is applied now, and noted
  bool is_gone;                  ///< it was applied before, and its topic deleted since
  bool is_new;                   ///< its topic is created
  struct metadata_topic *topic;  ///< its topic as it will be; one reference, owned. NULL: as it is
  struct metadata_topic *opened; ///< the topic with those replicas only that are new; one reference, owned. NULL: none
  struct metadata_topic *before; ///< its partitions that are there, with its new configs: their logs are opened with
                                 ///< these; one reference, owned. NULL: none
  int32_t added_partitions;      ///< partitions that a topic which is there gets
  int32_t set_configs;           ///< configs of a topic which is there that get another value
  const struct config_entry *configs;        ///< with `set_configs`: all that is to be set on the topic, in the arena
  int32_t config_count;                      ///< how many
  const struct static_topic_change *changes; ///< `set_configs` of them, in the arena
  const char *set_text;                      ///< with `set_configs`: the changes as "name=value, ...", in the arena
  const char *warnings[2];                   ///< what the block asks for and does not get, in the arena; NULL: nothing
};

/// Decides on a block.
///
/// @param arena      for what the plan points to
/// @param[out] plan  owned: static_topics_destroy()
/// @return 0, ERR_TOPIC_BLOCK with a sentence that begins with the block's place
int static_topics_plan(const struct topic_plan_context *context, struct arena *arena, const struct static_topic *block,
                       const struct static_topic_found *found, struct static_topic_plan *plan);

/// Adds the steps that carry out a plan and note its block; none where nothing is applied. Texts are in the arena of
/// `writes`.
void static_topics_write(const struct static_topic *block, const struct static_topic_found *found,
                         const struct static_topic_plan *plan, int32_t controller_epoch, struct writes *writes);

void static_topics_destroy(struct static_topic_plan *plan);
