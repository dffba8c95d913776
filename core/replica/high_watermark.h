// SPDX-License-Identifier: Apache-2.0
//
// The high watermark: the first offset that consumers may not see. With a replica list of one it follows the log end;
// followers will hold it back, and so does what a topic wants on disk first (replica/flush.h). Moving it publishes the
// partition's state and wakes those whose bytes have come.
#pragma once

#include <stdint.h>

struct partition;

/// The last stable offset that belongs to a high watermark: not beyond the first record of an open transaction.
int64_t high_watermark_stable_offset(const struct partition *part, int64_t high_watermark);

/// After an append of `bytes`: moves the high watermark and wakes waiters. While holding the appender.
///
/// @return what lies below may be acknowledged: flush_safe_offset(), as far as readers see it already
int64_t high_watermark_appended(struct partition *part, int64_t bytes);

/// After a flush, or a change of what holds it back: moves the high watermark to where it may be and wakes waiters.
/// While holding the appender.
///
/// @param bytes  of those that were held back, how many are on disk now at least
void high_watermark_raise(struct partition *part, int64_t bytes);

/// After the log start or end changed otherwise (retention, truncation, a new role): publishes them and wakes all.
/// While holding the appender.
void high_watermark_reset(struct partition *part);
