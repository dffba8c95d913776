// SPDX-License-Identifier: Apache-2.0
//
// Records of __consumer_offsets as bytes: a key is the number of its kind and a message, a value the version of its
// message and that; "wire/coordinator_record.h" has the messages. Pure functions, any thread.
#pragma once

#include <stdint.h>

struct group_write;
struct wire_codec;
struct wire_reader;

/// What a key begins with. 9 is not used, 10 to 15 are of share groups, 17 and on of streams groups.
enum coordinator_record_key {
  RECORD_LEGACY_OFFSET_COMMIT = 0,
  RECORD_OFFSET_COMMIT = 1,
  RECORD_GROUP_METADATA = 2,
  RECORD_CONSUMER_GROUP_METADATA = 3,
  RECORD_CONSUMER_GROUP_PARTITION_METADATA = 4,
  RECORD_CONSUMER_GROUP_MEMBER_METADATA = 5,
  RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6,
  RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7,
  RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8,
  RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION = 16,
};

enum { RECORD_NO_PRODUCER = -1 }; ///< the producer id of a record that is part of no transaction

/// Adds a record to a write (coordinator/shard_private.h).
///
/// @param kind           enum coordinator_record_key
/// @param key            the message of that key, with `key_codec`: &wire_group_metadata_key_codec ...
/// @param value_codec    NULL: a tombstone, `value` and `value_version` are not looked at
/// @param value_version  version of the value that is written
void group_write_add_message(struct group_write *write, int16_t kind, const struct wire_codec *key_codec,
                             const void *key, const struct wire_codec *value_codec, const void *value,
                             int16_t value_version);
