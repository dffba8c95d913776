// SPDX-License-Identifier: Apache-2.0
//
// What a partition's folder holds that its adoption has to know before anything is written: from which leader epoch to
// go on, and above which producer id new ones begin. Reads only, and no more than it must:
//
//   leader epochs    leader-epoch-checkpoint, and the headers of the batches looked at for the producers
//   producer ids     all snapshots, then the headers of the batches after the newest one; all batches where there is
//                    none. Who wrote before the newest snapshot and is in none is forgotten by every broker
//   transactions     of __transaction_state all records: an id may belong to a transactional id that never wrote
//
// A batch that raises the highest producer id has its CRC checked: the tail of a log may be damaged. What is damaged is
// passed over, as recovery will cut it. Waits for the disk: start-up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
  LOG_SURVEY_EPOCH_MAX = INT32_MAX / 2, ///< a later epoch in a batch is damage: the CRC does not cover it
};

/// What was found.
struct log_survey {
  bool is_log;          ///< the folder has a segment or a partition.metadata
  int32_t leader_epoch; ///< the latest, -1: none
  int64_t producer_id;  ///< the highest below 2^62 (those above are none that a broker gave), -1: none
};

/// Looks into a partition's folder.
///
/// @param has_transactions  it is of __transaction_state
/// @param[out] survey  untouched on failure
/// @return 0, ERR_PERMISSION, ERR_IO ...
int log_survey(const char *dir, bool has_transactions, struct log_survey *survey);
