// SPDX-License-Identifier: Apache-2.0
//
// Which transactions in a log were aborted, and which are still open (KIP-98), for those who read committed records
// only. Transactions are not served yet, but a log that Kafka wrote may hold some: its readers are told of the aborted
// ones, and do not get beyond the first record of one that is open.
//
// Found out when a log is opened or cut, and constant in between, as nothing transactional is appended. What counts:
//
//   below the newest snapshot that is at or below the recovery point   the *.txnindex files
//   from there on                                                      the batches and markers themselves;
//                                                                      a *.txnindex that differs is made anew
//
// In a *.txnindex file, as Kafka has it, by last offset:  version 2 (0)  |  producer id 8  |  first offset 8  |
// last offset 8 (the marker's)  |  last stable offset 8 (once the marker was written)
#pragma once

#include <stdint.h>

struct log;
struct log_slice;

/// An aborted transaction, as a Fetch tells it.
struct log_aborted {
  int64_t producer_id;  ///< whose records are to be left out ...
  int64_t first_offset; ///< ... from here on up to its marker
};

/// Lists the aborted transactions that have records in a slice, or may have: those of its segment from an offset on.
/// Any thread inside the epoch; does not wait.
///
/// @param offset  first offset wanted
/// @param out     room for `room` of them; NULL with a room of 0
/// @return how many there are, also beyond `room`
int32_t log_aborted_transactions(const struct log *log, const struct log_slice *slice, int64_t offset,
                                 struct log_aborted *out, int32_t room);

/// The first offset of the oldest open transaction, INT64_MAX: none is open. Any thread inside the epoch.
int64_t log_first_unstable_offset(const struct log *log);
