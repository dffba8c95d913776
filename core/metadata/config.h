// SPDX-License-Identifier: Apache-2.0
//
// What topic and broker configs have in common: their types, how a text becomes a value, and Kafka's messages when it
// does not. Values are kept in plain structs, made from the same lists as the definitions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_type {
  CONFIG_BOOL,     ///< bool
  CONFIG_INT,      ///< int32_t
  CONFIG_LEVEL,    ///< int32_t: within the bounds, or -1
  CONFIG_LONG,     ///< int64_t
  CONFIG_DOUBLE,   ///< double
  CONFIG_ENUM,     ///< int32_t: place in the list of valid texts
  CONFIG_FLAGS,    ///< int32_t: bit 1 << place for each listed text
  CONFIG_REPLICAS, ///< partition:broker pairs or "*"; checked, not kept in the struct
  CONFIG_LIST,     ///< any texts, none of them empty, separated by commas; not kept in the struct
  CONFIG_TEXT,     ///< any text; not kept in the struct
  CONFIG_NAME,     ///< char[CONFIG_NAME_SIZE]: a text that is kept, without blanks around it
};

/// Where a value comes from; the numbers of Kafka's wire.
enum config_source {
  CONFIG_SOURCE_UNKNOWN = 0,
  CONFIG_SOURCE_TOPIC = 1,                  ///< set on the topic
  CONFIG_SOURCE_DYNAMIC_BROKER = 2,         ///< set on one broker at run time
  CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER = 3, ///< set on all brokers at run time
  CONFIG_SOURCE_STATIC_BROKER = 4,          ///< config.lua or --set
  CONFIG_SOURCE_DEFAULT = 5,
  CONFIG_SOURCE_LOGGER = 6,         ///< level of a logger
  CONFIG_SOURCE_CLIENT_METRICS = 7, ///< set on a subscription to clients' metrics
  CONFIG_SOURCE_GROUP = 8,          ///< set on a group
};

enum { CONFIG_MESSAGE_SIZE = 1024, CONFIG_VALID_MAX = 8, CONFIG_NAME_SIZE = 256 };

// The member of a struct of values for a config of each type.
#define CONFIG_C_BOOL(field) bool field;
#define CONFIG_C_INT(field) int32_t field;
#define CONFIG_C_LEVEL(field) int32_t field;
#define CONFIG_C_LONG(field) int64_t field;
#define CONFIG_C_DOUBLE(field) double field;
#define CONFIG_C_ENUM(field) int32_t field;
#define CONFIG_C_FLAGS(field) int32_t field;
#define CONFIG_C_REPLICAS(field)
#define CONFIG_C_LIST(field)
#define CONFIG_C_TEXT(field)
#define CONFIG_C_NAME(field) char field[CONFIG_NAME_SIZE];

/// One config.
struct config_def {
  const char *name;                    ///< Kafka's name
  enum config_type type;               ///< how the text is read
  uint16_t field;                      ///< where the value is in the struct; unused where it is not kept there
  const char *default_text;            ///< NULL: no value unless it is set
  int64_t min;                         ///< smallest value; INT64_MIN: no limit
  int64_t max;                         ///< largest value; INT64_MAX: no limit
  const char *valid[CONFIG_VALID_MAX]; ///< valid texts of an enum or of flags, NULL-terminated
  const char *broker_name;             ///< of topics and groups: the broker config that gives the default, or NULL
  const char *doc;                     ///< a sentence or two for the user
};

/// One name and text; both borrowed.
struct config_entry {
  const char *name;  ///< Kafka's name
  const char *value; ///< NULL: no value
};

/// A config as answers show it; all borrowed.
struct config_shown {
  const char *name;  ///< Kafka's name
  const char *value; ///< the text
  int8_t source;     ///< enum config_source
  bool is_sensitive; ///< the value is not shown
  bool is_read_only; ///< cannot be changed at run time
};

/// Kafka's name of a type: "BOOLEAN", "INT", "LONG", "DOUBLE", "STRING" or "LIST". Any thread, like all below.
const char *config_type_name(enum config_type type);

/// Reads a text and stores the value in its field of a struct.
///
/// @param values   the struct, or NULL to check only
/// @param message  gets Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0, ERR_CONFIG
int config_set(const struct config_def *def, const char *text, void *values, char *message);

/// Says in words what a config accepts, such as "a whole number from 1 to 17".
///
/// @return `text`
const char *config_describe(const struct config_def *def, char *text, size_t size);

/// Whether a list (of texts separated by commas, with blanks around them) has a text; whether one of its texts comes
/// twice.
bool config_list_has(const char *list, const char *text);
bool config_list_has_repeat(const char *list);

/// How many bytes of a text fit into `limit` without cutting a UTF-8 character in two.
int config_clip(const char *text, size_t limit);

/// Finds a definition by name; -1 when there is none.
int config_find(const struct config_def *defs, int count, const char *name);

/// The known name nearest to a misspelt one, or NULL when none is near.
const char *config_nearest(const char *name, const char *const *names, int count);
