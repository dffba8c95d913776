// SPDX-License-Identifier: Apache-2.0
//
// The command line of the load generator.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum load_mode {
  LOAD_PRODUCE = 1, ///< bits: LOAD_BOTH is produce and fetch
  LOAD_FETCH = 2,
  LOAD_BOTH = 3,
  LOAD_CHECK = 4,
  LOAD_API_VERSIONS = 8,
};

enum load_limit {
  LOAD_SECONDS_MAX = 3600,
  LOAD_CONNECTIONS_MAX = 10000,
  LOAD_CONNECTIONS_NUMBERED = 4096, ///< of a run with --verify-acked: its numbers have 12 bits for the connection
  LOAD_DEPTH_MAX = 10000,
  LOAD_THREADS_MAX = 16,
  LOAD_PIDS_MAX = 8,
  LOAD_BATCH_BYTES_MAX = 64 * 1024 * 1024,
};

/// Strings are borrowed from argv.
struct load_options {
  enum load_mode mode;
  const char *brokers;         ///< host:port of a broker
  const char *topic;           ///< topic name
  int32_t partitions;          ///< partitions to use, from 0 on
  int16_t replication;         ///< of a topic that is created
  bool create;                 ///< create the topic; an existing one is used as it is
  int connections;             ///< of each kind
  int depth;                   ///< requests in flight on a connection
  int threads;                 ///< threads of each kind
  int32_t records;             ///< records in a batch
  int32_t record_bytes;        ///< value bytes of a record, at least 16 with acked_path
  int64_t keys;                ///< different keys, each record has one of them at random; 0: records have no key
  const char *header;          ///< name and value of a header of each record, NAME=TEXT; NULL: none
  const char *value;           ///< value of each record; NULL: letters
  int64_t batch_bytes;         ///< 0: as many as `records` take; otherwise sets `records`
  int16_t acks;                ///< -1, 0, 1
  int codec;                   ///< enum codec
  double seconds;              ///< how long requests are sent
  double rate;                 ///< requests a second of all connections; 0: closed loop
  int64_t requests;            ///< most requests in all; 0: no such limit
  int32_t max_bytes;           ///< of a fetch
  int32_t partition_max_bytes; ///< of a fetch
  int32_t min_bytes;           ///< of a fetch
  int32_t max_wait_ms;         ///< of a fetch
  bool from_end;               ///< fetch what comes, not what is there
  bool until_end;              ///< fetch ends at what was the log end at the start
  bool repeat;                 ///< fetch starts again from the first offset when it reaches that end
  bool verify;                 ///< fetch checks CRC and contiguity
  const char *acked_path;      ///< file of acknowledged records: written by produce, read by check; NULL: none
  bool keep_going;             ///< errors and lost connections do not make the exit status 1
  bool allow_remote;           ///< brokers need not be on this machine
  bool with_session;           ///< fetch keeps an incremental session (KIP-227) on each connection
  int32_t active;              ///< partitions from 0 on that are produced to and read; 0: all
  int idle_connections;        ///< opened before the run, and only kept
  bool is_raw;                 ///< the peer is scripts/bench/limit.c: nothing is asked of it before the run
  bool with_histogram;         ///< latencies are printed as a histogram too
  int cpu_pids[LOAD_PIDS_MAX]; ///< processes whose processor time is taken: the brokers
  int cpu_pid_count;           ///< how many
};

/// Parses the command line; prints help, or one line that says what is wrong.
///
/// @return 0: go on; otherwise the exit status plus 1 (1: help was printed, 3: wrong usage)
int load_options_parse(int argc, char **argv, struct load_options *options);
