// SPDX-License-Identifier: Apache-2.0
//
// Sequences at which a batch of an idempotent producer was refused, where the log cannot see the gap that it left. A
// log takes shares of divided batches as long as their sequences grow (log/producer_state.h), as others get what comes
// between. But a producer has batches under way behind the one that is refused, and goes by what Kafka does with them:
// a refused batch takes no sequence, and what follows it is refused as well, until the gap is closed. A client that
// gives a refused batch's sequences to its next one would otherwise have that taken for one that is stored.
//
//   sequence beyond the gap    ERR_OUT_OF_ORDER_SEQUENCE: the client sends it again behind what is missing
//   the gap's                  goes on, and what has to come next moves behind it: a client sends new batches before it
//                              knows that those before were refused. A share's closes the gap: the next one is not
//                              known
//   a lower one                goes on: it was written before. A share's closes the gap, as it may be divided otherwise
//   newer epoch                likewise, with sequence 0: the producer begins anew. A share's may have any
//
// The log cannot see it either where it does not know the producer yet, and the first batch is refused by a function:
// what goes through functions is kept in order so, too, and what comes past them takes the gap away, as the log knows
// the producer from then on.
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
/// @param place     of the table, which is made with the first gap
/// @param sequence  of the batch's first record
/// @param now_ms    monotonic, likewise below
void gaps_note(_Atomic(struct gaps *) *place, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms);

/// Whether a batch lies beyond a gap of its producer. @param gaps  NULL: there are none
bool gaps_refuse(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int64_t now_ms);

/// Moves the gap on behind a batch that comes for it or begins a newer epoch; a share closes it.
///
/// @param gaps  NULL is fine
/// @param next  sequence that follows the batch's last one; -1: not known, as for shares
void gaps_close(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence, int32_t next);

/// Takes away the gap of a producer whose batch with the gap's sequence, or one beyond it, or of a newer epoch, comes
/// to a log that judges sequences itself. @param gaps  NULL is fine
void gaps_pass(struct gaps *gaps, int64_t producer_id, int16_t epoch, int32_t sequence);

/// NULL is fine.
void gaps_delete(struct gaps *gaps);
