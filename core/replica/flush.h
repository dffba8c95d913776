// SPDX-License-Identifier: Apache-2.0
//
// What is acknowledged before it is on disk, and what is not: flush.messages, and luka.producer.type=sync, which is
// flush.messages=1. An append that would leave as many records unflushed as flush.messages says is held: it is
// acknowledged, and its records are shown to readers, when a flush has brought it to disk. One flush serves all that
// came before it; what comes while it runs waits for the next one.
//
//   appender: written -> held, flush_begin      pool: log_flush      appender: flush_settle -> acknowledged
//                  \-> held meanwhile ................................... -> next flush_begin
//
// A failed flush takes the directory offline; everybody held gets ERR_STORAGE_OFFLINE, and nothing is tried again.
//
// Readers see what lies below the high watermark, and the high watermark stays at the safe offset: what can be lost to
// a power cut was neither acknowledged nor read, but for the flush.messages - 1 records that the topic allows. All of
// it happens while holding the appender. A log without flush.messages is always safe to its end, and pays nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct append_job;
struct partition;

/// What lies below may be acknowledged and read: the log's end, or while too much is not on disk the end of what is.
int64_t flush_safe_offset(const struct partition *part);

/// Whether an append that was done has to wait for a flush before its client hears of it. A batch that was stored
/// before waits for the flush of the stored one.
bool flush_is_due(const struct append_job *job, int64_t safe_offset);

/// Keeps an append until flush_settle() or flush_abort() gives it back. @param job  taken
void flush_hold(struct partition *part, struct append_job *job);

/// Starts a flush on the pool, unless one is running, which will start the next one.
///
/// @return as flush_abort(), when the broker stops and nobody would flush any more; otherwise NULL
struct append_job *flush_begin(struct partition *part);

/// Moves the high watermark to the safe offset and gives back who waited for that; starts a flush if more is needed.
/// After the log was flushed, or has a new configuration.
///
/// @return jobs to finish, oldest first, linked by `next`; for a job's `released`
struct append_job *flush_settle(struct partition *part);

/// Gives back everybody, with an error: the partition has lost its role, or its disk.
struct append_job *flush_abort(struct partition *part, int result);

/// Appends that were acknowledged after a flush, of all partitions since the start. Any thread.
int64_t flush_count_appends(void);
