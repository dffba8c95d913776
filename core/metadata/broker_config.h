// SPDX-License-Identifier: Apache-2.0
//
// Broker configs under Kafka's names: the list of those that mean something here is in broker_config_list.h. Set by
// config.lua and --set at start-up, and resolved then; what cannot change while the broker runs is read from there.
// What AlterConfigs sets is laid over it (broker_config_overlay()): the result is an immutable snapshot that is part of
// the metadata image, shared by all threads and replaced whole.
//
//   own (/config/brokers/ID)  wins over  cluster (/config/brokers/<default>)  over  static  over  Kafka's default
#pragma once

#include <stdatomic.h>

#include "metadata/group_config.h"
#include "metadata/topic_config.h"

/// Place of each config in the list.
enum broker_config_index {
#define BROKER_CONFIG_X(type, field, name, def, min, max, valid, doc) BROKER_CONFIG_##field,
#include "metadata/broker_config_list.h"
#undef BROKER_CONFIG_X
  BROKER_CONFIG_COUNT,
};

/// Who set a config; the first that has a text for it wins.
enum broker_config_layer {
  BROKER_LAYER_OWN,     ///< set at run time on this broker
  BROKER_LAYER_CLUSTER, ///< set at run time on all brokers
  BROKER_LAYER_STATIC,  ///< config.lua or --set
  BROKER_LAYER_COUNT,
};

enum { BROKER_CONFIG_SYNONYMS_MAX = 3 };

/// A broker config of Kafka's that has no meaning here.
struct config_foreign {
  const char *name; ///< Kafka's name
  const char *hint; ///< what to use instead, or NULL
};

/// What a change at run time may do to a config of that name.
enum broker_config_change {
  BROKER_CHANGE_ALLOWED,     ///< takes effect at once
  BROKER_CHANGE_OWN,         ///< the same, on one broker only
  BROKER_CHANGE_READ_ONLY,   ///< only at a start, in Kafka as well
  BROKER_CHANGE_UNSUPPORTED, ///< Kafka allows it; here nothing heeds it
  BROKER_CHANGE_OWN_ONLY,    ///< Kafka allows it on one broker; here nothing heeds it
  BROKER_CHANGE_UNKNOWN,     ///< no config of Kafka's
};

/// Resolved values. Times in ms and sizes in bytes unless the name says otherwise. Points into itself: do not move it.
struct broker_config {
  _Atomic(int32_t) refs; ///< of a snapshot: held by images and by broker_config_ref()
#define BROKER_CONFIG_X(type, field, name, def, min, max, valid, doc) CONFIG_C_##type(field)
#include "metadata/broker_config_list.h"
#undef BROKER_CONFIG_X
  struct topic_config_defaults topic;  ///< what topics without overrides have; filled by broker_config_resolve()
  struct group_config_defaults groups; ///< what groups without configs of their own have; likewise
  const char
      *text[BROKER_CONFIG_COUNT]; ///< texts in effect, by place in the list, borrowed from `layers`; NULL: not set
  char *layers[BROKER_LAYER_COUNT][BROKER_CONFIG_COUNT]; ///< what each layer sets, owned; NULL: nothing
  char made_text[4][24];                                 ///< texts of topic defaults that were computed (hours to ms)
};

/// Fills in the defaults; broker_config_resolve() has been done. Free with broker_config_destroy().
void broker_config_create(struct broker_config *config);
void broker_config_destroy(struct broker_config *config);

/// The definitions, BROKER_CONFIG_COUNT of them.
const struct config_def *broker_config_defs(void);

/// Kafka's broker configs that have no meaning here, `count` of them, sorted by name.
const struct config_foreign *broker_config_foreign(int *count);

/// Sets one config from a text, as a line of Kafka's server.properties would. Setting it again replaces the value.
///
/// @param name  Kafka's name, with dots
/// @return 0; ERR_CONFIG, with a sentence in error_last() that names key, value and range; for an unknown name it
///         suggests the nearest known one, for one of Kafka's that has no meaning here it says so
int broker_config_set(struct broker_config *config, const char *name, const char *text);

/// Derives what depends on several configs (retention and roll times: ms before minutes before hours; topic defaults)
/// and checks them together. Call after the last broker_config_set().
///
/// @return 0; ERR_CONFIG with a sentence in error_last()
int broker_config_resolve(struct broker_config *config);

/// False for a config that is defined but cannot be set yet, as nothing would heed it.
bool broker_config_is_supported(enum broker_config_index index);

/// Whether a new value in config.lua takes effect at a reload; otherwise it waits for the next start. Wider than what
/// clients may change at run time (broker_config_change_of()), which is Kafka's to say.
bool broker_config_is_reloadable(enum broker_config_index index);

bool broker_config_is_set(const struct broker_config *config, enum broker_config_index index);

/// Where the text in effect is from: own, cluster, static or default.
enum config_source broker_config_source(const struct broker_config *config, enum broker_config_index index);

/// The source that stands for a layer.
enum config_source broker_config_layer_source(enum broker_config_layer layer);

/// The configs that can give the value of one, in the order in which they win: itself and those in other units.
///
/// @param[out] synonyms  BROKER_CONFIG_SYNONYMS_MAX places
/// @return how many, at least 1
int broker_config_synonyms(enum broker_config_index index, enum broker_config_index *synonyms);

// ---- changes at run time ----

/// Whether a config may be changed while the broker runs.
enum broker_config_change broker_config_change_of(const char *name);

/// Whether it may be changed on one broker.
bool broker_config_is_changeable(const char *name);

/// Makes a snapshot of what was configured and of what was set at run time.
///
/// @param base     has the static layer, borrowed during the call: what was configured at the start, or a snapshot
/// @param cluster  set on all brokers, each name once and broker_config_is_changeable()
/// @param own      set on this one, likewise
/// @param[out] made  one reference, owned: broker_config_unref()
/// @param message  Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0, ERR_CONFIG
int broker_config_overlay(const struct broker_config *base, const struct config_entry *cluster, int cluster_count,
                          const struct config_entry *own, int own_count, struct broker_config **made, char *message);

/// What a layer sets.
///
/// @param[out] entries  BROKER_CONFIG_COUNT places; borrowed from the config
/// @return how many
int broker_config_layer_entries(const struct broker_config *config, enum broker_config_layer layer,
                                struct config_entry *entries);

/// Makes a configuration of what a reload finds: the static layer of `wanted` where that is reloadable, and that of
/// `running` where it is not.
///
/// @param running  in force, borrowed during the call
/// @param wanted   as config.lua has it now, borrowed during the call
/// @param[out] made  caller's memory, owned: broker_config_destroy(); in need of broker_config_resolve(), which
///                   broker_config_overlay() sees to
void broker_config_merge(const struct broker_config *running, const struct broker_config *wanted,
                         struct broker_config *made);

/// Keeps a snapshot; any thread.
void broker_config_ref(const struct broker_config *config);
void broker_config_unref(const struct broker_config *config);
