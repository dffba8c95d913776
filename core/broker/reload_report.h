// SPDX-License-Identifier: Apache-2.0
//
// What a reload did: one item for each thing that is other than before, in words for the log and the console. The
// comparison is made here, of what was in force, what config.lua says now, and what is in force since.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "metadata/broker_config.h"

struct controller_block;
struct lua_config;

enum reload_outcome {
  RELOAD_APPLIED, ///< in force now
  RELOAD_RESTART, ///< waits for a restart; the old value stays in force
  RELOAD_KEPT,    ///< config.lua says so, but what clients did stands
};

/// One thing that is other than before; texts are the report's.
struct reload_item {
  enum reload_outcome outcome; ///< what came of it
  const char *what;            ///< the key, as in config.lua: "broker.workers", "defaults.retention_ms", "topic \"x\""
  const char *before;          ///< the value that was in force; NULL: there was none
  const char *after;           ///< the value that config.lua has, or what was done
};

/// Owned by whoever asked for the reload: reload_report_destroy(). Zero-initialised is empty.
struct reload_report {
  struct arena arena;        ///< of the texts
  struct reload_item *items; ///< in the arena
  int count;                 ///< how many
  int room;                  ///< slots
  const char *error;         ///< one line on why nothing was done; NULL: all was
};

/// Sets the error; the first counts.
void reload_report_fail(struct reload_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Compares the broker's own keys: those of `broker` that Kafka does not have.
///
/// @param start    what the broker was started with
/// @param running  what the last reload brought, or the same
/// @param wanted   what this one brings
/// @param has_log_level  the command line says what is logged: the configuration's level means nothing
void reload_report_keys(struct reload_report *report, const struct lua_config *start, const struct lua_config *running,
                        const struct lua_config *wanted, bool has_log_level);

/// Compares Kafka's broker configs.
///
/// @param before   what was in force
/// @param after    what is in force now
/// @param running  where the old ones were written
/// @param wanted   the new ones, those included that are not in force
void reload_report_configs(struct reload_report *report, const struct broker_config *before,
                           const struct broker_config *after, const struct lua_config *running,
                           const struct lua_config *wanted);

/// Says what came of the topic blocks, and which of those before are gone or set less: nothing is taken away for that.
///
/// @param blocks  one for each topic of `wanted`
void reload_report_topics(struct reload_report *report, const struct lua_config *running,
                          const struct lua_config *wanted, const struct controller_block *blocks);

/// Adds something that is in force now; texts are copied.
void reload_report_applied(struct reload_report *report, const char *what, const char *after);

/// Compares the functions and views of two configurations (broker/reload_policies.c).
void reload_report_policies(struct reload_report *report, const struct lua_config *running,
                            const struct lua_config *wanted);

/// Puts the items in order: what was applied, what needs a restart, what was kept; each as it was found.
void reload_report_order(struct reload_report *report);

/// The items as JSON: [{"outcome":"applied","what":"...","old":"...","new":"..."}, ...]; owned: mem_free().
char *reload_report_json(struct reload_report *report);

/// Writes the report to the log, a line an item.
///
/// @param file  the configuration's, or NULL
void reload_report_log(const struct reload_report *report, const char *file);

void reload_report_destroy(struct reload_report *report);
