// SPDX-License-Identifier: Apache-2.0
//
// Credentials of users who log in by SCRAM (RFC 5802, KIP-554): what a broker keeps instead of a password. The client
// that sets one has salted and hashed the password already (PBKDF2); the keys kept are made of that, and do not give it
// away. As a text, in the users' nodes of the metastore, it is Kafka's:
//
//   salt=<base64>,stored_key=<base64>,server_key=<base64>,iterations=4096
//
// Pure; any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/// Kafka's numbers.
enum scram_mechanism {
  SCRAM_SHA_256 = 1,
  SCRAM_SHA_512 = 2,
};

enum {
  SCRAM_ITERATIONS_MIN = 4096, ///< of PBKDF2; fewer make guessing cheap
  SCRAM_ITERATIONS_MAX = 16384,
  SCRAM_SALT_MAX = 1024, ///< bytes; clients make some 16
  SCRAM_KEY_MAX = 64,    ///< bytes of a key
};

/// A credential as it is read.
struct scram_credential {
  uint8_t salt[SCRAM_SALT_MAX];      ///< told to whoever logs in
  size_t salt_size;                  ///< bytes
  uint8_t stored_key[SCRAM_KEY_MAX]; ///< H(HMAC(salted password, "Client Key")): checks a client's proof
  uint8_t server_key[SCRAM_KEY_MAX]; ///< HMAC(salted password, "Server Key"): makes the broker's
  size_t key_size;                   ///< bytes of each, as the mechanism's hash has
  int32_t iterations;                ///< of PBKDF2
};

/// The name under which a credential of a mechanism is kept: "SCRAM-SHA-256"; NULL for an unknown mechanism.
const char *scram_name(int mechanism);

/// Makes the text of a credential.
///
/// @param salt      at most SCRAM_SALT_MAX bytes
/// @param password  the salted password, not empty
/// @return in the arena
const char *scram_make(struct arena *arena, enum scram_mechanism mechanism, const uint8_t *salt, size_t salt_size,
                       const uint8_t *password, size_t password_size, int32_t iterations);

/// Reads a credential. @return 0, ERR_CORRUPT (not such a text, or its keys are not the mechanism's)
int scram_read(enum scram_mechanism mechanism, const char *text, struct scram_credential *credential);
