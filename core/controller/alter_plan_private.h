// SPDX-License-Identifier: Apache-2.0
//
// What alter_plan.c (topics and brokers) and alter_plan_entities.c (groups, subscriptions, users) share.
#pragma once

#include "controller/alter_plan.h"

/// One resource being decided.
struct alter_decision {
  const struct alter_plan_context *context;   ///< what it depends on
  struct arena *arena;                        ///< of the request
  bool is_incremental;                        ///< whether the request says what changes, or all there is to be
  struct controller_alter_resource *resource; ///< gets its error
  const struct alter_found *found;            ///< its node
  const struct config_def *defs;              ///< what it can have
  int def_count;                              ///< how many
  struct config_entry *configs;               ///< what its node is to have
  int32_t count;                              ///< how many
};

/// Gives the resource its error; the message is copied. @return `code`
int16_t alter_refuse(struct alter_decision *decision, int16_t code, const char *message);

/// The same with a client's text, cut to what a message shows, between two others.
int16_t alter_refuse_name(struct alter_decision *decision, int16_t code, const char *before, const char *name,
                          const char *behind);

/// Carries out all operations of a request, or takes what it says for all there is to be. @return the error's code
int16_t alter_operate(struct alter_decision *decision);

/// Whether an entry is as the node has it: the request does not name it.
bool alter_is_untouched(const struct alter_decision *decision, const struct config_entry *entry);

/// Whether the node has another content than before.
bool alter_is_changed(const struct alter_decision *decision);

/// Decides on a group, a subscription to clients' metrics, or a user.
void alter_decide_entity(struct alter_decision *decision, struct alter_change *change);
