// SPDX-License-Identifier: Apache-2.0
#include "metadata/scram.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/error.h"

enum { BASE64_MAX = (SCRAM_SALT_MAX + 2) / 3 * 4 };

const char *scram_name(int mechanism)
{
  switch (mechanism) {
    case SCRAM_SHA_256:
      return "SCRAM-SHA-256";
    case SCRAM_SHA_512:
      return "SCRAM-SHA-512";
    default:
      return NULL;
  }
}

static const EVP_MD *hash_of(enum scram_mechanism mechanism)
{
  return mechanism == SCRAM_SHA_256 ? EVP_sha256() : EVP_sha512();
}

/// HMAC of a text; these fail for want of memory only.
static void sign(const EVP_MD *hash, const uint8_t *key, size_t key_size, const char *text, uint8_t *made)
{
  unsigned int size = 0;
  CHECK(HMAC(hash, key, (int)key_size, (const uint8_t *)text, strlen(text), made, &size) != NULL);
}

static const char *encode(struct arena *arena, const uint8_t *bytes, size_t size)
{
  char *text = arena_alloc(arena, (size + 2) / 3 * 4 + 1);
  EVP_EncodeBlock((uint8_t *)text, bytes, (int)size);
  return text;
}

const char *scram_make(struct arena *arena, enum scram_mechanism mechanism, const uint8_t *salt, size_t salt_size,
                       const uint8_t *password, size_t password_size, int32_t iterations)
{
  const EVP_MD *hash = hash_of(mechanism);
  size_t key_size = (size_t)EVP_MD_get_size(hash);
  uint8_t client_key[EVP_MAX_MD_SIZE];
  uint8_t stored_key[EVP_MAX_MD_SIZE];
  uint8_t server_key[EVP_MAX_MD_SIZE];
  CHECK(salt_size <= SCRAM_SALT_MAX && password_size > 0 && password_size <= INT32_MAX);
  sign(hash, password, password_size, "Client Key", client_key);
  sign(hash, password, password_size, "Server Key", server_key);
  CHECK(EVP_Digest(client_key, key_size, stored_key, NULL, hash, NULL) == 1);
  return arena_printf(arena, "salt=%s,stored_key=%s,server_key=%s,iterations=%d", encode(arena, salt, salt_size),
                      encode(arena, stored_key, key_size), encode(arena, server_key, key_size), iterations);
}

/// Decodes base64 with its padding. @return bytes, or -1
static int decode(const char *text, size_t length, uint8_t *bytes, size_t room)
{
  uint8_t decoded[BASE64_MAX / 4 * 3];
  if (length > BASE64_MAX || length % 4 != 0) {
    return -1;
  }
  int size = length == 0 ? 0 : EVP_DecodeBlock(decoded, (const uint8_t *)text, (int)length);
  if (size < 0) {
    return -1;
  }
  size -= length > 0 && text[length - 1] == '=';
  size -= length > 1 && text[length - 2] == '=';
  if ((size_t)size > room) {
    return -1;
  }
  memcpy(bytes, decoded, (size_t)size);
  return size;
}

static int corrupt(void)
{
  return error_set(ERR_CORRUPT, "not a SCRAM credential");
}

int scram_read(enum scram_mechanism mechanism, const char *text, struct scram_credential *credential)
{
  static const char *const names[] = {"salt=", "stored_key=", "server_key=", "iterations="};
  size_t key_size = (size_t)EVP_MD_get_size(hash_of(mechanism));
  struct scram_credential read = {.key_size = key_size};
  int sizes[3] = {-1, -1, -1};
  uint8_t *places[] = {read.salt, read.stored_key, read.server_key};
  const size_t rooms[] = {sizeof read.salt, sizeof read.stored_key, sizeof read.server_key};
  for (const char *at = text; at != NULL && *at != '\0';) {
    size_t length = strcspn(at, ",");
    for (int i = 0; i < 4; i++) {
      size_t name_length = strlen(names[i]);
      if (strncmp(at, names[i], name_length) != 0) {
        continue;
      }
      if (i < 3) {
        sizes[i] = decode(at + name_length, length - name_length, places[i], rooms[i]);
      } else {
        char *end = NULL;
        errno = 0;
        long iterations = strtol(at + name_length, &end, 10);
        read.iterations = errno == 0 && end == at + length && iterations <= INT32_MAX ? (int32_t)iterations : 0;
      }
    }
    at += length + (at[length] == ',');
  }
  if (sizes[0] < 0 || sizes[1] != (int)key_size || sizes[2] != (int)key_size || read.iterations < 1) {
    return corrupt();
  }
  read.salt_size = (size_t)sizes[0];
  *credential = read;
  return 0;
}
