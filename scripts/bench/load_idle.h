// SPDX-License-Identifier: Apache-2.0
//
// Connections that are only there: --idle-connections, to see what they cost a broker in memory and in the time of
// others' requests.
#pragma once

#include <stdint.h>

struct load_cluster;
struct load_options;

/// Owned: load_idle_close().
struct load_idle {
  int *fds;                 ///< connections
  int count;                ///< how many are open
  int64_t rss_before_bytes; ///< memory of the processes of --cpu-of before; -1: unknown
  int64_t rss_idle_bytes;   ///< with the connections open and nothing else going on
};

/// Raises the limit of open files to what the run needs, or refuses.
///
/// @return 0 or ERR_LIMIT
int load_files_check(const struct load_options *options);

/// Opens them, round and round the brokers. Each asks for ApiVersions once, as a client does first, so that the broker
/// has seen it and has had buffers for it.
///
/// @return 0 or ERR_*
int load_idle_open(struct load_idle *idle, const struct load_options *options, const struct load_cluster *cluster);

void load_idle_close(struct load_idle *idle);
