// SPDX-License-Identifier: Apache-2.0
//
// Sequences at which a batch of an idempotent producer was refused, where the log cannot see the gap that it left. A
// log takes shares of divided batches as long as their sequences grow (log/producer_state.h), as others get what comes
// between. But a producer has batches under way behind the one that is refused, and goes by what Kafka does with them:
// a refused batch takes no sequence, and what follows it is refused as well, until the gap is closed. A client that
// gives a refused batch's sequences to its next one would otherwise have that taken for one that is stored.
//
//   sequence beyond the gap    ERR_OUT_OF_ORDER_SEQUENCE: the client sends it again behind what is missing
//   the gap's, or a lower one  goes on, and closes it
//   newer epoch                likewise: the producer begins anew
//
// A partition has one table, for two kinds of ids: those of the producers, for whole batches that were addressed to it
// and refused before anything of them was written; those of shares, for shares that its appender failed to write. In
// memory only: with the broker the connections end, and producers begin with the oldest batch that was not answered.
// At most GAPS_MAX are remembered, the newest, for GAPS_KEPT_MS: a producer that never comes back to a gap has long
// given it up. Any thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  GAPS_MAX = 256,                ///< gaps of one table
  GAPS_KEPT_MS = 1000 * 60 * 15, ///< how long one is remembered; clients give a batch up within two minutes
};

struct gaps;

/// Notes that a batch was refused. Of a producer the oldest gap of its newest epoch counts.
///
/// @param gaps      the table, made with the first gap
/// @param sequence  of the batch's first record
/// @param now_ms    monotonic, likewise below
void gaps_note(_Atomic(struct gaps *) *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms);

/// Whether a batch lies beyond a gap of its producer. @param gaps  NULL: there are none
bool gaps_refuse(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms);

/// Closes the gap that a batch of this sequence comes for, or that its epoch ends. @param gaps  NULL is fine
void gaps_close(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence);

/// NULL is fine.
void gaps_delete(struct gaps *gaps);
