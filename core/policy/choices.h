// SPDX-License-Identifier: Apache-2.0
//
// What a partitioner chose for the last batches of each idempotent producer, by the partition that was addressed. A
// retry is divided as the first time, also by a function that would choose otherwise now (it counts, or looks at the
// clock), and so each share is recognised as one that is stored already. In memory only: after a restart or a change of
// leader a retry is divided anew, which makes a difference for such functions alone.
//
// Of as many producers as CHOICES_BYTES_MAX holds; the one that was silent longest is forgotten. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"

struct policy_choices;

enum { POLICY_CHOICES_BYTES_MAX = 16 * 1024 * 1024 }; ///< memory of one table at most

/// Which batch.
struct policy_choices_key {
  struct uuid topic_id; ///< of the topic
  int32_t partition;    ///< that was addressed
  int64_t producer_id;  ///< >= 0
  int32_t sequence;     ///< of the batch's first record
  uint32_t crc;         ///< of the batch as it came: a refused one's sequences may come again with other records
  int16_t epoch;        ///< of the producer
};

struct policy_choices *policy_choices_new(void);
void policy_choices_delete(struct policy_choices *choices);

/// Finds what was chosen. @return false when that is not known; a batch of another number of records is another one
bool policy_choices_find(struct policy_choices *choices, const struct policy_choices_key *key, int32_t *chosen,
                         int32_t count);

/// Remembers it, in place of the producer's oldest.
void policy_choices_keep(struct policy_choices *choices, const struct policy_choices_key *key, const int32_t *chosen,
                         int32_t count);
