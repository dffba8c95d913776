// SPDX-License-Identifier: Apache-2.0
//
// Adoption: partitions that Apache Kafka wrote become topics of this cluster. Pure decisions over what was found and
// what the metastore knows, like topic_plan.h; load_adopt.c reads what is needed and writes what is decided, all of it
// in one step, so that an adoption happens as a whole or not at all.
//
//   the topic is    its folders                  what happens
//   not known       any                          created: as many partitions as the highest number says, and its id
//   known           all below its partitions     nothing, if the ids agree
//   known           others as well               it gets those partitions
//   known           with newer leader epochs     these partitions go on after them: Kafka was at work here again
//
// An adopted topic keeps everything (retention.ms and retention.bytes -1, cleanup.policy delete) until someone says
// otherwise: what it was configured with is in Kafka's metadata, which is not read. The broker's own topics get what it
// creates them with. A partition's leader epoch goes on after the one found, as after any change of leaders.
#pragma once

#include "controller/controller.h"

struct arena;

enum {
  ADOPT_MISSING_MAX = 10000,       ///< partitions without a folder that one adoption may make, as many as a request may
  ADOPT_EPOCH_MAX = INT32_MAX / 2, ///< leader epochs go on from here at most
};

/// A topic among the folders found: those from `first` on.
struct adopt_group {
  const char *name;        ///< topic name, borrowed
  struct uuid id;          ///< the one that its folders name, zero: none does
  int32_t first;           ///< its first folder in the list
  int32_t count;           ///< its folders
  int32_t partition_count; ///< how many a new topic gets
};

/// What becomes of a topic.
struct adopt_topic {
  struct metadata_topic *topic; ///< as it will be; one reference, owned
  int32_t old_count;            ///< partitions that it had, 0: it is new
  int32_t missing;              ///< new partitions without a folder
  int32_t raised;               ///< old partitions that get a later leader epoch
};

/// Groups the folders by topic, and checks that each topic can be one.
///
/// @param adoption     its folders are sorted by topic and partition
/// @param[out] groups  in the arena
/// @param[out] count   how many
/// @return 0, ERR_CONFIG: a topic has two ids, two topics have one, too many partitions would be empty
int adopt_group(const struct controller_adoption *adoption, struct arena *arena, struct adopt_group **groups,
                int32_t *count);

/// Decides on one topic.
///
/// @param old          the topic as it is known; NULL: it is not
/// @param[out] topic   owned: metadata_topic_unref() of its `topic`, which is NULL where nothing is to be done
/// @return 0, ERR_CONFIG: the known topic has another id
int adopt_plan(const struct controller_adoption *adoption, const struct adopt_group *group,
               const struct metadata_topic *old, const struct metadata_image *image,
               const struct controller_settings *settings, struct arena *arena, struct adopt_topic *topic);
