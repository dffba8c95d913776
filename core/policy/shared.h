// SPDX-License-Identifier: Apache-2.0
//
// What functions of a configuration share: dictionaries of small values, by name, for all Lua states of the process and
// across reloads. `shared "name"` in Lua (lua/native_shared.h).
//
//   key -> one of SHARED_SHARDS shards -> lock -> table, list by use -> value
//
// Memory is bounded for all dictionaries together. A value that finds no room takes it from those of its shard that
// were not used for the longest time, of whatever dictionary; what has expired goes before. Any thread; a lock is held
// for one key's work. What is allocated is allocated before, and freed after.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric_samples;

enum {
  SHARED_SHARDS = 16,                       ///< independent parts, each with a lock and its share of the memory
  SHARED_NAME_MAX = 249,                    ///< longest name of a dictionary, bytes
  SHARED_DICTS_MAX = 1000,                  ///< most dictionaries of a process
  SHARED_KEY_MAX = 1024,                    ///< longest key, bytes
  SHARED_TEXT_MAX = 65536,                  ///< longest text of a value, bytes
  SHARED_MEMORY_MIN = 4 * 1024 * 1024,      ///< least memory: a shard has room for a largest value
  SHARED_MEMORY_DEFAULT = 64 * 1024 * 1024, ///< until somebody sets another
};

enum shared_type { SHARED_NUMBER, SHARED_BOOLEAN, SHARED_TEXT };

struct shared_value {
  enum shared_type type; ///< which of the following counts
  double number;         ///< of SHARED_NUMBER
  bool boolean;          ///< of SHARED_BOOLEAN
  const char *text;      ///< of SHARED_TEXT: borrowed by shared_set(); in the caller's room after shared_get()
  size_t size;           ///< of it, bytes
};

/// Key of a dictionary; borrowed.
struct shared_key {
  uint32_t dict;    ///< of shared_open()
  const char *text; ///< its bytes
  size_t size;      ///< 1 to SHARED_KEY_MAX
};

/// Where shared_keys() goes on; all zero at first.
struct shared_cursor {
  int shard;     ///< of SHARED_SHARDS
  size_t bucket; ///< in it
};

/// The number of a dictionary, which is made if there is none of that name. It stays as long as the process.
///
/// @return 0, ERR_INVALID (the name is empty or too long), ERR_LIMIT (there are SHARED_DICTS_MAX)
int shared_open(const char *name, size_t length, uint32_t *dict);

/// Sets the bound of all memory, at least SHARED_MEMORY_MIN; what is beyond a lower one goes with the writes that come.
void shared_set_memory(int64_t bytes);

/// Reads a value.
///
/// @param room  SHARED_TEXT_MAX bytes for its text
/// @return 0, ERR_NOT_FOUND
int shared_get(const struct shared_key *key, char *room, struct shared_value *value);

/// Writes a value, whatever there was.
///
/// @param ttl_ms  how long it stays, -1: until its room is needed
void shared_set(const struct shared_key *key, const struct shared_value *value, int64_t ttl_ms);

/// The same if there is none.
///
/// @return 0, ERR_EXISTS
int shared_add(const struct shared_key *key, const struct shared_value *value, int64_t ttl_ms);

/// Adds to a number; its time to live stays.
///
/// @param initial  what there was if there was nothing; NULL: that is ERR_NOT_FOUND
/// @param ttl_ms   of a new one
/// @param[out] sum  the new value
/// @return 0, ERR_NOT_FOUND, ERR_INVALID (there is a text or boolean)
int shared_increment(const struct shared_key *key, double by, const double *initial, int64_t ttl_ms, double *sum);

/// @return 0, ERR_NOT_FOUND
int shared_delete(const struct shared_key *key);

/// Some of the keys of a dictionary, each with its length in front of it in two bytes (of this machine). One that is
/// written meanwhile may be missing or come twice.
///
/// @param cursor  goes on
/// @param out     `size` bytes, at least 65536
/// @return bytes written; 0: that was all
size_t shared_keys(uint32_t dict, struct shared_cursor *cursor, char *out, size_t size);

/// Source of metrics "policy.shared_*" (base/metrics.h). Any thread.
void shared_collect(void *arg, struct metric_samples *out);
