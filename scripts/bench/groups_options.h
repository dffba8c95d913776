// SPDX-License-Identifier: Apache-2.0
//
// The command line of the group load program. `groups --help` is the reference; this is what comes of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum groups_mode { GROUPS_HEARTBEAT, GROUPS_REBALANCE, GROUPS_COMMIT, GROUPS_FETCH };

enum {
  GROUPS_MAX = 100000,           ///< most groups of a run
  GROUPS_MEMBERS_MAX = 10000,    ///< most members of a group
  GROUPS_LINKS_MAX = 60000,      ///< most connections
  GROUPS_PARTITIONS_MAX = 10000, ///< most partitions
  GROUPS_ROUNDS_MAX = 100,       ///< most rounds
};

struct groups_options {
  enum groups_mode mode;      ///< what is measured
  const char *broker;         ///< HOST:PORT
  const char *topic;          ///< that members subscribe to, and that offsets are of
  const char *prefix;         ///< groups are called PREFIX-0, PREFIX-1, ...
  int groups;                 ///< how many
  int members;                ///< of each
  int connections;            ///< at most; every member that joins needs one that nobody else uses meanwhile
  int32_t partitions;         ///< of the topic, and offsets of a group
  int32_t batch;              ///< offsets of a commit
  int depth;                  ///< commits under way on a connection
  int rounds;                 ///< rebalances of each kind
  int64_t interval_ms;        ///< between heartbeats of a member
  int64_t commit_every;       ///< heartbeat: every so many heartbeats of a member also a commit; 0: none
  int32_t session_timeout_ms; ///< of members
  double seconds;             ///< how long is measured
  bool create;                ///< create the topic first
  bool fill;                  ///< commit: every partition of every group once
  bool verify;                ///< fetch: look at every offset that --fill has committed
  int broker_pid;             ///< whose processor time is taken; 0: nobody's
};

/// Reads the command line; complaints go to standard error.
///
/// @return 0; 1 when help was asked for and printed; 3 for what is not understood
int groups_options_parse(int argc, char **argv, struct groups_options *options);
