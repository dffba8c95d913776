// SPDX-License-Identifier: Apache-2.0
//
// Where the newest batches of a log lie: a ring in memory, so that a fetch near the end needs neither an index nor the
// log to find its place. The appender writes, any thread reads, without a lock:
//
//   write:  fill entry number head, then head = head + 1 (release)
//   read:   take an entry, then look at head again: was its place not up for reuse meanwhile, it is good
//
// Truncation empties the ring by raising `first`; batches before it are then found through the index.
//
// Most partitions of a broker with many of them are quiet, so the ring begins small. A full one is copied into one of
// the next size and retired. Its own `head` stays as it was then: whoever still reads it sees all batches up to there.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/epoch.h"

enum {
  TAIL_SIZE = 512,     ///< batches kept at most; a power of two
  TAIL_SIZE_FIRST = 8, ///< batches that the first ring has room for; a power of two
  TAIL_GROWTH = 8,     ///< how many times as many the next ring keeps
};

/// One batch.
struct tail_batch {
  int64_t base_offset;  ///< its first offset
  int64_t last_offset;  ///< its last offset
  int64_t segment_base; ///< base offset of its segment
  int64_t pos;          ///< its position there
  int64_t size;         ///< its bytes
};

/// The same with atomic members.
struct tail_entry {
  _Atomic(int64_t) base_offset;  ///< as above
  _Atomic(int64_t) last_offset;  ///< as above
  _Atomic(int64_t) segment_base; ///< as above
  _Atomic(uint32_t) pos;         ///< as above; segments are smaller than 2 GiB
  _Atomic(uint32_t) size;        ///< as above
};

/// The batches, by number modulo the size.
struct tail_ring {
  struct epoch_retired retired; ///< for when a larger one took its place
  uint64_t size;                ///< entries, a power of two
  _Atomic(uint64_t) head;       ///< number of the next batch
  struct tail_entry entries[];  ///< the newest ones
};

/// Embed it; all zero is empty.
struct tail {
  _Atomic(uint64_t) first;          ///< number of the oldest batch that counts
  _Atomic(struct tail_ring *) ring; ///< made with the first batch; owned
};

/// Frees the ring, when no reader can reach it any more.
void tail_destroy(struct tail *tail);

/// Adds a batch that is readable. Appender, inside the epoch.
void tail_push(struct tail *tail, const struct tail_batch *batch);

/// Forgets all. Appender.
void tail_clear(struct tail *tail);

/// Finds the newest batch whose base offset is at most `offset`; false when the ring does not reach back to it. The
/// batch may end before `offset`. Any thread, inside the epoch.
bool tail_find(struct tail *tail, int64_t offset, struct tail_batch *batch);

/// Finds the last batch of a segment that begins at or before `pos`; false when the ring does not know. Any thread,
/// inside the epoch.
bool tail_find_pos(struct tail *tail, int64_t segment_base, int64_t pos, struct tail_batch *batch);
