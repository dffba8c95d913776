// SPDX-License-Identifier: Apache-2.0
//
// What the modes of the group load program have in common: options, connections, and what is counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groups_link.h"
#include "groups_options.h"
#include "histogram.h"

enum {
  GROUPS_VERSION_FIND_COORDINATOR = 4, ///< versions that are sent: what clients of 2023 and later do
  GROUPS_VERSION_JOIN_GROUP = 9,
  GROUPS_VERSION_SYNC_GROUP = 5,
  GROUPS_VERSION_HEARTBEAT = 4,
  GROUPS_VERSION_LEAVE_GROUP = 5,
  GROUPS_VERSION_OFFSET_COMMIT = 9, ///< topics go by name
  GROUPS_VERSION_OFFSET_FETCH = 8,
  GROUPS_NAME_BYTES = 128, ///< longest name of a group, with its NUL
};

/// One run. One thread.
struct groups_run {
  const struct groups_options *options; ///< borrowed
  struct client_address address;        ///< of the broker
  struct groups_loop loop;              ///< its connections
  int64_t errors;                       ///< answers with an error code
  char first_error[160];                ///< what the first of them was
};

/// What went into the time between two looks.
struct groups_usage {
  int64_t start_ns;  ///< monotonic time
  int64_t broker_ns; ///< processor time of the broker; -1: not known
  int64_t own_ns;    ///< of this program
};

/// Writes the name of group number `g`.
void groups_name(const struct groups_run *run, int g, char name[GROUPS_NAME_BYTES]);

/// Asks for the coordinators of all groups until each has one that has loaded it.
///
/// @return 0; ERR_INVALID: it is not the broker that this program is connected to; ERR_TIMEOUT
int groups_find(const struct groups_run *run);

/// Counts an error answer; the first is kept as text.
void groups_count_error(struct groups_run *run, const char *what, int16_t code);

void groups_usage_read(const struct groups_run *run, struct groups_usage *usage);

/// Prints the end of the JSON line: errors and what was used since `before`, with a request's share of it.
void groups_print_usage(const struct groups_run *run, const struct groups_usage *before, int64_t requests);

/// Prints "name":{...} of latencies in us.
void groups_print_latency(const char *name, const struct histogram *latency);

/// The modes. Each prints its line of JSON, unless it fails.
///
/// @return 0 or ERR_*
int groups_heartbeat(struct groups_run *run);
int groups_rebalance(struct groups_run *run);
int groups_commit(struct groups_run *run);
int groups_fetch(struct groups_run *run);
