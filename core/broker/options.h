// SPDX-License-Identifier: Apache-2.0
//
// What a broker is started with: a configuration (lua/config.h) with its defaults worked out. Everything is borrowed
// from the lua_config but what options_create() made.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lua/config.h"

struct arena;
struct static_topic;
struct topic_view;

struct broker_options {
  int32_t id;                      ///< of this broker, 0 and above
  bool is_id_set;                  ///< false: the id that the data directories name comes first
  bool is_adopting;                ///< --adopt: take up partitions that the metastore does not know
  const char *const *listen;       ///< addresses to listen on, as listener_parse() takes them
  int listen_count;                ///< 1 to SERVER_LISTENERS_MAX
  const char *const *advertise;    ///< addresses to tell clients, one for each of listen; or none
  int advertise_count;             ///< listen_count or 0
  const char *const *data;         ///< log directories
  int data_count;                  ///< at least 1
  char *metadata;                  ///< absolute path of the metastore's file, owned
  int workers;                     ///< network threads; 0: one per core
  int64_t log_dir_reserve_bytes;   ///< free space below which a log directory takes no more writes
  const struct lua_config *config; ///< Kafka's broker configs (config->broker), topics and all the rest
  // Where the configuration was read, for a reload.
  const char *config_file;            ///< NULL: no file
  const struct config_override *sets; ///< --set
  int set_count;                      ///< how many
  bool has_log_level;                 ///< --log-level: the configuration's log_level means nothing
  void (*ask_stop)(void);             ///< has broker_stop() called soon; any thread. NULL: nobody can be asked
};

/// Works out the options of a configuration.
///
/// @param config        borrowed until options_destroy()
/// @param[out] options  caller's memory; owned: options_destroy()
/// @return 0, ERR_NOT_FOUND ... when the working folder is gone
int options_create(const struct lua_config *config, struct broker_options *options);

void options_destroy(struct broker_options *options);

/// The topic blocks of a configuration as the controller takes them: config->topic_count of them, in the arena, their
/// texts borrowed from the configuration.
const struct static_topic *options_topics(const struct lua_config *config, struct arena *arena);

/// The views of a configuration as the controller takes them, in the arena, their names borrowed from the
/// configuration.
///
/// @param[out] count  how many
const struct topic_view *options_views(const struct lua_config *config, struct arena *arena, int32_t *count);

/// The one absolute spelling of a path whose last folders may not exist yet: data directories remember where their
/// metastore is, and "data", "./data/" and a symbolic link to it are the same place.
///
/// @param[out] real  owned: mem_free()
/// @return 0, ERR_NOT_FOUND ... when the working folder is gone
int options_real_path(const char *path, char **real);
