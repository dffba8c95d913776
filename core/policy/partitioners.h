// SPDX-License-Identifier: Apache-2.0
//
// The partitioners that are there without any Lua; topics choose one by the config luka.partitioner. They cost no trip
// to a runner: the worker that received a batch asks them.
//
// They are pure. What a record without a key, `round_robin` and `sticky` need beside the record is the batch's turn,
// and where a batch is of an idempotent producer, its turn follows from producer id, addressed partition and sequence.
// So a retry is divided as the first try was, also by another broker or after a restart, and nothing has to be
// remembered. For other batches a worker counts turns, by topic and addressed partition (struct policy_turns).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch_header;
struct policy_set;
struct record_view;
struct uuid;

enum policy_builtin {
  POLICY_MURMUR2,     ///< "murmur2": as the Java client does; records without a key go round by batch
  POLICY_CRC32,       ///< "consistent": CRC-32 of the key, as librdkafka's consistent; no key: as the empty key
  POLICY_ROUND_ROBIN, ///< "round_robin": one after another
  POLICY_STICKY,      ///< "sticky": a batch stays together, batches go round
  POLICY_HEADER,      ///< "header:NAME": murmur2 of the value of the last header of that name; without it as murmur2
  POLICY_RANGE, ///< "range:a,m,t": by the key's bytes: below "a" partition 0, from "a" to below "m" partition 1 ...; no
                ///< key: partition 0. Where there are more ranges than partitions, the last partition has the rest
  POLICY_BUILTINS,
};

/// What luka.partitioner says of one of ours. Pointers into the text that was read.
struct policy_choice {
  enum policy_builtin kind; ///< which
  const char *argument;     ///< header's name, or the bounds with their commas; not terminated
  size_t argument_size;     ///< bytes
};

enum { POLICY_TURN_SLOTS = 512 }; ///< counters of a worker; topics that share one take turns together

/// Turns of batches that no idempotent producer sent. Embed it in a worker's state; zero-initialised. Its thread's
/// alone, so that nobody shares a cache line: each worker goes round by itself.
struct policy_turns {
  uint32_t next[POLICY_TURN_SLOTS]; ///< by a hash of topic and addressed partition
};

/// Reads the name of one of ours, with what it is told. Any thread, like all below.
///
/// @param[out] out  with pointers into `text`
/// @return 0; ERR_NOT_FOUND (no error_set()): none of ours, maybe a policy's; ERR_CONFIG with a sentence in `message`:
/// its
///         argument makes no sense
int policy_choice_read(const char *text, size_t size, struct policy_choice *out, char *message, size_t message_size);

/// The names of ours for messages: "murmur2, consistent, ...".
const char *policy_choice_names(void);

/// Checks what luka.partitioner says: one of ours with an argument that makes sense, or a name that the configuration
/// gives.
///
/// @param set      in force, NULL: the user has no policies
/// @param message  a sentence as Kafka's of configs on failure, which lists the names that there are
/// @return 0, ERR_CONFIG
int policy_check_partitioner(const struct policy_set *set, const char *name, char *message, size_t message_size);

/// The turn of a batch. On the thread of `turns`.
///
/// @param header  of the batch as the client sent it; only producer id, base sequence and record count are looked at,
/// none
///                of them has been checked
uint32_t policy_turn(struct policy_turns *turns, const struct policy_choice *choice, const struct uuid *topic_id,
                     int32_t addressed, const struct batch_header *header);

/// Chooses a partition for each record.
///
/// @param count        records
/// @param partitions   of the topic, 1 or more
/// @param[out] chosen  `count` numbers from 0 to partitions - 1
void policy_choose(const struct policy_choice *choice, uint32_t turn, const struct record_view *records, int32_t count,
                   int32_t partitions, int32_t *chosen);

/// murmur2 of the Java client, and its hash to a partition.
uint32_t policy_murmur2(const uint8_t *bytes, size_t size);
int32_t policy_murmur2_partition(const uint8_t *key, size_t size, int32_t partitions);
