// SPDX-License-Identifier: Apache-2.0
//
// 128-bit ids: topic ids, directory ids, the cluster id. As text they are URL-safe base64 without padding, 22
// characters, which is how Kafka writes them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UUID_TEXT_SIZE = 23 };

struct uuid {
  uint8_t bytes[16]; ///< network order; all zero: no id
};

bool uuid_is_zero(const struct uuid *id);
bool uuid_equal(const struct uuid *a, const struct uuid *b);

/// A new random id (version 4) that, as text, does not start with a dash, as Kafka's never do. Any thread.
void uuid_random(struct uuid *id);

/// Writes 22 characters and a NUL.
void uuid_format(const struct uuid *id, char text[UUID_TEXT_SIZE]);

/// @return 0, ERR_MALFORMED when `text` is not 22 characters of URL-safe base64
int uuid_parse(const char *text, struct uuid *id);
