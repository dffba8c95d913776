// SPDX-License-Identifier: Apache-2.0
//
// Decisions on reassignments of replicas (KIP-455). Pure: any thread, over one image.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/types.h"

struct arena;
struct metadata_image;
struct metadata_topic;

/// What is asked of one partition.
struct reassignment {
  struct wire_string name;            ///< of the topic, any bytes
  const struct metadata_topic *topic; ///< the image's topic of that name, or NULL
  int32_t partition;                  ///< number, as the client gave it
  bool is_cancel;                     ///< ends a reassignment; otherwise `replicas` are wanted
  const int32_t *replicas;            ///< broker ids
  int32_t replica_count;              ///< how many
};

/// Decides on a partition. Nothing ever has to be moved on one broker: what can be asked for is what is there already.
///
/// @param[out] message  Kafka's sentence, a constant or in the arena, or NULL
/// @return Kafka's error; 0: the partition is where it is wanted
int16_t reassignment_decide(const struct metadata_image *image, struct arena *arena, const struct reassignment *asked,
                            const char **message);
