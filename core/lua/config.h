// SPDX-License-Identifier: Apache-2.0
//
// Evaluates config.lua (lua/luka/config/) in a sandboxed state of its own and keeps the result in C. Called at start-up
// by core/broker/command.c, on the main thread, and for a reload on the pool; reads files.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slog.h"
#include "lua/state.h"
#include "metadata/broker_config.h"

struct policy_set;

enum {
  LUA_CONFIG_MEMORY_BYTES = 64 * 1024 * 1024, ///< what the evaluation may use
  LUA_CONFIG_BUDGET_MS = 800,                 ///< how long it may take; a real one takes about 2 ms
  LUA_CONFIG_FILE_MAX = 1024 * 1024,          ///< largest file, bytes
  LUA_CONFIG_SILENCE_MS = 900,                ///< how long the next byte of a pipe may take
  LUA_CONFIG_READ_MS = 4000,                  ///< how long all of a file may take
};

/// One --set of the command line; borrowed.
struct config_override {
  const char *key;   ///< "workers", "log_retention_ms"; dots are taken as underscores
  const char *value; ///< as typed
};

/// A `topic "name" { ... }`; all borrowed from the lua_config.
struct lua_config_topic {
  const char *name;                   ///< checked
  int32_t partitions;                 ///< -1: the broker's num.partitions
  int32_t replication_factor;         ///< -1: the broker's default.replication.factor
  const struct config_entry *configs; ///< topic configs under Kafka's names, sorted by name, checked together
  int config_count;                   ///< how many
  const char *text;                   ///< all of the above as "name=value" lines, the same for the same settings
  const char *source;                 ///< file it stands in
  int line;                           ///< line of its name
};

/// A configuration. Lists have no NULL at the end. Do not copy or move: `broker` points into itself.
struct lua_config {
  int32_t id;                             ///< of the broker, 1 by default
  bool is_id_set;                         ///< it was given, and is no default
  const char *const *listen;              ///< addresses, at least one
  int listen_count;                       ///< how many
  const char *const *advertise;           ///< one for each of listen, or none
  int advertise_count;                    ///< listen_count or 0
  const char *const *data;                ///< log directories, at least one
  int data_count;                         ///< how many
  const char *metadata;                   ///< file of the metastore
  const char *console;                    ///< Unix socket of the console; NULL: none
  int workers;                            ///< 0: one per core
  int lua_threads;                        ///< that run functions on records; 0: by workers and cores
  int64_t lua_memory_bytes;               ///< cap of each of the broker's Lua states; the evaluation has its own
  int lua_budget_ms;                      ///< how long one call into them may take
  int64_t lua_shared_memory_bytes;        ///< bound of all shared dictionaries together (policy/shared.h)
  bool is_unsafe;                         ///< functions may use os.execute, io and ffi
  int log_level;                          ///< enum slog_level; -1: not set
  int64_t log_dir_reserve_bytes;          ///< free space at which a log directory takes no more writes
  struct broker_config broker;            ///< Kafka's broker configs, resolved
  const char *paths[BROKER_CONFIG_COUNT]; ///< where each of those that are set was: "defaults.retention_ms"; NULL: none
  const char *places[BROKER_CONFIG_COUNT]; ///< likewise, the file and line: "config.lua:3", "--set"
  const struct lua_config_topic *topics;   ///< in the order of the file
  int topic_count;                         ///< how many
  const char *const *warnings;             ///< lines about what is right but will disappoint, with their places
  int warning_count;                       ///< how many
  const struct policy_set *policies; ///< functions and views; NULL: there are none. One reference, owned: whoever wants
                                     ///< to keep them takes their own (policy/policy.h)
  struct arena arena;                ///< holds all texts and lists
};

struct lua_config_error {
  char message[LUA_STATE_TEXT_SIZE]; ///< one line: "config.lua:12: broker.listen: ..."
  char *trace;                       ///< a traceback of several lines, or NULL; owned: mem_free()
};

/// Evaluates a configuration.
///
/// @param path      the file; NULL: all is default but for the overrides
/// @param sets      `count` overrides, which win over the file; a key of a list may be repeated
/// @param is_debug  ask for a traceback with errors
/// @param[out] config  caller's memory; owned: lua_config_destroy()
/// @param[out] error   filled on failure
/// @return 0, ERR_CONFIG
int lua_config_load(const char *path, const struct config_override *sets, int count, bool is_debug,
                    struct lua_config *config, struct lua_config_error *error);

/// Evaluates a configuration once more, while the broker runs with an earlier one. It reads regular files only: a pipe
/// gives what it has but once.
///
/// Any thread with a C stack of 1 MiB; it waits for the disk, and for as long as the evaluation may take.
///
/// @return as lua_config_load()
int lua_config_reload(const char *path, const struct config_override *sets, int count, struct lua_config *config,
                      struct lua_config_error *error);

/// Evaluates a configuration for somebody who wants to see what it says.
///
/// @param[out] report  what would be applied and where it is from, as luka.config.report makes it, in JSON; owned:
///                     mem_free()
/// @param[out] error   filled on failure
/// @return 0, ERR_CONFIG
int lua_config_report(const char *path, const struct config_override *sets, int count, bool is_debug, char **report,
                      struct lua_config_error *error);

/// Frees what a successful lua_config_load() made.
void lua_config_destroy(struct lua_config *config);
