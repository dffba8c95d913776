// SPDX-License-Identifier: Apache-2.0
//
// Drives a partition that acknowledges by what is on disk: appends from several loops, while its configuration changes,
// its disk fails, its topic is deleted or its broker stops.
#pragma once

#include <stdint.h>

enum flush_event {
  FLUSH_NOTHING,  ///< nothing happens
  FLUSH_SWITCHES, ///< flush.messages changes all the time: 1, 5, none; luka.producer.type too
  FLUSH_FAILS,    ///< the second fsync of the log fails
  FLUSH_DELETES,  ///< the partition is deleted half way
  FLUSH_STOPS,    ///< the broker stops half way: nothing more is flushed
};

/// What a run found.
struct flush_probe {
  int64_t appended;       ///< appends that were acknowledged
  int64_t failed;         ///< appends that were not
  int64_t unsafe;         ///< acknowledged while more than flush.messages - 1 records were not on disk
  int64_t above;          ///< acknowledged above the high watermark
  int64_t lost;           ///< acknowledged, and neither on disk nor allowed not to be, at the end
  int64_t end_offset;     ///< log end afterwards
  int64_t high_watermark; ///< afterwards
  int64_t recovery_point; ///< afterwards
  int64_t durable_offset; ///< afterwards: on disk, in segments or the sync journal
  int64_t visible_bytes;  ///< afterwards
  int64_t batch_bytes;    ///< size of a batch
};

/// Appends `jobs` one-record batches from each of `loops` loops to a partition in `dir`, whose topic has
/// flush.messages; with 0 it has luka.producer.type=sync instead, and its sync journal is there. Returns 0 or an error
/// of the setting up.
int flush_run(const char *dir, int loops, int jobs, int64_t flush_messages, enum flush_event event,
              struct flush_probe *probe);
