// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/error.h"

static const char UUID_ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool uuid_is_zero(const struct uuid *id)
{
  static const struct uuid zero;
  return memcmp(id, &zero, sizeof zero) == 0;
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
  return memcmp(a, b, sizeof *a) == 0;
}

void uuid_random(struct uuid *id)
{
  char text[UUID_TEXT_SIZE];
  do {
    CHECK(getrandom(id->bytes, sizeof id->bytes, 0) == (ssize_t)sizeof id->bytes);
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | 0x40);
    id->bytes[8] = (uint8_t)((id->bytes[8] & 0x3f) | 0x80);
    uuid_format(id, text);
  } while (text[0] == '-');
}

void uuid_format(const struct uuid *id, char text[UUID_TEXT_SIZE])
{
  int at = 0;
  for (int i = 0; i < 16; i += 3) {
    uint32_t group = (uint32_t)id->bytes[i] << 16;
    group |= i + 1 < 16 ? (uint32_t)id->bytes[i + 1] << 8 : 0;
    group |= i + 2 < 16 ? (uint32_t)id->bytes[i + 2] : 0;
    for (int shift = 18; shift >= 0 && at < UUID_TEXT_SIZE - 1; shift -= 6) {
      text[at++] = UUID_ALPHABET[(group >> shift) & 63];
    }
  }
  text[at] = '\0';
}

int uuid_parse(const char *text, struct uuid *id)
{
  if (strlen(text) != UUID_TEXT_SIZE - 1) {
    return error_set(ERR_MALFORMED, "'%.40s' is not an id of 22 characters", text);
  }
  struct uuid parsed = {{0}};
  uint32_t bits = 0;
  int have = 0;
  int at = 0;
  for (int i = 0; i < UUID_TEXT_SIZE - 1; i++) {
    const char *digit = strchr(UUID_ALPHABET, text[i]);
    if (digit == NULL) {
      return error_set(ERR_MALFORMED, "'%.40s' is not URL-safe base64", text);
    }
    bits = (bits << 6) | (uint32_t)(digit - UUID_ALPHABET);
    have += 6;
    if (have >= 8 && at < 16) {
      have -= 8;
      parsed.bytes[at++] = (uint8_t)(bits >> have);
    }
  }
  *id = parsed;
  return 0;
}
