// SPDX-License-Identifier: Apache-2.0
//
// The part of a start that decides whether partitions are adopted, and looks into them first:
//
//   metastore                     directories                    what happens
//   new: it knows no cluster      one was never Luka's           adopted
//   has an adoption under way     any                            goes on
//   any                           any, with --adopt              adopted
//   known                         one was never Luka's           refused, with a line that names --adopt
//   known                         all are Luka's                 unknown partitions are set aside (log_manager_start())
//
// Main thread, before the control loop runs.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "controller/controller.h"

struct broker_config;
struct log_identity;
struct log_manager;
struct metastore;

/// What may be adopted. All zero before the first use.
struct adoption {
  struct arena arena;               ///< what `found` points to
  struct controller_adoption found; ///< for the controller
  bool is_surveyed;                 ///< `found` is filled in
  bool is_adopting;                 ///< this start adopts it
};

/// Looks into the partitions found; changes nothing.
///
/// @param logs    names are borrowed from it until log_manager_start()
/// @param config  the broker's, borrowed during the call
/// @return 0, ERR_CONFIG (they cannot be adopted), ERR_IO ...
int adoption_survey(struct adoption *adoption, struct log_manager *logs, const struct broker_config *config);

/// Decides by the table above.
///
/// @param is_asked  --adopt was given
/// @return 0, ERR_CORRUPT, ERR_IO ... of the metastore
int adoption_decide(struct metastore *store, const struct log_identity *identity, bool is_asked, bool *is_adopting);

void adoption_destroy(struct adoption *adoption);
